"""DP-UCB with Bernoulli arms, compiled, for any relaxation and any preset, on trees and on hybrid counters.

"all-trees" has a kernel of its own, `stepped_trees`.

An arm with n pulls, total S and noise N has the index (S + N + relaxation)/n + sqrt(2 ln t / n); a `fixed` above 0
replaces sqrt(2 ln t), for the thesis's index. Noise is a continuous Laplace: the object's lies on a grid a millionth of
a reward wide, which is nothing beside it.

On trees each node has noise of one scale. On hybrid counters an arm with n = 2^k + m pulls, m < 2^k, has noise of two
parts: k + 1 variables of scale 2/epsilon, one for each power of two reached, and one of scale 2k/epsilon for each set
bit of m, from the open tree. The relaxation is then a radius that depends on k, on the set bits of m, and on ln t.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from discreet.bandits import DPUCB, DPHybridUCB
from discreet.bandits.dp_ucb import STEPPED, THESIS
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import SLACK, best_rival, leader, new_track, next_block, pull
from discreet.lab.kernels.randomness import binomial, laplace, ones_of, uniform
from discreet.lab.kernels.tree_minimum import LEVELS, breaches, log_chance, next_height, tables

_PATIENT = 4  # rewards of blocks below this level wait for later ones
_ROUNDING = 1e-9  # room for rounding in a bound on totals, for each pull


class Counters(NamedTuple):
    """The counters of a policy.

    Attributes:
        scale: The noise scale of a tree's node; 0 for hybrid counters.
        relaxation: The relaxation on trees; 0 for hybrid counters.
        fixed: The exploration if it is fixed, else 0.
        window: The smallest number of pulls for which the rivals are bounded at a time.
    """

    scale: float
    relaxation: float
    fixed: float
    window: int


def counters_of(policy: DPUCB | DPHybridUCB) -> tuple[Counters, float | None]:
    """Return the counters of a policy, and the epsilon of hybrid ones; None for trees: each kind is compiled apart.

    >>> counters_of(DPUCB(range(5), epsilon=0.5, horizon=1000, preset="thesis"))
    (Counters(scale=20.0, relaxation=780.6305864171396, fixed=3.8989492070408103, window=1024), None)
    """
    if isinstance(policy, DPHybridUCB):
        return Counters(0.0, 0.0, 0.0, 256), policy.epsilon
    levels = policy.horizon.bit_length()  # of a tree, each at its share of epsilon
    fixed = math.sqrt(2 * math.log(2 / policy.effective_gamma)) if policy.preset == THESIS else 0.0
    return Counters(levels / policy.tree_epsilon, policy.effective_relaxation, fixed, 1024), None


@compiled
def exploration(step, fixed):
    """Return the factor that all bonuses share.

    Args:
        step: The step.
        fixed: The factor if it is fixed, else 0.
    """
    return fixed if fixed > 0 else math.sqrt(2 * math.log(step))


@compiled
def trailing_zeros(number):
    """Return how often 2 divides a positive number."""
    zeros = 0
    while number & 1 == 0:
        number >>= 1
        zeros += 1
    return zeros


@compiled
def add_node(path, pulls, noise):
    """Return the tree's noise after a pull, whose new node has this noise.

    It is the noise at n without its lowest set bit, plus the new node's; `path` keeps the noise at the last n of
    each lowest bit, which is all that later pulls ask for.

    Args:
        path: The noise at the last pull of each lowest bit, which is updated.
        pulls: The number of the pull.
        noise: The new node's noise.
    """
    level = trailing_zeros(pulls)
    rest = pulls >> (level + 1)
    before = path[level + 1 + trailing_zeros(rest)] if rest else 0.0
    path[level] = before + noise
    return path[level]


@compiled
def _place_of(pulls):
    """Return the open tree of an arm on hybrid counters, and the pulls in it: n = 2^k + m."""
    tree = math.frexp(float(pulls))[1] - 1 if pulls else 0
    return tree, max(pulls - (1 << tree), 0)


@compiled
def _open_tree(counters, hybrid, pulls):
    """Return the pulls in an arm's open tree, and its noise scale; the first hybrid one has no pulls of its own."""
    if hybrid is None:
        return pulls, counters.scale
    tree, own = _place_of(pulls)
    return own, 2 * max(tree, 1) / hybrid


@compiled
def _relaxation(counters, hybrid, pulls, log_step):
    """Return the relaxation, or the hybrid error bound at a step: `laplace_sum_radius` of its noises at beta = t^-4.

    More noises or later steps make it larger, so within an aligned block it is least at the block's start.
    """
    if hybrid is None:
        return counters.relaxation
    tree, own = _place_of(pulls)
    ones = ones_of(uint64(own))
    single, log = 2 / hybrid, math.log(2) + 4 * log_step
    variance = single * single * (tree + 1 + ones * tree * tree)
    largest = 2 * max(tree, 1) / hybrid if ones else single
    lam = min(math.sqrt(log / (1.5 * variance)), 1 / (math.sqrt(2) * largest))
    return log / lam + 1.5 * lam * variance


@compiled
def index(counters, hybrid, noisy, pulls, step):
    """Return an arm's index on hybrid counters.

    Args:
        counters: The policy's counters.
        hybrid: The epsilon of hybrid counters; None for trees.
        noisy: The arm's noisy total.
        pulls: Its pulls.
        step: The step.
    """
    log_step = math.log(step)
    return (noisy + _relaxation(counters, hybrid, pulls, log_step)) / pulls + math.sqrt(2 * log_step / pulls)


@compiled
def _refresh(counters, hybrid, noisy, pulls, step, means):
    """Return the exploration at a step, for the means as they are. On hybrid counters all indices change with the step:
    they are written instead of the means, and there is no exploration beside them.
    """
    if hybrid is None:
        return exploration(step, counters.fixed)
    for arm in range(noisy.size):
        means[arm] = index(counters, hybrid, noisy[arm], pulls[arm], step)
    return 0.0


@compiled
def close_block(state, counters, hybrid, path, noises, pulls, size):
    """Draw the noise that survives an aligned block of pulls.

    `noises` has what is in the total from the powers of two of hybrid counters, and from the open tree. A power of two
    ends the tree.

    Args:
        state: The generator's state, which is advanced.
        counters: The policy's counters.
        hybrid: The epsilon of hybrid counters; None for trees.
        path: The arm's path of tree noises, which is updated.
        noises: The noise of the powers of two, and of the open tree, which are updated.
        pulls: The pulls before.
        size: The pulls in the block.
    """
    if hybrid is not None:
        end = pulls + size
        if end & (end - 1) == 0:
            noises[0] += laplace(state, 2 / hybrid)
            noises[1] = 0.0
            return
    own, scale = _open_tree(counters, hybrid, pulls)
    noises[1] = add_node(path, own + size, laplace(state, scale))


@compiled
def choose_level(limits, pulls, base, rival, spread, scale, ceiling, most):
    """Return the level of the largest aligned block whose noise rarely sinks too low, and how low that is, in noise
    scales.

    In a block of m = 2^q pulls from n, let G be `rival` minus the leader's smallest bonus. Rewards are at least 0,
    so the leader stays ahead as long as base + W(k) > (n + k) G, for which W(k) > -x is enough, with
    x = base - (n + m) G, or base - n G where G is negative. Level -1: no block at all is sure to start ahead.

    Args:
        limits: For each level, the depth at which its blocks are worth a try.
        pulls: The pulls before.
        base: The arm's noisy total with its relaxation.
        rival: An upper bound on the other arms' indices.
        spread: The exploration at the first step, a lower bound for all.
        scale: The noise scale of a tree's node.
        ceiling: The highest level to try.
        most: The largest number of pulls.
    """
    level = min(trailing_zeros(pulls), ceiling) if pulls else -1
    while level >= 0 and (1 << level) > most:
        level -= 1
    while level >= 0:
        size = 1 << level
        gap = rival - spread / math.sqrt(pulls + size) * SLACK
        depth = (base - (pulls + size if gap >= 0 else pulls) * gap) / scale
        if depth > _ROUNDING * pulls and depth > limits[level]:
            return level, depth
        level -= 1
    return -1, 0.0


@compiled
def first_breach(state, table, path, pulls, scale, level, depth):
    """Walk to the first pull of an aligned block at which its noise sinks to -depth, given that it does; return the
    noise and the pulls.

    Given a breach in a block, its left half has it with probability T(left)/T(block); if not, the left half is
    passed whole and its node is drawn given a breach on the right. Gives the noise and the pulls made.

    Args:
        state: The generator's state, which is advanced.
        table: The table of `log_table`.
        path: The arm's path of tree noises, which is updated.
        pulls: The pulls before.
        scale: The noise scale of a tree's node.
        level: The block's level: it has 2^level pulls.
        depth: The depth to which noise may sink, in noise scales.
    """
    done, log_breach = 0, log_chance(table, level, depth)
    while True:
        level -= 1
        on_the_left = log_chance(table, level, depth)
        if level > 0 and math.log(uniform(state)) < on_the_left - log_breach:
            log_breach = on_the_left
            continue
        done += 1 << level
        height = next_height(state, table, level, depth)
        noise = add_node(path, pulls + done, (height - depth) * scale)
        if height <= 0:
            return noise, done
        depth = height
        log_breach = log_chance(table, level, depth)


@compiled
def visit(state, counters, hybrid, tables, path, noises, chance, total, pulls, rival, step, most):
    """Pull the leader, block by block, for as long as it surely leads, and return its total and the pulls.

    `rival` bounds the others' indices for `most` pulls. The exploration at the first step is a lower bound for all of
    them, and so is a hybrid relaxation at a block's start and the visit's first step. A block's bound counts no reward
    of its own, so the rewards of several blocks may wait and be drawn as one binomial when they could matter: their
    number does not depend on them.

    Args:
        state: The generator's state, which is advanced.
        counters: The policy's counters.
        hybrid: The epsilon of hybrid counters; None for trees.
        tables: The result of `tree_minimum.tables`.
        path: The arm's path of tree noises, which is updated.
        noises: The noise of the powers of two, and of the open tree, which are updated.
        chance: The arm's mean.
        total: The arm's exact total.
        pulls: The pulls before.
        rival: An upper bound on the other arms' indices.
        step: The first step.
        most: The largest number of pulls.
    """
    done, waiting, ceiling, spread, log_step = 0, 0, LEVELS, exploration(step, counters.fixed), math.log(step)
    logs, coarse, limits = tables  # out of the loop: taking an array from a tuple takes time
    while done < most:
        n = pulls + done
        own, scale = _open_tree(counters, hybrid, n)
        base = total + noises[0] + noises[1] + _relaxation(counters, hybrid, n, log_step)
        level, depth = choose_level(limits, n, base, rival, spread, scale, ceiling, most - done)
        if level < 0 and waiting == 0 and done > 0:
            break  # caught, or nearly: all indices are computed again
        if level < 0 and waiting == 0:
            level = 0  # it leads now, so one pull is its own
        if level >= 0:
            size = 1 << level
            if level > 0 and breaches(state, logs, coarse, level, depth):
                noises[1], size = first_breach(state, logs, path, own, scale, level, depth)
            else:
                close_block(state, counters, hybrid, path, noises, n, size)
            done += size
            waiting += size
            ceiling = min(level + 2, LEVELS)
        if level < 0 or level >= _PATIENT:
            total += binomial(state, waiting, chance)
            waiting = 0
    return total + (binomial(state, waiting, chance) if waiting else 0), done


@compiled
def skip_ahead(chances, horizon, state, checkpoints, counters, hybrid, tables):
    """Pass aligned blocks of pulls whole, unless the open tree's noise sinks low enough to matter, and return the pulls
    by checkpoint and arm; exact in distribution.

    It uses that the noises inside a block are thrown away at its end, and that their minimum has a known distribution.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        counters: The policy's counters.
        hybrid: The epsilon of hybrid counters; None for trees.
        tables: The result of `tree_minimum.tables`.
    """
    arms, time, least = chances.size, np.int64(0), np.int64(counters.window)
    totals, noisy, means, roots = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    noises, paths, track, window = np.zeros((arms, 2)), np.zeros((arms, 64)), new_track(arms, checkpoints), least
    pulls = track.pulls
    while time < horizon:
        arm, most, rival = time, 1, 0.0
        if time >= arms:
            most = min(window, horizon - time)
            arm = leader(means, roots, _refresh(counters, hybrid, noisy, pulls, time + 1, means))
            rival = best_rival(means, roots, arm, _refresh(counters, hybrid, noisy, pulls, time + most, means))
        own = paths[arm], noises[arm], chances[arm], totals[arm], pulls[arm]
        totals[arm], done = visit(state, counters, hybrid, tables, *own, rival, time + 1, most)
        time = pull(track, arm, done)
        noisy[arm] = totals[arm] + noises[arm, 0] + noises[arm, 1]
        means[arm], roots[arm] = (noisy[arm] + counters.relaxation) / pulls[arm], 1 / math.sqrt(pulls[arm])
        # Never far compared with the time: the rivals' indices grow with its logarithm.
        window = next_block(window, done, most, least, max(time // 16, least))
    return track.counts


def program(policy: DPUCB | DPHybridUCB, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    if isinstance(policy, DPUCB) and policy.preset == STEPPED:
        from discreet.lab.kernels import stepped_trees  # noqa: PLC0415  (it takes the path of a tree from here)

        return stepped_trees.program(policy, chances)
    counters, hybrid = counters_of(policy)
    return partial(skip_ahead, chances, counters=counters, hybrid=hybrid, tables=tables())

"""DP-UCB with Bernoulli arms, compiled: reference and skip-ahead, for any preset and any relaxation.

An arm with n pulls, total S and tree noise N has the index (S + N + relaxation)/n + sqrt(2 ln t / n); a `fixed` above 0
replaces sqrt(2 ln t), for the thesis's index. Noise is a continuous Laplace of the tree's scale: the object's lies on a
grid a millionth of a reward wide, which is nothing beside it.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import DPUCB
from discreet.lab.instances import Instance
from discreet.lab.kernels import tree_minimum
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import SLACK, best_rival, leader, next_block, note
from discreet.lab.kernels.randomness import bernoulli, binomial, laplace, threshold, uniform
from discreet.lab.kernels.tree_minimum import breaches, log_chance, next_height

_SMALLEST_WINDOW = 1024  # pulls for which the rivals are bounded at a time
_PATIENT = 4  # rewards of blocks below this level wait for later ones
_ROUNDING = 1e-9  # room for rounding in a bound on totals, for each pull
_RARE = 0.3  # a block is tried when its noise sinks too low with at most this chance


def parameters_of(policy: DPUCB) -> tuple[float, float, float]:
    """Return the noise scale, relaxation and fixed exploration of a policy.

    >>> parameters_of(DPUCB(range(5), epsilon=0.5, horizon=1000, preset="thesis"))
    (20.0, 780.6305864171396, 3.8989492070408103)
    """
    levels = policy.horizon.bit_length()  # of a tree, each at its share of epsilon
    fixed = math.sqrt(2 * math.log(2 / policy.effective_gamma)) if policy.preset == "thesis" else 0.0
    return levels / policy.tree_epsilon, policy.effective_relaxation, fixed


@compiled
def exploration(step, fixed):
    """Return the factor that all bonuses share.

    Args:
        step: The step.
        fixed: The factor if it is fixed, else 0.
    """
    return fixed if fixed > 0 else math.sqrt(2 * math.log(step))


@compiled
def _trailing_zeros(number):
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
    level = _trailing_zeros(pulls)
    rest = pulls >> (level + 1)
    before = path[level + 1 + _trailing_zeros(rest)] if rest else 0.0
    path[level] = before + noise
    return path[level]


@compiled
def reference(chances, horizon, state, checkpoints, scale, relaxation, fixed):
    """Play one step at a time, as the policy object does, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        scale: The noise scale of a tree's node.
        relaxation: The relaxation.
        fixed: The exploration if it is fixed, else 0.
    """
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    means, roots, paths = np.zeros(arms), np.zeros(arms), np.zeros((arms, 64))
    counts = np.zeros((checkpoints.size, arms), np.int64)
    mark = np.int64(0)
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else leader(means, roots, exploration(time, fixed))
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        pulls[arm] += 1
        noise = add_node(paths[arm], pulls[arm], laplace(state, scale))
        means[arm] = (totals[arm] + noise + relaxation) / pulls[arm]
        roots[arm] = 1 / math.sqrt(pulls[arm])
        mark = note(counts, checkpoints, mark, pulls, arm, time)
    return counts


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
    level = min(_trailing_zeros(pulls), ceiling) if pulls else -1
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
def visit(state, table, coarse, limits, path, chance, total, noise, pulls, relaxation, rival, spread, scale, most):
    """Pull the leader, block by block, for as long as it surely leads, and return its total, its noise and the pulls.

    `rival` bounds the others' indices for `most` pulls, and `spread` is the exploration at the first, a lower bound
    for all of them. A block's bound counts no reward of its own, so the rewards of several blocks may wait and be
    drawn as one binomial when they could matter: their number does not depend on them.

    Args:
        state: The generator's state, which is advanced.
        table: The table of `log_table`.
        coarse: The table of `coarse_table`.
        limits: For each level, the depth at which its blocks are worth a try.
        path: The arm's path of tree noises, which is updated.
        chance: The arm's mean.
        total: The arm's exact total.
        noise: The arm's tree noise.
        pulls: The pulls before.
        relaxation: The relaxation.
        rival: An upper bound on the other arms' indices.
        spread: The exploration at the first step, a lower bound for all.
        scale: The noise scale of a tree's node.
        most: The largest number of pulls.
    """
    done, waiting, ceiling = 0, 0, tree_minimum.LEVELS
    while done < most:
        base = total + noise + relaxation
        level, depth = choose_level(limits, pulls + done, base, rival, spread, scale, ceiling, most - done)
        if level < 0 and waiting == 0 and done > 0:
            break  # caught, or nearly: all indices are computed again
        if level < 0 and waiting == 0:
            level = 0  # it leads now, so one pull is its own
        if level >= 0:
            size = 1 << level
            if level > 0 and breaches(state, table, coarse, level, depth):
                noise, size = first_breach(state, table, path, pulls + done, scale, level, depth)
            else:
                noise = add_node(path, pulls + done + size, laplace(state, scale))
            done += size
            waiting += size
            ceiling = min(level + 2, tree_minimum.LEVELS)
        if level < 0 or level >= _PATIENT:
            total += binomial(state, waiting, chance)
            waiting = 0
    return total + (binomial(state, waiting, chance) if waiting else 0), noise, done


@compiled
def _skip_ahead(chances, horizon, state, checkpoints, scale, relaxation, fixed, table, coarse, limits):
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    noises, means, roots, paths = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros((arms, 64))
    counts = np.zeros((checkpoints.size, arms), np.int64)
    least = np.int64(_SMALLEST_WINDOW)
    mark, time, window = np.int64(0), np.int64(0), least
    while time < horizon:
        if time < arms:
            arm, most, rival, spread = time, 1, 0.0, 0.0
        else:
            spread = exploration(time + 1, fixed)
            arm = leader(means, roots, spread)
            most = min(window, horizon - time)
            rival = best_rival(means, roots, arm, exploration(time + most, fixed))
        totals[arm], noises[arm], done = visit(
            state, table, coarse, limits, paths[arm], chances[arm], totals[arm], noises[arm], pulls[arm], relaxation,
            rival, spread, scale, most,
        )  # fmt: skip
        pulls[arm] += done
        time += done
        means[arm] = (totals[arm] + noises[arm] + relaxation) / pulls[arm]
        roots[arm] = 1 / math.sqrt(pulls[arm])
        mark = note(counts, checkpoints, mark, pulls, arm, time)
        # Never far compared with the time: the rivals' indices grow with its logarithm.
        window = next_block(window, done, most, least, max(time // 16, least))
    return counts


def skip_ahead(
    chances: Any, horizon: int, state: Any, checkpoints: Any, scale: float, relaxation: float, fixed: float
) -> Any:
    """Pass aligned blocks of pulls whole, unless the tree's noise sinks low enough to matter; exact in distribution.

    It uses that the noises inside a block are thrown away at its end, and that their minimum has a known distribution.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        scale: The noise scale of a tree's node.
        relaxation: The relaxation.
        fixed: The exploration if it is fixed, else 0.
    """
    tables = tree_minimum.log_table(), tree_minimum.coarse_table(), tree_minimum.depths_of(_RARE)
    return _skip_ahead(chances, horizon, state, checkpoints, scale, relaxation, fixed, *tables)


def program(policy: DPUCB, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    scale, relaxation, fixed = parameters_of(policy)
    return partial(skip_ahead, instance.means, scale=scale, relaxation=relaxation, fixed=fixed)

"""DP-UCB on hybrid counters with Bernoulli arms, compiled: reference and skip-ahead.

An arm with n = 2^k + m pulls, m < 2^k, has noise of two parts in its total: k + 1 variables of scale 2/epsilon, one for
each power of two reached, and one of scale 2k/epsilon for each set bit of m, from the open tree. Its index is the noisy
mean + sqrt(2 ln t / n) + radius/n, where the radius depends on k, on the set bits of m, and on ln t. Noise is a
continuous Laplace: the object's lies on a grid a millionth of a reward wide, which is nothing beside it.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np
from numba import uint64

from discreet.bandits import DPHybridUCB
from discreet.lab.instances import Instance
from discreet.lab.kernels import tree_minimum
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.dp_ucb import _PATIENT, _RARE, add_node, choose_level, exploration, first_breach
from discreet.lab.kernels.race import next_block, note
from discreet.lab.kernels.randomness import bernoulli, binomial, laplace, ones_of, threshold
from discreet.lab.kernels.tree_minimum import breaches

_SMALLEST_WINDOW = 256  # pulls for which the rivals are bounded at a time


@compiled
def _place_of(pulls):
    """Return the open tree of an arm, and the pulls in it: n = 2^k + m."""
    tree = math.frexp(float(pulls))[1] - 1 if pulls else 0
    return tree, max(pulls - (1 << tree), 0)


@compiled
def _tree_scale(tree, epsilon):
    """Return the scale of the noise in a tree; the first has no pulls of its own."""
    return 2 * max(tree, 1) / epsilon


@compiled
def _radius(pulls, log_step, epsilon):
    """Return the counter's error bound at a step: `laplace_sum_radius` of its noises at beta = t^-4.

    More noises or later steps make it larger, so within an aligned block it is least at the block's start.
    """
    tree, own = _place_of(pulls)
    ones = ones_of(uint64(own))
    single, log = 2 / epsilon, math.log(2) + 4 * log_step
    variance = single * single * (tree + 1 + ones * tree * tree)
    largest = _tree_scale(tree, epsilon) if ones else single
    lam = min(math.sqrt(log / (1.5 * variance)), 1 / (math.sqrt(2) * largest))
    return log / lam + 1.5 * lam * variance


@compiled
def index(noisy, pulls, step, epsilon):
    """Return an arm's index.

    Args:
        noisy: The arm's noisy total.
        pulls: Its pulls.
        step: The step.
        epsilon: The policy's epsilon.
    """
    log_step = math.log(step)
    return (noisy + _radius(pulls, log_step, epsilon)) / pulls + math.sqrt(2 * log_step / pulls)


@compiled
def leader(noisy, pulls, step, epsilon):
    """Return the arm with the highest index; ties go to the first.

    Args:
        noisy: Each arm's noisy total.
        pulls: The pulls of each arm.
        step: The step.
        epsilon: The policy's epsilon.
    """
    best, found = -np.inf, 0
    for arm in range(noisy.size):
        value = index(noisy[arm], pulls[arm], step, epsilon)
        if value > best:
            best, found = value, arm
    return found


@compiled
def _best_rival(noisy, pulls, arm, step, epsilon):
    """Return the highest index of the other arms, which only grows while they rest."""
    best = -np.inf
    for other in range(noisy.size):
        if other != arm:
            best = max(best, index(noisy[other], pulls[other], step, epsilon))
    return best


@compiled
def close_block(state, path, noises, pulls, size, epsilon):
    """Draw the noise that survives an aligned block of pulls.

    `noises` has what is in the total from the powers of two, and from the open tree. A power of two ends the tree.

    Args:
        state: The generator's state, which is advanced.
        path: The arm's path of tree noises, which is updated.
        noises: The noise of the powers of two, and of the open tree, which are updated.
        pulls: The pulls before.
        size: The pulls in the block.
        epsilon: The policy's epsilon.
    """
    end = pulls + size
    if end & (end - 1) == 0:
        noises[0] += laplace(state, 2 / epsilon)
        noises[1] = 0.0
    else:
        tree, own = _place_of(pulls)
        noises[1] = add_node(path, own + size, laplace(state, _tree_scale(tree, epsilon)))


@compiled
def reference(chances, horizon, state, checkpoints, epsilon):
    """Play one step at a time, as the policy object does, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        epsilon: The policy's epsilon.
    """
    arms = chances.size
    totals, noisy, pulls = np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64)
    noises, paths = np.zeros((arms, 2)), np.zeros((arms, 64))
    counts = np.zeros((checkpoints.size, arms), np.int64)
    mark = np.int64(0)
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else leader(noisy, pulls, time, epsilon)
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        close_block(state, paths[arm], noises[arm], pulls[arm], 1, epsilon)
        noisy[arm] = totals[arm] + noises[arm].sum()
        pulls[arm] += 1
        mark = note(counts, checkpoints, mark, pulls, arm, time)
    return counts


@compiled
def visit(state, table, coarse, limits, path, noises, chance, total, pulls, rival, step, epsilon, most):
    """Pull the leader, block by block, for as long as it surely leads, and return its total and the pulls.

    As for DP-UCB, whose relaxation is here the radius at the block's start and the visit's first step: a lower bound.

    Args:
        state: The generator's state, which is advanced.
        table: The table of `log_table`.
        coarse: The table of `coarse_table`.
        limits: For each level, the depth at which its blocks are worth a try.
        path: The arm's path of tree noises, which is updated.
        noises: The noise of the powers of two, and of the open tree, which are updated.
        chance: The arm's mean.
        total: The arm's exact total.
        pulls: The pulls before.
        rival: An upper bound on the other arms' indices.
        step: The first step.
        epsilon: The policy's epsilon.
        most: The largest number of pulls.
    """
    done, waiting, ceiling, spread, log_step = 0, 0, tree_minimum.LEVELS, exploration(step, 0.0), math.log(step)
    while done < most:
        n = pulls + done
        tree, own = _place_of(n)
        scale = _tree_scale(tree, epsilon)
        level = -1
        if n:
            base = total + noises[0] + noises[1] + _radius(n, log_step, epsilon)
            level, depth = choose_level(limits, n, base, rival, spread, scale, ceiling, most - done)
        if level < 0 and waiting == 0 and done > 0:
            break  # caught, or nearly: all indices are computed again
        if level < 0 and waiting == 0:
            level = 0  # it leads now, so one pull is its own
        if level >= 0:
            size = 1 << level
            if level > 0 and breaches(state, table, coarse, level, depth):
                noises[1], size = first_breach(state, table, path, own, scale, level, depth)
            else:
                close_block(state, path, noises, n, size, epsilon)
            done += size
            waiting += size
            ceiling = min(level + 2, tree_minimum.LEVELS)
        if level < 0 or level >= _PATIENT:
            total += binomial(state, waiting, chance)
            waiting = 0
    return total + (binomial(state, waiting, chance) if waiting else 0), done


@compiled
def _skip_ahead(chances, horizon, state, checkpoints, epsilon, table, coarse, limits):
    arms = chances.size
    totals, noisy, pulls = np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64)
    noises, paths = np.zeros((arms, 2)), np.zeros((arms, 64))
    counts = np.zeros((checkpoints.size, arms), np.int64)
    least = np.int64(_SMALLEST_WINDOW)
    mark, time, window = np.int64(0), np.int64(0), least
    while time < horizon:
        if time < arms:
            arm, most, rival = time, 1, 0.0
        else:
            arm = leader(noisy, pulls, time + 1, epsilon)
            most = min(window, horizon - time)
            rival = _best_rival(noisy, pulls, arm, time + most, epsilon)
        totals[arm], done = visit(
            state, table, coarse, limits, paths[arm], noises[arm], chances[arm], totals[arm], pulls[arm], rival,
            time + 1, epsilon, most,
        )  # fmt: skip
        noisy[arm] = totals[arm] + noises[arm].sum()
        pulls[arm] += done
        time += done
        mark = note(counts, checkpoints, mark, pulls, arm, time)
        # Never far compared with the time: the rivals' indices grow with its logarithm.
        window = next_block(window, done, most, least, max(time // 16, least))
    return counts


def skip_ahead(chances: Any, horizon: int, state: Any, checkpoints: Any, epsilon: float) -> Any:
    """Pass aligned blocks of pulls whole, unless the open tree's noise sinks low enough to matter; exact in
    distribution.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        epsilon: The policy's epsilon.
    """
    tables = tree_minimum.log_table(), tree_minimum.coarse_table(), tree_minimum.depths_of(_RARE)
    return _skip_ahead(chances, horizon, state, checkpoints, epsilon, *tables)


def program(policy: DPHybridUCB, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    return partial(skip_ahead, instance.means, epsilon=policy.epsilon)

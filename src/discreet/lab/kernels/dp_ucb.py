"""DP-UCB with Bernoulli arms, compiled: reference, lazy and skip-ahead, for any preset and any relaxation.

An arm with n pulls, total S and tree noise N has the index (S + N + relaxation)/n + sqrt(2 ln t / n); a `fixed`
above 0 replaces sqrt(2 ln t), for the thesis's index. Every kernel gives how often each arm was pulled by each
checkpoint. Noise is a continuous Laplace of the tree's scale: the object's lies on a grid a millionth of a
reward wide, which is nothing beside it.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from discreet.bandits import DPUCB
from discreet.lab.kernels import tree_minimum
from discreet.lab.kernels.race import SLACK, best_rival, leader, next_block, note
from discreet.lab.kernels.randomness import bernoulli, binomial, laplace, threshold, uniform
from discreet.lab.kernels.tree_minimum import log_chance, next_height

_SMALLEST_LEVEL = 3
_SMALLEST = 1 << _SMALLEST_LEVEL  # blocks of at least 8 pulls
_RARE = math.log(0.05)  # a block is tried when its noise sinks too low with at most this chance


def constants(policy: DPUCB) -> tuple[float, float, float]:
    """The noise scale, relaxation and fixed exploration of a policy object, for the kernels.

    >>> from discreet import SimulatedNoise
    >>> constants(DPUCB(range(5), epsilon=0.5, horizon=1000, preset="thesis", noise=SimulatedNoise(0)))
    (20.0, 780.6305864171396, 3.8989492070408103)
    """
    counter: Any = policy._counters[0]
    fixed = math.sqrt(2 * math.log(2 / policy.gamma)) if policy.preset == "thesis" else 0.0
    return counter.levels / counter.epsilon, policy.relaxation, fixed


@njit(inline="always")
def exploration(step, fixed):
    """What every bonus shares."""
    return fixed if fixed > 0 else math.sqrt(2 * math.log(step))


@njit(inline="always")
def trailing_zeros(number):
    """How often 2 divides a positive number."""
    zeros = 0
    while number & 1 == 0:
        number >>= 1
        zeros += 1
    return zeros


@njit
def add_node(path, pulls, noise):
    """The tree's noise after pull n, whose new node has this noise.

    It is the noise at n without its lowest set bit, plus the new node's; `path` keeps the noise at the last n of
    each lowest bit, which is all that later pulls ask for.
    """
    level = trailing_zeros(pulls)
    rest = pulls >> (level + 1)
    before = path[level + 1 + trailing_zeros(rest)] if rest else 0.0
    path[level] = before + noise
    return path[level]


@njit
def reference(chances, horizon, state, checkpoints, scale, relaxation, fixed):
    """One step at a time, as the policy object does it."""
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    means, roots, paths = np.zeros(arms), np.zeros(arms), np.zeros((arms, 64))
    counts = np.zeros((checkpoints.size, arms), np.int64)
    place = 0
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else leader(means, roots, exploration(time, fixed))
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        pulls[arm] += 1
        noise = add_node(paths[arm], pulls[arm], laplace(state, scale))
        means[arm] = (totals[arm] + noise + relaxation) / pulls[arm]
        roots[arm] = 1 / math.sqrt(pulls[arm])
        place = note(counts, checkpoints, place, pulls, arm, time)
    return counts


@njit
def run_of_pulls(state, path, limit, total, pulls, relaxation, rival, spread, scale, most):
    """Pull one arm while its index surely stays above `rival`; gives its total, its noise and the pulls made.

    `rival` bounds the others' indices for the whole run, and `spread` is the exploration at its first step, a
    lower bound for all of it.
    """
    done = 0
    while True:
        total += bernoulli(state, limit)
        done += 1
        n = pulls + done
        noise = add_node(path, n, laplace(state, scale))
        if done == most or not total + noise + relaxation + spread * math.sqrt(n) - rival * n > 1e-9 * n:
            return total, noise, done


@njit
def lazy(chances, horizon, state, checkpoints, scale, relaxation, fixed):
    """Draws the same rewards and noise in the same order as the reference, and looks at the others when it must."""
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    means, roots, paths = np.zeros(arms), np.zeros(arms), np.zeros((arms, 64))
    counts = np.zeros((checkpoints.size, arms), np.int64)
    place, time, block = 0, 0, 64
    while time < horizon:
        if time < arms:
            arm, size, rival, spread = time, 1, 0.0, 0.0
        else:
            spread = exploration(time + 1, fixed)
            arm = leader(means, roots, spread)
            size = min(block, horizon - time)
            rival = best_rival(means, roots, arm, exploration(time + size, fixed))
        totals[arm], noise, done = run_of_pulls(
            state, paths[arm], threshold(chances[arm]), totals[arm], pulls[arm], relaxation, rival, spread, scale, size
        )
        pulls[arm] += done
        time += done
        means[arm] = (totals[arm] + noise + relaxation) / pulls[arm]
        roots[arm] = 1 / math.sqrt(pulls[arm])
        place = note(counts, checkpoints, place, pulls, arm, time)
        block = next_block(block, done, size)
    return counts


@njit
def choose_level(table, means, roots, arm, time, pulls, base, scale, fixed, most):
    """The largest aligned block whose noise rarely sinks too low, and how low that is, in noise scales; -1: none.

    In a block of m = 2^q pulls from n, let G be the rivals' best index at its end minus the leader's smallest
    bonus. Rewards are at least 0, so the leader stays ahead as long as base + W(k) > (n + k) G, for which
    W(k) > -x is enough, with x = base - (n + m) G, or base - n G where G is negative.
    """
    level = trailing_zeros(pulls)
    while (1 << level) > most or level > tree_minimum.LEVELS:
        level -= 1
    while level >= _SMALLEST_LEVEL:
        size = 1 << level
        spread = exploration(time + 1 + size, fixed)
        gap = best_rival(means, roots, arm, spread) - spread / math.sqrt(pulls + size) * SLACK
        depth = (base - (pulls + size if gap >= 0 else pulls) * gap) / scale
        if depth > 0 and log_chance(table, level, depth) < _RARE:
            return level, depth
        level -= 1
    return -1, 0.0


@njit
def skip_block(state, table, path, chance, total, pulls, scale, level, depth):
    """Pull an aligned block of one arm up to its end, or to the first pull at which its noise sinks to -depth.

    With probability 1 - T the noise stays above, and then only the block's last node survives it: a fresh one.
    Otherwise walk down to the first breach. Given a breach in a block, its left half has it with probability
    T(left)/T(block); if not, the left half is passed whole and its node is drawn given a breach on the right.
    Gives the arm's total, its noise and the pulls made.
    """
    chance_here = log_chance(table, level, depth)
    if math.log(uniform(state)) > chance_here:
        size = 1 << level
        total += binomial(state, size, chance)
        return total, add_node(path, pulls + size, laplace(state, scale)), size
    done = 0
    while True:
        level -= 1
        on_the_left = log_chance(table, level, depth)
        if level > 0 and math.log(uniform(state)) < on_the_left - chance_here:
            chance_here = on_the_left
            continue
        half = 1 << level
        total += binomial(state, half, chance)
        done += half
        height = next_height(state, table, level, depth)
        noise = add_node(path, pulls + done, (height - depth) * scale)
        if height <= 0:
            return total, noise, done
        depth = height
        chance_here = log_chance(table, level, depth)


@njit
def _skip_ahead(chances, horizon, state, checkpoints, scale, relaxation, fixed, table):
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    noises, means, roots, paths = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros((arms, 64))
    counts = np.zeros((checkpoints.size, arms), np.int64)
    place, time = 0, 0
    while time < horizon:
        level, depth, arm, most, rival, spread = -1, 0.0, time, 1, 0.0, 0.0
        if time >= arms:
            spread = exploration(time + 1, fixed)
            arm = leader(means, roots, spread)
            base = totals[arm] + noises[arm] + relaxation
            left = horizon - time
            level, depth = choose_level(table, means, roots, arm, time, pulls[arm], base, scale, fixed, left)
            if level < 0:
                # A few single pulls, up to where a block may start.
                most = min(left, _SMALLEST - pulls[arm] % _SMALLEST)
                rival = best_rival(means, roots, arm, exploration(time + most, fixed))
        if level >= 0:
            totals[arm], noises[arm], done = skip_block(
                state, table, paths[arm], chances[arm], totals[arm], pulls[arm], scale, level, depth
            )
        else:
            totals[arm], noises[arm], done = run_of_pulls(
                state, paths[arm], threshold(chances[arm]), totals[arm], pulls[arm], relaxation, rival, spread, scale,
                most,
            )  # fmt: skip
        pulls[arm] += done
        time += done
        means[arm] = (totals[arm] + noises[arm] + relaxation) / pulls[arm]
        roots[arm] = 1 / math.sqrt(pulls[arm])
        place = note(counts, checkpoints, place, pulls, arm, time)
    return counts


def skip_ahead(
    chances: Any, horizon: int, state: Any, checkpoints: Any, scale: float, relaxation: float, fixed: float
) -> Any:
    """Passes aligned blocks of pulls whole, unless the tree's noise sinks low enough to matter; exact in law.

    Uses that the noises inside a block are thrown away at its end, and that their minimum has a known law.
    """
    return _skip_ahead(chances, horizon, state, checkpoints, scale, relaxation, fixed, tree_minimum.log_table())

"""DP-UCB on hybrid counters with arms of any kind, compiled: every step is taken, as the object would take it.

A counter's noises have many scales, each with a supply of its own. The object's source draws 64 at a time where a scale
has run out, and so does this one, so that the draws are the very same.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from typing import Any, NamedTuple

import numpy as np

from discreet.core.noise import SimulatedNoise, scale_for
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull
from discreet.lab.kernels.randomness import ones_of

_LEVELS = 63
_BLOCK = 64  # draws of a scale at a time
_FIRST, _MOST = 256, 65_536  # rewards of an arm that are drawn at a time


class Counters(NamedTuple):
    """The hybrid counter of each arm, in steps.

    Attributes:
        totals: The released total.
        base: The released total up to the last power of two.
        block: The exact sum since then.
        exact: The exact sum of each open node of the tree since then, by arm and level.
        noisy: The released nodes in the total, by arm and level.
    """

    totals: Any
    base: Any
    block: Any
    exact: Any
    noisy: Any


@compiled
def tree_of(pulls):
    """Return k for a number of pulls from 2^k on, and below 2^(k + 1)."""
    tree = 0
    while pulls >> (tree + 1):
        tree += 1
    return tree


@compiled
def error_bound(pulls, time, epsilon):
    """Return `laplace_sum_radius` of the noises in a total of so many pulls, at beta = t^-4.

    Args:
        pulls: The arm's pulls.
        time: The time step.
        epsilon: The counter's epsilon.
    """
    tree = tree_of(pulls)
    single, larger = 2 / epsilon, 2 * tree / epsilon
    ones = ones_of(np.uint64(pulls - (1 << tree)))
    variance = 0.0
    for _ in range(tree + 1):
        variance += single * single
    for _ in range(ones):
        variance += larger * larger
    log = math.log(2 / np.float64(time) ** -4.0)
    largest = max(single, larger) if ones else single
    s = min(math.sqrt(log / (1.5 * variance)), 1 / (math.sqrt(2) * largest))
    return log / s + 1.5 * s * variance


@compiled
def choose(counters, pulls, time, width, epsilon):
    """Return the arm of the largest index at a time step.

    Args:
        counters: The counters.
        pulls: The pulls of each arm.
        time: The time step, from 1.
        width: The grid's width in steps.
        epsilon: The counters' epsilon.
    """
    if time <= pulls.size:
        return time - 1
    found, best = np.int64(0), -np.inf
    for arm in range(pulls.size):
        count = pulls[arm]
        mean = counters.totals[arm] / (count * width)
        value = mean + math.sqrt(2 * math.log(time) / count) + error_bound(count, time, epsilon) / count
        if value > best:
            best, found = value, np.int64(arm)
    return found


@compiled
def add_to_tree(table, arm, count, item, noise):
    """Add an item to an arm's tree, and put the node that it completes, with its noise, into the released total.

    Args:
        table: Each arm's released total and open nodes, as in `Counters`, which are updated.
        arm: The arm's index.
        count: The number of the item, from 1.
        item: The item in steps.
        noise: The node's noise.
    """
    level, total = 0, item
    while (count >> level) & 1 == 0:
        total += table.exact[arm, level]
        table.totals[arm] -= table.noisy[arm, level]
        table.exact[arm, level] = 0
        table.noisy[arm, level] = 0
        level += 1
    table.exact[arm, level] = total
    table.noisy[arm, level] = total + noise
    table.totals[arm] += total + noise


@compiled
def add(counters, arm, count, item, noise):
    """Add an item to an arm's counter, and its node, with its noise, to the released total.

    Args:
        counters: The counters, which are updated.
        arm: The arm's index.
        count: The number of the item, from 1.
        item: The item in steps.
        noise: The node's noise.
    """
    counters.block[arm] += item
    if count & (count - 1) == 0:
        counters.base[arm] += counters.block[arm] + noise
        counters.totals[arm] = counters.base[arm]
        counters.block[arm] = 0
        counters.exact[arm, :] = 0
        counters.noisy[arm, :] = 0
        return
    add_to_tree(counters, arm, count - (1 << tree_of(count)), item, noise)


@compiled
def go_on(horizon, width, epsilon, track, counters, used, rewards, noises):
    """Pull until the horizon, or until a supply has run out, and return which.

    Args:
        horizon: The number of pulls.
        width: The grid's width in steps.
        epsilon: The counters' epsilon.
        track: The pulls so far, which is updated.
        counters: The counters, which are updated.
        used: What was used of each arm's rewards, and then of the noises of each scale.
        rewards: The supply of each arm's rewards, by arm, in steps; each row ends with its size.
        noises: The supply of noises of scale 2 k width/epsilon, by k.

    Returns:
        The arm's index, the number of arms plus k for noises, or -1 at the end.
    """
    arms = track.pulls.size
    while track.clock[0] < horizon:
        arm = choose(counters, track.pulls, track.clock[0] + 1, width, epsilon)
        if used[arm] == rewards[arm, -1]:
            return arm
        count = track.pulls[arm] + 1
        scale = 1 if count & (count - 1) == 0 else max(tree_of(count), 1)
        if used[arms + scale] == noises.shape[1]:
            return np.int64(arms + scale)
        add(counters, arm, count, rewards[arm, used[arm]], noises[scale, used[arms + scale]])
        used[arm] += 1
        used[arms + scale] += 1
        pull(track, arm, np.int64(1))
    return np.int64(-1)


def run(policy: Any, supplies: Any, noise: Any, checkpoints: Any) -> Any:
    """Simulate one run, and return the pulls by checkpoint and arm.

    Args:
        policy: The policy.
        supplies: For each arm, a function from a number to so many of its next rewards.
        noise: The seed of the noise.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    arms, width, source = len(supplies), policy.grid.width, SimulatedNoise(noise)
    track, shape = new_track(arms, checkpoints), (arms, _LEVELS)
    counters = Counters(*(np.zeros(size, np.int64) for size in (arms, arms, arms, shape, shape)))
    stock, sizes = np.zeros((arms, _MOST + 1), np.int64), [_FIRST] * arms
    noises, used = np.zeros((_LEVELS, _BLOCK), np.int64), np.zeros(arms + _LEVELS, np.int64)
    used[arms:] = _BLOCK
    fixed = (np.int64(policy.horizon), width, policy.epsilon, track, counters, used, stock, noises)
    while (needy := int(go_on(*fixed))) >= 0:
        used[needy] = 0
        if needy > arms:
            noises[needy - arms] = source.draws(scale_for(2 * (needy - arms) * width, policy.epsilon), _BLOCK)
            continue
        stock[needy, : sizes[needy]], stock[needy, -1] = supplies[needy](sizes[needy]), sizes[needy]
        sizes[needy] = min(4 * sizes[needy], _MOST)
    return track.counts

"""Common parts of kernels: the pulls at checkpoints, and for UCB and its like the leader and its best rival.

An arm's index is its mean plus `spread` times its root, one over the square root of its pulls.

Counters of kernels start as `np.int64(0)`: a plain 0 would compile the functions that take them a second time.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from typing import Any, NamedTuple

import numpy as np

from discreet.lab.kernels.compiled import compiled

SLACK = 1 - 1e-12  # certificates are compared with a little room for rounding


@compiled
def leader(means, roots, spread):
    """Return the arm with the highest index; ties go to the first.

    Args:
        means: The arms' means.
        roots: 1/sqrt(pulls) of each arm.
        spread: The exploration.
    """
    best, found = -np.inf, 0
    for arm in range(means.size):
        value = means[arm] + spread * roots[arm]
        if value > best:
            best, found = value, arm
    return found


@compiled
def best_rival(means, roots, arm, spread):
    """Return the highest index of the other arms, which only grows while they rest.

    Args:
        means: The arms' means.
        roots: 1/sqrt(pulls) of each arm.
        arm: The arm's index.
        spread: The exploration.
    """
    best = -np.inf
    for other in range(means.size):
        if other != arm:
            value = means[other] + spread * roots[other]
            best = max(best, value)
    return best


@compiled
def next_block(block, done, size, least, largest):
    """Return how far to look ahead next: further after a whole block, less far after a small part of one.

    Args:
        block: The pulls that were looked ahead.
        done: Those of them that were made.
        size: Those that were planned.
        least: The smallest result.
        largest: The largest result.
    """
    if done == size:
        return min(2 * block, largest)
    return max(block // 2, least) if done < size // 4 else block


class Track(NamedTuple):
    """The pulls of a run.

    Attributes:
        pulls: The pulls of each arm.
        counts: The pulls by checkpoint and arm.
        checkpoints: Times at which pulls are recorded, sorted.
        clock: The time, and the index of the next checkpoint.
    """

    pulls: Any
    counts: Any
    checkpoints: Any
    clock: Any


@compiled
def new_track(arms, checkpoints):
    """Return the track of a run before its first pull.

    Args:
        arms: The number of arms.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    counts = np.zeros((checkpoints.size, arms), np.int64)
    return Track(np.zeros(arms, np.int64), counts, checkpoints, np.zeros(2, np.int64))


@compiled
def _record(track, mark):
    """Record the pulls at a checkpoint: `counts[mark] = pulls`, which takes numba seconds to compile."""
    for arm in range(track.pulls.size):
        track.counts[mark, arm] = track.pulls[arm]


@compiled
def pull(track, arm, count):
    """Count pulls of one arm, record the checkpoints among them, and return the time after them.

    Args:
        track: The track, which is updated.
        arm: The arm's index.
        count: The number of pulls.
    """
    track.pulls[arm] += count
    track.clock[0] += count
    time, mark = track.clock[0], track.clock[1]
    while mark < track.checkpoints.size and track.checkpoints[mark] <= time:
        _record(track, mark)
        track.counts[mark, arm] -= time - track.checkpoints[mark]
        mark += 1
    track.clock[1] = mark
    return time


@compiled
def take_turns(track, order, count):
    """Count pulls of arms that take turns, record the checkpoints among them, and return the time after them.

    Args:
        track: The track, which is updated.
        order: The arms' indices, in the order of their turns.
        count: The number of pulls of all of them together.
    """
    before, time, mark, inside = track.pulls.copy(), track.clock[0], track.clock[1], True
    while inside:
        inside = mark < track.checkpoints.size and track.checkpoints[mark] <= time + count
        done = track.checkpoints[mark] - time if inside else count
        for turn, arm in enumerate(order):
            track.pulls[arm] = before[arm] + (done + order.size - 1 - turn) // order.size
        if inside:
            _record(track, mark)
            mark += 1
    track.clock[:] = time + count, mark
    return time + count

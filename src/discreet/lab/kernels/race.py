"""Common parts of the UCB kernels: the leader, its best rival, and the counts at checkpoints.

An arm's index is its mean plus `spread` times its root, one over the square root of its pulls.

Counters of kernels start as `np.int64(0)`: a plain 0 would compile the functions that take them a second time.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
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


@compiled
def record(counts, mark, pulls):
    """Record the pulls at a checkpoint: `counts[mark] = pulls`, which takes numba seconds to compile.

    Args:
        counts: The pulls by checkpoint and arm, which are written.
        mark: The index of the checkpoint.
        pulls: The pulls of each arm.
    """
    for arm in range(pulls.size):
        counts[mark, arm] = pulls[arm]


@compiled
def note(counts, checkpoints, mark, pulls, arm, time):
    """Record the checkpoints up to a time, when the last pulls were all of one arm, and return the index of the next
    checkpoint.

    Args:
        counts: The pulls by checkpoint and arm, which are written.
        checkpoints: Times at which pulls are recorded, sorted.
        mark: The index of the next checkpoint.
        pulls: The pulls of each arm.
        arm: The arm of the last pulls.
        time: The time.
    """
    while mark < checkpoints.size and checkpoints[mark] <= time:
        record(counts, mark, pulls)
        counts[mark, arm] -= time - checkpoints[mark]
        mark += 1
    return mark

"""What the UCB kernels share: who leads, who comes next, and the counts at checkpoints.

An arm's index is its mean plus `spread` times its root, one over the square root of its pulls.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from __future__ import annotations

import numpy as np

from discreet.lab.kernels.compiled import compiled

SLACK = 1 - 1e-12  # certificates are compared with a little room for rounding


@compiled
def leader(means, roots, spread):
    """The arm with the highest index; ties go to the first."""
    best, found = -np.inf, 0
    for arm in range(means.size):
        value = means[arm] + spread * roots[arm]
        if value > best:
            best, found = value, arm
    return found


@compiled
def best_rival(means, roots, arm, spread):
    """The highest index of the other arms, which only grows while they rest."""
    best = -np.inf
    for other in range(means.size):
        if other != arm:
            value = means[other] + spread * roots[other]
            best = max(best, value)
    return best


@compiled
def next_block(block, done, size, least, largest):
    """How far to look ahead next: further after a whole block, less far after a small part of one."""
    if done == size:
        return min(2 * block, largest)
    return max(block // 2, least) if done < size // 4 else block


@compiled
def note(counts, checkpoints, place, pulls, arm, time):
    """Write the checkpoints up to `time`, when the last pulls were all of one arm; gives the next open one."""
    while place < checkpoints.size and checkpoints[place] <= time:
        for each in range(pulls.size):
            counts[place, each] = pulls[each]
        counts[place, arm] -= time - checkpoints[place]
        place += 1
    return place

"""Lazy-UCB with Bernoulli arms, compiled, and the blocks of all lazy policies.

Blocks are of 1, 2, 4, ... rewards of an arm, each released once and alone.

Arm j has the released mean m_j of its last whole block of n_j rewards, and at step t the index
m + sqrt(3 ln(t)/n) + 3 ln(t)/(epsilon n). Between two releases an index grows with ln(t) alone, and faster for smaller
n: an arm that has lost the lead does not win it back, so the step at which it does is found by bisection.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import AnytimeLazyUCB
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull
from discreet.lab.kernels.randomness import binomial, laplace


@compiled
def fill(state, chances, means, sizes, missing, epsilon, arm, count):
    """Put rewards into an arm's block, and return whether it is full, and then released.

    A block's rewards decide nothing before it is full, so they are one binomial then. Noise is a continuous Laplace:
    the objects' lies on a grid a millionth of a reward wide, which is nothing beside it.

    Args:
        state: The generator's state, which is advanced.
        chances: The arms' means.
        means: The released mean of each arm's last whole block, which is updated.
        sizes: The size of each arm's last whole block, which is updated.
        missing: The rewards that each arm's open block still needs.
        epsilon: The policy's epsilon.
        arm: The arm's index.
        count: The number of rewards.
    """
    missing[arm] -= count
    if missing[arm]:
        return False
    size = max(1, 2 * sizes[arm])
    means[arm] = (binomial(state, size, chances[arm]) + laplace(state, 1 / epsilon)) / size
    sizes[arm], missing[arm] = size, 2 * size
    return True


@compiled
def leader(means, sizes, epsilon, step):
    """Return the arm with the highest index at a step; ties go to the first.

    Args:
        means: The released mean of each arm's last whole block.
        sizes: The size of each arm's last whole block.
        epsilon: The policy's epsilon.
        step: The step.
    """
    best, found, log_step = -np.inf, 0, 3 * math.log(step)
    for arm in range(means.size):
        rate = log_step / sizes[arm]
        value = means[arm] + math.sqrt(rate) + rate / epsilon
        if value > best:
            best, found = value, arm
    return found


@compiled
def lead_until(means, sizes, epsilon, arm, step, last):
    """Return the last step at which the arm that leads at `step` still does.

    Args:
        means: The released mean of each arm's last whole block.
        sizes: The size of each arm's last whole block.
        epsilon: The policy's epsilon.
        arm: The arm's index.
        step: The first step.
        last: The last step to look at.
    """
    if leader(means, sizes, epsilon, last) == arm:
        return last
    while last - step > 1:  # it leads at `step`, and at `last` no more
        middle = (step + last) // 2
        if leader(means, sizes, epsilon, middle) == arm:
            step = middle
        else:
            last = middle
    return step


@compiled
def skip_ahead(chances, horizon, state, checkpoints, epsilon):
    """Pass all steps whole up to the next change of the lead or release, as the policy object does, and return the
    pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        epsilon: The policy's epsilon.
    """
    arms, time, track = chances.size, np.int64(0), new_track(chances.size, checkpoints)
    means, sizes, missing = np.zeros(arms), np.zeros(arms, np.int64), np.ones(arms, np.int64)
    while time < horizon:
        arm, until = time, time + 1
        if time >= arms:
            arm = leader(means, sizes, epsilon, time + 1)
            until = lead_until(means, sizes, epsilon, arm, time + 1, min(time + missing[arm], horizon))
        fill(state, chances, means, sizes, missing, epsilon, arm, until - time)
        time = pull(track, arm, until - time)
    return track.counts


def program(policy: AnytimeLazyUCB, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(skip_ahead, chances, epsilon=policy.epsilon)

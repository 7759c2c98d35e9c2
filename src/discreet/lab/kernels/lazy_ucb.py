"""Lazy-UCB with Bernoulli arms, compiled: reference and skip-ahead, which draw the same numbers in the same order.

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
from discreet.lab.instances import Instance
from discreet.lab.kernels.blocks import fill
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import note


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
    means, sizes, missing = np.zeros(arms), np.zeros(arms, np.int64), np.ones(arms, np.int64)
    pulls, counts = np.zeros(arms, np.int64), np.zeros((checkpoints.size, arms), np.int64)
    mark = np.int64(0)
    for step in range(1, horizon + 1):
        arm = step - 1 if step <= arms else leader(means, sizes, epsilon, step)
        fill(state, chances, means, sizes, missing, epsilon, arm, 1)
        pulls[arm] += 1
        mark = note(counts, checkpoints, mark, pulls, arm, step)
    return counts


@compiled
def skip_ahead(chances, horizon, state, checkpoints, epsilon):
    """Pass all steps whole up to the next change of the lead or release, as the policy object does.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        epsilon: The policy's epsilon.
    """
    arms = chances.size
    means, sizes, missing = np.zeros(arms), np.zeros(arms, np.int64), np.ones(arms, np.int64)
    pulls, counts = np.zeros(arms, np.int64), np.zeros((checkpoints.size, arms), np.int64)
    mark, time = np.int64(0), np.int64(0)
    while time < horizon:
        arm, until = time, time + 1
        if time >= arms:
            arm = leader(means, sizes, epsilon, time + 1)
            until = lead_until(means, sizes, epsilon, arm, time + 1, min(time + missing[arm], horizon))
        fill(state, chances, means, sizes, missing, epsilon, arm, until - time)
        pulls[arm] += until - time
        time = until
        mark = note(counts, checkpoints, mark, pulls, arm, time)
    return counts


def program(policy: AnytimeLazyUCB, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    return partial(skip_ahead, instance.means, epsilon=policy.epsilon)

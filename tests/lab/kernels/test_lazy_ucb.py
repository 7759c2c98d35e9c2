"""Lazy-UCB's kernel pulls as the object does, and as a program that decides at every step."""

import numpy as np
import pytest

import discreet
from discreet.lab.kernels import lazy_ucb, randomness
from discreet.lab.kernels.randomness import fresh_state
from tests._tools.kernel_tools import PRIVATE, Driven, Handed, marks, planted
from tests._tools.step_by_step import play_lazy_ucb

JOBS = [(epsilon, seed) for epsilon in (0.05, 0.5, 5.0, 50.0) for seed in range(3)]


def same_as_the_object(kernel, means, horizon, epsilon, seed):
    """Whether a kernel pulls as the policy object does, at the end of each of its epochs.

    The object is handed the kernel's draws: a block's rewards and noise as its noise, beside rewards of 0.
    """
    policy, noise = discreet.AnytimeLazyUCB(range(len(means)), epsilon=epsilon, horizon=horizon), Handed()
    driven, state, ends, pulls = Driven(policy, noise), fresh_state(seed), [], []
    while plan := policy.plan():
        for arm, count in plan.pulls.items() if plan.learns else ():
            if arm not in plan.query.held:
                ones = randomness.binomial(state, policy.unreleased[arm] + count, means[arm])
                noise.values.append(round((ones + randomness.laplace(state, 1 / epsilon)) * policy.grid.width))
        driven.close_steps(dict.fromkeys(plan.pulls, 0))
        ends.append(policy.time)
        pulls.append(list(policy.pulls))
    return kernel(means, horizon, fresh_state(seed), np.array(ends), epsilon).tolist() == pulls


@pytest.mark.parametrize("name", PRIVATE)
def test_the_kernel_is_the_object_pull_by_pull(name):
    for epsilon, seed in JOBS:
        assert same_as_the_object(lazy_ucb.skip_ahead, PRIVATE[name], 1_000_003, epsilon, seed)


@pytest.mark.parametrize("name", PRIVATE)
def test_passing_steps_whole_is_deciding_step_by_step(name):
    horizon = 50_000
    points = marks(horizon)
    for epsilon, seed in JOBS:
        slow = play_lazy_ucb(PRIVATE[name], horizon, fresh_state(seed), points, epsilon)
        fast = lazy_ucb.skip_ahead(PRIVATE[name], horizon, fresh_state(seed), points, epsilon)
        assert (slow == fast).all()
        assert (slow.sum(axis=1) == points).all()


def to_the_end_of_the_block(means, sizes, epsilon, arm, step, last):
    """Commits itself, as AdaP-UCB does."""
    return last


lead_until = lazy_ucb.lead_until


def a_step_too_long(means, sizes, epsilon, arm, step, last):
    """Keeps the lead one step too long."""
    return min(lead_until(means, sizes, epsilon, arm, step, last) + 1, last)


@pytest.mark.study
@pytest.mark.parametrize(
    "wrong",
    [
        {"lead_until": a_step_too_long},
        {"lead_until": to_the_end_of_the_block},
        {"laplace": lambda state, scale: randomness.laplace(state, 1.01 * scale)},
        {"binomial": lambda state, count, mean: randomness.binomial(state, count, 0.99 * mean)},
    ],
)
def test_planted_errors_are_noticed(wrong):
    kernel, means = planted(lazy_ucb, **wrong).skip_ahead, PRIVATE["C2, K = 5"]
    assert not all(same_as_the_object(kernel, means, 100_003, *job) for job in JOBS)

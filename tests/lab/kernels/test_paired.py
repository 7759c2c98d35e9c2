"""DP-Paired-IMED's kernel pulls as the object does, pull by pull."""

import numpy as np
import pytest

import discreet
from discreet.core.noise import scale_for
from discreet.lab.kernels import batched, paired, randomness
from discreet.lab.kernels.randomness import discrete_laplace, fresh_state
from discreet.lab.runs import Track
from tests._tools.kernel_tools import PRIVATE, Driven, Handed, planted


def same_as_the_object(means, horizon, seed, kernel=paired, **options):
    """Whether the kernel pulls as the policy object does, in each pull of a short run or at the end of each epoch."""
    policy, noise = discreet.DPPairedIMED(range(len(means)), horizon=horizon, **options), Handed()
    width, early = policy.grid.width, np.arange(1, min(horizon, 2000) + 1)
    driven, state, track = Driven(policy, noise), fresh_state(seed), Track(policy.arms, early.tolist())
    program = kernel.program(policy, means)
    ends, pulls = [], []
    while plan := policy.plan():
        totals = {}
        for arm, count in plan.pulls.items() if plan.learns else ():
            totals[arm] = randomness.binomial(state, count, means[arm]) * width
            noise.values.append(discrete_laplace(state, scale_for(width, policy.epsilon)))
        driven.close_steps(totals)
        track.pull(plan.pulls, plan.size)
        ends.append(policy.time)
        pulls.append(list(policy.pulls))
    late = program(horizon, fresh_state(seed), np.array(ends))
    return (program(horizon, fresh_state(seed), early) == track.counts).all() and late.tolist() == pulls


JOBS = [
    (20_011, 1, {"epsilon": 0.1}),
    (1_000_003, 2, {"epsilon": 0.1}),
    (1_000_003, 3, {"epsilon": 1.0}),
    (1_000_003, 4, {"epsilon": 20.0}),
    (100_003, 5, {"epsilon": 1.0, "first_batch": 1, "ratio": 1.2}),
    (100_003, 6, {"epsilon": 0.3, "first_batch": 7, "ratio": 3.0}),
    (1000, 7, {"epsilon": 1.0, "first_batch": 400}),
]


@pytest.mark.parametrize("name", PRIVATE)
def test_the_kernel_is_the_object_pull_by_pull(name):
    for horizon, seed, options in JOBS:
        assert same_as_the_object(PRIVATE[name], horizon, seed, **options)


challenger_of = paired.challenger_of


def never_satisfied(parameters, lead, pairs, shared, leader, pulls):
    """Tries challengers a little too long."""
    return challenger_of(parameters, lead, pairs, shared, leader, 2 * pulls)


def as_if_without_noise(parameters, lead, pairs, shared, one, other):
    """Evidence that forgets one of the noises."""
    return paired.paired_exponent(
        lead[one, other], float(pairs[one, other]), 2 * shared[one, other] - 1, parameters.epsilon
    )


@pytest.mark.study
@pytest.mark.parametrize(
    "wrong",
    [
        {"challenger_of": never_satisfied},
        {"evidence": as_if_without_noise},
        {"binomial": lambda state, count, mean: randomness.binomial(state, count, 0.99 * mean)},
        {"discrete_laplace": lambda state, scale: randomness.discrete_laplace(state, 1.01 * scale)},
    ],
)
def test_planted_errors_are_noticed(wrong):
    kernel = planted(paired, batched, **wrong)
    assert not all(same_as_the_object(PRIVATE["C2, K = 5"], *job[:2], kernel, **job[2]) for job in JOBS)

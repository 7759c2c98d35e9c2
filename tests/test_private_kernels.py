"""The kernels of Lazy-UCB and of pairs: pull by pull against the policy object, on the same rewards and noises."""

import numpy as np
import pytest

import discreet
from discreet import SimulatedNoise
from discreet.lab import instance, simulate
from discreet.lab.kernels import blocks, lazy_ucb, paired, randomness, stopping
from discreet.lab.kernels.randomness import fresh_state
from discreet.lab.simulate import Track
from tests.kernel_tools import Handed, marks, plant

WIDTH = 2**20
INSTANCES = {
    **{f"{name}, K = {arms}": instance(name, arms).means for name in ("C1", "C2", "C4") for arms in (2, 5, 20)},
    "equal arms": np.array([0.5, 0.5]),
    "sure arms": np.array([1.0, 1.0, 0.999]),
    "hopeless arms": np.array([0.0, 0.0]),
    "rare rewards": np.array([0.001, 0.002]),
}

# ---------------------------------------------------------------------- Lazy-UCB

LAZY_JOBS = [(epsilon, seed) for epsilon in (0.05, 0.5, 5.0, 50.0) for seed in range(3)]


def same_as_the_object(kernel, means, horizon, epsilon, seed):
    """Whether a kernel pulls as the policy object does, at the end of each of its epochs.

    The object is handed the kernel's draws: a block's rewards and noise as its noise, beside rewards of 0.
    """
    policy = discreet.AnytimeLazyUCB(range(len(means)), epsilon=epsilon, horizon=horizon, noise=SimulatedNoise(0))
    policy._laplace._reserve = handed = Handed(policy._laplace.scale)
    state, ends, pulls = fresh_state(seed), [], []
    while plan := policy.plan():
        for arm, count in plan.pulls.items():
            if count == policy._missing(arm):
                ones = randomness.binomial(state, max(1, 2 * policy._counts[arm]), means[arm])
                handed.values.append(round((ones + randomness.laplace(state, 1 / epsilon)) * WIDTH))
        policy.close(dict.fromkeys(plan.pulls, 0) if plan.learns else None)
        ends.append(policy.time)
        pulls.append(list(policy.pulls.values()))
    return kernel(means, horizon, fresh_state(seed), np.array(ends), epsilon).tolist() == pulls


@pytest.mark.parametrize("name", INSTANCES)
def test_lazy_ucb_by_kernel_is_the_object_pull_by_pull(name):
    for epsilon, seed in LAZY_JOBS:
        assert same_as_the_object(lazy_ucb.skip_ahead, INSTANCES[name], 1_000_003, epsilon, seed)


@pytest.mark.parametrize("name", INSTANCES)
def test_lazy_ucb_passing_steps_whole_is_lazy_ucb_step_by_step(name):
    horizon = 200_000
    points = marks(horizon)
    for epsilon, seed in LAZY_JOBS:
        slow = lazy_ucb.reference(INSTANCES[name], horizon, fresh_state(seed), points, epsilon)
        fast = lazy_ucb.skip_ahead(INSTANCES[name], horizon, fresh_state(seed), points, epsilon)
        assert (slow == fast).all()
        assert (slow.sum(axis=1) == points).all()


def to_the_end_of_the_block(means, sizes, epsilon, arm, step, last):
    """Commits itself, as AdaP-UCB does."""
    return last


lead_until = lazy_ucb.lead_until


def a_step_too_long(means, sizes, epsilon, arm, step, last):
    """Keeps the lead one step too long."""
    return min(lead_until(means, sizes, epsilon, arm, step, last) + 1, last)


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        (lazy_ucb, {"lead_until": to_the_end_of_the_block}),
        (lazy_ucb, {"lead_until": a_step_too_long}),
        (blocks, {"laplace": lambda state, scale: randomness.laplace(state, 1.01 * scale)}),
        (blocks, {"binomial": lambda state, count, mean: randomness.binomial(state, count, 0.99 * mean)}),
    ],
)
def test_planted_errors_in_lazy_ucb_are_noticed(monkeypatch, module, wrong):
    plant(monkeypatch, module, **wrong)
    monkeypatch.setattr(lazy_ucb, "fill", blocks.fill)
    plant(monkeypatch, lazy_ucb, **wrong)
    means = INSTANCES["C2, K = 5"]
    assert not all(same_as_the_object(lazy_ucb.skip_ahead, means, 100_003, *job) for job in LAZY_JOBS)


# ---------------------------------------------------------------------- pairs


def paired_as_the_object(means, horizon, seed, **options):
    """Whether the kernel pulls as the policy object does, in each pull of a short run or at the end of each epoch."""
    policy = discreet.DPPairedIMED(range(len(means)), horizon=horizon, noise=SimulatedNoise(0), **options)
    policy._laplace._reserve = handed = Handed(policy._laplace.scale)
    rule, state, track = paired.rule_of(policy), fresh_state(seed), Track(policy.arms, range(1, min(horizon, 2000) + 1))
    ends, pulls = [], []
    while plan := policy.plan():
        totals = {}
        for arm, count in plan.pulls.items():
            if plan.learns:
                totals[arm] = randomness.binomial(state, count, means[arm]) * WIDTH
                handed.values.append(stopping.discrete_laplace(state, policy._laplace.scale))
        policy.close(totals if plan.learns else None)
        track.pull(plan.pulls, plan.size)
        ends.append(policy.time)
        pulls.append(list(policy.pulls.values()))
    early = paired.play(rule, means, horizon, fresh_state(seed), np.arange(1, min(horizon, 2000) + 1))
    late = paired.play(rule, means, horizon, fresh_state(seed), np.array(ends))
    return (early == track.counts).all() and late.tolist() == pulls


PAIRED_JOBS = [
    (20_011, 1, {"epsilon": 0.1}),
    (1_000_003, 2, {"epsilon": 0.1}),
    (1_000_003, 3, {"epsilon": 1.0}),
    (1_000_003, 4, {"epsilon": 20.0}),
    (100_003, 5, {"epsilon": 1.0, "first_batch": 1, "ratio": 1.2}),
    (100_003, 6, {"epsilon": 0.3, "first_batch": 7, "ratio": 3.0}),
    (1000, 7, {"epsilon": 1.0, "first_batch": 400}),
]


@pytest.mark.parametrize("name", INSTANCES)
def test_pairs_by_kernel_are_those_of_the_object_pull_by_pull(name):
    for horizon, seed, options in PAIRED_JOBS:
        assert paired_as_the_object(INSTANCES[name], horizon, seed, **options)


challenger_of = paired.challenger_of


def never_satisfied(rule, lead, pairs, shared, leader, pulls):
    """Tries challengers a little too long."""
    return challenger_of(rule, lead, pairs, shared, leader, 2 * pulls)


def as_if_without_noise(rule, lead, pairs, shared, one, other):
    """Evidence that forgets one of the noises."""
    return paired.paired_exponent(lead[one, other], float(pairs[one, other]), 2 * shared[one, other] - 1, rule.epsilon)


@pytest.mark.parametrize(
    "wrong",
    [
        {"challenger_of": never_satisfied},
        {"evidence": as_if_without_noise},
        {"binomial": lambda state, count, mean: randomness.binomial(state, count, 0.99 * mean)},
        {"discrete_laplace": lambda state, scale: stopping.discrete_laplace(state, 1.01 * scale)},
    ],
)
def test_planted_errors_in_pairs_are_noticed(monkeypatch, wrong):
    plant(monkeypatch, paired, **wrong)
    assert not all(paired_as_the_object(INSTANCES["C2, K = 5"], *job[:2], **job[2]) for job in PAIRED_JOBS)


# ---------------------------------------------------------------------- the simulator


@pytest.mark.parametrize("name", ["lazy-ucb", "dp-paired-imed"])
def test_the_simulator_takes_the_kernel_where_it_may(name):
    assert simulate(name, "C2", horizon=2000, runs=2, epsilon=1.0).method == "kernel"
    assert simulate(name, [0.2, "uniform(0, 1)"], horizon=2000, runs=2, epsilon=1.0).method == "object"

"""Lazy-DP-TS's kernel: one step with its exact probabilities, whole runs in law."""

import functools
import math

import numpy as np
import pytest
from scipy import integrate, stats

import discreet
from discreet import SimulatedNoise
from discreet.lab import instance, play
from discreet.lab.kernels import lazy_dp_ts, lazy_ucb, randomness
from discreet.lab.kernels.compiled import compiled
from tests._tools.kernel_tools import LEVEL, check_counts, mutant, planted, rebound, smallest_p, some_now
from tests._tools.step_by_step import play_lazy_dp_ts

# ---------------------------------------------------------------------- one step


@compiled
def shares_of_a_step(state, means, sizes, epsilon, step, first, last, rounds):
    """How often each arm is pulled at a step within a window, and how often there is an alarm."""
    arms = means.size
    a, b, masses, rates, drawn = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    counts, now = np.zeros(arms, np.int64), math.log(step)
    lead, level, alarm = lazy_dp_ts.look_ahead(means, sizes, epsilon, first, last, a, b, masses, rates)
    for _ in range(rounds):
        arm = lead
        if randomness.uniform(state) < alarm:
            lazy_dp_ts.raise_alarm(state, means, sizes, epsilon, now, level, alarm, a, b, masses, rates, drawn)
            arm = lazy_dp_ts.respond(state, means, sizes, epsilon, now, lead, level, drawn)
        counts[arm] += 1
    return counts, alarm


def exact_shares(means, sizes, epsilon, step):
    laws = [
        stats.beta(*lazy_dp_ts.posterior(mean, size, epsilon, math.log(step)))
        for mean, size in zip(means, sizes, strict=True)
    ]
    return np.array(
        [
            integrate.quad(
                lambda x, arm=arm: (
                    laws[arm].pdf(x) * math.prod(law.cdf(x) for place, law in enumerate(laws) if place != arm)
                ),
                0,
                1,
                points=[law.ppf(q) for law in laws for q in (0.01, 0.5, 0.99)],
                limit=400,
                epsabs=1e-13,
            )[0]
            for arm in range(len(laws))
        ]
    )


WINDOWS = [
    ([0.75, 0.5, 0.62], [1024, 256, 512], 0.5),
    ([0.35, 0.6, 0.52], [64, 4096, 512], 5.0),
    ([0.55, 0.9, -0.2, 0.7], [16, 64, 16, 64], 8.0),
    ([0.2, 0.7], [8, 16], 20.0),
]


@pytest.mark.parametrize(("means", "sizes", "epsilon"), WINDOWS)
@pytest.mark.parametrize("place", some_now([0.0, 1.0, 0.5], 2))
def test_a_step_of_skip_ahead_pulls_each_arm_with_its_exact_probability(means, sizes, epsilon, place):
    first, last, rounds = 3000, 3500, 500_000
    step = first + int(place * (last - first))
    state = randomness.fresh_state([sizes[0], step])
    counts, alarm = shares_of_a_step(state, np.array(means), np.array(sizes), epsilon, step, first, last, rounds)
    expected = exact_shares(means, sizes, epsilon, step)
    assert expected.sum() == pytest.approx(1.0, abs=1e-9)
    assert alarm < 1
    assert 1 - counts.max() / rounds <= alarm
    for count, chance in zip(counts.tolist(), expected.tolist(), strict=True):
        assert stats.binomtest(count, rounds, min(chance, 1.0)).pvalue > LEVEL
    assert (expected * rounds > 50).sum() > 1


STEPS = {
    "all alarms are true": {"log_density": lambda x, a, b, mass: 0.0},
    "the leader's draw is forgotten": {"beta_between": lambda state, a, b, low, high: max(low, 0.0)},
}


@pytest.mark.study
@pytest.mark.parametrize("bug", STEPS)
def test_planted_errors_in_a_step_are_noticed(bug):
    kernel = planted(lazy_dp_ts, **STEPS[bug])
    kernel.look_ahead = lazy_dp_ts.look_ahead
    wrong = rebound(shares_of_a_step, lazy_dp_ts=kernel)
    means, sizes, epsilon = WINDOWS[1]
    counts, _ = wrong(randomness.fresh_state(1), np.array(means), np.array(sizes), epsilon, 3250, 3000, 3500, 500_000)
    assert stats.chisquare(counts, exact_shares(means, sizes, epsilon, 3250) * 500_000).pvalue < LEVEL


# ---------------------------------------------------------------------- whole runs


def kernel_pulls(kernel, name, arms, horizon, epsilon, runs, seed):
    means, marks = instance(name, arms).means, np.array([horizon // 10, horizon])
    return np.array(
        [kernel(means, horizon, randomness.fresh_state([run, seed]), marks, epsilon) for run in range(runs)]
    ).reshape(runs, -1)


def object_pulls(name, arms, horizon, epsilon, runs):
    found = []
    for run in range(runs):
        policy = discreet.LazyDPTS(range(arms), epsilon=epsilon, horizon=horizon, seed=run)
        rng, noise = np.random.default_rng([run, 2]), SimulatedNoise([run, 1])
        found.append(play(policy, instance(name, arms), rng, noise=noise).pulls)
    return np.array(found)


LAWS = [("C2", 3, 2000, 2.0), ("C1", 2, 2000, 8.0), ("C4", 5, 1000, 0.5)]


@pytest.mark.parametrize("law", some_now(LAWS, 1), ids=str)
def test_both_kernels_have_the_law_of_the_object(law):
    name, arms, horizon, epsilon = law
    by_object = object_pulls(name, arms, horizon, epsilon, 100)
    slow = kernel_pulls(play_lazy_dp_ts, name, arms, horizon, epsilon, 1000, 1)
    fast = kernel_pulls(lazy_dp_ts.skip_ahead, name, arms, horizon, epsilon, 1000, 2)
    assert smallest_p(by_object, slow[:, arms:]) > LEVEL
    assert smallest_p(by_object, fast[:, arms:]) > LEVEL
    assert smallest_p(slow, fast) > LEVEL


RUNS = {
    "the leader always wins": {"respond": lambda state, means, sizes, epsilon, log_step, lead, level, drawn: lead},
    "a wrong scale": {"laplace": lambda state, scale: randomness.laplace(state, 5 * scale)},
}


@pytest.mark.study
@pytest.mark.parametrize("bug", ["alarms get lost", *RUNS])
def test_planted_errors_in_skip_ahead_are_noticed(bug):
    """Alarms are lost after quiet steps, or come to nothing; too much noise."""
    if bug in RUNS:
        kernel = planted(lazy_dp_ts, lazy_ucb, **RUNS[bug]).skip_ahead
    else:
        kernel = mutant(lazy_dp_ts.skip_ahead, "due = count < most", "due = count == 0")
    assert smallest_p(slow_pulls(), kernel_pulls(kernel, *LAWS[0], 2000, 3)) < LEVEL


@functools.cache
def slow_pulls():
    return kernel_pulls(play_lazy_dp_ts, *LAWS[0], 2000, 1)


def test_counts_at_checkpoints_add_up():
    check_counts(lazy_dp_ts.skip_ahead, 1.0)


@pytest.mark.parametrize("means", [[0.0, 1.0], [1.0, 1.0, 0.999], [0.0, 0.0], [1e-9, 0.5]])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e5])
def test_extreme_arms_are_no_trouble(means, epsilon):
    marks = np.array([20_000])
    for kernel in (play_lazy_dp_ts, lazy_dp_ts.skip_ahead):
        counts = kernel(np.array(means), 20_000, randomness.fresh_state(6), marks, epsilon)
        assert counts.sum() == 20_000
        assert (counts > 0).all()

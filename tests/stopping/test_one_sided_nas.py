"""The one-sided rule: each constant of its proof, its promise, and how it compares with DP exponential NAS."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet import ArgumentError, DPExponentialNAS, DPOneSidedNAS, SimulatedNoise, Totals
from discreet.core.privacy import split
from tests._tools.rules import ByScale, run_on_coins

options = st.fixed_dictionaries(
    {
        "epsilon": st.floats(0.01, 50),
        "alpha": st.floats(0.001, 0.99),
        "beta": st.one_of(st.floats(1e-9, 0.99), st.just(1e-300)),
        "low": st.sampled_from([0.0, 0.5, 20.0]),
    }
)


def made(**changes):
    given = {"epsilon": 0.5, "alpha": 0.1, "beta": 0.05, "low": 0.0, "high": 1.0, **changes}
    if "high" not in changes:
        given["high"] = given["low"] + 1
    return DPOneSidedNAS(**given)


# ---------------------------------------------------------------------- the rule, line by line


def transcription(xs, epsilon, alpha, beta, width, high, b, ns, final, step):
    """The rule as its proof states it, in floats: the estimate and the samples, or None."""
    tests, release = math.log(8 / beta), math.log(4 / beta) / alpha
    first = epsilon * math.sqrt(tests) / (math.sqrt(tests) + math.sqrt(release))
    second, ratio = epsilon - first, ((1 + alpha) / (1 - alpha)) ** 2

    def needed(t, k):
        share = beta / (2 * k * (k + 1))
        h = width * math.sqrt(math.log((1 + share ** (ratio - 1)) / share) / (2 * t))
        c = width / first * math.log(4 * k * (k + 1) / beta) + width / second * math.log(4 / beta) / alpha
        return (h + step / 2) * (1 + 1 / alpha) * t + c + step * (1 + 1 / alpha)

    t, k = 1, 1
    while t * high < needed(t, 1):
        t *= 2
    while t <= len(xs):
        if sum(xs[:t]) + ns[k - 1] >= needed(t, k) + b:
            return (sum(xs[:t]) + final) / t, t
        t, k = 2 * t, k + 1
    return None


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    epsilon=st.sampled_from([0.5, 3.0]),
    alpha=st.sampled_from([0.05, 0.3, 0.8]),
    low=st.sampled_from([0.0, 1.5]),
    share=st.floats(0.0, 1.0),
)
def test_it_is_what_the_proof_states(seed, epsilon, alpha, low, share):
    given = {"epsilon": epsilon, "alpha": alpha, "beta": 0.1}
    rule, source = made(low=low, high=low + 2, **given), ByScale(seed)
    step = rule.grid.step
    b, *ns = (np.abs(source.draws(rule.sigma_tests / step, 40)) * step).tolist()
    final = float(source.draws(rule.sigma_release / step, 1)[0]) * step
    xs = np.where(np.random.default_rng(seed).random(4096) < share, low + 2.0, low)
    expected = transcription(xs.tolist(), width=2.0, high=low + 2, b=b, ns=ns, final=final, step=step, **given)
    result = rule.run(xs, noise=ByScale(seed))
    assert result.reached == (expected is not None)
    if expected:
        assert (result.estimate, result.samples) == (pytest.approx(expected[0], rel=1e-9), expected[1])


# ---------------------------------------------------------------------- each constant of the proof


@settings(max_examples=50)
@given(options)
def test_all_chances_of_failure_add_up_to_beta_at_most(given):
    """Hoeffding's tails, both at the distance that matters, and the noises', summed over 1,000 tests."""
    rule = made(**given)
    alpha, beta = rule.alpha, rule.beta
    high = low = noise = 0.0
    for k in range(1, 1001):
        level = rule.mean_level(k)
        high += math.exp(math.log(1 / beta) - level)  # all in units of beta, since beta may be 1e-300
        low += math.exp(math.log(1 / beta) - level * ((1 + alpha) / (1 - alpha)) ** 2)
        noise += math.exp(math.log(1 / beta) - rule.test_level(k))
    release = math.exp(math.log(1 / beta) - rule.release_level)
    assert high + low <= 0.5 + 1e-9
    assert noise <= 0.25 + 1e-9
    assert release == pytest.approx(0.25)
    assert high + low + noise + release > 0.95  # little is given away


@given(options, st.integers(1, 60))
def test_halting_within_the_bounds_keeps_the_promise(given, number):
    """The algebra of the proof: at the least sum that can halt, with every error at its bound, both sides hold."""
    rule = made(**given)
    t, alpha = rule.first_test * 2 ** (number - 1), rule.alpha
    h = rule.hoeffding_radius(t, number) + rule.grid.step / 2
    h_below = rule.hoeffding_radius(t, number) * (1 + alpha) / (1 - alpha) + rule.grid.step / 2
    noise = rule.sigma_tests * rule.test_level(number) + rule.grid.step
    release = (rule.sigma_release * rule.release_level + rule.grid.step) / t
    least = (rule.limit(t, number) * rule.grid.step - noise) / t  # the mean, where N is at its bound and B is 0
    for mean in (least, 3 * least):
        slack = 1e-9 * mean
        assert mean + release <= (1 + alpha) * (mean - h) + slack
        assert mean - release >= (1 - alpha) * (mean + h_below) - slack
    left = (1 + alpha) * (least - h) - (least + release)
    assert left <= alpha * (rule.grid.step / t + 1e-9 * least)  # a smaller threshold would not do


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.3, 1e5])
def test_a_step_covers_the_discrete_tails(scale):
    """Pr[|X| > x + 1] <= exp(-x/scale) for the discrete Laplace."""
    q = math.exp(-1 / scale)
    for x in np.linspace(0, 30 * scale, 301):
        first = math.floor(x + 1) + 1
        assert 2 * q**first / (1 + q) <= math.exp(-x / scale) * (1 + 1e-12)


@given(st.floats(1e-6, 1e3), st.floats(0.001, 0.999))
def test_the_parts_of_epsilon_add_up_exactly(epsilon, share):
    first, second = split(epsilon, share)
    assert first + second == epsilon
    assert math.fsum((first, second, -epsilon)) == 0
    assert first / epsilon == pytest.approx(share, abs=1e-12)


def test_the_share_makes_the_noise_margin_least():
    rule = made()
    best = rule.noise_margin(1)
    for share in (0.9 * rule.test_share, 1.1 * rule.test_share):
        first, second = split(rule.epsilon, share)
        other = rule.test_level(1) / first + rule.release_level / rule.alpha / second
        assert best < other


def test_tests_begin_where_the_best_samples_pass_and_double():
    for changes in ({}, {"alpha": 0.5}, {"low": 5.0}, {"high": 100.0}, {"epsilon": 100.0, "alpha": 0.9, "low": 30.0}):
        rule = made(**changes)
        first, high = rule.first_test, rule.grid.floor + rule.grid.width
        assert first * high >= rule.limit(first, 1)
        assert first == 1 or first // 2 * high < rule.limit(first // 2, 1)
        assert rule.plan().size == first
        assert [rule.test_time(k) for k in (1, 2, 5)] == [first, 2 * first, 16 * first]
    assert rule.first_test == 1
    assert made(alpha=1e-9).first_test == 2**62  # rounding alone is more than that allows: never


def test_it_is_below_algorithm_2_at_every_common_test():
    for epsilon in (0.01, 1.0, 100.0):
        for alpha in (0.01, 0.1, 0.5, 0.9):
            given = {"epsilon": epsilon, "alpha": alpha, "beta": 0.05, "low": 0.0, "high": 1.0}
            rule, other = made(**given), DPExponentialNAS(**given)
            for number in range(1, 30):
                t = rule.test_time(number)
                assert rule.threshold(t, number) < other.threshold(t)


# ---------------------------------------------------------------------- what it refuses


@pytest.mark.parametrize("given", [{"low": -0.5, "high": 1.0}, {"radius": 1.0, "low": None, "high": None}])
def test_samples_of_either_sign_are_refused(given):
    with pytest.raises(ArgumentError, match=r"low must be at least 0 for dp-nas-one-sided, got low=.*use dp-exp-nas"):
        made(**given)


# ---------------------------------------------------------------------- the promise, and the samples


@pytest.mark.parametrize("mean", [0.5, 0.05])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_it_keeps_its_promise_and_takes_no_more_samples(mean, epsilon):
    """1,000 runs at beta = 0.2, where failures would show; Algorithm 2 in 100."""
    given = {"alpha": 0.5, "beta": 0.2, "epsilon": epsilon, "low": 0.0, "high": 1.0}
    found = [run_on_coins(DPOneSidedNAS(**given), mean, seed) for seed in range(1000)]
    assert all(rule.halted for rule in found)
    failed = sum(abs(rule.estimate - mean) > 0.5 * mean for rule in found)
    assert failed <= stats.binom.ppf(1e-6, 1000, 0.2)
    other = [run_on_coins(DPExponentialNAS(**given), mean, seed).samples for seed in range(100)]
    assert np.median([rule.samples for rule in found]) <= np.median(other)


def test_samples_far_from_0_are_exact():
    """Sums past 2^53, where a float threshold would round."""
    rule = DPOneSidedNAS(epsilon=1.0, alpha=1e-8, beta=0.1, low=1e6, high=1e6 + 1, max_samples=2**30)
    driver = Totals(rule, SimulatedNoise(1))
    while (plan := driver.plan()) is not None:
        driver.close_steps({None: plan.size * rule.grid.width // 2})
    assert driver.algorithm.halted
    assert abs(driver.algorithm.estimate - 1e6 - 0.5) <= 1e-2

"""The rules that release blocks: their lemma, their formulas and their promise."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet import ArgumentError, DPBernstein, DPExponentialNAS, DPReleasedNAS, SimulatedNoise, Totals
from discreet.core.noise import scale_for
from discreet.core.probability.tails import bernstein_radius, hoeffding_radius, largest_mean
from discreet.stopping._released import block_ends, failure_bound, least_level
from tests._tools.rules import run_on_coins

EASY = {"alpha": 0.5, "beta": 0.1}
ALPHAS = st.floats(0.01, 0.99)


# ---------------------------------------------------------------------- the lemma


def errors_needed(u, alpha):
    """How many true radii the noisy mean must be off at a test, for each way to be wrong: None where it cannot be."""
    return {
        "too large": max(alpha * (u + 1), 1 / alpha - u),
        "too small": alpha * u / (1 + alpha) if u >= (1 + alpha) / alpha else None,
        "wrong sign": u + 1 / alpha,
    }


@given(alpha=ALPHAS, u=st.floats(0.0, 1000.0), error=st.floats(-3.0, 3.0), wider=st.floats(0.0, 3.0))
def test_a_wrong_answer_takes_the_error_that_the_lemma_says(alpha, u, error, wider):
    """The mean is u true radii; the rule's radius is at least the true one. Any halting failure obeys the lemma."""
    mean, radius = u, 1 + wider
    noisy = mean + math.copysign(10 ** abs(error) - 1, error)
    assume(radius <= alpha * abs(noisy))
    answer = math.copysign(abs(noisy) - alpha * radius, noisy)
    needed = errors_needed(u, alpha)
    off = abs(noisy - mean) * (1 + 1e-9)
    if answer < 0:
        assert off >= needed["wrong sign"]
    elif answer > (1 + alpha) * mean * (1 + 1e-9):
        assert off >= needed["too large"]
    elif answer < (1 - alpha) * mean * (1 - 1e-9):
        assert needed["too small"] is not None
        assert off >= needed["too small"]


@given(alpha=ALPHAS, raw=st.floats(0.0, 1000.0), shift=st.floats(-1.0, 1.0), off=st.floats(-1.0, 1.0),
       radius=st.floats(0.01, 10.0))  # fmt: skip
def test_an_answer_within_the_radius_is_right_for_the_mean_before_rounding(alpha, raw, shift, off, radius):
    half_step = 1.0
    noisy = raw + shift * half_step + off * radius
    assume(radius + (1 + alpha) * half_step <= alpha * abs(noisy))
    answer = math.copysign(abs(noisy) - alpha * radius, noisy)
    assert abs(answer - raw) <= alpha * raw * (1 + 1e-9) + 1e-9


def test_samples_that_rounding_doubles_never_halt():
    """All samples are 0.51 steps and stored as one: an answer for the stored mean would be wrong for the true one."""
    rule = DPBernstein(epsilon=100.0, low=0, high=1, alpha=0.5, beta=0.05)
    assert rule.forecast(rule.grid.step) is None
    assert rule.forecast(4 * rule.grid.step) is not None


@given(epsilon=st.floats(1e-6, 100.0), share=st.floats(0.01, 0.99))
def test_the_two_parts_of_epsilon_add_up_to_it_exactly(epsilon, share):
    rule = DPBernstein(epsilon=epsilon, low=0, high=1, epsilon_share=share, **EASY)
    assert Fraction(rule.mean_epsilon) + Fraction(rule.variance_epsilon) == Fraction(epsilon)
    scales = [scale_for(rule.grid.width, part) for part in rule.plan().query.epsilons]
    assert sum(rule.grid.width / Fraction(scale) for scale in scales) <= Fraction(epsilon)


@given(alpha=ALPHAS)
def test_the_lemma_asks_for_one_radius_at_least(alpha):
    u = np.geomspace(1e-3, 1e3, 400)
    for way in ("too large", "too small", "wrong sign"):
        found = [errors_needed(one, alpha)[way] for one in u]
        assert min(one for one in found if one is not None) >= 1 - 1e-9


@given(alpha=ALPHAS, growth=st.floats(1.1, 4.0), level=st.floats(1.0, 12.0), phase=st.floats(0.0, 1.0),
       faster=st.floats(1.0, 1.5))  # fmt: skip
def test_the_chances_of_all_tests_add_up_to_the_bound_at_most(alpha, growth, level, phase, faster):
    tests, step = 60, math.sqrt(growth)
    u = (1 / alpha) * (step * faster) ** (np.arange(tests) - tests // 2 + phase)
    total = 0.0
    for one in u:
        total += sum(math.exp(-level * c) for c in errors_needed(one, alpha).values() if c is not None)
    assert total <= failure_bound(level, alpha, step, tests) * (1 + 1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.5])
def test_the_bound_is_not_wasteful(alpha):
    level, tests, step = 4.0, 60, math.sqrt(1.5)
    worst = max(
        sum(
            math.exp(-level * c)
            for one in (1 / alpha) * step ** (np.arange(tests) - tests // 2 + phase)
            for c in errors_needed(one, alpha).values()
            if c is not None
        )
        for phase in np.linspace(0, 1, 101)
    )
    assert failure_bound(level, alpha, step, tests) <= 1.5 * worst


@settings(max_examples=20)
@given(alpha=ALPHAS, beta=st.floats(1e-12, 0.5), growth=st.floats(1.1, 4.0), tests=st.integers(5, 300))
def test_the_level_is_the_least_that_keeps_the_bound_below_beta(alpha, beta, growth, tests):
    level = least_level(alpha, math.sqrt(growth), tests, beta)
    assert failure_bound(level, alpha, math.sqrt(growth), tests) <= beta
    assert failure_bound(level * (1 - 1e-6) - 1e-9, alpha, math.sqrt(growth), tests) > beta


@given(growth=st.floats(1.05, 10.0), window=st.integers(1, 12), first=st.integers(1, 10**7))
def test_blocks_are_whole_pairs_and_windows_grow(growth, window, first):
    assume(growth**window < 1e9)
    ends = block_ends(growth, window, first)
    assert all(end % 2 == 0 for end in ends)
    assert all(before < after for before, after in pairwise(ends))
    counts = [last - begin for begin, last in zip(ends, ends[window:], strict=False)]
    assert counts[0] >= first
    assert min(after / before for before, after in pairwise(counts)) >= 1 + 0.3 * (growth - 1)


def test_by_default_rounding_hardly_slows_the_growth_of_windows():
    rule = DPBernstein(epsilon=1.0, low=0, high=1, alpha=0.1, beta=0.05)
    ends = rule.ends
    counts = [last - begin for begin, last in zip(ends, ends[rule.blocks_per_test :], strict=False)]
    assert min(after / before for before, after in pairwise(counts)) >= 1.47


# ---------------------------------------------------------------------- the rules


def by_hand(rule, blocks, squares):
    """The first test at which the rule must halt, and its answer, from the released totals; written from the page."""
    ends, window, alpha = rule.ends, rule.blocks_per_test, rule.alpha
    for block in range(window, len(blocks) + 1):
        count, test = ends[block] - ends[block - window], block - window + 1
        total, square = sum(blocks[block - window : block]), sum(squares[block - window : block])
        mean = rule.grid.low + (rule.grid.high - rule.grid.low) * total / count
        if isinstance(rule, DPBernstein):
            share = rule.beta_share * rule.beta * 5 / ((test + 4) * (test + 5)) / 3
            e1 = 0.9 * rule.epsilon
            e2 = rule.epsilon - e1
            high = largest_mean(total, count, window, e1, -math.log(share))
            low = 1 - largest_mean(count - total, count, window, e1, -math.log(share))
            among = [m * (1 - m) for m in (low, high)] + ([0.25] if low <= 0.5 <= high else [])
            pairs = largest_mean(square, count / 2, window, e2, -math.log(share)) / 2
            radius = bernstein_radius(count, min(max(among), pairs), window, e1, rule.level) / count
        else:
            radius = hoeffding_radius(count, window, rule.epsilon, rule.level) / count
        radius *= rule.grid.high - rule.grid.low
        if radius + (1 + alpha) * rule.grid.step / 2 <= alpha * abs(mean):
            return ends[block], math.copysign(abs(mean) - alpha * radius, mean)
    return None


@pytest.mark.parametrize("kind", [DPReleasedNAS, DPBernstein])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (-3.0, -1.0)])
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_it_halts_where_a_program_written_from_the_formulas_does(kind, low, high, epsilon):
    for seed in range(3):
        rule = kind(epsilon=epsilon, low=low, high=high, **EASY)
        stream = low + (high - low) * np.random.default_rng(seed).beta(3, 1.5, 200_000)
        result = rule.run(stream, noise=SimulatedNoise(seed))
        assert result.reached
        blocks, squares = [], []
        for release in result.ledger:
            (squares if release.kind == "squares" else blocks).append(release.steps / rule.grid.width)
        samples, answer = by_hand(rule, blocks, squares or blocks)
        assert (samples, answer) == (result.samples, pytest.approx(result.estimate, rel=1e-9))


def test_the_ledger_has_both_totals_of_each_block():
    rule = DPBernstein(epsilon=2.0, low=-1, high=3, **EASY)
    ledger = rule.run(np.random.default_rng(1).uniform(-1, 3, 100_000), noise=SimulatedNoise(3)).ledger
    squares, total = ledger[:2]
    assert (squares.kind, total.kind) == ("squares", "total")
    assert squares.spans == total.spans == ((None, 1, rule.ends[1]),)
    assert (total.epsilon, squares.epsilon) == pytest.approx((1.8, 0.2))
    assert (total.scale, squares.scale) == pytest.approx((rule.grid.width / 1.8, rule.grid.width / 0.2))
    assert len(ledger) == 2 * ledger.epochs


def test_after_the_last_test_samples_decide_nothing():
    driver = Totals(DPReleasedNAS(epsilon=2.0, radius=1.0, growth=10.0, **EASY), SimulatedNoise(1))
    rule = driver.algorithm
    for _ in rule.ends[1:]:
        driver.close_steps({None: driver.plan().size * rule.grid.width // 2})  # a mean of 0
    plan = driver.plan()
    assert (plan.size, plan.learns) == (2**50, False)
    assert driver.close() == ()
    assert driver.plan().size == 2**50


def test_bad_options_are_refused():
    for options, name in (
        ({"growth": 1.0}, "growth"),
        ({"growth": "x"}, "growth"),
        ({"growth": 11}, "growth"),
        ({"window": 0}, "window"),
        ({"window": 2000}, "window must be at most 34"),
        ({"window": 1.5}, "window"),
        ({"epsilon_share": 0}, "epsilon_share"),
        ({"epsilon_share": 1}, "epsilon_share"),
        ({"beta_share": 2}, "beta_share"),
    ):
        with pytest.raises(ArgumentError, match=name):
            DPBernstein(epsilon=1.0, low=0, high=1, **EASY, **options)


# ---------------------------------------------------------------------- the promise


COINS = ((0.5, 0.0, 1.0), (0.02, 0.0, 1.0), (0.5, -1.0, 1.0))
OTHERS = {
    "uniform": (0.5, lambda rng, count: rng.random(count)),
    "narrow": (0.5, lambda rng, count: rng.beta(20, 20, count)),
    "three values": ((0.98 * 40 + 9) / 50, lambda rng, count: rng.choice([0, 0.98, 1], count, p=[0.02, 0.8, 0.18])),
}
RUNS, BETA = 150, 0.1


def failures(kind, mean, low=0.0, high=1.0):
    """The number of runs on coins whose answer is wrong; all of them halt."""
    rule = kind(epsilon=1.0, alpha=0.3, beta=BETA, low=low, high=high)
    found = [run_on_coins(rule, mean, seed) for seed in range(RUNS)]
    assert all(one.halted for one in found)
    return sum(abs(one.estimate - mean) > 0.3 * abs(mean) for one in found)


@pytest.mark.parametrize("kind", [DPReleasedNAS, DPBernstein])
@pytest.mark.parametrize("coin", COINS)
def test_the_promise_holds_for_coins(kind, coin):
    assert failures(kind, *coin) <= stats.binom.ppf(1 - 1e-6, RUNS, BETA)


@pytest.mark.parametrize("kind", [DPReleasedNAS, DPBernstein])
@pytest.mark.parametrize("name", OTHERS)
def test_the_promise_holds_for_other_samples(kind, name):
    mean, sample = OTHERS[name]
    rule, failed = kind(epsilon=1.0, alpha=0.3, beta=BETA, low=0.0, high=1.0), 0
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 3])
        result = rule.run((sample(rng, 256) for _ in range(4000)), noise=SimulatedNoise([seed, 4]))
        assert result.reached
        failed += abs(result.estimate - mean) > 0.3 * mean
    assert failed <= stats.binom.ppf(1 - 1e-6, RUNS, BETA)


def test_a_level_that_is_too_low_breaks_the_promise(monkeypatch):
    """The check above could fail."""
    monkeypatch.setattr("discreet.stopping._released.least_level", lambda *_: 0.05)
    monkeypatch.setattr(DPBernstein, "variance_level", lambda self, test: 0.05)
    assert failures(DPBernstein, 0.02) > stats.binom.ppf(1 - 1e-6, RUNS, BETA)


def samples_of(rule, mean):
    return np.median([run_on_coins(rule, mean, seed).samples for seed in range(20)])


def test_samples_follow_the_variance_and_not_the_range():
    options = {"alpha": 0.05, "beta": 0.05, "epsilon": 4.0, "low": 0.0, "high": 1.0}
    stream = np.random.default_rng(1).uniform(0.4, 0.6, 100_000)
    narrow = DPBernstein(**options).run(stream, noise=SimulatedNoise(1)).samples
    blind = DPReleasedNAS(**options).run(stream, noise=SimulatedNoise(1)).samples
    assert 3 * narrow < min(blind, samples_of(DPBernstein(**options), 0.5))


@pytest.mark.parametrize(("mean", "fewer"), [(0.1, 10), (0.01, 100)])
def test_it_takes_far_fewer_samples_than_the_papers_rule(mean, fewer):
    options = {"alpha": 0.1, "beta": 0.05, "epsilon": 1.0, "low": 0.0, "high": 1.0}
    paper = DPExponentialNAS(**{**options, "low": -1.0})
    assert samples_of(paper, mean) >= fewer * samples_of(DPBernstein(**options), mean)


def test_a_far_and_narrow_range_is_known_at_once():
    """Where the range says the mean within alpha already, the first window is enough."""
    rule = DPBernstein(epsilon=1.0, alpha=0.1, beta=0.05, low=99, high=100)
    result = rule.run(np.full(1000, 99.5), noise=SimulatedNoise(1))
    assert result.samples == rule.ends[rule.blocks_per_test] <= 100
    assert result.estimate == pytest.approx(99.5, rel=0.1)

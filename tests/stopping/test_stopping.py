"""The stopping rules against line-by-line transcriptions, and their (alpha, beta) promise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet
from discreet import DPNAS, NAS, ArgumentError, DPExponentialNAS, EBGStop, EBStop, SimulatedNoise, Totals
from discreet.stopping.ebgstop import interval_of
from tests._tools import examples, references
from tests._tools.promises import BETA, DISTRIBUTIONS, rule_failures
from tests._tools.rules import ByScale

PRIVATE = [name for name in sorted(discreet.RULES) if examples.is_private(name)]


def scripted(kind, seed, epsilon, **options):
    """A rule and the noises that it will use, on the scale of samples: B, the A's, and L."""
    rule, source = kind(epsilon=epsilon, **options), ByScale(seed)
    step = rule.grid.step
    b, *a = (source.draws(rule.sigma1 / step, 6000) * step).tolist()
    final = float(source.draws(rule.sigma3 / step, 1)[0]) * step
    return rule, b, a, final


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from([DPNAS, DPExponentialNAS]),
    epsilon=st.sampled_from([0.5, 3.0]),
    alpha=st.sampled_from([0.3, 0.8]),
    share=st.floats(0.0, 1.0),
)
def test_the_private_rules_are_algorithms_1_and_2(seed, kind, epsilon, alpha, share):
    options = {"alpha": alpha, "beta": 0.1, "radius": 2.0}
    rule, b, a, final = scripted(kind, seed, epsilon, **options)
    xs = np.where(np.random.default_rng(seed).random(4096) < share, 2.0, -2.0)
    algorithm = references.algorithm_1 if kind is DPNAS else references.algorithm_2
    step = rule.grid.step

    def rounding(t):
        """Half a step a sample, and a step for each noise whose tail is discrete: the documented slack."""
        return step * (0.5 * t * (1 + 1 / alpha) + 2 + 1 / alpha)

    expected = algorithm(xs.tolist(), epsilon, b=b, a=a, final=final, rounding=rounding, **options)
    result = rule.run(xs, noise=ByScale(seed))
    if expected is None:
        assert not result.reached
    else:
        assert result.samples == expected[1]
        assert result.estimate == pytest.approx(expected[0], rel=1e-9)


def test_a_general_range_is_the_papers_with_half_its_width():
    general = DPNAS(epsilon=0.5, alpha=0.2, beta=0.1, low=3.0, high=5.0)
    paper = DPNAS(epsilon=0.5, alpha=0.2, beta=0.1, radius=1.0)
    for t in (1, 7, 1000):
        assert general.threshold(t) == paper.threshold(t)
    assert (paper.sigma1, paper.sigma3) == (24.0, 8.0)


def test_the_exponential_rule_starts_testing_at_two():
    rule = DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.1, radius=1.0)
    driver, plans = Totals(rule, SimulatedNoise(0)), []
    for _ in range(5):
        plans.append(driver.plan().size)
        driver.close_steps({None: rule.grid.width // 2 * plans[-1]})
    assert plans == [2, 2, 4, 8, 16]


def test_formulas_at_one_point():
    rule = DPNAS(epsilon=0.5, alpha=0.1, beta=0.05, radius=1.0)
    assert rule.hoeffding_radius(100) == pytest.approx(math.sqrt(2 / 100 * math.log(16 * 100**2 / 0.05)))
    c = 24 * math.log(80) + 24 * math.log(8 * 100**2 / 0.05) + 80 * math.log(80)
    assert rule.noise_margin(100) == pytest.approx(c)
    exponential = DPExponentialNAS(epsilon=0.5, alpha=0.1, beta=0.05, radius=1.0)
    assert exponential.hoeffding_radius(1024) == pytest.approx(math.sqrt(2 / 1024 * math.log(16 * 10**2 / 0.05)))
    assert NAS(alpha=0.1, beta=0.05, radius=1.0).hoeffding_radius(100) == pytest.approx(
        math.sqrt(2 / 100 * math.log(4 * 100**2 / 0.05))
    )


def test_thresholds_are_rounded_against_halting_by_next_to_nothing():
    rule = DPExponentialNAS(epsilon=0.5, alpha=0.1, beta=0.05, radius=1.0)
    for t in (2, 1024, 2**20):
        added = rule.limit_steps(t) * rule.grid.step - rule.threshold(t)
        assert 0 < added < 2e-5 * (t + 1)


@pytest.mark.parametrize("epsilon", [1e-12, 1e12])
@pytest.mark.parametrize("name", PRIVATE)
def test_an_epsilon_that_no_noise_is_made_for_is_refused_at_once(name, epsilon):
    with pytest.raises(ArgumentError, match=r"epsilon must be (larger|smaller)"):
        examples.rule(name, epsilon=epsilon)


def test_a_mean_too_small_for_the_grid_never_halts():
    """Rounding may move a mean by half a step; the rule must not promise a factor there."""
    rule = NAS(alpha=0.5, beta=0.1, radius=1.0)
    for t in (2.0**40, 2.0**60, 2.0**80):
        assert rule.limit_steps(t) / t > 0.5 * (1 + 1 / 0.5)  # in grid steps: h alone would vanish


def test_ranges_far_from_zero_do_not_overflow():
    """low/step is about 2^51 here: from the 2,048th sample on, 64 bits cannot hold the sum."""
    low, alpha = 2e9, 2e-11  # halting needs a mean of h_t/alpha, which takes some ten thousand samples
    xs = np.tile([low, low + 1], 20_000)
    rule = NAS(alpha=alpha, beta=0.1, low=low, high=low + 1)

    def halts(t):
        h = 0.5 * math.sqrt(2 / t * math.log(4 * t**2 / 0.1))
        return low + (t // 2) / t >= h * (1 + 1 / alpha)

    expected = next(t for t in range(1, 40_001) if halts(t))
    assert expected > 2048
    result = rule.run(xs)
    assert result.reached
    assert abs(result.samples - expected) <= 2
    hopeless = NAS(alpha=1e-12, beta=0.1, low=low, high=low + 1)
    assert not hopeless.run(xs).reached


def ebgstop_interval(times, growth):
    """k as the pseudo-code computes it, one sample at a time."""
    k, found = 0, []
    for t in range(1, times + 1):
        if t > 1 and t > math.floor(growth**k):
            k += 1
        found.append(max(1, k))
    return found


@pytest.mark.parametrize("growth", [1.1, 1.5])
def test_ebgstop_intervals_follow_the_pseudo_code(growth):
    assert interval_of(np.arange(1, 20_001), growth).tolist() == ebgstop_interval(20_000, growth)


def reference_ebstop(xs, alpha, beta, width):
    """EBStop as printed."""
    p = 1.1
    lower, upper = 0.0, math.inf
    for t in range(1, len(xs) + 1):
        mean, deviation = xs[:t].mean(), xs[:t].std()
        log = math.log(3 * t**p / (beta * (p - 1) / p))
        c = deviation * math.sqrt(2 * log / t) + 3 * width * log / t
        lower, upper = max(lower, abs(mean) - c), min(upper, abs(mean) + c)
        if (1 + alpha) * lower >= (1 - alpha) * upper:
            return t, math.copysign(((1 + alpha) * lower + (1 - alpha) * upper) / 2, mean)
    return None


@pytest.mark.parametrize("seed", range(5))
def test_ebstop_is_as_printed(seed):
    xs = np.random.default_rng(seed).integers(0, 17, 3000) / 16 - 0.25  # on the grid, mean 0.25
    t, estimate = reference_ebstop(xs, 0.5, 0.1, 1.25)
    result = EBStop(alpha=0.5, beta=0.1, low=-0.25, high=1.0).run(xs)
    assert (result.samples, result.estimate) == (t, pytest.approx(estimate, rel=1e-3))


def test_empirical_bernstein_stops_earlier_when_the_variance_is_small():
    xs = np.tile([0.499, 0.501], 50_000)
    options = {"alpha": 0.02, "beta": 0.05, "low": 0.0, "high": 1.0}
    nas, eb, ebg = (kind(**options).run(xs).samples for kind in (NAS, EBStop, EBGStop))
    assert ebg <= eb < nas / 10


# ---------------------------------------------------------------------- the promise

FEW = 120


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("name", sorted(discreet.RULES.keys() - examples.TESTS))
def test_every_rule_keeps_its_promise(name, distribution):
    """120 runs here, and 1,000 in the studies."""
    broken, unfinished = rule_failures(name, distribution, FEW)
    assert unfinished == 0
    # Were the failure rate above beta, so few failures would have a chance of one in a million. Inverse sampling uses
    # beta up: its failures are computed exactly in test_inverse_sampling.py, and only refuted here.
    uses_up = name in ("inverse", "dp-inverse", "dp-mean")
    assert broken <= stats.binom.ppf(1 - 1e-6 if uses_up else 1e-6, FEW, BETA)


def test_a_rule_that_halts_too_early_breaks_its_promise_visibly(monkeypatch):
    """A planted bug: the radius is a tenth of what it should be."""
    honest = NAS.hoeffding_radius
    monkeypatch.setattr(NAS, "hoeffding_radius", lambda self, t: honest(self, t) / 10)
    broken, _ = rule_failures("nas", "small mean", 300)
    assert broken > stats.binom.ppf(1e-6, 300, BETA)

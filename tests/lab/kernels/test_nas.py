"""NAS, DP-NAS and the one-sided rule agree with the objects: sample by sample on a path, else in law."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from discreet import DPNAS, NAS, DPOneSidedNAS
from discreet.lab import Discrete, Setting
from discreet.lab.kernels import nas
from discreet.lab.kernels.coins import coin_on
from discreet.lab.kernels.randomness import fresh_state
from discreet.lab.runs import one_run
from discreet.lab.simulate import run_setting
from tests._tools.kernel_tools import LEVEL, laplace_pmf, mutant, noise_p_value, some_now
from tests._tools.rule_paths import PATHS, by_object, check_law, p_values, replays

# ---------------------------------------------------------------------- noise and thresholds


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 3.7, 40.0])
def test_the_tail_is_that_of_the_discrete_laplace(scale):
    numbers = np.arange(-3000, 3001)
    below = np.cumsum(laplace_pmf(numbers, scale))
    for y in (-50, -7, -2, -1, 0, 1, 3, 60):
        assert nas.chance_below(y, scale) == pytest.approx(below[y + 3000], rel=1e-9, abs=1e-300)


def example_rules(**options):
    yield NAS(**options)
    yield DPNAS(epsilon=0.5, **options)
    yield DPNAS(epsilon=300.0, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0.1, "beta": 0.05, "low": 0, "high": 1},
        {"alpha": 0.9, "beta": 0.9, "radius": 3.3},
        {"alpha": 1e-3, "beta": 1e-300, "low": 5.0, "high": 6.5},
    ],
    ids=str,
)
def test_the_limit_is_the_rules_own_and_only_grows(options):
    times = np.unique(np.concatenate([np.arange(1, 300), np.geomspace(300, 2**42, 2000).astype(np.int64)]))
    for rule in example_rules(**options):
        curve = nas.curve_of(rule)
        own = np.ceil(rule.limit_steps(times.astype(np.float64)))
        found = np.array([nas.limit(curve, time) for time in times])
        # numpy and the compiler may round a logarithm differently: then a limit of 1e9 units may differ by one
        assert (np.abs(found - own) <= np.maximum(1, 1e-15 * own)).all()
        assert (found == own).mean() > 0.95
        assert (np.diff(found) >= 0).all()
        for time in (1, 2, 3, 10, 1000, 2**20, 2**39):
            near = [nas.limit(curve, time + step) for step in range(50)]
            assert min(near) >= nas.least_limit(curve, time)
            assert (np.diff(near) >= 0).all()


def test_a_limit_past_64_bits_is_never_reached():
    rule = NAS(alpha=1e-12, beta=0.1, low=0, high=1)
    assert nas.limit(nas.curve_of(rule), 2**41) == 2**62


# ---------------------------------------------------------------------- the same path, sample by sample


def check_nas(kernel, low, high, chance, options):
    """Every outcome is the object's, to the last digit."""

    def replay(coin, curve, path):
        return kernel(coin, curve, path, np.ones(4, np.uint64), path.size)

    for rule, result, (halted, samples, total) in replays(
        NAS, replay, lambda rule, coin: nas.curve_of(rule), low, high, chance, options
    ):
        assert (halted, samples) == (result.reached, result.samples)
        if halted:
            assert rule.grid.mean(total - samples * rule.grid.floor, samples) == result.estimate


@pytest.mark.parametrize(("low", "high", "chance", "options"), PATHS)
def test_nas_on_a_path_is_the_rule_object(low, high, chance, options):
    check_nas(nas.nas, low, high, chance, options)


def test_blocks_twice_as_long_as_is_sure_are_noticed_on_a_path():
    bold = mutant(nas.nas, "math.ceil(distance", "math.ceil(2 * distance")
    with pytest.raises(AssertionError):
        check_nas(bold, *PATHS[0])


# ---------------------------------------------------------------------- DP-NAS on a constant stream: the exact law


class Constant:
    """DP-NAS on samples that are all 1, where the path is known: the law of its halting time can be added up."""

    def __init__(self, epsilon, alpha=0.5, beta=0.1):
        self.rule = DPNAS(epsilon=epsilon, alpha=alpha, beta=beta, low=0, high=1)
        self.coin = coin_on(self.rule.grid, 0.0, 1.0, 1.0, 2**30)
        self.curve = nas.curve_of(self.rule)
        self.scales = nas.scales_of(self.rule)

    def cdf(self, last):
        """P(halted by t) for t = 1, ..., last: one minus the product of failures, averaged over B."""
        scale, times = self.scales[0], np.arange(1, last + 1, dtype=np.float64)
        margins = times * self.rule.grid.width - np.ceil(self.rule.limit_steps(times))
        shares = (np.arange(1000) + 0.5) / 1000
        alive = np.zeros(last)
        for noise in stats.laplace(scale=scale).ppf(shares):
            y = margins - noise
            chance = np.where(y < 0, np.exp(np.minimum(y, 0) / scale), 2 - np.exp(-(np.maximum(y, 0) + 1) / scale)) / 2
            alive += np.exp(np.cumsum(np.log1p(-np.minimum(chance, 1 - 1e-16))))
        return 1 - alive / len(shares)

    def outcomes(self, kernel=nas.dp_nas, runs=20_000, curve=None, query=1.0, release=1.0):
        state = fresh_state([runs, 21])
        scales = query * self.scales[0], release * self.scales[1]
        found = [kernel(self.coin, curve or self.curve, *scales, state, 2**30) for _ in range(runs)]
        halted, samples, totals = (np.array(column) for column in zip(*found, strict=True))
        assert halted.all()
        return samples, totals - samples * self.rule.grid.width

    def p_value(self, samples):
        """Kolmogorov's, which is on the safe side for whole numbers."""
        last = int(samples.max())
        seen = np.cumsum(np.bincount(samples, minlength=last + 1)[1:]) / len(samples)
        return stats.kstwobign.sf(math.sqrt(len(samples)) * np.abs(seen - self.cdf(last)).max())


@pytest.mark.parametrize("epsilon", [0.05, 2.0, 30.0])
def test_dp_nas_on_a_constant_stream_has_the_exact_law(epsilon):
    case = Constant(epsilon)
    samples, noise = case.outcomes()
    assert case.p_value(samples) > LEVEL
    assert noise_p_value(noise, case.scales[1]) > LEVEL
    assert abs(stats.spearmanr(samples, noise).statistic) < 0.04  # the release is independent of the halting time


def test_the_object_has_that_law_too():
    setting = Setting.of("dp-nas", 1.0, alpha=0.5, beta=0.1, epsilon=2.0)
    samples = [one_run(setting, index).samples for index in range(1000)]
    assert Constant(2.0).p_value(np.array(samples)) > LEVEL


PLANTED = {
    "every candidate halts": ("uniform(state) * bound < chance", "uniform(state) < 2"),
    "the bound forgets that the sum grows": ("size * most - distance", "-distance"),
    "the threshold's noise is drawn again": (
        "distance = least",
        "threshold_noise = discrete_laplace(state, query_scale)\n        distance = least",
    ),
    "a candidate takes the whole block's samples": ("binomial(state, done, coin", "binomial(state, size, coin"),
}


@pytest.mark.study
@pytest.mark.parametrize("what", PLANTED)
def test_planted_errors_in_dp_nas_are_noticed(what):
    case = Constant(2.0)
    assert case.p_value(case.outcomes(mutant(nas.dp_nas, *PLANTED[what]))[0]) < LEVEL


def test_planted_errors_in_its_numbers_are_noticed():
    """Limits 3 % off, and either noise's scale 10 % off."""
    case = Constant(2.0)
    wrong = case.curve._replace(factor=1.03 * case.curve.factor)
    assert case.p_value(case.outcomes(curve=wrong)[0]) < LEVEL
    assert case.p_value(case.outcomes(query=1.1)[0]) < LEVEL
    assert noise_p_value(case.outcomes(release=1.1, runs=40_000)[1], case.scales[1]) < LEVEL


# ---------------------------------------------------------------------- the one-sided rule: the exact law again


class OneSided:
    """The one-sided rule on equal samples whose third sum is at its limit: the law of the halting test adds up."""

    def __init__(self, epsilon):
        given = {"epsilon": epsilon, "alpha": 0.9, "beta": 0.9, "low": 0, "high": 1, "max_samples": 2**30}
        self.rule = DPOneSidedNAS(**given)
        self.limits = nas.limits_of(self.rule, 2**30)
        self.scales = nas.scales_of(self.rule)
        self.times = self.rule.first_test * 2 ** np.arange(len(self.limits))
        value = self.limits[2] / self.times[2] * self.rule.grid.step
        self.coin = coin_on(self.rule.grid, value, value, 1.0, 2**30)

    def law(self):
        """P(test k halts) for every k, averaged over B: the test says yes iff N >= limit - sum + B."""
        scale, alive = self.scales[0], np.ones(1000)
        noise, found = stats.expon(scale=scale).ppf((np.arange(1000) + 0.5) / 1000), []
        for time, limit in zip(self.times, self.limits, strict=True):
            yes = np.exp(-np.maximum(limit - int(time) * self.coin.low + noise, 0) / scale)
            found.append((alive * yes).mean())
            alive = alive * (1 - yes)
        return np.array(found)

    def outcomes(self, kernel=nas.one_sided_nas, runs=20_000, query=1.0, release=1.0, limits=1.0):
        state, limits = fresh_state([runs, 22]), (limits * self.limits).astype(np.int64)
        scales = query * self.scales[0], release * self.scales[1]
        given = self.coin, self.rule.first_test, limits, *scales, state, 2**30
        halted, samples, totals = (
            np.array(column) for column in zip(*[kernel(*given) for _ in range(runs)], strict=True)
        )
        assert halted.all()
        return samples, totals - samples * self.coin.low

    def p_value(self, samples):
        expected, seen = self.law() * len(samples), (samples[:, None] == self.times).sum(axis=0)
        last = int((expected > 100).nonzero()[0].max())
        assert last > 1
        seen, expected = ([*counts[:last], counts[last:].sum()] for counts in (seen, expected))
        return stats.chisquare(seen, expected).pvalue


@pytest.mark.parametrize("epsilon", [0.01, 0.5])
def test_the_one_sided_rule_on_a_constant_stream_has_the_exact_law(epsilon):
    case = OneSided(epsilon)
    samples, noise = case.outcomes()
    assert case.p_value(samples) > LEVEL
    assert noise_p_value(noise, case.scales[1]) > LEVEL
    assert abs(stats.spearmanr(samples, noise).statistic) < 0.04


ONE_SIDED_ERRORS = {
    "the threshold's noise is not folded": ("threshold_noise = abs(discrete", "threshold_noise = (discrete"),
    "the tests' noise is not folded": ("total + abs(discrete", "total + (discrete"),
    "the threshold's noise is left out": ("needed + threshold_noise", "needed"),
    "the threshold's noise is drawn again": (
        "needed + threshold_noise",
        "needed + abs(discrete_laplace(state, query_scale))",
    ),
}


@functools.cache
def p_value_of_the_kernel():
    case = OneSided(0.01)
    return case.p_value(case.outcomes(runs=200_000)[0])


@pytest.mark.study
@pytest.mark.parametrize("what", ONE_SIDED_ERRORS)
def test_planted_errors_in_the_one_sided_rule_are_noticed(what):
    case = OneSided(0.01)
    assert p_value_of_the_kernel() > LEVEL
    samples, _ = case.outcomes(mutant(nas.one_sided_nas, *ONE_SIDED_ERRORS[what]), runs=200_000)
    assert case.p_value(samples) < LEVEL


def test_planted_errors_in_its_numbers_are_noticed_too():
    case = OneSided(0.01)
    assert case.p_value(case.outcomes(limits=1.03)[0]) < LEVEL
    assert case.p_value(case.outcomes(query=1.2)[0]) < LEVEL
    assert noise_p_value(case.outcomes(release=1.1, runs=40_000)[1], case.scales[1]) < LEVEL


# ---------------------------------------------------------------------- fresh randomness: the law of the rule object

LOOSE = {"alpha": 0.8, "beta": 0.3}
LAWS = {
    "a coin": ("dp-nas", 0.5, {**LOOSE, "epsilon": 2.0}),
    "a negative mean": ("dp-nas", Discrete([-1, 1], [0.9, 0.1]), {**LOOSE, "epsilon": 1.0}),
    "two values inside a range": ("dp-nas", Discrete([0.2, 1.0], [0.6, 0.4]), {**LOOSE, "radius": 1, "epsilon": 2.0}),
    "a small epsilon": ("dp-nas", 0.9, {**LOOSE, "epsilon": 0.1}),
    "a large epsilon": ("dp-nas", 0.6, {**LOOSE, "epsilon": 1000.0}),
    "a mean near 0, capped": ("dp-nas", 0.15, {"alpha": 0.9, "beta": 0.5, "epsilon": 2.0, "max_samples": 2500}),
    "a mean of 0, capped": (
        "dp-nas",
        Discrete([-1, 1], [1, 1]),
        {"alpha": 0.95, "beta": 0.95, "epsilon": 0.5, "max_samples": 300},
    ),
    "all samples 0": ("dp-nas", 0.0, {**LOOSE, "epsilon": 1.0, "max_samples": 200}),
    "one-sided": ("dp-nas-one-sided", 0.5, {**LOOSE, "epsilon": 2.0}),
    "one-sided, a small epsilon": ("dp-nas-one-sided", 0.3, {**LOOSE, "epsilon": 0.03}),
    "one-sided, two values above a floor": (
        "dp-nas-one-sided",
        Discrete([3.25, 4.0], [0.6, 0.4]),
        {**LOOSE, "alpha": 0.02, "low": 3, "high": 5, "epsilon": 0.25},
    ),
    "one-sided, capped between tests": ("dp-nas-one-sided", 0.5, {**LOOSE, "epsilon": 2.0, "max_samples": 100}),
    "one-sided, capped at a test": ("dp-nas-one-sided", 0.5, {**LOOSE, "epsilon": 2.0, "max_samples": 64}),
    "one-sided, capped before all tests": ("dp-nas-one-sided", 0.2, {**LOOSE, "epsilon": 1.0, "max_samples": 3}),
    "nas": ("nas", 0.4, {"alpha": 0.3, "beta": 0.2}),
    "nas, negative": ("nas", Discrete([-1, 1], [3, 1]), {"alpha": 0.3, "beta": 0.2}),
    "nas, capped": ("nas", 0.2, {"alpha": 0.3, "beta": 0.2, "max_samples": 4400}),
}


NOW = (
    "a coin", "a negative mean", "a small epsilon", "a mean near 0, capped", "one-sided", "one-sided, capped at a test",
    "nas", "nas, capped",
)  # fmt: skip


@pytest.mark.parametrize("case", some_now(sorted(LAWS, key=lambda case: case not in NOW), len(NOW)))
def test_the_kernel_has_the_law_of_the_object(case):
    rule, law, options = LAWS[case]
    slow = by_object(Setting.of(rule, law, runs=250, seed=1, **options))
    check_law(case, slow, run_setting(Setting.of(rule, law, runs=3000, seed=2, **options)))


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        ("a coin", {"epsilon": 2.5}),
        ("nas", {"alpha": 0.31}),
        ("a coin", {"law": 0.53}),
        ("one-sided, a small epsilon", {"epsilon": 0.045}),
    ],
    ids=str,
)
def test_other_settings_have_another_law(case, changes):
    """The tests above would notice errors of this size."""
    rule, law, options = LAWS[case]
    slow = by_object(Setting.of(rule, law, runs=300, seed=1, **options))
    options = {**options, **changes}
    wrong = run_setting(Setting.of(rule, options.pop("law", law), runs=3000, seed=2, **options))
    assert min(p_values(slow, wrong)) < LEVEL

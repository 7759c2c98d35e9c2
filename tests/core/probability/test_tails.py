"""The tails of totals with noise: each bound is the best of its kind, and each one holds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from discreet.core.probability.divergences import private_kl
from discreet.core.probability.tails import (
    bernstein_radius,
    clearly_behind,
    hoeffding_radius,
    laplace_sum_radius,
    largest_mean,
    largest_variance,
    lead_exponent,
    paired_exponent,
    tail_exponent,
)
from discreet.lab.kernels.compiled import compiled

COMPILED = {formula: compiled(formula) for formula in (bernstein_radius, lead_exponent, tail_exponent)}

EPSILONS = st.floats(0.01, 5.0)
WIDE = st.floats(-3, 2).map(lambda size: 10**size)
INNER = st.floats(0.001, 0.999)
LEVELS = st.floats(0.5, 40.0)


def noise_cost(s, noises, epsilon):
    return -noises * np.log1p(-((s / epsilon) ** 2))


@given(pulls=st.integers(1, 10**6), part=st.floats(0.0, 0.5), noises=st.integers(1, 20), epsilon=EPSILONS,
       variance=st.floats(0.0, 0.25))  # fmt: skip
@settings(max_examples=40)
def test_the_lead_exponent_is_the_best_that_chernoff_gives(pulls, part, noises, epsilon, variance):
    lead = part * pulls
    s = np.linspace(0, epsilon, 200_001)[:-1]
    spread = pulls * np.log1p(2 * variance * (np.cosh(s) - 1))
    best = max(0.0, (s * lead - spread - noise_cost(s, noises, epsilon)).max())
    found = lead_exponent(lead, pulls, noises, variance, epsilon)
    assert found >= best * (1 - 1e-6) - 1e-6
    assert found <= best * 1.05 + 0.05  # the search is finer than this grid
    assert COMPILED[lead_exponent](lead, pulls, noises, variance, epsilon) == pytest.approx(found, rel=1e-9, abs=1e-9)


@given(count=st.integers(0, 10**7), variance=st.floats(0.0, 0.25), noises=st.integers(1, 20), epsilon=EPSILONS,
       level=LEVELS)  # fmt: skip
@settings(max_examples=40)
def test_the_radii_are_the_least_that_chernoff_gives(count, variance, noises, epsilon, level):
    s = np.geomspace(epsilon * 1e-6, epsilon * (1 - 1e-9), 200_000)
    cost = noise_cost(s, noises, epsilon) + level
    hoeffding = ((count * s**2 / 8 + cost) / s).min()
    bennett = ((count * variance * (np.expm1(s) - s) + cost) / s).min()
    assert hoeffding_radius(count, noises, epsilon, level) == pytest.approx(hoeffding, rel=1e-5)
    found = bernstein_radius(count, variance, noises, epsilon, level)
    assert found == pytest.approx(min(hoeffding, bennett), rel=1e-5)
    assert COMPILED[bernstein_radius](count, variance, noises, epsilon, level) == pytest.approx(found, rel=1e-12)


@given(count=st.integers(1, 10**6), part=st.floats(-0.1, 1.1), noises=st.integers(0, 20), epsilon=EPSILONS,
       level=LEVELS)  # fmt: skip
def test_the_largest_mean_is_where_the_exponent_reaches_the_level(count, part, noises, epsilon, level):
    total = part * count
    found = largest_mean(total, count, noises, epsilon, level)
    assert 0 <= found <= 1
    assert found >= min(1, part)
    if found < 1 - 1e-9:
        assert tail_exponent(total, count, noises, found + 1e-9, epsilon) >= level * (1 - 1e-6)
    if found > max(part, 0) + 1e-6:
        assert tail_exponent(total, count, noises, found - 1e-6, epsilon) <= level + 1e-6


@given(count=st.integers(1, 10**6), variance=st.floats(1e-6, 0.25), noises=st.integers(1, 10), epsilon=EPSILONS,
       level=LEVELS, growth=st.floats(1.0, 4.0))  # fmt: skip
def test_a_radius_grows_at_most_like_the_root_of_the_count(count, variance, noises, epsilon, level, growth):
    """The proofs of the released stopping rules use this."""
    for radius in (
        lambda n: bernstein_radius(n, variance, noises, epsilon, level),
        lambda n: hoeffding_radius(n, noises, epsilon, level),
    ):
        assert radius(growth * count) <= math.sqrt(growth) * radius(count) * (1 + 1e-9)


DISTRIBUTIONS = {
    "coin": (lambda rng, shape: rng.random(shape) < 0.1, 0.1, 0.09),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5, 1 / 12),
    "beta": (lambda rng, shape: rng.beta(20, 20, shape), 0.5, 0.25 / 41),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(("noises", "epsilon"), [(1, 1.0), (4, 0.3)])
def test_the_bounds_hold_and_are_not_far_from_the_truth(distribution, noises, epsilon):
    draw, mean, variance = DISTRIBUTIONS[distribution]
    rng, count, runs, level = np.random.default_rng(7), 60, 40_000, 4.0
    totals = draw(rng, (runs, count)).sum(axis=1) + rng.laplace(0, 1 / epsilon, (runs, noises)).sum(axis=1)
    chance = math.exp(-level)
    spare = 4 * math.sqrt(chance / runs)
    for radius in (bernstein_radius(count, variance, noises, epsilon, level),
                   hoeffding_radius(count, noises, epsilon, level)):  # fmt: skip
        assert np.mean(totals - count * mean >= radius) <= chance + spare
        assert np.mean(count * mean - totals >= radius) <= chance + spare
    # A radius a third shorter would not hold: the bound is of the right size.
    tight = bernstein_radius(count, variance, noises, epsilon, level) / 1.8
    assert np.mean(np.abs(totals - count * mean) >= tight) > chance
    upper = np.array([largest_mean(total, count, noises, epsilon, level) for total in totals[:500]])
    assert np.mean(upper < mean) <= chance + 4 * math.sqrt(chance / 500)
    others = draw(rng, (runs, count)).sum(axis=1) + rng.laplace(0, 1 / epsilon, (runs, noises)).sum(axis=1)
    for lead in (10, 20, 30):
        allowed = math.exp(-lead_exponent(lead, count, 2 * noises, mean * (1 - mean), epsilon))
        assert np.mean(totals - others >= lead) <= allowed + 4 * math.sqrt(allowed / runs)


@given(total=st.floats(-5, 205), noises=st.integers(1, 6), epsilon=st.floats(0.05, 5), lead=st.floats(0, 150),
       level=st.floats(1, 20))  # fmt: skip
def test_the_test_is_the_exponent_at_the_largest_variance(total, noises, epsilon, lead, level):
    variance = largest_variance(total, 200, noises, epsilon, level)
    exponent = lead_exponent(lead, 200, 2 * noises, variance, epsilon)
    if abs(exponent - level) > 1e-6:
        assert clearly_behind(lead, total, 200, noises, epsilon, level, level) == (exponent > level)
    for mean in np.linspace(0, 1, 21):  # a mean of a larger variance is contradicted
        if mean * (1 - mean) > variance + 1e-9:
            below = tail_exponent(total, 200, noises, mean, epsilon)
            above = tail_exponent(200 - total, 200, noises, 1 - mean, epsilon)
            assert max(below, above) > level * (1 - 1e-6)


def test_an_exponent_keeps_its_digits_where_pulls_are_many():
    """cosh s - 1 computed as such has none left at s = 1e-8."""
    pulls = 1e17
    lead = math.sqrt(10 * pulls)  # n s^2/4 against s lead: an exponent of lead^2/n = 10
    assert lead_exponent(lead, pulls, 2, 0.25, 1.0) == pytest.approx(10, rel=1e-4)


# ---------------------------------------------------------------------- totals of Bernoulli rewards


@given(share=st.floats(-0.5, 1.0), count=st.integers(1, 10**7), noises=st.integers(1, 30), mean=INNER, epsilon=WIDE)
def test_the_tail_exponent_is_the_best_that_chernoff_gives(share, count, noises, mean, epsilon):
    total = count * mean * (1 - share) if share > 0 else count * mean * (1 + share) - 3 / epsilon

    def minus(s):
        noise = noises * math.log1p(-((s / epsilon) ** 2))
        return s * total + count * math.log1p(mean * math.expm1(-s)) - noise

    limits, fine = (0, epsilon * (1 - 1e-12)), {"xatol": 1e-6 * epsilon}  # the default step is too long for small ones
    best = -optimize.minimize_scalar(minus, bounds=limits, method="bounded", options=fine).fun
    found = tail_exponent(total, count, noises, mean, epsilon)
    assert found == pytest.approx(max(best, 0.0), rel=1e-3, abs=1e-5)
    if total >= 0:
        assert tail_exponent(total, count, 0, mean, epsilon) >= found * (1 - 1e-6) - 1e-9


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 40.0, 2000.0, 1e6])
@pytest.mark.parametrize("mean", [1.0, 1 - 1e-12, 1e-12])
def test_the_tail_exponent_at_the_ends(mean, epsilon):
    for total, count, noises in ((10, 20, 1), (-3, 1, 5), (19.999, 20, 40), (0, 10**12, 3)):
        for found in (tail_exponent, COMPILED[tail_exponent]):
            value = found(float(total), float(count), noises, mean, epsilon)
            assert value >= 0
            if mean == 1 and count < 100:  # the best of s missing + noises ln(1 - s^2/epsilon^2), in closed form
                missing = count - total
                s = min((math.hypot(noises, missing * epsilon) - noises) / missing, epsilon * (1 - 1e-9))
                best = s * missing + noises * math.log1p(-((s / epsilon) ** 2))
                assert value == pytest.approx(best, rel=1e-3, abs=1e-4)


def exact_tail(total, count, noises, mean, epsilon):
    """Pr[Binomial + noises <= total], for Laplace noises: their sum by a fine grid's convolution."""
    step, reach = 0.02 / epsilon, 60 / epsilon
    grid = np.arange(-reach, reach + step, step)
    density = np.exp(-np.abs(grid) * epsilon)
    density /= density.sum()
    one, summed = density, density
    for _ in range(noises - 1):
        summed = np.convolve(summed, one, mode="same")
    below = np.cumsum(summed)
    ones = np.arange(count + 1)
    place = np.searchsorted(grid, total - ones, side="right") - 1
    chances = np.where(place < 0, 0.0, below[np.clip(place, 0, grid.size - 1)])
    return float(stats.binom.pmf(ones, count, mean) @ chances)


@pytest.mark.parametrize("noises", [1, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_tail_exponent_bounds_the_tail_and_one_noise_does_not(noises, epsilon):
    count, mean, broken = 60, 0.6, 0
    for total in np.linspace(-15 / epsilon, 30, 30):
        chance = exact_tail(total, count, noises, mean, epsilon)
        assert chance <= math.exp(-tail_exponent(total, count, noises, mean, epsilon)) * 1.01
        estimate = min(1.0, max(0.0, total / count))
        broken += chance > 1.01 * math.exp(-count * private_kl(estimate, mean, epsilon))
    assert (broken > 0) == (noises > 1)  # what DP-IMED leaves out


# ---------------------------------------------------------------------- pairs


@given(deficit=st.floats(0.0, 1.0), pairs=st.integers(1, 10**7), noises=st.integers(1, 40), epsilon=WIDE)
def test_the_paired_exponent_is_the_best_that_chernoff_gives(deficit, pairs, noises, epsilon):
    deficit *= pairs
    s = epsilon * np.concatenate([np.geomspace(1e-9, 0.5, 4000), 1 - np.geomspace(1e-9, 0.5, 4000)])
    values = s * deficit - pairs * s * s / 2 + noises * np.log1p(-((s / epsilon) ** 2))
    assert paired_exponent(deficit, pairs, noises, epsilon) == pytest.approx(max(0.0, values.max()), rel=1e-2, abs=1e-4)


@pytest.mark.parametrize("means", [(0.5, 0.5), (0.2, 0.2), (0.9, 0.8)])
def test_the_paired_exponent_bounds_the_tail_of_arms_that_are_as_good(means):
    pairs, noises, epsilon, runs = 40, 4, 0.5, 200_000
    rng = np.random.default_rng(1)
    arm, other = (rng.binomial(pairs, mean, runs) for mean in means)
    deficits = other - arm + rng.laplace(0, 1 / epsilon, (noises, runs)).sum(axis=0)
    for deficit in (5, 10, 15, 20, 25):
        allowed = math.exp(-paired_exponent(deficit, pairs, noises, epsilon))
        assert (deficits >= deficit).mean() <= allowed + 4 * math.sqrt(allowed / runs)


# ---------------------------------------------------------------------- sums of noises


@pytest.mark.parametrize("scales", [[1.0], [3.0] * 5, [1.0, 10.0, 10.0, 40.0]])
def test_a_sum_of_noises_is_seldom_beyond_its_radius(scales):
    runs, rng = 200_000, np.random.default_rng(2)
    sums = np.abs(rng.laplace(0, np.array(scales), (runs, len(scales))).sum(axis=1))
    for beta in (0.2, 0.01):
        assert np.mean(sums > laplace_sum_radius(scales, beta)) <= beta
    assert laplace_sum_radius([], 0.1) == 0.0

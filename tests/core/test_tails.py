"""The tails of totals with noise: each bound is the best of its kind, and each one holds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.tails import bernstein_radius, hoeffding_radius, largest_mean, lead_exponent, tail_exponent
from discreet.lab.kernels import formulas as compiled

EPSILONS = st.floats(0.01, 5.0)
LEVELS = st.floats(0.5, 40.0)


def noise_cost(s, noises, epsilon):
    return -noises * np.log1p(-((s / epsilon) ** 2))


@given(pulls=st.integers(1, 10**6), part=st.floats(0.0, 0.5), noises=st.integers(1, 20), epsilon=EPSILONS,
       variance=st.floats(0.0, 0.25))  # fmt: skip
def test_the_lead_exponent_is_the_best_that_chernoff_gives(pulls, part, noises, epsilon, variance):
    lead = part * pulls
    s = np.linspace(0, epsilon, 200_001)[:-1]
    spread = pulls * np.log1p(2 * variance * (np.cosh(s) - 1))
    best = max(0.0, (s * lead - spread - noise_cost(s, noises, epsilon)).max())
    found = lead_exponent(lead, pulls, noises, variance, epsilon)
    assert found >= best * (1 - 1e-6) - 1e-6
    assert found <= best * 1.05 + 0.05  # the search is finer than this grid
    assert compiled.lead_exponent(lead, pulls, noises, variance, epsilon) == pytest.approx(found, rel=1e-9, abs=1e-9)


@given(count=st.integers(0, 10**7), variance=st.floats(0.0, 0.25), noises=st.integers(1, 20), epsilon=EPSILONS,
       level=LEVELS)  # fmt: skip
def test_the_radii_are_the_least_that_chernoff_gives(count, variance, noises, epsilon, level):
    s = np.geomspace(epsilon * 1e-6, epsilon * (1 - 1e-9), 200_000)
    cost = noise_cost(s, noises, epsilon) + level
    hoeffding = ((count * s**2 / 8 + cost) / s).min()
    bennett = ((count * variance * (np.expm1(s) - s) + cost) / s).min()
    assert hoeffding_radius(count, noises, epsilon, level) == pytest.approx(hoeffding, rel=1e-5)
    found = bernstein_radius(count, variance, noises, epsilon, level)
    assert found == pytest.approx(min(hoeffding, bennett), rel=1e-5)
    assert compiled.bernstein_radius(count, variance, noises, epsilon, level) == pytest.approx(found, rel=1e-12)


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
    upper = np.array([largest_mean(total, count, noises, epsilon, level) for total in totals[:2000]])
    assert np.mean(upper < mean) <= chance + 4 * math.sqrt(chance / 2000)
    others = draw(rng, (runs, count)).sum(axis=1) + rng.laplace(0, 1 / epsilon, (runs, noises)).sum(axis=1)
    for lead in (10, 20, 30):
        allowed = math.exp(-lead_exponent(lead, count, 2 * noises, mean * (1 - mean), epsilon))
        assert np.mean(totals - others >= lead) <= allowed + 4 * math.sqrt(allowed / runs)

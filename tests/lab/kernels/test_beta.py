"""Densities of beta variables, and variables that are cut at a level."""

import numpy as np
import pytest
from scipy import stats

from discreet.lab.kernels import beta, randomness
from tests._tools.kernel_tools import LEVEL

SHAPES = [(1.0, 1.0), (1.0, 7.0), (9.0, 1.0), (1.2, 1.1), (3.0, 2.5), (40.0, 90.0), (800_000.0, 200_000.0), (1e7, 2.0)]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_densities_and_slopes_are_scipys(a, b):
    for x in stats.beta(a, b).ppf([0.001, 0.3, 0.9]):
        found = beta.log_density(x, a, b, beta.log_mass(a, b))
        assert found == pytest.approx(stats.beta(a, b).logpdf(x), rel=1e-6, abs=1e-6)
        step = 1e-6 * x * (1 - x)
        up, down = (beta.log_density(x + side, a, b, 0.0) for side in (step, -step))
        assert beta.slope(x, a, b) == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=1e-3 * (a + b))


def test_cut_variables_lie_on_their_side_with_the_exact_law():
    state = randomness.fresh_state(3)
    whole = stats.beta(6.0, 4.0)
    above = [beta.beta_between(state, 6.0, 4.0, 0.5, np.inf) for _ in range(20_000)]
    below = [beta.beta_between(state, 6.0, 4.0, -np.inf, 0.7) for _ in range(20_000)]
    assert stats.kstest(above, lambda x: (whole.cdf(x) - whole.cdf(0.5)) / whole.sf(0.5)).pvalue > LEVEL
    assert stats.kstest(below, lambda x: whole.cdf(x) / whole.cdf(0.7)).pvalue > LEVEL


def test_beyond_the_centres_a_density_only_grows_or_only_shrinks_with_time():
    """What the bounds of a window rest on: above the highest centre a posterior that moves up gains everywhere."""
    generator = np.random.default_rng(4)
    for _ in range(100):
        size = 2.0 ** generator.integers(0, 20)
        early, late = np.sort(generator.random(2)) * size
        top = beta.highest_centre(late + 1, size - late + 1)
        bottom = beta.lowest_centre(early + 1, size - early + 1)
        for x in generator.random(5):
            x_up, x_down = top + (1 - top) * x, bottom * x
            first, last = stats.beta(early + 1, size - early + 1), stats.beta(late + 1, size - late + 1)
            assert first.logpdf(x_up) <= last.logpdf(x_up) + 1e-6
            assert last.logpdf(x_down) <= first.logpdf(x_down) + 1e-6

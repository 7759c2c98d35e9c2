"""Divergences of Bernoulli variables against the theory's, which work on arrays and check their arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import theory
from discreet.core.probability.divergences import kl, kl_upper, private_kl, private_kl_upper

MEANS = st.floats(0.0, 1.0, allow_subnormal=False)
EPSILONS = st.floats(-3, 2).map(lambda size: 10**size)


@given(x=MEANS, y=MEANS)
def test_kl_is_the_theorys(x, y):
    assert kl(x, y) == pytest.approx(theory.divergence(x, y), rel=1e-9, abs=1e-12)


@given(x=MEANS, y=MEANS, epsilon=EPSILONS)
def test_private_kl_is_the_theorys_for_larger_means(x, y, epsilon):
    expected = theory.private_divergence(x, y, epsilon) if y > x else 0.0
    assert private_kl(x, y, epsilon) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@given(x=MEANS, budget=st.floats(-9, 2).map(lambda size: 10**size))
def test_kl_upper_is_the_largest_mean_within_the_budget(x, budget):
    y = kl_upper(x, budget)
    assert x <= y <= 1
    assert y == 1 or kl(x, y) == pytest.approx(budget, rel=1e-6 if y < 1 - 1e-9 else 1e-3)
    assert y < 1 or kl(x, 1 - 1e-12) <= budget
    assert kl_upper(x, 0.0) == x


@given(x=MEANS, budget=st.floats(-6, 2).map(lambda size: 10**size), epsilon=EPSILONS)
def test_private_kl_upper_is_the_largest_mean_within_the_budget(x, budget, epsilon):
    y = private_kl_upper(x, budget, epsilon)
    assert x <= y <= 1
    close = 1e-5 if y < 1 - 1e-9 else 2e-2  # next to 1, a rounding of y is a large part of 1 - y
    assert y == 1 or private_kl(x, y, epsilon) == pytest.approx(budget, rel=close, abs=1e-9)
    assert y < 1 or private_kl(x, 1.0, epsilon) <= budget * (1 + 1e-6) or kl(x, 1 - 1e-12) <= budget

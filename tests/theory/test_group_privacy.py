"""The privacy loss of product distributions: exact losses of real mechanisms stay below it, and one attains it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet import theory

DISTANCES = st.floats(0.001, 1.0)


@given(d=DISTANCES, epsilon=st.floats(0.01, 30))
def test_randomised_response_on_one_sample_attains_the_bound(d, epsilon):
    yes, no = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    loss = math.log((d * yes + (1 - d) * no) / no)
    assert loss == pytest.approx(theory.product_privacy_loss(1, d, epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 8.0])
@pytest.mark.parametrize(("x", "y"), [(0.5, 0.6), (0.0, 0.3), (0.2, 0.9), (0.01, 0.02)])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_the_laplace_mechanism_on_a_sum_stays_below_it(n, x, y, epsilon):
    """Exact: the tail probabilities of a binomial sum with Laplace noise of scale 1/epsilon, at every threshold."""
    sums, thresholds = np.arange(n + 1), np.linspace(-5 / epsilon, n + 5 / epsilon, 400)
    above = stats.laplace.sf(thresholds[:, None], loc=sums, scale=1 / epsilon)
    p, q = above @ stats.binom.pmf(sums, n, x), above @ stats.binom.pmf(sums, n, y)
    bound = theory.product_privacy_loss(n, abs(x - y), epsilon)
    assert np.abs(np.log(p / q)).max() <= bound * (1 + 1e-9)
    assert bound <= n * epsilon * (1 + 1e-12)


@given(n=st.integers(1, 10**6), d=DISTANCES, epsilon=st.floats(1e-6, 2.918))
def test_lemma_3_5_follows_up_to_its_epsilon(n, d, epsilon):
    assert theory.product_privacy_loss(n, d, epsilon) <= theory.karwa_vadhan_loss(n, d, epsilon) * (1 + 1e-12)


def test_lemma_3_5_is_false_as_printed_for_a_large_epsilon():
    for epsilon, d in ((2.92, 1e-5), (10.0, 0.001), (30.0, 0.1)):  # and the bound is attained, as above
        assert theory.product_privacy_loss(1, d, epsilon) > 6 * epsilon * d


@given(
    mean=st.floats(0.001, 1.0), alpha=st.floats(0.001, 0.999), epsilon=st.floats(0.001, 100), beta=st.floats(1e-9, 0.24)
)
def test_theorem_3_4_survives_for_every_epsilon(mean, alpha, epsilon, beta):
    """At its n the probabilities of outputs under P and Q differ by a factor of at most beta^-1/2, one way or another.

    For epsilon <= 2.9 that is privacy. For epsilon >= 1/3 it needs none: the likelihood ratio of n samples of -R and R
    is at most (1 + mu)^n/(1 + mu')^n.
    """
    n = theory.private_stopping_lower_bound(mean, alpha, beta, epsilon, low=-1, high=1)
    rival = mean * (1 - alpha) / (1 + alpha)
    likelihood = n * math.log((1 + mean) / (1 + rival))
    privacy = n * theory.product_privacy_loss(1, (mean - rival) / 2, epsilon)
    enough = -math.log(beta) / 2 * (1 + 1e-9)
    assert privacy <= enough if epsilon <= 2.9 else likelihood <= enough
    assert likelihood <= enough or epsilon < 1 / 3


def test_the_ends():
    assert theory.product_privacy_loss(5, 0.0, 3.0) == 0
    assert theory.product_privacy_loss(5, 1.0, 3.0) == pytest.approx(15.0)
    assert theory.product_privacy_loss([1, 2], 0.5, 1e4).tolist() == pytest.approx(
        [1e4 - math.log(2), 2e4 - 2 * math.log(2)]
    )

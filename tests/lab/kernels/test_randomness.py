"""Random numbers inside kernels have the exact law, and an error would be noticed."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from discreet.lab.kernels import randomness
from tests._tools.kernel_tools import LEVEL, noise_p_value


@njit
def many_binomials(state, count, p, size):
    found = np.empty(size, np.int64)
    for i in range(size):
        found[i] = randomness.binomial(state, count, p)
    return found


@njit
def many_laplaces(state, scale, size):
    found = np.empty(size)
    for i in range(size):
        found[i] = randomness.laplace(state, scale)
    return found


def binomial_p_value(draws, count, p):
    low, high = (int(stats.binom.ppf(q, count, p)) for q in (1e-3, 1 - 1e-3))
    step = max(1, (high - low) // 40)
    edges = np.arange(low, high + step, step)
    expected = np.diff(np.concatenate([[0], stats.binom.cdf(edges, count, p), [1]])) * draws.size
    observed = np.bincount(np.searchsorted(edges, draws), minlength=expected.size)
    return stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize(
    ("count", "p"),
    [
        (10, 0.5),
        (40, 0.1),
        (64, 0.7),
        (100, 0.75),
        (255, 0.03),
        (300, 0.4),
        (1000, 0.75),
        (10**6, 0.7),
        (10**7, 1e-7),
        (10**9, 0.25),
    ],
)
def test_binomials_have_the_exact_law(count, p):
    draws = many_binomials(randomness.fresh_state([count, 1]), count, p, 100_000)
    assert binomial_p_value(draws, count, p) > LEVEL


@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 1000, 10**6])
def test_binomials_at_the_ends_are_certain(count):
    state = randomness.fresh_state(count)
    assert (many_binomials(state, count, 1.0, 10) == count).all()
    assert (many_binomials(state, count, 0.0, 10) == 0).all()


def test_a_planted_error_in_the_binomial_is_noticed():
    draws = many_binomials(randomness.fresh_state(1), 1000, 0.751, 100_000)
    assert binomial_p_value(draws, 1000, 0.75) < LEVEL


def test_laplace_variables_have_the_exact_law():
    draws = many_laplaces(randomness.fresh_state(2), 3.0, 100_000)
    assert stats.kstest(draws, stats.laplace(scale=3.0).cdf).pvalue > LEVEL
    assert stats.kstest(draws, stats.laplace(scale=3.3).cdf).pvalue < LEVEL


@njit
def many_discrete_laplaces(state, scale, size):
    found = np.empty(size, np.int64)
    for i in range(size):
        found[i] = randomness.discrete_laplace(state, scale)
    return found


@pytest.mark.parametrize("scale", [0.3, 3.7, 1.2e7, 2.0**50])
def test_discrete_noise_has_the_exact_law_and_a_wrong_scale_is_noticed(scale):
    draws = many_discrete_laplaces(randomness.fresh_state([int(scale), 5]), scale, 20_000)
    assert noise_p_value(draws, scale) > LEVEL
    assert noise_p_value(draws, 1.1 * scale) < LEVEL


@njit
def many_betas(state, a, b, size):
    found = np.empty(size)
    for i in range(size):
        found[i] = randomness.beta(state, a, b)
    return found


@pytest.mark.parametrize("a", [1.0, 1.5, 2.0, 30.0, 5e7])
@pytest.mark.parametrize("b", [1.0, 2.0, 7.5, 1e4, 2e7])
def test_beta_variables_have_the_exact_law(a, b):
    draws = many_betas(randomness.fresh_state([int(a), int(b)]), a, b, 50_000)
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > LEVEL
    centre, deviation = stats.beta(a, b).stats()[0], stats.beta(a, b).std()
    assert stats.kstest(draws + 0.05 * deviation, stats.beta(a, b).cdf).pvalue < LEVEL, centre  # a planted error

"""Upper bounds on NAS: above what its thresholds guarantee, and of the orders that the paper names."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import theory

MEANS, ALPHAS = st.floats(-6, math.log10(2)).map(lambda size: 10**size), st.floats(1e-3, 0.999)
BETAS = st.floats(-200, -0.001).map(lambda size: 10**size)


@given(mean=MEANS, alpha=ALPHAS, beta=BETAS)
def test_nas_is_sure_to_halt_by_its_bound(mean, alpha, beta):
    sure = theory.sure_samples("nas", mean, alpha, beta, low=0, high=2)
    if math.isfinite(sure):
        assert sure <= theory.nas_upper_bound(mean, alpha, beta, low=0, high=2)


@given(mean=MEANS, alpha=ALPHAS, beta=BETAS)
def test_nas_on_doubling_times_is_sure_to_halt_by_its_bound(mean, alpha, beta):
    bound = theory.doubling_nas_upper_bound(mean, alpha, beta, low=0, high=2)
    k = np.arange(1.0, 120.0)
    radii = np.sqrt(2 / 2.0**k * (np.log(4 * k**2) - math.log(beta)))
    assert 2.0 ** k[mean >= radii * (2 + 1 / alpha)][0] <= bound


def test_the_radii_of_doubling_times_are_those_of_the_rule():
    rule, k = discreet.ExponentialNAS(alpha=0.5, beta=0.1, radius=3.0), np.arange(1.0, 30.0)
    assert rule.hoeffding_radius(2**k) == pytest.approx(3 * np.sqrt(2 / 2**k * np.log(4 * k**2 / 0.1)), rel=1e-6)


def test_the_bounds_are_not_far_from_what_is_sure():
    """A bound that is twenty times too large would be a bound too: they are within a factor of 2 to 14 here."""
    for mean in (0.5, 0.05, 0.005):
        sure = theory.sure_samples("nas", mean, 0.1, 0.05, low=-1, high=1)
        assert 2 * sure < theory.nas_upper_bound(mean, 0.1, 0.05, low=-1, high=1) < 14 * sure


def test_their_orders():
    means = np.array([1e-3, 1e-6, 1e-12])
    per_square = theory.nas_upper_bound(means, 0.5, 0.05) * (0.5 * means / 0.5) ** 2
    assert np.diff(per_square) == pytest.approx(72 * 2 * np.log(10) * np.array([3, 6]), rel=1e-6)
    per_square = theory.doubling_nas_upper_bound(means, 0.5, 0.05) * (0.5 * means / 0.5) ** 2
    assert np.diff(per_square) == pytest.approx(144 * math.log(2), rel=0.2)  # log log doubles its argument


def test_a_hopeless_mean_takes_for_ever():
    assert theory.nas_upper_bound([1e-3, 1e-200], 0.1, 0.05)[1] == math.inf
    assert theory.doubling_nas_upper_bound(1e-200, 0.1, 0.05) == math.inf


def test_the_excess_is_at_most_2_exactly_under_the_papers_condition():
    for beta in (0.3, 0.08, 0.05):
        edge = math.exp(-1 / beta)  # alpha |mu|/R at log(R/(alpha |mu|)) = 1/beta
        below, above = theory.stopping_excess([edge * 2 * 1.001, edge * 2 * 0.999], 0.5, beta, low=-1, high=1)
        assert below < 2 < above
    assert theory.stopping_excess(0.9, 0.9, 0.05, low=-1, high=1) == 1.0  # nothing is owed where L is 1 or less


@given(mean=st.floats(-300, 0).map(lambda size: 10**size), alpha=ALPHAS, beta=st.floats(1e-9, 0.08))
def test_the_excess_is_the_ratio_of_the_two_bounds_terms(mean, alpha, beta):
    parts = theory.stopping_upper_bound_parts(mean, alpha, beta, 1.0, low=-1, high=1)
    log, excess = math.log(1 / beta), theory.stopping_excess(mean, alpha, beta, low=-1, high=1)
    assert parts.t1 / (log / mean) == pytest.approx(excess)
    private = theory.private_stopping_lower_bound(mean, alpha, beta, 1.0, low=-1, high=1)
    assert parts.t2 / private == pytest.approx(12)
    assert parts.t1 <= parts.t2 * alpha * excess * (1 + 1e-9)


def test_runs_of_nas_halt_by_the_bound():
    for seed in range(20):
        samples = np.random.default_rng(seed).choice([-1.0, 1.0], size=40_000, p=[0.3, 0.7])
        rule = discreet.NAS(alpha=0.5, beta=0.1, radius=1.0)
        assert rule.run(samples).samples <= theory.nas_upper_bound(0.4, 0.5, 0.1, low=-1, high=1)

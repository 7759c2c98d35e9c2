"""Upper bounds on Successive Elimination: above what its radii guarantee, and above simulated pulls."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import theory
from discreet.lab import play


@given(gap=st.floats(1e-3, 1.0), arms=st.integers(2, 1000), beta=st.floats(1e-12, 0.9))
def test_the_radii_resolve_the_gap_by_the_bound(gap, arms, beta):
    rounds = theory.se_pull_bound(gap, arms, beta)
    later = rounds * np.array([1.0, 1.5, 10.0, 1e6])
    assert (4 * np.sqrt(np.log(4 * arms * later**2 / beta) / (2 * later)) < gap).all()
    early = math.floor(rounds / 3)
    assert early == 0 or 4 * math.sqrt(math.log(4 * arms * early**2 / beta) / (2 * early)) > gap


@pytest.mark.parametrize("beta", [0.5, 1e-6])
def test_the_radii_are_those_of_the_policy(beta):
    policy = discreet.SuccessiveElimination(range(5), beta=beta)
    for rounds in (1, 10, 12345):
        assert policy.radius(rounds) == pytest.approx(math.sqrt(math.log(4 * 5 * rounds**2 / beta) / (2 * rounds)))


def test_runs_stay_below():
    means, horizon = np.array([0.9, 0.7, 0.4, 0.1]), 20_000
    gaps = means.max() - means
    for seed in range(5):
        pulls = play(
            discreet.SuccessiveElimination(range(4), horizon=horizon), means, np.random.default_rng(seed)
        ).pulls
        assert (pulls[1:] <= theory.se_pull_bound(gaps[1:], 4, 1 / horizon)).all()
        assert float(pulls @ gaps) <= theory.se_regret_bound(means, horizon)


def test_the_order_is_that_of_ucb():
    horizons = np.array([1e6, 1e12, 1e15])
    ratio = theory.se_regret_bound([0.7, 0.5], horizons) / theory.ucb_regret_bound([0.7, 0.5], horizons)
    assert (np.diff(ratio) < 0).all()  # it falls to 2
    assert 2 < ratio[-1] < ratio[0] < 5

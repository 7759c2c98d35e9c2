"""Thompson sampling's kernel: the reference against the object pull by pull, skip-ahead in law and in its parts."""

import functools
import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

import discreet
from discreet.lab import instance
from discreet.lab.kernels import randomness
from discreet.lab.kernels import thompson_sampling as ts
from tests._tools.kernel_tools import HARD, LEVEL, check_counts, check_object, outcomes, planted, smallest_p
from tests._tools.step_by_step import play_thompson_sampling

INSTANCES = {"C1": instance("C1", 2).means, "C2": instance("C2", 5).means, "C4": instance("C4", 20).means, **HARD}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", INSTANCES)
def test_the_reference_kernel_is_the_policy_object(name, seed):
    means = np.array(INSTANCES[name])
    check_object(
        discreet.ThompsonSampling(range(len(means)), horizon=1500, seed=0), play_thompson_sampling, means, seed
    )


@pytest.mark.parametrize(
    ("means", "horizon"),
    [
        ([0.8, 0.5, 0.3], 4000),
        ([0.02, 0.01, 0.0], 2000),
        pytest.param([0.75, 0.7], 2000, marks=pytest.mark.study),
        pytest.param([0.6, 0.6, 0.2, 0.1, 0.1], 2000, marks=pytest.mark.study),
    ],
)
def test_skip_ahead_has_the_law_of_the_reference(means, horizon):
    slow = outcomes(play_thompson_sampling, means, 700, horizon, 1)
    assert smallest_p(slow, outcomes(ts.skip_ahead, means, 700, horizon, 2)) > LEVEL


def test_counts_at_checkpoints_add_up():
    check_counts(ts.skip_ahead)


@njit
def many_beyond(state, a, b, bar, size):
    """What `draw_beyond` gives, as often as its coin comes up heads; and the chance of heads."""
    chance, rate = ts.beyond(a, b, ts.log_mass(a, b), bar)
    found = np.empty(size)
    for i in range(size):
        found[i] = ts.draw_beyond(state, a, b, bar, rate)
    return found, chance


@pytest.mark.parametrize(("a", "b", "bar"), [(1, 5, 0.5), (7, 5, 0.7), (40, 400, 0.12), (3e6, 1e6, 0.7504)])
def test_what_lies_beyond_a_bar_has_the_posterior_density(a, b, bar):
    law, rate = stats.beta(a, b), (b - 1) / (1 - bar) - (a - 1) / bar
    drawn, chance = many_beyond(randomness.fresh_state(1), float(a), float(b), bar, 100_000)
    kept = drawn[drawn >= 0]
    assert stats.binomtest(kept.size, drawn.size, law.sf(bar) / chance).pvalue > LEVEL
    assert stats.kstest(kept, lambda x: 1 - law.sf(x) / law.sf(bar)).pvalue > LEVEL
    assert stats.kstest(kept, lambda x: -np.expm1(-rate * (x - bar))).pvalue < LEVEL  # the envelope, kept whole


def test_a_density_that_does_not_fall_at_the_bar_has_no_bound():
    assert ts.beyond(5.0, 1.0, ts.log_mass(5.0, 1.0), 0.9)[0] == math.inf
    assert ts.beyond(5.0, 5.0, ts.log_mass(5.0, 5.0), 0.5)[0] == math.inf


def test_the_leaders_coin_bounds_all_that_a_block_could_make_of_it():
    generator = np.random.default_rng(1)
    coins, rates, tried = np.zeros(2), np.zeros(2), 0
    for _ in range(300):
        pulls = int(10 ** generator.uniform(1.5, 6))
        ones = int(pulls * generator.uniform(0.05, 1))
        a, b = np.array([ones + 1.0, 1.0]), np.array([pulls - ones + 1.0, 1e6])
        bar, size = ts.choose_bar(a, b, 0)
        if size < 1 or not ts.coins_to_skip(a, b, np.full(2, np.nan), 0, bar, size, coins, rates) > -1:
            continue
        tried += 1
        for _ in range(20):
            done = int(generator.integers(size + 1))
            gained = int(generator.integers(done + 1))
            after = b[0] + done - gained, a[0] + gained
            assert ts.beyond(*after, ts.log_mass(*after), 1 - bar)[0] <= coins[0]
    assert tried > 100


draw_beyond, beyond, beta_between = ts.draw_beyond, ts.beyond, ts.beta_between


def always_kept(state, a, b, bar, rate):
    """A draw of the exponential for one of the posterior."""
    return bar - math.log(randomness.uniform(state)) / rate


def half_as_likely(a, b, mass, bar):
    """Coins of half the chance that they must have."""
    chance, rate = beyond(a, b, mass, bar)
    return chance / 2, rate


def at_the_bar(state, a, b, low, high):
    """The lowest that a leader above the bar could have drawn."""
    return low if low > 0 else beta_between(state, a, b, low, high)


THOMPSON = [0.8, 0.6, 0.3], 2000, 5000


@functools.cache
def slow_thompson_sampling():
    return outcomes(play_thompson_sampling, *THOMPSON, 1)


@pytest.mark.study
@pytest.mark.parametrize(
    "wrong", [{}, {"draw_beyond": always_kept}, {"beyond": half_as_likely}, {"beta_between": at_the_bar}]
)
def test_planted_errors_are_noticed(wrong):
    fast = outcomes(planted(ts, **wrong).skip_ahead, *THOMPSON, 2)
    assert bool(smallest_p(slow_thompson_sampling(), fast) < LEVEL) is bool(wrong)


def test_at_the_papers_horizon_the_regret_is_known():
    """The mean regret of 20 runs at T = 5e7 on C2."""
    horizon, on = 50_000_000, instance("C2", 5)
    states = (randomness.fresh_state([run, 4]) for run in range(20))
    found = [ts.skip_ahead(on.means, horizon, state, np.array([horizon]))[0] for state in states]
    assert 70 < np.mean(found @ on.gaps) < 115

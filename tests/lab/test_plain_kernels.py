"""The kernels of KL-UCB, IMED and Thompson sampling: pull by pull where that can be, else in law."""

import functools
import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

import discreet
from discreet.lab import instance
from discreet.lab.kernels import imed, kl_race, kl_ucb, randomness
from discreet.lab.kernels import thompson_sampling as ts
from tests._tools.kernel_tools import LEVEL, marks, plant

HARD = {
    "equal arms": [0.5, 0.5],
    "three equal arms": [0.3, 0.3, 0.3],
    "sure arms": [1.0, 1.0],
    "hopeless arms": [0.0, 0.0],
    "a sure and a fair arm": [1.0, 0.5],
    "a hopeless arm": [0.0, 0.3],
    "rare rewards": [0.001, 0.002],
    "rare failures": [0.999, 0.998, 0.2],
    "a close race": [0.75, 0.7499, 0.6],
}
PAPER = {f"{name}, K = {arms}": instance(name, arms).means for name in ("C1", "C2", "C3", "C4") for arms in (2, 5, 20)}
INSTANCES = PAPER | {name: np.array(means) for name, means in HARD.items()}


def check_object(policy, kernel, means, seed, *constants):
    """A reference kernel against the policy object, on the same random numbers."""
    points = marks(policy.horizon)
    counts = kernel(means, policy.horizon, randomness.fresh_state(seed), points, *constants)
    state = randomness.fresh_state(seed)
    if isinstance(policy, discreet.ThompsonSampling):
        policy.draw = lambda arm: float(
            randomness.beta(state, policy.total(arm) + 1, policy._pulls[arm] - policy.total(arm) + 1)
        )
    for time in range(1, policy.horizon + 1):
        (arm,) = policy.plan().pulls
        policy.close({arm: int(randomness.bernoulli(state, randomness.threshold(means[arm]))) * policy.grid.width})
        place = np.searchsorted(points, time)
        if points[place] == time:
            assert list(policy.pulls.values()) == counts[place].tolist()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["C1, K = 2", "C2, K = 5", "C4, K = 20", *HARD])
class TestReferences:
    def test_kl_ucb(self, name, seed):
        for c in (0.0, 3.0):
            policy = discreet.KLUCB(range(len(INSTANCES[name])), horizon=1500, c=c)
            check_object(policy, kl_ucb.reference, INSTANCES[name], seed, c)

    def test_imed(self, name, seed):
        check_object(discreet.IMED(range(len(INSTANCES[name])), horizon=1500), imed.reference, INSTANCES[name], seed)

    def test_thompson_sampling(self, name, seed):
        policy = discreet.ThompsonSampling(range(len(INSTANCES[name])), horizon=1500, seed=0)
        check_object(policy, ts.reference, INSTANCES[name], seed)


# ---------------------------------------------------------------------- KL-UCB and IMED


@njit
def kl_ucb_on_a_table(table, horizon, checkpoints, c):
    """KL-UCB step by step on rewards that are fixed by arm and pull."""
    arms, place = table.shape[0], 0
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else kl_ucb.leader(totals, pulls, kl_ucb.exploration(time, c))
        totals[arm] += table[arm, pulls[arm]]
        pulls[arm] += 1
        if checkpoints[place] == time:
            counts[place] = pulls
            place += 1
    return counts


@njit
def imed_on_a_table(table, horizon, checkpoints):
    """The same for IMED."""
    arms, place = table.shape[0], 0
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else imed.leader(totals, pulls)
        totals[arm] += table[arm, pulls[arm]]
        pulls[arm] += 1
        if checkpoints[place] == time:
            counts[place] = pulls
            place += 1
    return counts


def tables(means, horizon, seeds=2):
    for seed in range(seeds):
        yield (np.random.default_rng(seed).random((len(means), horizon)) < np.array(means)[:, None]).astype(np.uint8)


BOLDNESS = pytest.mark.parametrize("boldness", [0.9, 4.0], ids=["normal guesses", "bold guesses, which force reveals"])


@BOLDNESS
@pytest.mark.parametrize("name", INSTANCES)
def test_kl_ucb_skip_ahead_replays_the_reference_pull_by_pull(name, boldness):
    horizon, means = 60_000, INSTANCES[name]
    points = marks(horizon)
    for c, table in zip((0.0, 3.0), tables(means, horizon), strict=True):
        fast = kl_ucb.replay(means, horizon, table, points, c, boldness)
        assert (fast == kl_ucb_on_a_table(table, horizon, points, c)).all()


@BOLDNESS
@pytest.mark.parametrize("name", INSTANCES)
def test_imed_skip_ahead_replays_the_reference_pull_by_pull(name, boldness):
    horizon, means = 60_000, INSTANCES[name]
    points = marks(horizon)
    for table in tables(means, horizon):
        assert (imed.replay(means, horizon, table, points, boldness) == imed_on_a_table(table, horizon, points)).all()


spare_zeros, highest_rival, rivals = kl_race.spare_zeros, kl_ucb.highest_rival, imed.rivals


def generous(total, pulls, level, room):
    """Three zeros more than can surely be spared."""
    spare = spare_zeros(total, pulls, level, room)
    return spare if spare < 0 else spare + 3


def short_sighted(totals, pulls, arm, evidence):
    """The others, a little below what they will be."""
    return 0.999 * highest_rival(totals, pulls, arm, evidence)


def roomy(totals, pulls, arm, end):
    """A little more room than there is."""
    level, room = rivals(totals, pulls, arm, end)
    return level, room + 0.1


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        (kl_ucb, {"spare_zeros": generous}),
        (imed, {"spare_zeros": generous}),
        (kl_ucb, {"highest_rival": short_sighted}),
        (imed, {"rivals": roomy}),
    ],
)
def test_planted_errors_in_skip_ahead_are_noticed(monkeypatch, module, wrong):
    horizon, means = 30_000, instance("C1", 5).means
    points, constants = marks(horizon), (0.0,) if module is kl_ucb else ()
    on_a_table = kl_ucb_on_a_table if module is kl_ucb else imed_on_a_table
    expected = [on_a_table(table, horizon, points, *constants) for table in tables(means, horizon, 5)]
    plant(monkeypatch, kl_race, **wrong)
    plant(monkeypatch, module, **wrong)
    found = [module.replay(means, horizon, table, points, *constants) for table in tables(means, horizon, 5)]
    assert any((one != other).any() for one, other in zip(found, expected, strict=True))


# ---------------------------------------------------------------------- in law


def outcomes(kernel, means, runs, horizon, tag, *constants):
    """Pulls of each arm at three moments of each run: a row for each of these."""
    points = np.array([horizon // 20, horizon // 4, horizon])
    means = np.array(means)
    found = [kernel(means, horizon, randomness.fresh_state([run, tag]), points, *constants) for run in range(runs)]
    return np.array(found).reshape(runs, -1).T


def worst_p_value(one, other):
    return min(stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(one, other, strict=True))


KERNELS = {"kl-ucb": (kl_ucb, (0.0,)), "kl-ucb, c = 3": (kl_ucb, (3.0,)), "imed": (imed, ()), "ts": (ts, ())}


@pytest.mark.parametrize("name", ["kl-ucb", "imed", "ts"])
@pytest.mark.parametrize(
    ("means", "horizon"),
    [([0.8, 0.5, 0.3], 8000), ([0.75, 0.7], 4000), ([0.6, 0.6, 0.2, 0.1, 0.1], 2000), ([0.02, 0.01, 0.0], 4000)],
)
def test_skip_ahead_on_fresh_randomness_has_the_law_of_the_reference(name, means, horizon):
    module, constants = KERNELS[name]
    slow = outcomes(module.reference, means, 700, horizon, 1, *constants)
    fast = outcomes(module.skip_ahead, means, 700, horizon, 2, *constants)
    assert worst_p_value(slow, fast) > LEVEL


@pytest.mark.parametrize("name", KERNELS)
def test_counts_at_checkpoints_add_up(name):
    module, constants = KERNELS[name]
    points = marks(10**7)
    counts = module.skip_ahead(instance("C2", 5).means, 10**7, randomness.fresh_state(5), points, *constants)
    assert (counts.sum(axis=1) == points).all()
    assert (np.diff(counts, axis=0) >= 0).all()


# ---------------------------------------------------------------------- Thompson sampling


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


draw_beyond, beyond = ts.draw_beyond, ts.beyond


def always_kept(state, a, b, bar, rate):
    """A draw of the exponential for one of the posterior."""
    return bar - math.log(randomness.uniform(state)) / rate


def half_as_likely(a, b, mass, bar):
    """Coins of half the chance that they must have."""
    chance, rate = beyond(a, b, mass, bar)
    return chance / 2, rate


def at_the_bar(state, a, b, level):
    """The lowest that a leader above the bar could have drawn."""
    return level


@pytest.mark.parametrize(
    "wrong", [{}, {"draw_beyond": always_kept}, {"beyond": half_as_likely}, {"beta_above": at_the_bar}]
)
def test_planted_errors_in_thompson_sampling_are_noticed(monkeypatch, wrong):
    plant(monkeypatch, ts, **wrong)
    fast = outcomes(ts.skip_ahead, *THOMPSON, 2)
    assert bool(worst_p_value(slow_thompson_sampling(), fast) < LEVEL) is bool(wrong)


THOMPSON = [0.8, 0.6, 0.3], 2000, 5000


@functools.cache
def slow_thompson_sampling():
    return outcomes(ts.reference, *THOMPSON, 1)


def test_at_the_papers_horizon_regrets_are_known():
    """Mean regrets of 20 runs at T = 5e7 on C2."""
    horizon, means = 50_000_000, instance("C2", 5).means
    for name, low, high in (("kl-ucb", 95, 130), ("imed", 70, 105), ("ts", 70, 115)):
        module, constants = KERNELS[name]
        found = [
            (means[0] - means)
            @ module.skip_ahead(means, horizon, randomness.fresh_state([run, 4]), np.array([horizon]), *constants)[0]
            for run in range(20)
        ]
        assert low < np.mean(found) < high

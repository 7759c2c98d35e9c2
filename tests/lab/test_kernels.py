"""The compiled kernels agree with the policy object: pull by pull where rewards can be replayed, else in law."""

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

import discreet
from discreet.lab import instance
from discreet.lab.kernels import dp_ucb, randomness, tree_minimum, ucb
from tests._tools.kernel_tools import LEVEL, Handed, marks

# ---------------------------------------------------------------------- random numbers


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


# ---------------------------------------------------------------------- UCB


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "arms"), [("C1", 2), ("C2", 5), ("C4", 8)])
def test_the_reference_kernel_is_the_policy_object(name, arms, seed):
    horizon, means = 3000, instance(name, arms).means
    points = marks(horizon)
    counts = ucb.reference(means, horizon, randomness.fresh_state(seed), points)
    policy, state = discreet.UCB(range(arms), horizon=horizon), randomness.fresh_state(seed)
    for time in range(1, horizon + 1):
        (arm,) = policy.plan().pulls
        policy.close({arm: int(randomness.bernoulli(state, randomness.threshold(means[arm]))) * policy.grid.width})
        place = np.searchsorted(points, time)
        if points[place] == time:
            assert list(policy.pulls.values()) == counts[place].tolist()


@pytest.mark.parametrize("name", ["C1", "C2", "C3", "C4"])
@pytest.mark.parametrize("arms", [2, 5, 20])
def test_the_lazy_kernel_is_the_reference_pull_by_pull(name, arms):
    horizon, means = 200_000, instance(name, arms).means
    points = marks(horizon)
    for seed in range(3):
        slow = ucb.reference(means, horizon, randomness.fresh_state(seed), points)
        assert (ucb.lazy(means, horizon, randomness.fresh_state(seed), points) == slow).all()


@njit
def reference_on_a_table(table, horizon, checkpoints):
    """UCB step by step on rewards that are fixed by arm and pull."""
    arms = table.shape[0]
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    place = 0
    for time in range(1, horizon + 1):
        arm, best = time - 1, -1.0
        if time > arms:
            for other in range(arms):
                value = totals[other] / pulls[other] + math.sqrt(2 * math.log(time) / pulls[other])
                if value > best:
                    arm, best = other, value
        totals[arm] += table[arm, pulls[arm]]
        pulls[arm] += 1
        if place < checkpoints.size and checkpoints[place] == time:
            counts[place] = pulls
            place += 1
    return counts


@pytest.mark.parametrize("boldness", [0.9, 4.0], ids=["normal guesses", "bold guesses, which force reveals"])
@pytest.mark.parametrize("name", ["C1", "C2", "C3", "C4"])
def test_the_skip_ahead_kernel_replays_the_reference_pull_by_pull(boldness, name):
    horizon = 100_000
    points = marks(horizon)
    for arms in (2, 5, 20):
        means = instance(name, arms).means
        for seed in range(3):
            table = (np.random.default_rng(seed).random((arms, horizon)) < means[:, None]).astype(np.uint8)
            fast = ucb.replay(means, horizon, table, points, boldness)
            assert (fast == reference_on_a_table(table, horizon, points)).all()


def regrets(kernel, runs, horizon=20_000, name="C2"):
    means, points = instance(name, 5).means, np.array([horizon])
    return [
        float((means[0] - means) @ kernel(means, horizon, randomness.fresh_state([run, 9]), points)[0])
        for run in range(runs)
    ]


def test_skip_ahead_on_fresh_randomness_has_the_law_of_the_reference():
    slow, fast = regrets(ucb.reference, 1500), regrets(ucb.skip_ahead, 1500)
    assert stats.ks_2samp(slow, fast).pvalue > LEVEL


def test_a_planted_error_in_skip_ahead_is_noticed(monkeypatch):
    """Every block is taken for certain, whatever its zeros."""
    monkeypatch.setattr(ucb, "certain", njit(lambda total, pulls, zeros, size, means, roots, arm, time: True))
    wrong = njit(ucb._skip_ahead.py_func)
    hasty = regrets(lambda *arguments: wrong(*arguments, ucb._FRESH, 100.0), 1500)
    assert stats.ks_2samp(regrets(ucb.reference, 1500), hasty).pvalue < LEVEL


def test_counts_at_checkpoints_add_up():
    points = marks(10**7)
    for kernel in (ucb.lazy, ucb.skip_ahead):
        counts = kernel(instance("C2", 5).means, 10**7, randomness.fresh_state(5), points)
        assert (counts.sum(axis=1) == points).all()
        assert (np.diff(counts, axis=0) >= 0).all()


# ---------------------------------------------------------------------- DP-UCB


def dp_constants(arms, horizon, epsilon=1.0, **options):
    noise = discreet.SimulatedNoise(0)
    return dp_ucb.constants(discreet.DPUCB(range(arms), epsilon=epsilon, horizon=horizon, noise=noise, **options))


@pytest.mark.parametrize("preset", ["event-level", "mishra-thakurta-2015", "thesis"])
@pytest.mark.parametrize("seed", range(2))
def test_the_dp_reference_kernel_is_the_policy_object(preset, seed):
    horizon, arms = 4000, 4
    means, points = instance("C2", arms).means, marks(horizon)
    options = {"epsilon": 20.0, "horizon": horizon, "preset": preset, "relaxation": 3.0}
    policy = discreet.DPUCB(range(arms), noise=discreet.SimulatedNoise(0), **options)
    scale, relaxation, fixed = dp_ucb.constants(policy)
    counts = dp_ucb.reference(means, horizon, randomness.fresh_state(seed), points, scale, relaxation, fixed)
    for counter in policy._counters:
        assert counter.scale / policy.grid.width == pytest.approx(scale)
        counter._reserve = Handed(counter.scale)
    state = randomness.fresh_state(seed)
    for time in range(1, horizon + 1):
        (arm,) = policy.plan().pulls
        reward = int(randomness.bernoulli(state, randomness.threshold(means[arm])))
        policy._counters[arm]._reserve.values = [round(randomness.laplace(state, scale) * policy.grid.width)]
        policy.close({arm: reward * policy.grid.width})
        place = np.searchsorted(points, time)
        if points[place] == time:
            assert list(policy.pulls.values()) == counts[place].tolist()


@pytest.mark.parametrize("name", ["C1", "C3"])
@pytest.mark.parametrize(("arms", "relaxation"), [(2, None), (5, 50.0), (20, 50.0)])
def test_the_lazy_dp_kernel_is_the_reference_pull_by_pull(name, arms, relaxation):
    horizon, means = 200_000, instance(name, arms).means
    points = marks(horizon)
    for preset in ("event-level", "thesis"):
        constants = dp_constants(arms, horizon, preset=preset, relaxation=relaxation)
        for seed in range(2):
            slow = dp_ucb.reference(means, horizon, randomness.fresh_state(seed), points, *constants)
            fast = dp_ucb.lazy(means, horizon, randomness.fresh_state(seed), points, *constants)
            assert (slow == fast).all()


def test_the_table_is_the_law_of_the_minimum():
    """Direct simulation of min W over a block of 2^q pulls, against the table."""
    generator, runs = np.random.default_rng(1), 200_000
    table = tree_minimum.log_table()
    for level in (1, 2, 3, 5, 7):
        lowest = tree_paths(generator, runs, level).min(axis=1)
        for y in (0.3, 1.0, 3.0, 6.0, 9.0):
            expected = math.exp(tree_minimum.log_chance(table, level, y))
            seen = int((lowest <= -y).sum())
            assert stats.binomtest(seen, runs, expected).pvalue > LEVEL, (level, y)


def tree_paths(generator, runs, level):
    """W(k) for k < 2^level in each run: nodes are fresh at every pull, of the level that the pull completes."""
    noise = np.zeros((runs, 2**level))
    for k in range(1, 2**level):
        lowest = k & -k
        noise[:, k] = noise[:, k - lowest] + generator.laplace(size=runs)
    return noise


def test_tangents_bound_the_table():
    """The envelope that next_height rejects from: any tangent, wherever it touches."""
    table = tree_minimum.log_table()
    y = np.arange(table.shape[1]) / 128
    for level in range(1, tree_minimum.LEVELS + 1):
        for touch in (0.01, 0.5, 1.0, 3.0, 7.5, 12.0, 20.0, 33.0, 50.0, 64.0, 90.0):
            height, theta = tree_minimum.tangent(table, level, touch)
            assert (table[level] <= np.minimum(0, height - theta * y)).all()
            assert 0 <= theta < 1


def test_depths_of_a_chance():
    table, depths = tree_minimum.log_table(), tree_minimum.depths_of(0.3)
    for level in range(1, tree_minimum.LEVELS + 1):
        assert tree_minimum.log_chance(table, level, depths[level]) == pytest.approx(math.log(0.3), abs=1e-9)


@pytest.mark.parametrize(("level", "x"), [(0, 1.0), (1, 0.7), (3, 2.0), (6, 9.0)])
def test_the_node_before_a_breach_has_its_conditional_law(level, x):
    """next_height against rejection: draw E and the block behind it, keep those that breach."""
    generator, runs = np.random.default_rng(level), 200_000
    heights = x + generator.laplace(size=runs)
    keep = tree_paths(generator, runs, level).min(axis=1) <= -heights
    state = randomness.fresh_state(level)
    drawn = [tree_minimum.next_height(state, tree_minimum.log_table(), level, x) for _ in range(int(keep.sum()))]
    assert keep.sum() > 300
    assert stats.ks_2samp(heights[keep], drawn).pvalue > LEVEL


def dp_outcomes(kernel, constants, runs, horizon, name="C2"):
    means, points = instance(name, 3).means, np.array([horizon])
    counts = np.array(
        [kernel(means, horizon, randomness.fresh_state([run, 3]), points, *constants)[0] for run in range(runs)]
    )
    return counts @ (means[0] - means), counts[:, -1]


@pytest.mark.parametrize(
    ("name", "epsilon", "relaxation"), [("C1", 1.0, 200.0), ("C2", 0.25, 400.0), ("C2", 1.0, 30.0), ("C4", 1.0, None)]
)
def test_dp_skip_ahead_has_the_law_of_the_reference(name, epsilon, relaxation):
    horizon, runs = 30_000, 800
    constants = dp_constants(3, horizon, epsilon, relaxation=relaxation)
    slow = dp_outcomes(dp_ucb.reference, constants, runs, horizon, name)
    fast = dp_outcomes(dp_ucb.skip_ahead, constants, runs, horizon, name)
    for one, other in zip(slow, fast, strict=True):
        assert stats.ks_2samp(one, other).pvalue > LEVEL


def test_planted_errors_in_dp_skip_ahead_are_noticed():
    """A noise scale a quarter too large; and a table that says the noise never sinks, so no block is looked into."""
    horizon, runs = 30_000, 800
    scale, relaxation, fixed = dp_constants(3, horizon, 1.0, relaxation=200.0)
    slow = dp_outcomes(dp_ucb.reference, (scale, relaxation, fixed), runs, horizon, "C1")
    never = np.full_like(tree_minimum.log_table(), -1e300)
    for wrong in (
        dp_outcomes(dp_ucb.skip_ahead, (1.25 * scale, relaxation, fixed), runs, horizon, "C1"),
        dp_outcomes(
            dp_ucb._skip_ahead, (scale, relaxation, fixed, never, np.zeros((28, 65)), np.zeros(28)), runs, horizon, "C1"
        ),
    ):
        assert min(stats.ks_2samp(one, other).pvalue for one, other in zip(slow, wrong, strict=True)) < LEVEL


def test_dp_ucb_at_the_papers_horizon_has_the_known_regret():
    """Mean regrets at T = 5e7 that were found before by other programs, for each preset on C2 at epsilon 0.25."""
    horizon = 50_000_000
    means, points = instance("C2", 5).means, np.array([horizon])
    for preset, known in (("event-level", 206_000), ("mishra-thakurta-2015", 973_000), ("thesis", 63_200)):
        constants = dp_constants(5, horizon, 0.25, preset=preset)
        found = [
            (means[0] - means)
            @ dp_ucb.skip_ahead(means, horizon, randomness.fresh_state([run, 4]), points, *constants)[0]
            for run in range(5)
        ]
        assert np.mean(found) == pytest.approx(known, rel=0.02)

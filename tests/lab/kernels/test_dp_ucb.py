"""DP-UCB's kernel agrees with the object pull by pull, and skip-ahead with the reference in law."""

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.lab import instance
from discreet.lab.kernels import dp_ucb, randomness, tree_minimum
from tests._tools.kernel_tools import LEVEL, Driven, Handed, check_counts, marks
from tests._tools.step_by_step import play_dp_ucb

TABLES = tree_minimum.tables()


def counters_of(arms, horizon, epsilon=1.0, **options):
    return dp_ucb.counters_of(discreet.DPUCB(range(arms), epsilon=epsilon, horizon=horizon, **options))[0]


@pytest.mark.parametrize("preset", ["event-level", "mishra-thakurta-2015", "thesis"])
@pytest.mark.parametrize("seed", range(2))
def test_the_reference_kernel_is_the_policy_object(preset, seed):
    horizon, arms = 4000, 4
    means, points, noise = instance("C2", arms).means, marks(horizon), Handed()
    policy = discreet.DPUCB(range(arms), epsilon=20.0, horizon=horizon, preset=preset, relaxation=3.0)
    counters, _ = dp_ucb.counters_of(policy)
    counts = play_dp_ucb(means, horizon, randomness.fresh_state(seed), points, counters, None)
    state, driven, width = randomness.fresh_state(seed), Driven(policy, noise), policy.grid.width
    for time in range(1, horizon + 1):
        (arm,) = policy.plan().pulls
        reward = int(randomness.bernoulli(state, randomness.threshold(means[arm])))
        noise.values = [round(randomness.laplace(state, counters.scale) * width)]
        driven.close_steps({arm: reward * width})
        assert policy.ledger[-1].scale / width == pytest.approx(counters.scale)
        place = np.searchsorted(points, time)
        if points[place] == time:
            assert policy.pulls == counts[place].tolist()


def dp_outcomes(kernel, constants, runs, horizon, name="C2"):
    means, points = instance(name, 3).means, np.array([horizon])
    counts = np.array(
        [kernel(means, horizon, randomness.fresh_state([run, 3]), points, *constants)[0] for run in range(runs)]
    )
    return counts @ (means[0] - means), counts[:, -1]


@pytest.mark.parametrize(
    ("name", "epsilon", "relaxation"),
    [
        ("C1", 1.0, 200.0),
        ("C4", 1.0, None),
        pytest.param("C2", 0.25, 400.0, marks=pytest.mark.study),
        pytest.param("C2", 1.0, 30.0, marks=pytest.mark.study),
    ],
)
def test_skip_ahead_has_the_law_of_the_reference(name, epsilon, relaxation):
    horizon, runs = 30_000, 400
    counters = counters_of(3, horizon, epsilon, relaxation=relaxation)
    slow = dp_outcomes(play_dp_ucb, [counters, None], runs, horizon, name)
    fast = dp_outcomes(dp_ucb.skip_ahead, [counters, None, TABLES], runs, horizon, name)
    for one, other in zip(slow, fast, strict=True):
        assert stats.ks_2samp(one, other).pvalue > LEVEL


def test_counts_at_checkpoints_add_up():
    check_counts(dp_ucb.skip_ahead, counters_of(5, 10**7), None, TABLES)


@pytest.mark.study
def test_planted_errors_in_skip_ahead_are_noticed():
    """A noise scale a quarter too large; and a table that says the noise never sinks, so no block is looked into."""
    horizon, runs = 30_000, 400
    counters = counters_of(3, horizon, 1.0, relaxation=200.0)
    slow = dp_outcomes(play_dp_ucb, [counters, None], runs, horizon, "C1")
    never = tree_minimum.Tables(np.full_like(TABLES.logs, -1e300), np.zeros((28, 65)), np.zeros(28))
    for constants in ([counters._replace(scale=1.25 * counters.scale), None, TABLES], [counters, None, never]):
        wrong = dp_outcomes(dp_ucb.skip_ahead, constants, runs, horizon, "C1")
        assert min(stats.ks_2samp(one, other).pvalue for one, other in zip(slow, wrong, strict=True)) < LEVEL


def test_dp_ucb_at_the_papers_horizon_has_the_known_regret():
    """Mean regrets at T = 5e7 that were found before by other programs, for each preset on C2 at epsilon 0.25."""
    horizon = 50_000_000
    means, points = instance("C2", 5).means, np.array([horizon])
    for preset, known in (("event-level", 206_000), ("mishra-thakurta-2015", 973_000), ("thesis", 63_200)):
        constants = counters_of(5, horizon, 0.25, preset=preset), None, TABLES
        found = [
            (means[0] - means)
            @ dp_ucb.skip_ahead(means, horizon, randomness.fresh_state([run, 4]), points, *constants)[0]
            for run in range(5)
        ]
        assert np.mean(found) == pytest.approx(known, rel=0.02)

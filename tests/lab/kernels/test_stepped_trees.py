"""The kernel of DP-UCB on trees over time steps agrees with the object pull by pull, and skip-ahead in law."""

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.lab import instance
from discreet.lab.kernels import randomness, stepped_trees
from tests._tools.kernel_tools import LEVEL, Driven, Handed, check_counts, marks
from tests._tools.step_by_step import play_stepped_trees


def trees_of(arms, horizon, epsilon=1.0, **options):
    given = {"epsilon": epsilon, "horizon": horizon, "preset": "all-trees", **options}
    return stepped_trees.trees_of(discreet.DPUCB(range(arms), **given))


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_kernel_is_the_policy_object(seed):
    horizon, arms = 2000, 4
    means, points, noise = instance("C2", arms).means, marks(horizon), Handed()
    policy = discreet.DPUCB(range(arms), epsilon=5.0, horizon=horizon, preset="all-trees", relaxation=3.0)
    trees = stepped_trees.trees_of(policy)
    counts = play_stepped_trees(means, horizon, randomness.fresh_state(seed), points, trees)
    state, driven, width = randomness.fresh_state(seed), Driven(policy, noise), policy.grid.width
    for time in range(1, horizon + 1):
        (arm,) = policy.plan().pulls
        reward = int(randomness.bernoulli(state, randomness.threshold(means[arm])))
        noise.values = [round(randomness.laplace(state, trees.scale) * width) for _ in range(arms)]
        driven.close_steps({arm: reward * width})
        assert policy.ledger[-1].scale / width == pytest.approx(trees.scale)
        place = np.searchsorted(points, time)
        if points[place] == time:
            assert policy.pulls == counts[place].tolist()


def outcomes(kernel, trees, runs, horizon, name, seed):
    """Regret and pulls of the worst arm, at an eighth of the horizon and at its end."""
    means, points = instance(name, 3).means, np.array([horizon // 8, horizon])
    counts = np.array(
        [kernel(means, horizon, randomness.fresh_state([run, seed]), points, trees) for run in range(runs)]
    )
    return [part for mark in (0, 1) for part in (counts[:, mark] @ (means[0] - means), counts[:, mark, -1])]


def least_p_value(kernel, trees, runs, horizon, name):
    slow = outcomes(play_stepped_trees, trees, runs, horizon, name, 3)
    fast = outcomes(kernel, trees, runs, horizon, name, 4)
    return min(stats.ks_2samp(one, other).pvalue for one, other in zip(slow, fast, strict=True))


@pytest.mark.parametrize(
    ("name", "epsilon", "relaxation"),
    [
        ("C2", 1.0, None),
        pytest.param("C1", 2.0, None, marks=pytest.mark.study),
        pytest.param("C4", 0.25, None, marks=pytest.mark.study),
        pytest.param("C4", 1.0, 50.0, marks=pytest.mark.study),
    ],
)
def test_skip_ahead_has_the_law_of_the_reference(name, epsilon, relaxation):
    horizon = 30_000
    trees = trees_of(3, horizon, epsilon, relaxation=relaxation)
    assert least_p_value(stepped_trees.skip_ahead, trees, 400, horizon, name) > LEVEL


def test_counts_at_checkpoints_add_up():
    check_counts(stepped_trees.skip_ahead, trees_of(5, 10**7))


@pytest.mark.study
def test_planted_errors_in_skip_ahead_are_noticed():
    """A noise scale a quarter too large; and a table that says the noise never matters, so that blocks are passed."""
    horizon = 30_000
    trees = trees_of(3, horizon)

    never = trees._replace(logs=np.full_like(trees.logs, -1e300))
    slow = outcomes(play_stepped_trees, trees, 400, horizon, "C2", 3)
    for given in (trees._replace(scale=1.25 * trees.scale), never):
        fast = outcomes(stepped_trees.skip_ahead, given, 400, horizon, "C2", 4)
        assert min(stats.ks_2samp(one, other).pvalue for one, other in zip(slow, fast, strict=True)) < LEVEL


def test_the_known_regret_with_gaps_of_four_and_eight_tenths():
    """700 was found before by another program (means 0.9, 0.5, 0.1, T = 100,000, epsilon = 1)."""
    means, horizon = np.array([0.9, 0.5, 0.1]), 100_000
    points, trees = np.array([horizon]), trees_of(3, horizon)
    runs = [
        stepped_trees.skip_ahead(means, horizon, randomness.fresh_state([r, 4]), points, trees)[0] for r in range(50)
    ]
    assert np.mean(runs @ (0.9 - means)) == pytest.approx(700, rel=0.05)

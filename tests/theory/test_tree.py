"""The noise of trees: levels, variances and bounds against the mechanism that draws it."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet import theory
from discreet.core.probability.tails import laplace_sum_radius
from discreet.mechanisms.trees import BinaryTree


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 9, 1000, 1023, 1024])
def test_the_first_item_lies_in_a_node_of_every_level(horizon):
    tree = BinaryTree(horizon)
    sizes = [tree.add(1).size for _ in range(horizon)]
    covering = [size for t, size in enumerate(sizes, start=1) if t - size == 0]  # nodes that start at item 1
    assert len(covering) == theory.tree_levels(horizon) == BinaryTree(horizon).next_share()
    # So noise of scale log2(T)/epsilon, as the paper has it, loses more than epsilon.
    assert horizon == 1 or len(covering) / math.log2(horizon) > 1


def noises(horizon, epsilon, runs, rng):
    """The noise of every running total of many trees, from the nodes that they are made of."""
    levels = theory.tree_levels(horizon)
    time = np.arange(1, horizon + 1)
    total = np.zeros((runs, horizon))
    for level in range(levels):
        nodes = rng.laplace(scale=levels / epsilon, size=(runs, (horizon >> level) + 1))
        total += np.where(time >> level & 1, nodes[:, (time >> level) - 1], 0.0)
    return total


def test_variances_are_those_of_simulated_trees():
    horizon, epsilon, runs = 255, 0.5, 4000
    found = noises(horizon, epsilon, runs, np.random.default_rng(5))
    for items in (1, 3, 128, 170, 255):
        expected = theory.tree_variance(horizon, epsilon, items)
        # A sum of Laplace variables has a kurtosis of at most 6.
        assert found[:, items - 1].var() == pytest.approx(expected, rel=5.5 * math.sqrt(5 / runs))
    assert theory.tree_variance(horizon, epsilon, 255) == theory.tree_variance(horizon, epsilon)
    assert theory.tree_variance(horizon, epsilon, np.arange(1, 256)).mean() == pytest.approx(
        theory.tree_variance(horizon, epsilon) / 2, rel=0.01
    )


@pytest.mark.parametrize("bound", [theory.tree_error_bound, theory.tree_union_bound])
def test_the_bounds_hold_for_all_totals_at_once(bound):
    horizon, epsilon, beta, runs = 1000, 0.5, 0.3, 400
    worst = np.abs(noises(horizon, epsilon, runs, np.random.default_rng(6))).max(axis=1)
    over = (worst > bound(horizon, epsilon, beta)).sum()
    assert over <= stats.binom.ppf(1 - 1e-6, runs, beta)
    assert (worst > bound(horizon, epsilon, beta) / 10).mean() > 0.9  # a tenth of it would be no bound


@pytest.mark.parametrize("horizon", [10, 1000, 5e7, 1e15])
@pytest.mark.parametrize("beta", [0.5, 1e-3, 1e-12])
def test_the_smaller_bound_is_chernoffs_and_is_smaller(horizon, beta):
    levels = theory.tree_levels(horizon)
    expected = laplace_sum_radius([levels / 0.5] * levels, beta / (3 * horizon))
    assert theory.tree_error_bound(horizon, 0.5, beta, trees=3) == pytest.approx(expected)
    assert expected < theory.tree_union_bound(horizon, 0.5, beta, trees=3)


def test_their_powers_of_the_logarithm():
    horizons = 2.0 ** np.array([12.0, 24.0, 48.0])
    powers = {theory.tree_error_bound: 2.0, theory.tree_union_bound: 2.5}
    for bound, power in powers.items():
        values = bound(horizons - 1, 1.0, 1 / horizons)
        assert np.diff(np.log2(values)) == pytest.approx(power, abs=0.06)
    assert np.diff(np.log2(theory.tree_variance(horizons - 1, 1.0))) == pytest.approx(3.0)

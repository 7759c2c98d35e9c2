"""The table of the least noise of a binary tree, against direct simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.lab.kernels import randomness, tree_minimum
from tests._tools.kernel_tools import LEVEL


def test_the_table_is_the_law_of_the_minimum():
    """Direct simulation of min W over a block of 2^q pulls, against the table."""
    generator, runs = np.random.default_rng(1), 50_000
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


def test_blocks_are_tried_where_a_breach_is_rare():
    tables = tree_minimum.tables()
    for level in range(1, tree_minimum.LEVELS + 1):
        chance = tree_minimum.log_chance(tables.logs, level, tables.limits[level])
        assert chance == pytest.approx(math.log(0.3), abs=1e-9)


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

"""UCB's kernel agrees with the object pull by pull, and in law on fresh rewards."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.lab import instance
from discreet.lab.kernels import randomness, ucb
from discreet.lab.kernels.compiled import compiled
from tests._tools.kernel_tools import LEVEL, check_counts, check_object, marks, planted, tables
from tests._tools.step_by_step import play_ucb

FRESH = ucb.FRESH, ucb.BOLDNESS


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "arms"), [("C1", 2), ("C2", 5), ("C4", 8)])
def test_the_reference_kernel_is_the_policy_object(name, arms, seed):
    check_object(discreet.UCB(range(arms), horizon=3000), play_ucb, instance(name, arms).means, seed)


@compiled
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
        for table in tables(means, horizon, 1):
            fast = ucb.skip_ahead(means, horizon, np.ones(4, np.uint64), points, table, boldness)
            assert (fast == reference_on_a_table(table, horizon, points)).all()


def regrets(kernel, runs, *constants, horizon=20_000, name="C2"):
    means, points = instance(name, 5).means, np.array([horizon])
    return [
        float((means[0] - means) @ kernel(means, horizon, randomness.fresh_state([run, 9]), points, *constants)[0])
        for run in range(runs)
    ]


@functools.cache
def slow_regrets():
    return regrets(play_ucb, 1500)


def test_skip_ahead_on_fresh_randomness_has_the_law_of_the_reference():
    assert stats.ks_2samp(slow_regrets(), regrets(ucb.skip_ahead, 1500, *FRESH)).pvalue > LEVEL


@pytest.mark.study
def test_a_planted_error_in_skip_ahead_is_noticed():
    """Every block is taken for certain, whatever its zeros."""
    wrong = planted(ucb, certain=lambda total, pulls, zeros, size, means, roots, arm, time: True)
    hasty = regrets(wrong.skip_ahead, 1500, ucb.FRESH, 100.0)
    assert stats.ks_2samp(slow_regrets(), hasty).pvalue < LEVEL


def test_counts_at_checkpoints_add_up():
    check_counts(ucb.skip_ahead, *FRESH)

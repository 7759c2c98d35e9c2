"""The kernels of KL-UCB and IMED: pull by pull against object and reference, and in law on fresh rewards."""

import numpy as np
import pytest

import discreet
from discreet.lab import instance
from discreet.lab.kernels import kl_race, randomness
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.ucb import BOLDNESS, FRESH
from tests._tools.kernel_tools import (
    HARD,
    LEVEL,
    check_counts,
    check_object,
    marks,
    outcomes,
    planted,
    smallest_p,
    tables,
)
from tests._tools.step_by_step import play_kl

IMED = -1.0  # instead of a c
PAPER = {f"{name}, K = {arms}": instance(name, arms).means for name in ("C1", "C2", "C3", "C4") for arms in (2, 5, 20)}
INSTANCES = PAPER | {name: np.array(means) for name, means in HARD.items()}


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("name", ["C1, K = 2", "C2, K = 5", "C4, K = 20", *HARD])
def test_the_reference_kernels_are_the_policy_objects(name, seed):
    arms, means = range(len(INSTANCES[name])), INSTANCES[name]
    for c in (0.0, 3.0):
        check_object(discreet.KLUCB(arms, horizon=1500, c=c), play_kl, means, seed, c)
    check_object(discreet.IMED(arms, horizon=1500), play_kl, means, seed, IMED)


@compiled
def on_a_table(table, horizon, checkpoints, c):
    """KL-UCB or IMED step by step on rewards that are fixed by arm and pull."""
    arms, place = table.shape[0], 0
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    for time in range(1, horizon + 1):
        arm = time - 1
        if time > arms and c < 0:
            arm = kl_race.imed_leader(totals, pulls)
        elif time > arms:
            arm = kl_race.kl_ucb_leader(totals, pulls, kl_race.exploration(time, c))
        totals[arm] += table[arm, pulls[arm]]
        pulls[arm] += 1
        if checkpoints[place] == time:
            counts[place] = pulls
            place += 1
    return counts


def replay(means, horizon, table, points, c, boldness=BOLDNESS, kernel=kl_race):
    return kernel.skip_ahead(means, horizon, np.ones(4, np.uint64), points, c, table, boldness)


@pytest.mark.parametrize("boldness", [0.9, 4.0], ids=["normal guesses", "bold guesses, which force reveals"])
@pytest.mark.parametrize("name", INSTANCES)
def test_skip_ahead_replays_the_reference_pull_by_pull(name, boldness):
    horizon, means = 30_000, INSTANCES[name]
    points = marks(horizon)
    first, second = tables(means, horizon)
    for c, table in ((0.0, first), (3.0, second), (IMED, first), (IMED, second)):
        fast = replay(means, horizon, table, points, c, boldness)
        assert (fast == on_a_table(table, horizon, points, c)).all()


spare_zeros, highest_rival, rivals = kl_race.spare_zeros, kl_race.highest_rival, kl_race.imed_rivals


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


@pytest.mark.study
@pytest.mark.parametrize(
    ("c", "wrong"),
    [
        (0.0, {"spare_zeros": generous}),
        (IMED, {"spare_zeros": generous}),
        (0.0, {"highest_rival": short_sighted}),
        (IMED, {"imed_rivals": roomy}),
    ],
)
def test_planted_errors_in_skip_ahead_are_noticed(c, wrong):
    horizon, means = 30_000, instance("C1", 5).means
    points, kernel = marks(horizon), planted(kl_race, **wrong)
    expected = [on_a_table(table, horizon, points, c) for table in tables(means, horizon, 5)]
    found = [replay(means, horizon, table, points, c, kernel=kernel) for table in tables(means, horizon, 5)]
    assert any((one != other).any() for one, other in zip(found, expected, strict=True))


KERNELS = {"kl-ucb": 0.0, "kl-ucb, c = 3": 3.0, "imed": IMED}


@pytest.mark.parametrize("name", ["kl-ucb", "imed"])
@pytest.mark.parametrize(
    ("means", "horizon"),
    [
        ([0.8, 0.5, 0.3], 3000),
        pytest.param([0.75, 0.7], 2000, marks=pytest.mark.study),
        pytest.param([0.6, 0.6, 0.2, 0.1, 0.1], 2000, marks=pytest.mark.study),
        pytest.param([0.02, 0.01, 0.0], 2000, marks=pytest.mark.study),
    ],
)
def test_skip_ahead_on_fresh_randomness_has_the_law_of_the_reference(name, means, horizon):
    slow = outcomes(play_kl, means, 700, horizon, 1, KERNELS[name])
    fast = outcomes(kl_race.skip_ahead, means, 700, horizon, 2, KERNELS[name], FRESH, BOLDNESS)
    assert smallest_p(slow, fast) > LEVEL


@pytest.mark.parametrize("name", KERNELS)
def test_counts_at_checkpoints_add_up(name):
    check_counts(kl_race.skip_ahead, KERNELS[name], FRESH, BOLDNESS)


def test_at_the_papers_horizon_regrets_are_known():
    """Mean regrets of 20 runs at T = 5e7 on C2."""
    horizon, on = 50_000_000, instance("C2", 5)
    for name, low, high in (("kl-ucb", 95, 130), ("imed", 70, 105)):
        constants = KERNELS[name], FRESH, BOLDNESS
        states = (randomness.fresh_state([run, 4]) for run in range(20))
        found = [kl_race.skip_ahead(on.means, horizon, state, np.array([horizon]), *constants)[0] for state in states]
        assert low < np.mean(found @ on.gaps) < high

"""The kernels of KL-UCB and IMED: pull by pull against object and reference, and in law on fresh rewards."""

import numpy as np
import pytest

import discreet
from discreet.lab import instance
from discreet.lab.kernels import imed, kl_race, kl_ucb, randomness
from discreet.lab.kernels.compiled import compiled
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

PAPER = {f"{name}, K = {arms}": instance(name, arms).means for name in ("C1", "C2", "C3", "C4") for arms in (2, 5, 20)}
INSTANCES = PAPER | {name: np.array(means) for name, means in HARD.items()}


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("name", ["C1, K = 2", "C2, K = 5", "C4, K = 20", *HARD])
def test_the_reference_kernels_are_the_policy_objects(name, seed):
    arms, means = range(len(INSTANCES[name])), INSTANCES[name]
    for c in (0.0, 3.0):
        check_object(discreet.KLUCB(arms, horizon=1500, c=c), kl_ucb.reference, means, seed, c)
    check_object(discreet.IMED(arms, horizon=1500), imed.reference, means, seed)


@compiled
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


@compiled
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


BOLDNESS = pytest.mark.parametrize("boldness", [0.9, 4.0], ids=["normal guesses", "bold guesses, which force reveals"])


@BOLDNESS
@pytest.mark.parametrize("name", INSTANCES)
def test_kl_ucb_skip_ahead_replays_the_reference_pull_by_pull(name, boldness):
    horizon, means = 30_000, INSTANCES[name]
    points = marks(horizon)
    for c, table in zip((0.0, 3.0), tables(means, horizon), strict=True):
        fast = kl_ucb.replay(means, horizon, table, points, c, boldness)
        assert (fast == kl_ucb_on_a_table(table, horizon, points, c)).all()


@BOLDNESS
@pytest.mark.parametrize("name", INSTANCES)
def test_imed_skip_ahead_replays_the_reference_pull_by_pull(name, boldness):
    horizon, means = 30_000, INSTANCES[name]
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
        pytest.param(kl_ucb, {"spare_zeros": generous}, marks=pytest.mark.study),
        pytest.param(imed, {"spare_zeros": generous}, marks=pytest.mark.study),
        pytest.param(kl_ucb, {"highest_rival": short_sighted}, marks=pytest.mark.study),
        (imed, {"rivals": roomy}),
    ],
)
def test_planted_errors_in_skip_ahead_are_noticed(module, wrong):
    horizon, means = 30_000, instance("C1", 5).means
    points, constants = marks(horizon), (0.0,) if module is kl_ucb else ()
    on_a_table = kl_ucb_on_a_table if module is kl_ucb else imed_on_a_table
    expected = [on_a_table(table, horizon, points, *constants) for table in tables(means, horizon, 5)]
    replay = planted(module, kl_race, **wrong).replay
    found = [replay(means, horizon, table, points, *constants) for table in tables(means, horizon, 5)]
    assert any((one != other).any() for one, other in zip(found, expected, strict=True))


KERNELS = {"kl-ucb": (kl_ucb, (0.0,)), "kl-ucb, c = 3": (kl_ucb, (3.0,)), "imed": (imed, ())}


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
    module, constants = KERNELS[name]
    slow = outcomes(module.reference, means, 700, horizon, 1, *constants)
    assert smallest_p(slow, outcomes(module.skip_ahead, means, 700, horizon, 2, *constants)) > LEVEL


@pytest.mark.parametrize("name", KERNELS)
def test_counts_at_checkpoints_add_up(name):
    module, constants = KERNELS[name]
    check_counts(module.skip_ahead, *constants)


def test_at_the_papers_horizon_regrets_are_known():
    """Mean regrets of 20 runs at T = 5e7 on C2."""
    horizon, on = 50_000_000, instance("C2", 5)
    for name, low, high in (("kl-ucb", 95, 130), ("imed", 70, 105)):
        module, constants = KERNELS[name]
        states = (randomness.fresh_state([run, 4]) for run in range(20))
        found = [module.skip_ahead(on.means, horizon, state, np.array([horizon]), *constants)[0] for state in states]
        assert low < np.mean(found @ on.gaps) < high

"""DP-SE and its searches against Algorithm 3, transcribed, and against the numbers known for the paper's settings."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import DPBestArm, DPSuccessiveElimination, SimulatedNoise
from discreet.testing import ScriptedNoise
from tests._tools import references
from tests._tools.driving import Coins, Recorded, close, drive

T = 50_000_000
WIDTH = 2**20


@settings(max_examples=6)
@given(
    seed=st.integers(0, 10**6),
    means=st.lists(st.sampled_from([0.1, 0.5, 0.55, 0.9]), min_size=2, max_size=4),
    epsilon=st.sampled_from([0.05, 0.5, 2.0]),
)
def test_it_is_algorithm_3(seed, means, epsilon):
    horizon, arms = 60_000, len(means)
    draws = SimulatedNoise(seed).draws(WIDTH / epsilon, 200).tolist()
    policy, queue = DPSuccessiveElimination(range(arms), epsilon=epsilon, horizon=horizon), iter(draws)

    def noises(scale):
        rounds = 1 / (epsilon * scale)
        return next(queue) / WIDTH / rounds

    rewards = Recorded.coins(seed, means, horizon)
    expected = references.algorithm_3(rewards.next, arms, horizon, epsilon, 1 / horizon, noises)
    assert drive(policy, rewards, ScriptedNoise(list(draws))).algorithm.pulls == expected


# ---------------------------------------------------------------------- the paper's settings

LENGTHS = {0.1: [3317, 11676, 48362, 198158, 807251], 0.25: [2743, 11676, 48362, 198158, 807251]}
THRESHOLDS = {
    0.1: [0.2386, 0.1004, 0.0407, 0.0180],
    0.25: [0.1854, 0.0776, 0.0350, 0.0166],
    0.5: [0.1552, 0.0701, 0.0331, 0.0161],
    1.0: [0.1401, 0.0663, 0.0322, 0.0159],
}


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.5, 1.0])
def test_the_epoch_table_of_the_papers_default_setting(epsilon):
    policy = DPSuccessiveElimination(range(5), epsilon=epsilon, horizon=T)
    assert [policy.rounds(epoch, 5) for epoch in range(1, 6)] == LENGTHS[max(0.1, min(epsilon, 0.25))]
    assert [round(policy.threshold(epoch, 5), 4) for epoch in range(1, 5)] == THRESHOLDS[epsilon]


def test_the_plan_follows_the_table_while_nobody_is_eliminated():
    driver = drive(DPSuccessiveElimination(range(5), epsilon=0.1, horizon=T), [0.5] * 5, closes=0)
    for length in LENGTHS[0.1]:
        assert set(driver.plan().pulls.values()) == {length}
        close(driver, [0.5] * 5)


def test_an_epoch_cut_by_the_horizon_releases_nothing_and_pulls_in_turn():
    policy = DPSuccessiveElimination(["A", "B", "C"], epsilon=1.0, horizon=100)
    plan = policy.plan()
    assert not plan.learns
    assert plan.pulls == {"A": 34, "B": 33, "C": 33}
    driver = drive(policy, [0.1, 0.2, 0.3])
    assert not driver.ledger
    assert driver.finished
    assert driver.algorithm.best_arm is None


def test_elimination_is_strict_and_uses_the_number_of_arms_at_the_start():
    driver = drive(DPSuccessiveElimination(["A", "B", "C"], epsilon=1.0, horizon=10**6), (), ScriptedNoise([]), 0)
    policy, rounds = driver.algorithm, driver.plan().pulls["A"]
    allowed = math.floor(policy.threshold(1, 3) * rounds * WIDTH)
    top = 10**8 + allowed
    driver.close_steps({"A": top, "B": top - allowed, "C": top - allowed - 1})
    assert driver.algorithm.viable == ("A", "B")
    assert driver.plan().pulls["A"] == policy.rounds(2, 2)


# ---------------------------------------------------------------------- best arm


def test_the_best_arm_is_wrong_in_at_most_a_beta_share_of_runs():
    wrong = 0
    for run in range(300):
        search = DPBestArm(range(3), epsilon=0.5, beta=0.1)
        found = drive(search, Coins([0.5, 0.6, 0.55], [run, 1]), SimulatedNoise(run)).algorithm
        assert found.settled
        wrong += found.best_arm != 1
    assert wrong <= 30


def test_equal_arms_end_at_the_cap_undecided():
    found = drive(DPBestArm(["A", "B"], epsilon=1.0, beta=0.1, max_pulls=50_000), [0.5, 0.5]).algorithm
    assert found.finished
    assert not found.settled
    assert found.time <= 50_000

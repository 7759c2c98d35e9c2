"""Searches for the best arm by evidence: programs written from the formulas agree, and promises are kept.

The formulas are those of docs/proofs/evidence-best-arm.md.
"""

import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import ArgumentError, DPEvidenceBestArm, SimulatedNoise
from discreet.bandits import dp_evidence_best_arm
from discreet.core.probability.lead_evidence import lead_evidence
from discreet.lab import Beta, play
from tests._tools.driving import Coins, close, drive


def batch(pulls, mean, epsilon):
    chance = np.clip(mean, 0.01, 0.99)
    return math.ceil(max(0.2 * pulls, min(pulls, 6 / (epsilon**2 * chance * (1 - chance)))))


@pytest.mark.parametrize(("epsilon", "means"), [(0.3, (0.5, 0.6, 0.66)), (2.0, (0.02, 0.03, 0.06))])
def test_a_search_is_that_of_a_program_written_from_the_formulas(epsilon, means):
    policy = DPEvidenceBestArm(range(3), epsilon=epsilon, beta=0.2)
    level = math.log(2 / 0.2)
    driver, rewards, width = drive(policy, (), SimulatedNoise(2), 0), Coins(means, 1), policy.grid.width
    totals, pulls, noises, against = np.zeros(3), np.zeros(3), np.zeros(3, int), np.zeros(3)
    wanted, epochs = dict.fromkeys(range(3), math.ceil(36 / epsilon)), 0
    while (plan := driver.plan()) is not None:
        before = len(driver.ledger)
        assert plan.pulls == wanted
        close(driver, rewards)
        for release in driver.ledger[before:]:
            totals[release.arm] += release.steps / width
            pulls[release.arm] += release.rewards
            noises[release.arm] += 1
        left = np.flatnonzero(against < level)
        leader = left[np.argmax((totals / pulls)[left])]
        found = {
            int(arm): lead_evidence(totals[leader], pulls[leader], int(noises[leader]), totals[arm], pulls[arm],
                                    int(noises[arm]), epsilon)
            for arm in left
            if arm != leader
        }  # fmt: skip
        for arm, evidence in found.items():
            against[arm] = max(against[arm], evidence)
        now = driver.algorithm
        assert now.best_arm == leader
        assert now.viable == tuple(np.flatnonzero(against < level))
        rivals = [each for arm, each in enumerate(against) if arm != leader]
        assert now.doubt == pytest.approx(min(1, 2 * math.exp(-min(rivals))))
        costs = {arm: each + math.log(pulls[arm]) / 2 for arm, each in found.items() if against[arm] < level}
        epochs += 1
        if not costs:
            break
        challenger = min(costs, key=costs.get)
        arm = leader if pulls[leader] <= pulls[challenger] else challenger
        size = batch(pulls[arm], totals[arm] / pulls[arm], epsilon)
        wanted = {int(arm): size}
    assert driver.finished
    assert epochs > 8
    assert driver.algorithm.best_arm == np.argmax(means)


def test_a_search_gives_up_at_its_limit():
    policy = DPEvidenceBestArm(["A", "B"], epsilon=1.0, beta=0.01, max_pulls=5000)
    after = drive(policy, Coins((0.5, 0.5), 1, "AB"), SimulatedNoise(1)).algorithm
    assert 5000 / 1.3 < after.time <= 5000
    assert after.finished
    assert not after.settled
    assert after.viable == ("A", "B")
    assert after.best_arm in "AB"
    assert DPEvidenceBestArm(["A", "B"], epsilon=1.0, beta=0.01, max_pulls=71).finished  # a first batch is of 36 each
    with pytest.raises(ArgumentError, match="max_pulls must allow one pull of each arm, got 1"):
        DPEvidenceBestArm(["A", "B"], epsilon=1.0, beta=0.01, max_pulls=1)


def test_it_takes_rewards_of_any_kind():
    for run in range(5):
        policy = DPEvidenceBestArm(range(3), epsilon=0.5, beta=0.05)
        arms = [Beta(2, 4), Beta(4, 4), Beta(5, 4)]
        assert play(policy, arms, np.random.default_rng(run), noise=SimulatedNoise(run)).best_arm == 2


def test_a_good_arm_whose_first_batch_had_no_luck_is_looked_at_again():
    """Two equal losers would take turns for ever, were it not for the logarithm in the challenger's cost."""
    policy = DPEvidenceBestArm(range(3), epsilon=1.0, beta=0.05, max_pulls=10**6)
    driver, width = drive(policy, (), SimulatedNoise(1), 0), policy.grid.width
    driver.close_steps({0: 18 * width, 1: 18 * width, 2: 12 * width})
    while (plan := driver.plan()) is not None:
        driver.close_steps({arm: int((0.5, 0.5, 0.6)[arm] * count * width) for arm, count in plan.pulls.items()})
    assert driver.algorithm.best_arm == 2
    assert driver.algorithm.settled


class Loud(SimulatedNoise):
    """Four times the noise that was asked for."""

    def draws(self, scale, count):
        return super().draws(4 * scale, count)


@pytest.mark.parametrize("planted", ["nothing", "evidence that is not enough", "more noise than it knows of"])
def test_one_of_two_equal_arms_is_seldom_dropped(planted, monkeypatch):
    """Where the promise is under most strain, since every drop is an error: each arm has a chance of beta at most."""
    runs, beta, level = 150, 0.1, DPEvidenceBestArm.drop_level
    if planted.startswith("evidence"):
        monkeypatch.setattr(DPEvidenceBestArm, "drop_level", lambda self: level(self) / 100)
    noise = Loud if planted.startswith("more") else SimulatedNoise
    for mean in (0.5, 0.02):
        dropped, most = 0, stats.binom.ppf(1 - 1e-6, runs, 2 * beta)
        for run in range(runs):
            search = DPEvidenceBestArm(range(2), epsilon=0.1, beta=beta, max_pulls=60_000)
            dropped += drive(search, Coins((mean, mean), [run, 7]), noise(run)).algorithm.settled
            if dropped > most:
                break
        assert (dropped <= most) == (planted == "nothing")


def test_constants_are_those_of_the_page():
    assert (dp_evidence_best_arm.GROWTH, dp_evidence_best_arm.FIRST, dp_evidence_best_arm.QUIET) == (1.2, 36.0, 6.0)
    assert discreet.DPEvidenceBestArm(["A", "B"], epsilon=0.5, beta=0.1).batch_size(0) == 72

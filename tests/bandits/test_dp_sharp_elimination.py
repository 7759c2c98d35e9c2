"""Elimination with sharp constants: a program written from the formulas agrees, and the promise is kept.

The formulas are those of docs/proofs/sharp-elimination.md.
"""

import numpy as np
import pytest
from scipy import stats

from discreet import ArgumentError, DPBestArm, DPSharpBestArm, DPSharpElimination, SimulatedNoise
from discreet.lab import Beta, instance, play
from discreet.theory import SharpSchedule, sharp_pulls
from tests._tools.driving import Coins, close, drive
from tests._tools.sharp_formulas import drops, ends


@pytest.mark.parametrize(
    ("epsilon", "means"),
    [
        (0.3, (0.3, 0.6, 0.7)),
        (2.0, (0.02, 0.03, 0.06)),
        pytest.param(1.0, (0.9, 0.99, 0.95), marks=pytest.mark.study),
    ],
)
def test_tests_are_those_of_a_program_written_from_the_formulas(epsilon, means):
    beta, rewards, asked = 0.2, Coins(means, 1), 0
    driver = drive(DPSharpBestArm(range(3), epsilon=epsilon, beta=beta, window=4), (), SimulatedNoise(2), 0)
    last, viable, released = ends(3, epsilon, beta, 1.5, 40), [0, 1, 2], {arm: [] for arm in range(3)}
    width = driver.algorithm.grid.width
    while len(viable) > 1:
        plan, before = driver.plan(), len(driver.ledger)
        k = plan.epoch
        assert plan.pulls == dict.fromkeys(viable, last[k] - last[k - 1])
        close(driver, rewards)
        for arm, release in zip(viable, driver.ledger[before:], strict=True):
            assert release.spans == ((arm, last[k - 1] + 1, last[k]),)
            released[arm].append(release.steps / width)
        now, m = driver.algorithm, min(k, 4)
        totals = {arm: sum(released[arm][-m:]) for arm in viable}
        best = max(totals.values())
        for arm in viable:
            gone = drops(best - totals[arm], totals[arm], last[k] - last[k - m], m, k, 3, epsilon, beta)
            assert gone in (None, arm not in now.viable)
            asked += gone is not None
        assert now.best_arm == max(totals, key=totals.get)
        viable = list(now.viable)
    assert asked > 8
    assert viable == [int(np.argmax(means))]
    assert driver.finished


def test_a_window_of_one_starts_from_nothing_and_a_long_one_takes_all():
    for window in (1, 100):
        policy = DPSharpElimination(["A", "B"], epsilon=1.0, beta=0.1, window=window)
        after = drive(policy, (0.5, 0.5), closes=8).algorithm
        assert len(after.snapshot()["_recent"][0]) == min(8, window)
        assert policy.schedule.tested(8) == after.pulls[0] - (policy.schedule.pulls_by(7) if window == 1 else 0)


def test_a_search_gives_up_at_its_limit_and_an_equal_arm_is_never_dropped_for_sure():
    policy = DPSharpBestArm(["A", "B"], epsilon=1.0, beta=0.01, max_pulls=5000)
    after = drive(policy, Coins((0.5, 0.5), 1, "AB"), SimulatedNoise(1)).algorithm
    assert after.time <= 5000
    assert after.finished
    assert not after.settled
    assert after.best_arm in "AB"
    assert after.time + 2 * after.rounds(after.epoch + 1, 2) > 5000


def test_it_takes_rewards_of_any_kind():
    for run in range(5):
        policy = DPSharpBestArm(range(3), epsilon=0.5, beta=0.05)
        arms = [Beta(2, 4), Beta(4, 4), Beta(5, 4)]
        assert play(policy, arms, np.random.default_rng(run), noise=SimulatedNoise(run)).best_arm == 2


@pytest.mark.parametrize("growth", [1.0, 0.5, 101])
def test_epochs_must_grow(growth):
    with pytest.raises(ArgumentError, match="growth must be above 1, since epochs must grow, and at most 100"):
        DPSharpElimination(["A", "B"], epsilon=1.0, beta=0.1, growth=growth)


@pytest.mark.parametrize("means", [(0.7, 0.6, 0.5, 0.3), (0.99, 0.95)])
def test_the_best_arm_stays_and_every_other_goes_in_time(means):
    """At a beta of 1/2 a promise that was broken by construction would show."""
    bound = sharp_pulls(means[0] - np.array(means[1:]), len(means), 1.0, 0.5)
    broken = 0
    for run in range(60):
        search = DPSharpBestArm(range(len(means)), epsilon=1.0, beta=0.5)
        after = drive(search, Coins(means, [run, 7]), SimulatedNoise(run)).algorithm
        broken += after.best_arm != 0 or bool((np.array(after.pulls[1:]) > bound).any())
    assert broken <= 12  # as measured, far below a half: the bounds are not tight


class Loud(SimulatedNoise):
    """Three times the noise that was asked for."""

    def draws(self, scale, count):
        return super().draws(3 * scale, count)


@pytest.mark.parametrize("planted", ["nothing", "leads that are not unlikely", "more noise than the tests know of"])
def test_one_of_two_equal_arms_is_seldom_dropped(planted, monkeypatch):
    """Where the promise is under most strain, since every drop is an error: each arm has a chance of beta at most."""
    runs, beta, level = 150, 0.2, SharpSchedule.level
    if planted.startswith("leads"):
        monkeypatch.setattr(SharpSchedule, "level", lambda self, epoch: level(self, epoch) / 5)
    noise = Loud if planted.startswith("more") else SimulatedNoise
    for mean in (0.5, 0.02):
        dropped = 0
        for run in range(runs):
            search = DPSharpBestArm(range(2), epsilon=0.1, beta=beta, max_pulls=10**6)
            dropped += drive(search, Coins((mean, mean), [run, 7]), noise(run)).algorithm.settled
        assert (dropped <= stats.binom.ppf(1 - 1e-6, runs, 2 * beta)) == (planted == "nothing")


def test_a_search_takes_a_third_of_the_papers_pulls():
    for means, epsilon in ((instance("C2").means, 0.25), ((0.05, 0.04, 0.03), 1.0)):
        paper, sharp = [], []
        for kind, found in ((DPBestArm, paper), (DPSharpBestArm, sharp)):
            for run in range(5):
                search = kind(range(len(means)), epsilon=epsilon, beta=0.05)
                found.append(drive(search, Coins(means, run), SimulatedNoise(run)).algorithm)
        assert all(search.best_arm == 0 for search in sharp)
        assert sum(search.time for search in sharp) < sum(search.time for search in paper) / 3

"""Elimination for people: a person who takes part in every epoch is covered by all of epsilon.

The formulas and claims are those of docs/proofs/person-level.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import (
    DPPersonElimination,
    DPSharpPersonElimination,
    DPSuccessiveElimination,
    PrivacyError,
    SimulatedNoise,
    Unit,
    make_policy,
    spent,
    spent_by_person,
)
from discreet.theory.person_level import HALF, THIRD, PersonSchedule, epoch_epsilon
from tests._tools import examples
from tests._tools.driving import Coins, close, drive

NAMES = ("dp-se-person", "dp-se-sharp-person")
EPSILONS = st.floats(-6, 2).map(lambda size: 10**size)

# ---------------------------------------------------------------------- what it says and what it pays


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_is_about_people(name):
    privacy = examples.policy(name).privacy
    assert (privacy.epsilon, privacy.unit) == (1.0, Unit.PERSON)
    assert "rewards of one person, one in each epoch" in privacy.neighbours
    assert examples.policy("dp-se").privacy.unit == Unit.REWARD


@pytest.mark.parametrize(("name", "share"), [("dp-se-person", HALF), ("dp-se-sharp-person", THIRD)])
def test_the_ledger_says_what_each_epoch_cost(name, share):
    driver = drive(make_policy(name, ["A", "B", "C"], epsilon=0.7, beta=0.1), (), SimulatedNoise(1), 0)
    width = driver.algorithm.grid.width
    for epoch in range(1, 6):
        before = len(driver.ledger)
        close(driver, (0.5, 0.5, 0.5))
        for release in driver.ledger[before:]:
            assert release.epsilon == epoch_epsilon(0.7, epoch, share) == driver.algorithm.epoch_epsilon(epoch)
            assert release.scale == pytest.approx(width / release.epsilon, rel=1e-12)
            assert Fraction(release.scale) * Fraction(release.epsilon) >= width  # no scale is rounded down
        assert spent(driver.ledger) == epoch_epsilon(0.7, 1, share)
        assert spent_by_person(driver.ledger) == pytest.approx(0.7 * (1 - (1 - share) ** epoch))
        assert spent_by_person(driver.ledger) < 0.7


def test_a_person_pays_for_every_epoch_of_a_policy_for_rewards():
    """The trap: epsilon of event level is m epsilon for a person in m epochs."""
    driver = drive(make_policy("dp-se", ["A", "B"], epsilon=0.5, beta=0.1), (), SimulatedNoise(1), 0)
    for epoch in (1, 2, 3):
        close(driver, (0.5, 0.5))
        assert (spent(driver.ledger), spent_by_person(driver.ledger)) == (0.5, 0.5 * epoch)


@dataclass(kw_only=True)
class Trapped(DPSuccessiveElimination):
    """Promises for a person what it keeps for a reward."""

    unit = Unit.PERSON


def test_the_curator_does_not_walk_into_the_trap():
    driver = drive(Trapped(["A", "B"], epsilon=0.5, beta=0.1), (0.5, 0.5), SimulatedNoise(1), 1)
    with pytest.raises(PrivacyError, match=r"a release would cost 1.0, beyond the promised 0.5"):
        close(driver, (0.5, 0.5))
    assert len(driver.ledger) == 2


# ---------------------------------------------------------------------- what it costs


def elimination(epsilon, beta=0.05):
    return DPPersonElimination(range(5), epsilon=epsilon, beta=beta)


@given(epsilon=EPSILONS, beta=st.floats(-9, -0.1).map(lambda size: 10**size), epoch=st.integers(1, 12))
def test_the_noise_stays_within_an_eighth_of_the_gap(epsilon, beta, epoch):
    """What Lemma 4.2 needs of epoch e, for every epsilon."""
    policy = elimination(epsilon, beta)
    for viable in (2, 5):
        assert policy.hoeffding_radius(epoch, viable) < policy.target_gap(epoch) / 8
        assert policy.laplace_radius(epoch, viable) < policy.target_gap(epoch) / 8


@given(beta=st.floats(-9, -0.1).map(lambda size: 10**size), epoch=st.integers(1, 25), viable=st.integers(2, 5))
def test_from_a_quarter_on_privacy_does_not_make_epochs_longer(beta, epoch, viable):
    statistical = 32 * math.log(8 * viable * epoch**2 / beta) * 4**epoch + 1
    assert elimination(0.25, beta).epoch_length(epoch, viable) == pytest.approx(statistical)
    assert elimination(8.0, beta).epoch_length(epoch, viable) == pytest.approx(statistical)
    below = 0.25 * math.log(4 * viable * epoch**2 / beta) / math.log(8 * viable * epoch**2 / beta)
    assert elimination(below * 0.999, beta).epoch_length(epoch, viable) > statistical * 1.0005


def test_at_a_quarter_thresholds_are_nearly_twice_those_of_rewards():
    """Equal lengths are not equal runs: noise takes its whole eighth of the gap in every epoch, on either side."""
    person, reward = elimination(0.25), DPSuccessiveElimination(range(5), epsilon=0.25, beta=0.05)
    for epoch in (6, 8, 10):
        assert person.epoch_length(epoch, 5) == reward.epoch_length(epoch, 5)
        assert 1.8 < person.threshold(epoch, 5) / reward.threshold(epoch, 5) < 2


# ---------------------------------------------------------------------- sharp constants


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_schedule_and_the_policy_share_epsilon_out_alike(epsilon):
    policy = DPSharpPersonElimination(range(3), epsilon=epsilon, beta=0.1)
    assert isinstance(policy.schedule, PersonSchedule)
    for epoch in range(1, 20):
        assert policy.schedule.epoch_epsilon(epoch) == policy.epoch_epsilon(epoch)
        assert policy.schedule.tested(epoch) == policy.rounds(epoch, 3)
        assert policy.schedule.noises(epoch) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_the_best_arm_is_found_by_the_deadline(name, epsilon):
    late, wrong = 0, 0
    for run in range(60):
        policy = make_policy(name, range(3), epsilon=epsilon, beta=0.05)
        after = drive(policy, Coins((0.5, 0.7, 0.45), (2, run)), SimulatedNoise((1, run))).algorithm
        wrong += after.best_arm != 1
        if name == "dp-se-sharp-person":
            late += max(after.pulls) > after.schedule.pulls_for(0.2)
        else:
            late += after.epoch > 3  # 2^-3 <= 0.2
    assert wrong + late <= 9  # Binomial(60, 0.05) is above with a chance of 0.0003, and both are far below beta


@pytest.mark.parametrize("name", NAMES)
def test_people_with_habits_do_not_break_the_promise_of_two_arms(name):
    """The same people pay the very same rewards in every epoch: independent within epochs, and not between them."""
    wrong = 0
    for run in range(60):
        people = np.random.default_rng((5, run)).random((200_000, 2)) < (0.55, 0.45)

        def paid(arm, before, pulls, people=people):
            place = "AB".index(arm)
            return int(people[place : 2 * pulls : 2, place].sum())  # the arms take turns

        policy = make_policy(name, ["A", "B"], epsilon=1.0, beta=0.05)
        after = drive(policy, paid, SimulatedNoise((3, run))).algorithm
        wrong += after.best_arm != "A" or after.epoch > 4  # 2^-4 <= 0.1; the sharp one needs no more
    assert wrong <= 9  # as above

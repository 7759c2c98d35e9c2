"""Elimination for people: epsilon lasts for any number of epochs, and a person is covered by all of it.

The formulas and claims are those of docs/proofs/person-level.md.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import ArgumentError, DPPersonElimination, DPSharpPersonElimination, SimulatedNoise
from discreet.audit.examine import compare
from discreet.audit.subjects import subject
from discreet.core.privacy import Neighbours, Unit, spent, spent_by_person
from discreet.lab import play
from discreet.theory.person_level import HALF, THIRD, PersonSchedule, epoch_epsilon
from tests._tools import examples

NAMES = ("dp-se-person", "dp-se-sharp-person")
EPSILONS = st.floats(-6, 2).map(lambda size: 10**size)

# ---------------------------------------------------------------------- epsilon lasts


@given(epsilon=EPSILONS, share=st.sampled_from([HALF, THIRD]), epochs=st.integers(1, 300))
def test_no_number_of_epochs_costs_all_of_epsilon(epsilon, share, epochs):
    costs = [Fraction(epoch_epsilon(epsilon, epoch, share)) for epoch in range(1, epochs + 1)]
    assert sum(costs) <= Fraction(epsilon) * (1 - (1 - share) ** epochs) < Fraction(epsilon)
    assert all(before > after > 0 for before, after in pairwise(costs))
    assert math.fsum(map(float, costs)) <= epsilon


@given(epsilon=EPSILONS, epoch=st.integers(1, 300))
def test_halves_are_exact_and_thirds_are_rounded_down(epsilon, epoch):
    assert Fraction(epoch_epsilon(epsilon, epoch)) == Fraction(epsilon) / 2**epoch
    third = Fraction(epsilon) / 3 * Fraction(2, 3) ** (epoch - 1)
    assert third * (1 - Fraction(1, 2**52)) < Fraction(epoch_epsilon(epsilon, epoch, THIRD)) <= third


def test_nothing_is_left_for_an_epoch_that_nobody_plays():
    assert epoch_epsilon(1.0, 10**12) == 0.0


# ---------------------------------------------------------------------- the policies say so


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_is_about_people(name):
    privacy = examples.policy(name).privacy
    assert (privacy.epsilon, privacy.unit, privacy.neighbours) == (1.0, Unit.PERSON, Neighbours.ONE_PERSON)
    assert examples.policy("dp-se").privacy.unit == Unit.REWARD


@pytest.mark.parametrize(("name", "share"), [("dp-se-person", HALF), ("dp-se-sharp-person", THIRD)])
def test_the_ledger_says_what_each_epoch_cost(name, share):
    policy = discreet.make_policy(name, ["A", "B", "C"], epsilon=0.7, beta=0.1, noise=SimulatedNoise(1))
    for epoch in range(1, 6):
        plan = policy.plan()
        for entry in policy.close({arm: count * policy.grid.width // 2 for arm, count in plan.pulls.items()}):
            assert entry.epsilon == epoch_epsilon(0.7, epoch, share)
            assert entry.scale == pytest.approx(1 / entry.epsilon, rel=1e-12)
            assert Fraction(entry.scale) * Fraction(entry.epsilon) >= 1  # no scale is rounded down
        assert spent(policy.ledger) == epoch_epsilon(0.7, 1, share)
        assert spent_by_person(policy.ledger) == pytest.approx(0.7 * (1 - (1 - share) ** epoch))
        assert spent_by_person(policy.ledger) < 0.7


def test_a_person_pays_for_every_epoch_of_a_policy_for_rewards():
    """The trap: epsilon of event level is m epsilon for a person in m epochs."""
    policy = discreet.make_policy("dp-se", ["A", "B"], epsilon=0.5, beta=0.1, noise=SimulatedNoise(1))
    for epoch in (1, 2, 3):
        policy.close({arm: count * policy.grid.width // 2 for arm, count in policy.plan().pulls.items()})
        assert (spent(policy.ledger), spent_by_person(policy.ledger)) == (0.5, 0.5 * epoch)


@pytest.mark.parametrize("name", NAMES)
def test_phases_that_start_again_are_refused(name):
    with pytest.raises(ArgumentError, match="a person would pay epsilon in every phase"):
        discreet.GuessAndDouble(["A", "B"], policy=name, epsilon=1.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_used_object_that_refuses_a_state_keeps_its_noise(name):
    policy = examples.policy(name)
    policy.plan()
    ready = policy._laplace._state()
    with pytest.raises(discreet.PrivacyError):
        policy._revive(policy._dump())
    assert policy._laplace._state() == ready


# ---------------------------------------------------------------------- what it costs


def elimination(epsilon, beta=0.05):
    return DPPersonElimination(range(5), epsilon=epsilon, beta=beta, noise=SimulatedNoise(1))


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
    person, reward = elimination(0.25), discreet.DPSuccessiveElimination(range(5), epsilon=0.25, beta=0.05)
    for epoch in (6, 8, 10):
        assert person.epoch_length(epoch, 5) == reward.epoch_length(epoch, 5)
        assert 1.8 < person.threshold(epoch, 5) / reward.threshold(epoch, 5) < 2


# ---------------------------------------------------------------------- sharp constants


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_schedule_and_the_policy_share_epsilon_out_alike(epsilon):
    policy = DPSharpPersonElimination(range(3), epsilon=epsilon, beta=0.1, noise=SimulatedNoise(1))
    assert isinstance(policy.schedule, PersonSchedule)
    for epoch in range(1, 20):
        assert policy.schedule.epoch_epsilon(epoch) == policy.epoch_epsilon(epoch)
        assert policy.schedule.tested(epoch) == policy.epoch_length(epoch)
        assert policy.schedule.noises(epoch) == 1


@given(arms=st.integers(2, 30), epsilon=EPSILONS.filter(lambda e: 0.01 <= e <= 10), gap=st.floats(0.01, 1.0))
def test_every_gap_is_resolved(arms, epsilon, gap):
    schedule = PersonSchedule(arms, epsilon, 0.05)
    epoch = schedule.deadline(gap)
    assert schedule.target_gap(epoch) <= gap
    assert schedule.pulls_for(gap) == schedule.pulls_by(epoch)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_the_best_arm_is_found_by_the_deadline(name, epsilon):
    means, late, wrong = (0.5, 0.7, 0.45), 0, 0
    for run in range(60):
        policy = discreet.make_policy(name, range(3), epsilon=epsilon, beta=0.05, noise=SimulatedNoise((1, run)))
        play(policy, means, np.random.default_rng((2, run)))
        wrong += policy.best_arm != 1
        if name == "dp-se-sharp-person":
            late += max(policy.pulls.values()) > policy.schedule.pulls_for(0.2)
        else:
            late += policy.epoch > 3  # 2^-3 <= 0.2
    assert wrong + late <= 9  # Binomial(60, 0.05) is above with a chance of 0.0003, and both are far below beta


@pytest.mark.parametrize("name", NAMES)
def test_people_with_habits_do_not_break_the_promise_of_two_arms(name):
    """The same people pay the very same rewards in every epoch: independent within epochs, and not between them."""
    wrong = 0
    for run in range(60):
        people = np.random.default_rng((5, run)).random((200_000, 2)) < (0.55, 0.45)
        policy = discreet.make_policy(name, ["A", "B"], epsilon=1.0, beta=0.05, noise=SimulatedNoise((3, run)))
        while plan := policy.plan():
            places = 2 * plan.pulls["A"]  # the arms take turns
            paid = {"A": people[0:places:2, 0].sum(), "B": people[1:places:2, 1].sum()}
            policy.close({arm: int(total) * policy.grid.width for arm, total in paid.items()})
        wrong += policy.best_arm != "A" or policy.epoch > 4  # 2^-4 <= 0.1; the sharp one needs no more
    assert wrong <= 9  # as above


# ---------------------------------------------------------------------- audits


def followed(epsilon=2.0, samples=1500):
    """What the pair of an audit that follows one person through the epochs proves."""
    *others, pair = subject("dp-se-person", epsilon, {}).find_pairs()
    assert len(others) == 3
    assert pair.name.startswith("a reward of each epoch")
    return compare(pair, 1e-6, samples, 1.0, lambda done: None).epsilon


def test_an_audit_follows_a_person_through_the_epochs(monkeypatch):
    """The first two of them, which cost 3/4 of epsilon; and it is not caught in the trap."""
    assert 0.1 < followed() <= 1.5
    monkeypatch.setattr(DPPersonElimination, "epoch_epsilon", lambda self, epoch: self.epsilon)
    assert followed() > 2.0

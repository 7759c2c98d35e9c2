"""How epsilon lasts for any number of epochs, and the schedule for it: docs/proofs/person-level.md."""

import math
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from discreet.theory.person_level import HALF, THIRD, PersonSchedule, epoch_epsilon

EPSILONS = st.floats(-6, 2).map(lambda size: 10**size)


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


@given(arms=st.integers(2, 30), epsilon=EPSILONS.filter(lambda e: 0.01 <= e <= 10), gap=st.floats(0.01, 1.0))
def test_every_gap_is_resolved(arms, epsilon, gap):
    schedule = PersonSchedule(arms, epsilon, 0.05)
    epoch = schedule.deadline(gap)
    assert schedule.target_gap(epoch) <= gap
    assert schedule.pulls_for(gap) == schedule.pulls_by(epoch)

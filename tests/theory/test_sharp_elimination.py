"""The schedule of elimination with sharp constants: a program written from the formulas agrees.

The formulas are those of docs/proofs/sharp-elimination.md.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import ArgumentError, theory
from discreet.core.probability.tails import clearly_behind
from discreet.lab import instance
from discreet.theory import SharpSchedule, sharp_pulls
from tests._tools.sharp_formulas import ends, level, radius

SCHEDULES = st.builds(
    SharpSchedule,
    arms=st.integers(2, 30),
    epsilon=st.floats(-2, 1).map(lambda size: 10**size),
    beta=st.floats(-9, -0.1).map(lambda size: 10**size),
    growth=st.floats(1.05, 4.0),
    window=st.integers(1, 10),
)


@pytest.mark.parametrize(
    ("arms", "epsilon", "beta", "growth"), [(2, 1.0, 0.05, 1.5), (5, 0.1, 1e-6, 1.3), (9, 4, 0.5, 3)]
)
def test_the_schedule_is_that_of_a_program_written_from_the_formulas(arms, epsilon, beta, growth):
    schedule, last = SharpSchedule(arms, epsilon, beta, growth, window=3), ends(arms, epsilon, beta, growth, 12)
    assert [schedule.pulls_by(k) for k in range(13)] == last
    gaps = []
    for k in range(1, 13):
        m = min(k, 3)
        n = last[k] - last[k - m]
        assert (schedule.tested(k), schedule.noises(k)) == (n, m)
        assert schedule.level(k) == pytest.approx(level(k, arms, beta))
        x = radius(n, 2 * m, epsilon, level(k, arms, beta))
        y = radius(n, 2 * m, epsilon, math.log((arms - 1) / (0.01 * beta)))
        assert schedule.clear_lead(k) == pytest.approx(x, rel=1e-6)
        assert schedule.target_gap(k) == pytest.approx((x + y) / n, rel=1e-6)
        gaps.append((x + y) / n)
    for k, gap in enumerate(gaps, 1):
        if gap <= 1:
            first = next(place for place, other in enumerate(gaps, 1) if other <= gap)
            assert schedule.deadline(gap * (1 + 1e-5)) == first <= k
            assert schedule.pulls_for(gap * (1 + 1e-5)) == last[first]


@given(schedule=SCHEDULES)
def test_beta_is_spent_once(schedule):
    """Intervals, tests and late arms together: the sums of the proof, with the tail of the weights in closed form."""
    epochs = range(1, 2000)
    rest = 5 / (2000 + 4)  # what the weights of all later epochs add up to
    assert sum(map(schedule.weight, epochs)) + rest == pytest.approx(1)
    intervals = sum(2 * math.exp(-schedule.doubt(k)) for k in epochs)
    tests = sum((schedule.arms - 1) * math.exp(-schedule.level(k)) for k in epochs)
    assert intervals == pytest.approx(0.1 * schedule.beta * (1 - rest))
    assert tests == pytest.approx(0.89 * schedule.beta * (1 - rest))
    late = schedule.beta - (intervals + tests) / (1 - rest)
    assert late == pytest.approx(0.01 * schedule.beta, rel=1e-6)


@given(schedule=SCHEDULES)
def test_epochs_grow_and_are_never_empty(schedule):
    lengths = np.diff([schedule.pulls_by(epoch) for epoch in range(30)])
    assert lengths.min() >= 1
    assert lengths[-1] > lengths[1]


@given(schedule=SCHEDULES, epoch=st.integers(1, 40), share=st.floats(-0.05, 1.0))
def test_no_arm_stays_that_is_behind_by_more_than_a_clear_lead(schedule, epoch, share):
    """Step 4 of the proof: Hoeffding's threshold is above the one of the test, whatever the total."""
    lead, n, m = schedule.clear_lead(epoch) * 1.000001, schedule.tested(epoch), schedule.noises(epoch)
    assert clearly_behind(lead, share * n, n, m, schedule.epsilon, schedule.level(epoch), schedule.doubt(epoch))


def test_the_pulls_of_a_plan_are_those_of_the_schedule_and_a_fraction_of_the_papers():
    found = sharp_pulls([0.5, 0.1, 0.02], 5, 0.5, 0.05)
    assert found.tolist() == [SharpSchedule(5, 0.5, 0.05).pulls_for(gap) for gap in (0.5, 0.1, 0.02)]
    assert (found * 2 < theory.dp_se_pulls([0.5, 0.1, 0.02], 5, 0.5, 0.05)).all()
    assert sharp_pulls(0.1, [2, 5], 0.5, 0.05).shape == (2,)
    assert (np.diff(sharp_pulls([0.3, 0.1, 0.03, 0.01], 5, 0.5, 0.05)) > 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 1.0, 0.1), "gap must be a finite number above 0"),
        ((1.5, 5, 1.0, 0.1), "gap must be in"),
        ((0.1, 1, 1.0, 0.1), "arms must be a whole number of at least 2"),
        ((0.1, 5, math.inf, 0.1), "epsilon must be a finite number above 0"),
        ((0.1, 5, 1.0, 1.0), "beta must be strictly between 0 and 1"),
    ],
)
def test_what_lies_outside_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        sharp_pulls(*arguments)


def test_a_gap_that_nobody_can_resolve():
    assert sharp_pulls(1e-12, 5, 1.0, 0.1) == math.inf
    with pytest.raises(ArgumentError, match=r"gap must allow fewer than 2\^62 pulls, got 1e-12"):
        SharpSchedule(5, 1.0, 0.1).pulls_for(1e-12)


@pytest.mark.parametrize(("name", "epsilon"), [("C2", 0.25), ("C4", 1.0)])
def test_the_guaranteed_regret_is_the_sum_over_arms_and_below_the_papers(name, epsilon):
    on, schedule = instance(name), SharpSchedule(5, epsilon, 1 / 5e7)
    bound = theory.sharp_sure_regret(on.means, 5e7, epsilon)
    assert bound == pytest.approx(1 + sum(gap * schedule.pulls_for(gap) for gap in on.gaps if gap))
    assert bound < theory.dp_se_sure_regret(on.means, 5e7, epsilon)


def test_the_guaranteed_regret_of_arms_that_are_nearly_equal():
    assert theory.sharp_sure_regret([0.5, 0.5 - 1e-9], 10**6, 1.0) == pytest.approx(1e-3, rel=1e-6)

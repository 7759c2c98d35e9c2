"""Noisy totals: exact losses on neighbouring inputs, mistakes that they catch, and what is kept of held arms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import ArgumentError
from discreet.core.plans import Plan, TotalsQuery
from discreet.core.statistics import Statistic
from discreet.mechanisms import NoisyTotals
from discreet.testing import ScriptedNoise, worst_loss
from tests._tools.curators import COINS, less_noise, make, released, reuse_noise, seen

TOTALS, PAIRS = TotalsQuery((2.0,)), TotalsQuery((0.5, 1.5))


def held_run(first, second):
    """An arm that is held in one epoch and released in the next, beside one that is released in both."""

    def run(noise):
        curator = make(2.0, noise)
        held = TOTALS._replace(held=frozenset("A"))
        outputs = [curator.release(Plan(1, {"A": 2, "B": 2}, held), {"A": first, "B": 1})]
        outputs.append(curator.release(Plan(2, {"A": 2, "B": 2}, TOTALS), {"A": second, "B": 1}))
        return tuple(map(seen, outputs))

    return run


CASES = {  # one input, its neighbour, reach: a changed reward moves noises by a step, so shift is 1 everywhere
    "a total": (released(TOTALS, 3), released(TOTALS, 4), 9),
    "the totals of two epochs": (released(TOTALS, 3, 5), released(TOTALS, 3, 6), 4),
    "squares and a total": (
        released(PAIRS, (3, 5), statistic=Statistic.PAIRS),
        released(PAIRS, (4, 6), statistic=Statistic.PAIRS),
        6,
    ),
    "an arm that is held": (held_run(1, 1), held_run(2, 1), 2),
    "an arm that was held": (held_run(1, 1), held_run(1, 2), 2),
}


def loss(name):
    one, other, reach = CASES[name]
    return worst_loss(one, other, reach, shift=1)


@pytest.mark.parametrize("name", CASES)
def test_the_worst_loss_is_epsilon(name):
    assert loss(name) == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("factor", [2, 3])
def test_less_noise_is_caught(name, factor, monkeypatch):
    with less_noise(monkeypatch, factor):
        assert loss(name) == pytest.approx(2.0 * factor, abs=1e-9)


def test_noise_that_two_parts_share_is_caught(monkeypatch):
    inputs = [released(PAIRS, parts, statistic=Statistic.PAIRS) for parts in ((3, 5), (3, 6))]
    assert worst_loss(*inputs, reach=6, shift=1) == pytest.approx(1.5)
    reuse_noise(monkeypatch, NoisyTotals)
    assert worst_loss(*inputs, reach=6, shift=1) == math.inf


def test_a_total_without_noise_is_caught(monkeypatch):
    monkeypatch.setattr(NoisyTotals, "_draw", lambda self, sensitivity, epsilon, count: ([0] * count, 1.0))
    assert loss("a total") == math.inf


def test_a_total_of_which_every_epoch_shows_a_part_is_caught(monkeypatch):
    """Held rewards that are released again later."""

    def forgetful(self, exact, held):
        kept = dict(self._held)
        released = without(self, exact, held)
        self._held |= kept
        return released

    without = NoisyTotals._without_held
    monkeypatch.setattr(NoisyTotals, "_without_held", forgetful)

    def run(first):
        def run(noise):
            curator, query = make(2.0, noise, arms=("A",)), TOTALS._replace(held=frozenset("A"))
            curator.release(Plan(1, {"A": 2}, query), {"A": first})
            later = [curator.release(Plan(epoch, {"A": 2}, TOTALS), {"A": 0}) for epoch in (2, 3)]
            return tuple(map(seen, later))

        return run

    assert worst_loss(run(1), run(2), 4, 1) > 2.0 + 1e-6


# ---------------------------------------------------------------------- what is released


def test_each_arm_gets_a_draw_of_its_own_in_the_plans_order():
    curator = make(0.5, ScriptedNoise([7, -3, 1]), arms="ABC")
    releases = curator.release(Plan(1, {"C": 10, "A": 20}, TotalsQuery((0.5,))), {"A": 5, "C": 6})
    assert [(one.arm, one.steps, one.scale, one.epsilon) for one in releases] == [
        ("C", 13, 2.0, 0.5),
        ("A", 2, 2.0, 0.5),
    ]
    assert [one.spans for one in releases] == [(("C", 1, 10),), (("A", 1, 20),)]
    assert all(one.simulated for one in releases)
    (later,) = curator.release(Plan(2, {"C": 5}, TotalsQuery((0.5,))), {"C": 0})
    assert (later.epoch, later.steps, later.spans) == (2, 1, (("C", 11, 15),))


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=20))
def test_a_held_arm_is_released_later_with_all_that_was_held(epochs):
    """Without noise every released total is that of its span, and spans follow on each other."""
    curator = make(1.0, ScriptedNoise([]), arms=("A",))
    rewards, at = [], 0
    for epoch, (total, hold) in enumerate(epochs, 1):
        rewards += [1] * total + [0] * (9 - total)
        query = TotalsQuery((1.0,), frozenset("A") if hold else frozenset())
        found = curator.release(Plan(epoch, {"A": 9}, query), {"A": total})
        assert len(found) == (not hold)
        for release in found:
            ((_, first, last),) = release.spans
            assert (first, last) == (at + 1, len(rewards))
            assert release.steps == sum(rewards[at:])
            at = last
    assert curator.state() == (
        {} if at == len(rewards) else {"series": [0], "held": [["A", sum(rewards[at:]), len(rewards) - at]]}
    )


def test_held_sums_outlive_a_process():
    plans = [
        Plan(1, {"A": 5, "B": 5}, TotalsQuery((1.0,), frozenset("A"))),
        Plan(2, {"A": 5, "B": 5}, TotalsQuery((1.0,))),
    ]
    one = make(1.0, ScriptedNoise([]))
    one.release(plans[0], {"A": 3, "B": 4})
    other = make(1.0, ScriptedNoise([]), epoch=1, taken={"A": 5, "B": 5})
    other.restore(one.state(), plans[1])
    totals = {"A": 1, "B": 2}
    assert other.release(plans[1], totals) == one.release(plans[1], totals)


def test_numpy_integers_are_taken_exactly():
    plan = Plan(1, {"A": 2**60}, TotalsQuery((1.0,)))
    for value in (2**53, 2**53 + 1, 2**53 + 3):
        (release,) = make(1.0, ScriptedNoise([]), arms=("A",)).release(plan, {"A": np.int64(value)})
        assert release.steps == value


@pytest.mark.parametrize("bad", [5, (5,), (5, 5, 5), "55", None, {"squares": 5}, (5.0, 5), (5, 10), (5, 5.0), (-1, 5)])
def test_parts_that_are_no_sums_of_pairs_are_refused(bad):
    curator = make(2.0, ScriptedNoise([]), arms=("A",))
    with pytest.raises(ArgumentError, match="total"):
        curator.release(Plan(1, {"A": 9}, PAIRS, Statistic.PAIRS), {"A": bad})


@pytest.mark.parametrize(
    ("query", "statistic"),
    [(PAIRS, Statistic.TOTAL), (TOTALS, Statistic.PAIRS), (PAIRS._replace(held=frozenset("A")), Statistic.PAIRS),
     (TOTALS._replace(held=frozenset("B")), Statistic.TOTAL)],
)  # fmt: skip
def test_a_query_that_does_not_fit_the_statistic_or_the_plan_is_refused(query, statistic):
    curator = make(2.0, ScriptedNoise([]), arms="AB")
    with pytest.raises(ArgumentError, match="price"):
        curator.release(Plan(1, {"A": 9}, query, statistic), {"A": 5 if statistic is Statistic.TOTAL else (1, 5)})


def test_the_grid_width_is_the_sensitivity():
    for grid_bits, width in ((0, 1), (3, 8)):
        noise = ScriptedNoise([])
        grid = type(COINS)(0.0, 1.0, bits=grid_bits)
        curator = make(0.5, noise, arms=("A",), grid=grid)
        int(curator.release(Plan(1, {"A": 1}, TotalsQuery((0.5,))), {"A": 1})[0].steps)
        assert noise.scales == [2.0 * width]

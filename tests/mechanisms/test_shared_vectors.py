"""Sparse vectors that share rewards: each has noises of its own, and a reward pays for all that it enters."""

import pytest

from discreet.core.errors import ArgumentError, PrivacyError, StateError
from discreet.core.plans import Measure, Plan, Vector, VectorsQuery
from discreet.testing import ScriptedNoise
from tests._tools.curators import COINS, Counted, make

AB, AC, BC = (Vector(name, tuple(arms)) for name, arms in (((0, 1), "AB"), ((0, 2), "AC"), ((1, 2), "BC")))
PAIRS = (AB, AC, BC)
ABC = ("A", "B", "C")


def query(rewards=10, limit=5, vectors=PAIRS, most=2, measure=Measure.SPREAD, epsilon=0.25, release=0.25):
    return VectorsQuery(rewards, limit, epsilon, release, tuple(vectors), most, measure)


def plan(asked, before=0, arms=ABC, epoch=1):
    return Plan(epoch, dict.fromkeys(arms, asked.rewards - before), asked)


def said(releases):
    tests, *totals = releases
    return tests.tests, tests.above, [one.arm for one in totals]


def quiet(arms=ABC, noise=None):
    return make(1.0, noise or ScriptedNoise([]), arms=arms, grid=COINS)


def test_each_vector_measures_its_own_arms_and_releases_their_totals_when_it_halts():
    found = quiet().release(plan(query()), {"A": 9, "B": 5, "C": 3})
    assert said(found) == (1, True, ["A", "C"])
    assert [one.steps for one in found[1:]] == [9, 3]
    assert [one.spans for one in found[1:]] == [(("A", 1, 10),), (("C", 1, 10),)]
    assert found[0].spans == (("A", 1, 10), ("B", 1, 10), ("C", 1, 10))


def test_a_lag_is_that_of_the_first_arm():
    lags = [Vector((0,), ABC), Vector((1,), ("B", "A", "C")), Vector((2,), ("C", "A", "B"))]
    asked = query(vectors=lags, most=3, measure=Measure.LAG, epsilon=0.3, release=0.03)
    assert said(quiet().release(plan(asked), {"A": 9, "B": 5, "C": 3})) == (1, True, ["C", "A", "B"])


def test_totals_go_on_when_a_vector_halts_and_an_arm_that_has_gone_keeps_its_own():
    made = quiet()
    made.release(plan(query()), {"A": 9, "B": 5, "C": 3})
    tests, *totals = made.release(plan(query(20, 5, [AB]), 10, ("A", "B"), epoch=2), {"A": 9, "B": 5})
    assert (tests.tests, tests.above, [one.steps for one in totals]) == (2, True, [18, 10])
    assert tests.spans == (("A", 11, 20), ("B", 11, 20))  # the first ten have paid already
    assert [one.spans for one in totals] == [(("A", 1, 20),), (("B", 1, 20),)]


def test_thresholds_have_one_noise_each_and_tests_one_each_of_their_own():
    noise = ScriptedNoise([1, 2, 3, 10, 20, 30, 100, 200, 300])
    made, scale = quiet(noise=noise), 3 / 0.25
    made.release(plan(query()), {"A": 5, "B": 5, "C": 5})
    assert noise.scales == [scale] * 6  # three thresholds, and three tests
    assert made.state()["threshold_noise"] == [[[0, 1], 1], [[0, 2], 2], [[1, 2], 3]]
    made.release(plan(query(20), 10), {"A": 5, "B": 5, "C": 5})
    assert noise.scales == [scale] * 9


def test_a_threshold_is_erased_when_its_vector_halts_or_is_left_out():
    made = quiet()
    made.release(plan(query()), {"A": 9, "B": 5, "C": 3})
    assert [name for name, _ in made.state()["threshold_noise"]] == [[0, 1], [1, 2]]
    made.release(plan(query(20, 99, [AB]), 10, ("A", "B"), epoch=2), {"A": 5, "B": 5})
    assert [name for name, _ in made.state()["threshold_noise"]] == [[0, 1]]


def test_a_saved_state_goes_on_as_if_it_had_not_been_saved():
    noises = [3, -1, 2, 0, 1, 0, -2, 4, 1, 1, 0, -3, 2]
    totals, later = {"A": 9, "B": 5, "C": 3}, {"A": 10, "B": 7}
    asked = query(20, 5, [AB])
    whole = quiet(noise=ScriptedNoise(noises))
    first = whole.release(plan(query()), totals)
    expected = whole.release(plan(asked, 10, ("A", "B"), epoch=2), later)
    before, after = (ScriptedNoise(noises) for _ in range(2))
    made = quiet(noise=before)
    assert made.release(plan(query()), totals) == first
    after.draws(1.0, len(before.scales))
    loaded = make(1.0, after, grid=COINS, epoch=1, taken=dict.fromkeys(ABC, 10))
    loaded.restore(made.state(), plan(asked, 10, ("A", "B"), epoch=2))
    assert loaded.release(plan(asked, 10, ("A", "B"), epoch=2), later) == expected


LATER = Vector((5,), ("A", "B"))


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        (query(20, vectors=[AB, BC, LATER]), PrivacyError, "pays for 2 vectors, and an arm would enter 3"),
        (query(20, vectors=[AC, BC]), PrivacyError, r"vector \(0, 2\) has begun before"),
        (query(20, vectors=[AB, AB]), PrivacyError, r"vector \(0, 1\) has begun before"),
        (query(20, vectors=[Vector((0, 3), ("A", "B"))]), PrivacyError, r"vector \(0, 3\) has begun before"),
        (query(20, vectors=[AB, BC], epsilon=0.2), PrivacyError, "a series costs what it began with"),
        (query(20, vectors=[AB, BC], most=3), PrivacyError, "beyond the promised 1.0"),
        (query(21, vectors=[AB, BC]), StateError, "does not go on where the sparse vectors are"),
    ],
)
def test_what_a_reward_does_not_pay_for_is_refused_and_draws_nothing(asked, error, message):
    """After the pair of A and C has ended."""
    noise = Counted(1)
    made = quiet(noise=noise)
    made.release(plan(query(limit=10**6)), dict.fromkeys(ABC, 5))
    made.release(plan(query(20, limit=10**6, vectors=[AB, BC]), 10), dict.fromkeys(ABC, 5))
    drawn, state = noise.drawn, made.state()
    bad = asked._replace(rewards=asked.rewards + 10)
    with pytest.raises(error, match=message):
        made.release(Plan(1, dict.fromkeys(ABC, 10), bad), dict.fromkeys(ABC, 5))
    assert (noise.drawn, made.state()) == (drawn, state)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (query(vectors=[Vector((0,), ("A", "A"))]), "arms of its series, each once"),
        (query(vectors=[Vector((0,), ("A", "Z"))]), "arms of its series, each once"),
        (query(measure=Measure.DISTANCE), "is of several arms"),
    ],
)
def test_what_no_vector_can_measure_is_refused(asked, message):
    noise = Counted(1)
    with pytest.raises(ArgumentError, match=message):
        quiet(noise=noise).release(plan(asked), dict.fromkeys(ABC, 5))
    assert not noise.drawn


@pytest.mark.parametrize("bad", [{"A": 11, "B": 0, "C": 0}, {"A": -1, "B": 0, "C": 0}, {"A": 0, "B": 0}])
def test_a_total_that_is_none_is_refused(bad):
    noise = Counted(1)
    with pytest.raises(ArgumentError, match="total"):
        quiet(noise=noise).release(plan(query()), bad)
    assert not noise.drawn

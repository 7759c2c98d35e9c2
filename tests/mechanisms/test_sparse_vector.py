"""Sparse vectors: exact losses, of copies too; mistakes that they catch; many tests at once equal one by one."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import ArgumentError, FinishedError, Grid, SimulatedNoise, StateError
from discreet.core.plans import Measure, Plan, ThresholdQuery
from discreet.mechanisms import SparseVector
from discreet.testing import ScriptedNoise, output_probabilities, worst_loss
from discreet.testing.exact import probability
from tests._tools.curators import COINS, SIGNED, Counted, answers, less_noise, make
from tests._tools.rules import ByScale

DISTANCE, SPREAD, ONE_SIDED = Measure.DISTANCE, Measure.SPREAD, Measure.ONE_SIDED


def arm(*totals):
    return [{"A": total} for total in totals]


def arms(*totals):
    return [dict(zip("AB", both, strict=True)) for both in totals]


# Two tests. The changed reward moves the measure up at the first one, where the answer is no, and down at the second.
# Samples 1, 1, -1, -1 or 1, -1, -1, -1 have |total| 2, 0 or 0, 2: on rewards that are never negative no third of the
# noise could be caught, since there it is enough.
TURNING = (
    answers(DISTANCE, 2.0, arm(4, 0), [0, 4], SIGNED, each=2),
    answers(DISTANCE, 2.0, arm(2, 0), [0, 4], SIGNED, each=2),
)
APART = answers(SPREAD, 2.0, arms((0, 0), (0, 1)), [0, 5]), answers(SPREAD, 2.0, arms((1, 0), (0, 1)), [0, 5])
RISING = answers(ONE_SIDED, 2.0, arm(0, 1), [1, 1]), answers(ONE_SIDED, 2.0, arm(1, 1), [1, 1])
NEVER = answers(ONE_SIDED, 2.0, arm(0, 1), [0, 0]), answers(ONE_SIDED, 2.0, arm(1, 1), [0, 0])
CASES = {  # inputs, reach, shift
    "a distance": (TURNING, 4, 4),
    "a spread": (APART, 5, 2),
    "one-sided": (RISING, 5, 1),
    "one-sided, low limits": (NEVER, 5, 1),
}


def loss(name):
    inputs, reach, shift = CASES[name]
    return worst_loss(*inputs, reach, shift)


@pytest.mark.parametrize("name", CASES)
def test_the_worst_loss_is_at_most_epsilon(name):
    assert loss(name) <= 2.0 + 1e-9


@pytest.mark.parametrize("name", ["one-sided", "one-sided, low limits"])
def test_a_one_sided_vector_loses_epsilon_in_two_tests(name):
    assert loss(name) == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("factor", [2, 3])
def test_half_or_a_third_of_the_noise_is_caught(name, factor, monkeypatch):
    with less_noise(monkeypatch, factor):
        assert loss(name) > 2.0 + 1e-6


def test_a_third_of_the_noise_is_enough_where_rewards_are_never_negative(monkeypatch):
    """Why the distance above is of a total that crosses 0: there, this would be the theorem of one-sided vectors."""
    inputs = answers(DISTANCE, 2.0, arm(0, 1), [1, 1]), answers(DISTANCE, 2.0, arm(1, 1), [1, 1])
    with less_noise(monkeypatch, 3):
        assert worst_loss(*inputs, reach=5, shift=2) <= 2.0 + 1e-9


def test_tests_without_noise_of_their_own_are_caught(monkeypatch):
    inputs = [answers(SPREAD, 2.0, totals, [1, 1]) for totals in (arms((0, 0), (0, 1)), arms((1, 0), (0, 1)))]
    assert worst_loss(*inputs, reach=5, shift=2) <= 2.0 + 1e-9
    monkeypatch.setattr(SparseVector, "is_above", lambda self, margin, threshold, _: margin >= threshold)
    assert worst_loss(*inputs, reach=5, shift=2) == math.inf


def test_a_threshold_without_noise_is_caught(monkeypatch):
    """Folded noise of tests can only help them: a sum that passes its limit always halts then."""
    monkeypatch.setattr(SparseVector, "is_above", lambda self, margin, _, noise: margin >= noise)
    assert loss("one-sided") == math.inf


def redrawn(self, margin, threshold_noise, test_noise):
    """A threshold with fresh noise at each test: a second no costs as much as the first."""
    self._threshold_noise = abs(int(self._test_noise(1)[0]))
    return margin >= self._threshold_noise + test_noise


def test_threshold_noise_that_is_redrawn_at_each_test_is_caught(monkeypatch):
    assert scales_of_three_tests() == [3.0] * 4
    assert worst_loss(*NEVER, reach=2, shift=1) <= 2.0 + 1e-9
    monkeypatch.setattr(SparseVector, "is_above", redrawn)
    assert scales_of_three_tests() != [3.0] * 4
    assert worst_loss(*NEVER, reach=2, shift=1) > 3.9


def scales_of_three_tests():
    """The scales of all draws: one for the threshold, and one for each test."""
    noise = ScriptedNoise([])
    answers(DISTANCE, 1.0, arm(0, 0, 0), [9, 9, 9])(noise)
    return noise.scales


def test_one_sided_noise_on_a_distance_is_caught(monkeypatch):
    monkeypatch.setattr(SparseVector, "_measured", lambda self, _: abs(sum(self._sums.values()) - self._count))
    inputs = [answers(ONE_SIDED, 2.0, totals, [0, 4], SIGNED, each=2) for totals in (arm(4, 0), arm(2, 0))]
    assert worst_loss(*inputs, reach=4, shift=2) > 2.0 + 1e-6


# ---------------------------------------------------------------------- long runs and copies, by a formula


class Model:
    """The probabilities of answers by a formula, given what measures exceed their limits by.

    Answers are independent given B. So a run's probability is a sum over B, for any number of tests and copies.
    """

    def __init__(self, scale, reach, one_sided=False):
        values = range(-reach, reach + 1)
        masses = np.array([probability(value, scale) for value in values])
        if one_sided:  # B is |X| and A is -|X'|
            masses = np.concatenate([masses[reach : reach + 1], 2 * masses[reach + 1 :]])
        self.threshold = np.arange(masses.size) - (0 if one_sided else reach)
        self.mass = masses
        self.least = -reach  # of the tests' noise
        tests = masses[::-1] if one_sided else masses
        self.below = np.concatenate([[0.0], np.cumsum(tests)])

    def yes(self, margin):
        """The probability that margin >= B + A, for each B."""
        return self.below[np.clip(margin - self.threshold - self.least + 1, 0, self.below.size - 1)]

    def no(self, margin):
        return self.below[-1] - self.yes(margin)

    def chance(self, *given_threshold):
        return float((self.mass * math.prod(given_threshold)).sum())


@pytest.mark.parametrize(
    ("measure", "totals", "one_sided", "scale"),
    [(SPREAD, arms((1, 0), (0, 1)), False, 1.5), (ONE_SIDED, arm(1, 1), True, 0.5)],
)
def test_the_formula_is_that_of_the_mechanism(measure, totals, one_sided, scale):
    limits, reach = [1, 2], 5
    found = output_probabilities(answers(measure, 2.0, totals, limits), reach)
    model = Model(scale, reach, one_sided)
    first, second = (1 - 1, 2 - 2) if one_sided else (1 - 1, 0 - 2)  # measure - limit
    assert found[(False, True)] == pytest.approx(model.chance(model.no(first), model.yes(second)), rel=1e-12)
    assert found[(False, False)] == pytest.approx(model.chance(model.no(first), model.no(second)), rel=1e-12)


def copies_loss(model, no, halt, many, copies, moved):
    """The loss where tests say no `many` times and each copy then yes, and `moved` copies have the changed reward."""

    def chance(step):
        halts = model.yes(halt - step) ** moved * model.yes(halt) ** (copies - moved)
        return model.chance(model.no(no + step) ** many, halts)

    return abs(math.log(chance(0) / chance(1)))


@pytest.mark.parametrize(
    ("copies", "moved", "bound"), [(1, 1, 1.0), (2, 2, (1 + 2 * 2) / 3), (2, 1, (2 + 2) / 3), (3, 1, (3 + 2) / 3)]
)
def test_copies_lose_what_is_proved_and_no_more(copies, moved, bound):
    """One sparse vector loses epsilon; of m copies a reward in all loses (1 + 2m)/3, in one copy only (m + 2)/3."""
    epsilon = 0.5
    model = Model(3 / epsilon, reach=600)
    situations = product(range(-40, 81, 20), range(-90, 41, 20), (1, 100, 10**5))
    worst = max(copies_loss(model, no, halt, many, copies, moved) for no, halt, many in situations) / epsilon
    assert worst <= bound + 1e-9
    assert worst == pytest.approx(bound, abs=5e-3)


@pytest.mark.parametrize(("copies", "moved", "bound"), [(1, 1, 1), (2, 2, 2), (2, 1, 2), (3, 2, 2)])
def test_copies_of_a_one_sided_vector_lose_at_most_epsilon_each(copies, moved, bound):
    """A changed reward moves all later sums of its copies the same way, and costs `moved`, or 1 + copies - moved."""
    epsilon = 0.5
    model = Model(1 / epsilon, reach=150, one_sided=True)

    def chance(no, halt, many, step):
        halts = model.yes(halt + step) ** moved * model.yes(halt) ** (copies - moved)
        return model.chance(model.no(no + step) ** many, halts)

    situations = list(product(range(-20, 41, 20), range(-40, 21, 20), (1, 10, 1000)))
    losses = [abs(math.log(chance(*one, 0) / chance(*one, 1))) / epsilon for one in situations]
    assert bound - 1e-3 <= max(losses) <= bound + 1e-9


BEFORE = arms((0, 0), (0, 1))


@pytest.mark.parametrize(
    ("changed", "least", "bound"),
    [([arms((1, 0), (0, 1))] * 2, 0.8, (1 + 2 * 2) / 3), ([arms((0, 0), (1, 1)), BEFORE], 0.3, (2 + 2) / 3)],
    ids=["a reward in both copies", "a reward in one copy only"],
)
def test_two_copies_of_a_saved_vector_stay_within_the_bound(changed, least, bound):
    """The mechanism itself: its state after a first test is loaded twice, so that both go on with the same B."""
    inputs = [answers(SPREAD, 6.0, totals, [1, 1], shared=1) for totals in ([BEFORE, BEFORE], changed)]
    assert 6.0 * least < worst_loss(*inputs, reach=1, shift=2) <= 6.0 * bound + 1e-9


# ---------------------------------------------------------------------- answers


def script(measure, noises, totals, limits, grid=COINS, each=20):
    return answers(measure, 1.0, totals, limits, grid, each)(ScriptedNoise(noises))


def test_the_threshold_has_one_noise_and_each_test_its_own():
    # B = 5; A = -1, -2, -3: yes if measure >= limit + B + A.
    assert script(DISTANCE, [5, -1, -2, -3], arm(13, 0, 0), [10, 10, 11]) == (False, True)
    assert script(DISTANCE, [5, -1, -2, -3], arm(13, 0, 0), [10, 11, 11]) == (False, False, True)


def test_one_sided_noises_are_folded_away_from_0():
    # B = |-5|; A = -|1|, -|-2|, -|-3|.
    assert script(ONE_SIDED, [-5, 1, -2, -3], arm(13, 0, 0), [10, 11, 11]) == (False, False, True)
    assert script(ONE_SIDED, [-5, 3], arm(13), [11]) == (True,)


@pytest.mark.parametrize(("measure", "scale"), [(DISTANCE, 12.0), (SPREAD, 12.0), (ONE_SIDED, 4.0)])
def test_a_one_sided_vector_has_a_third_of_the_noise(measure, scale):
    noise = ScriptedNoise([])
    totals = arms((1, 1)) if measure is SPREAD else arm(1)
    answers(measure, 0.5, totals, [10], SIGNED)(noise)
    assert noise.scales == [scale, scale]  # 3 * 2 / 0.5 and 2 / 0.5


def test_a_spread_is_that_of_all_arms():
    totals = [{"A": 3, "B": 9, "C": 5}]
    assert script(SPREAD, [0, 0], totals, [6]) == (True,)
    assert script(SPREAD, [0, 0], totals, [7]) == (False,)


def plan_of(counts, limits, measure=DISTANCE, before=0):
    return Plan(1, {"A": counts[-1] - before}, ThresholdQuery(counts, limits, 0.6, 0.4, measure))


def test_a_vector_halts_once_and_erases():
    curator = make(1.0, Counted(), arms=("A",))
    tests, total = curator.release(plan_of((9,), (-(10**6),)), {"A": 5})
    assert (tests.kind, tests.tests, tests.above, tests.spans) == ("tests", 1, True, (("A", 1, 9),))
    assert (total.kind, total.epsilon, total.spans) == ("total", 0.4, (("A", 1, 9),))
    assert curator.state() == {}
    with pytest.raises(FinishedError, match="a new series costs a new epsilon"):
        curator.release(plan_of((18,), (0,), before=9)._replace(epoch=2), {"A": 5})


def test_its_secrets_outlive_a_process_and_only_the_threshold_keeps_its_noise():
    one = make(1.0, ScriptedNoise([4]), arms=("A",))
    one.release(plan_of((9,), (100,)), {"A": 5})
    assert one.state() == {"series": [0], "sums": [["A", 5]], "count": 9, "tests": 1, "threshold_noise": 4}
    other = make(1.0, ScriptedNoise([]), taken={"A": 9})
    other.restore(one.state(), plan_of((18,), (13,), before=9))
    tests, total = other.release(plan_of((18,), (5,), before=9), {"A": 4})  # 9 >= 5 + 4
    assert (tests.tests, tests.above, total.steps, total.spans) == (2, True, 9, (("A", 1, 18),))


def test_sums_that_floats_cannot_hold_are_exact():
    wide = Grid(2e9, 2e9 + 1)  # its floor is about 2^51 steps
    for measure in (DISTANCE, ONE_SIDED):
        for more, above in ((0, True), (1, False)):
            limit = 2**15 * wide.floor + 2**15 * wide.width // 2 + more
            curator = make(1.0, ScriptedNoise([]), arms=("A",), grid=wide)
            (tests, *_) = curator.release(plan_of((2**15,), (limit,), measure), {"A": 2**15 * wide.width // 2})
            assert tests.above is above


@pytest.mark.parametrize("limit", [-(2**63) + 1, -(2**62) - 1, 2**63 - 1, 2**70, -(2**70)])
@pytest.mark.parametrize("as_limits", [tuple, lambda limits: np.array(limits, dtype=object)])
def test_no_limit_makes_a_margin_wrap_around(limit, as_limits):
    """In 64 bits 1 - (-2^63 + 1) is negative and 0 - (-2^63 + 1) is not: the answer would give a reward away."""
    for reward in (0, 1):
        curator = make(1.0, SimulatedNoise(1), arms=("A",))
        (tests, *_) = curator.release(plan_of((1, 2), as_limits([2**40, limit])), {"A": np.array([0, reward])})
        assert (tests.tests, tests.above) == (2, limit < 0)


# ---------------------------------------------------------------------- many tests at once


RANGES = (COINS, SIGNED, Grid(3.0, 11.0, bits=3), Grid(2e9, 2e9 + 1))  # of the last one sums need more than 64 bits


@settings(max_examples=60)
@given(
    st.sampled_from(RANGES),
    st.sampled_from([DISTANCE, ONE_SIDED]),
    st.lists(st.tuples(st.integers(1, 3), st.floats(0, 1), st.integers(1, 6)), min_size=2, max_size=40),
    st.integers(1, 50),
    st.sampled_from([1, 15]),
    st.integers(0, 1000),
)
def test_many_tests_at_once_equal_one_by_one(grid, measure, tests, cut, repeats, seed):
    """One curator gets every test alone, the other as many at a time as `cut`; blocks of 256 tests are crossed."""
    steps = [(count, round(share * count * grid.width), margin) for count, share, margin in tests] * repeats
    counts = np.cumsum([count for count, _, _ in steps]).tolist()
    increments = np.array([total for _, total, _ in steps])
    sums = [int(total) + count * grid.floor for total, count in zip(np.cumsum(increments), counts, strict=True)]
    measured = sums if measure is ONE_SIDED else [abs(total) for total in sums]
    limits = [value + 8 * grid.width * margin for value, (_, _, margin) in zip(measured, steps, strict=True)]

    one_by_one = fed(grid, measure, counts, limits, increments, seed, 1)
    assert fed(grid, measure, counts, limits, increments, seed, cut) == one_by_one
    assert fed(grid, measure, counts, limits, increments, seed, len(counts)) == one_by_one


def fed(grid, measure, counts, limits, increments, seed, size):
    """The last releases and the secrets of a curator that is asked for `size` tests at a time; alone, as numbers.

    Without the total of a one-sided vector: its noise has the scale of the tests, of which a block may draw too many.
    """
    curator, at, found = make(1.0, ByScale(seed), arms=("A",), grid=grid), 0, ()
    while at < len(counts):
        stop = min(at + size, len(counts))
        plan = plan_of(tuple(counts[at:stop]), tuple(limits[at:stop]), measure, counts[at - 1] if at else 0)
        found = curator.release(plan, {"A": int(increments[at]) if size == 1 else increments[at:stop]})
        if found[0].above:
            break
        at = stop
    return found[: 1 if measure is ONE_SIDED else None], curator.state()


@pytest.mark.parametrize("halts", [0, 1, 254, 255, 256, 257, 511, 512, 599, None])
def test_tests_that_halt_at_the_ends_of_blocks_are_the_same_one_by_one(halts):
    limits = [-(10**6) if test == halts else 10**6 for test in range(600)]
    given = COINS, DISTANCE, range(1, 601), limits, np.ones(600, int), 1
    one_by_one = fed(*given, 1)
    assert one_by_one[0][0].tests == (600 if halts is None else halts + 1)
    for size in (100, 256, 600):
        assert fed(*given, size) == one_by_one


def test_ranges_and_tuples_of_counts_are_the_same():
    increments = np.array([1, 0, 1, 1])
    found = []
    for counts in (range(1, 5), (1, 2, 3, 4)):
        curator = make(1.0, ByScale(1), arms=("A",))
        found.append((curator.release(plan_of(counts, (99,) * 4), {"A": increments}), curator.state()))
    assert found[0] == found[1]


def test_nothing_is_tested_after_the_test_that_halts():
    curator = make(1.0, ScriptedNoise([]), arms=("A",))
    tests, total = curator.release(plan_of(range(1, 9), (2,) * 8), {"A": np.ones(8, int)})
    assert (tests.tests, tests.spans, total.steps, total.spans) == (2, (("A", 1, 2),), 2, (("A", 1, 2),))
    assert [one.epoch for one in (tests, total)] == [1, 1]


# ---------------------------------------------------------------------- what it refuses


THREE = plan_of((1, 2, 4), (9, 9, 9), before=0)
BAD_INCREMENTS = [
    np.array([0, 2, 0]),  # more than a reward of 1
    np.array([0, 0, 3]),  # more than two of them
    np.array([0, -1, 2]),
    np.array([1, 1]),
    np.array([1, 1, 1, 1]),
    np.array([[1, 1, 1]]),
    np.array([1.0, 1.0, 1.0]),
    np.array([True, True, True]),
    np.array(["1", "1", "1"]),
    np.array([2**63, 0, 0], dtype=np.uint64),
    3,
    None,
]


@pytest.mark.parametrize("bad", BAD_INCREMENTS, ids=repr)
def test_totals_between_tests_must_be_those_of_rewards_on_the_grid(bad):
    noise = Counted()
    curator = make(1.0, noise, arms=("A",))
    with pytest.raises(ArgumentError, match=r"arm 'A'"):
        curator.release(THREE, {"A": bad})
    assert (curator.state(), noise.drawn) == ({}, 0)
    (tests,) = curator.release(THREE, {"A": np.array([1, 1, 2], dtype=np.uint8)})
    assert tests.tests == 3


@pytest.mark.parametrize(
    "bad", [np.array([0.5]), np.array([]), np.array([[1]]), np.array([1, 0]), 2, -1, 0.5, True, "1"]
)
def test_the_total_of_one_test_must_be_that_of_rewards_on_the_grid(bad):
    noise = Counted()
    curator = make(1.0, noise, arms=("A",))
    with pytest.raises(ArgumentError, match="arm 'A'"):
        curator.release(plan_of((1,), (9,)), {"A": bad})
    assert (curator.state(), noise.drawn) == ({}, 0)
    assert curator.release(plan_of((1,), (9,)), {"A": np.array([1])})[0].tests == 1


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (plan_of((3,), (9,)), StateError),  # goes on elsewhere: it has 4 rewards
        (plan_of((6,), (9,), before=5), StateError),
        (Plan(1, {"B": 2}, plan_of((6,), (9,)).query), StateError),
        (Plan(1, {"A": 2, "B": 2}, plan_of((6,), (9,)).query), StateError),
        (plan_of((5, 6), (9,), before=4), ArgumentError),  # a limit is missing
        (plan_of((6,), (9, 9), before=4), ArgumentError),
    ],
)
def test_a_plan_that_does_not_go_on_where_the_series_is_changes_nothing(plan, error):
    noise = Counted()
    curator = make(1.0, noise)
    curator.release(THREE, {"A": np.array([1, 1, 2])})
    before, drawn = curator.state(), noise.drawn
    with pytest.raises(error):
        curator.release(plan, dict.fromkeys(plan.pulls, 1))
    assert (curator.state(), noise.drawn) == (before, drawn)


def test_measures_of_one_arm_and_spreads_of_many_tests_are_refused():
    query = plan_of((1,), (9,)).query
    with pytest.raises(ArgumentError, match="is of one arm"):
        make().release(Plan(1, {"A": 1, "B": 1}, query), {"A": 1, "B": 1})
    spread = ThresholdQuery((1, 2), (9, 9), 0.5, 0.5, SPREAD)
    with pytest.raises(ArgumentError, match="tested once a plan"):
        make().release(Plan(1, {"A": 2, "B": 2}, spread), {"A": np.array([1, 1]), "B": np.array([1, 1])})

"""The curator: what it refuses, whatever an algorithm asks for, and that a refusal changes nothing."""

import contextlib
import copy
import math
import pickle
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from discreet import ArgumentError, FinishedError, PrivacyError, SimulatedNoise, StateError, Totals, make_policy
from discreet.bandits import DPSuccessiveElimination
from discreet.core.plans import CounterQuery, Measure, Plan, SamplesQuery, ThresholdQuery, TotalsQuery
from discreet.core.privacy import NOT_PRIVATE, Privacy, Unit, share
from discreet.core.statistics import Statistic
from discreet.mechanisms import Curator
from tests._tools.curators import COINS, Counted, make

ONE = TotalsQuery((1.0,))
TESTS = ThresholdQuery((9,), (10**6,), 0.6, 0.4)
ALONE = TESTS._replace(epsilon=1.0, release_epsilon=None)
COUNTER = CounterQuery(1.0, 99)
NINE, BOTH, STEP = {"A": 9}, {"A": 9, "B": 9}, {"A": 1}
UP = math.nextafter(1.0, 2.0)


def totals_of(plan):
    """Totals that any plan takes."""
    return dict.fromkeys(plan.pulls, (0, 0) if plan.statistic is Statistic.PAIRS else 0)


def goes_on(**changes):
    """A later query of tests, of 9 more rewards, with other terms."""
    return Plan(1, NINE, TESTS._replace(counts=(18,))._replace(**changes))


class Refusal(NamedTuple):
    """What is done first, and what is refused then."""

    match: str
    plan: Plan
    first: tuple[Plan, ...] = ()
    error: type[Exception] = PrivacyError
    unit: Unit = Unit.REWARD


BEYOND, CHARGED, ENDED, OPEN = (
    "beyond the promised",
    "costs what it began with",
    "has ended for ever",
    "not the open one",
)
REFUSALS = {
    "a price above the promise": Refusal(BEYOND, Plan(1, NINE, TotalsQuery((UP,)))),
    "twice its epsilon": Refusal(BEYOND, Plan(1, BOTH, TotalsQuery((2.0,)))),
    "parts that add up to more": Refusal(BEYOND, Plan(1, NINE, TotalsQuery((0.5, 0.6)), Statistic.PAIRS)),
    "tests and totals that add up to more": Refusal(BEYOND, Plan(1, NINE, TESTS._replace(epsilon=0.7))),
    "tests alone above the promise": Refusal(BEYOND, Plan(1, NINE, ALONE._replace(epsilon=UP))),
    "tests alone for nothing": Refusal("must be positive", Plan(1, NINE, ALONE._replace(epsilon=0.0))),
    "a counter above the promise": Refusal(BEYOND, Plan(1, STEP, CounterQuery(1.1, 99))),
    "a later query above the promise": Refusal(BEYOND, Plan(2, NINE, TotalsQuery((1.5,))), (Plan(1, NINE, ONE),)),
    "samples": Refusal("inf, beyond", Plan(1, NINE, SamplesQuery())),
    "samples after totals": Refusal("inf, beyond", Plan(2, NINE, SamplesQuery((1,))), (Plan(1, NINE, ONE),)),
    "no price": Refusal("must be positive", Plan(1, NINE, TotalsQuery(()))),
    "a price of 0": Refusal("must be positive", Plan(1, NINE, TotalsQuery((0.0,)))),
    "a negative price": Refusal("must be positive", Plan(1, NINE, TotalsQuery((-1.0,)))),
    "a negative price beside a large one": Refusal(
        "must be positive", Plan(1, NINE, TotalsQuery((-1.0, 2.0)), Statistic.PAIRS)
    ),
    "a price of nan": Refusal("must be positive", Plan(1, NINE, TotalsQuery((math.nan,)))),
    "a price of nan for the totals of tests": Refusal(
        "must be positive", Plan(1, NINE, TESTS._replace(release_epsilon=math.nan))
    ),
    "an infinite price": Refusal(BEYOND, Plan(1, NINE, TotalsQuery((math.inf,)))),
    "another price of tests within a series": Refusal(CHARGED, goes_on(epsilon=0.5), (Plan(1, NINE, TESTS),)),
    "another price of totals within a series": Refusal(CHARGED, goes_on(release_epsilon=0.3), (Plan(1, NINE, TESTS),)),
    "totals within a series of tests alone": Refusal(
        CHARGED, goes_on(epsilon=0.6), (Plan(1, NINE, TESTS._replace(release_epsilon=None)),)
    ),
    "tests alone within a series with totals": Refusal(CHARGED, goes_on(release_epsilon=None), (Plan(1, NINE, TESTS),)),
    "tests alone after the one that halts": Refusal(
        "has halted", Plan(2, NINE, ALONE._replace(counts=(18,))),
        (Plan(1, NINE, ALONE._replace(limits=(-(10**6),))),), FinishedError,
    ),
    "another measure within a series": Refusal(CHARGED, goes_on(measure=Measure.ONE_SIDED), (Plan(1, NINE, TESTS),)),
    "another horizon within a series": Refusal(
        CHARGED, Plan(2, STEP, CounterQuery(1.0, 100)), (Plan(1, STEP, COUNTER),)
    ),
    "another kind of query within a series": Refusal(CHARGED, Plan(2, STEP, ONE), (Plan(1, STEP, COUNTER),)),
    "a series that has ended": Refusal(
        ENDED, Plan(2, NINE, ONE), (Plan(1, NINE, ONE._replace(series=(1,))),)
    ),
    "an inner series that has ended": Refusal(
        ENDED, Plan(2, NINE, ONE).within(1, 2), (Plan(1, NINE, ONE._replace(series=(5,))).within(1, 1),)
    ),
    "an epoch that was released": Refusal(OPEN, Plan(1, NINE, ONE), (Plan(1, NINE, ONE),)),
    "an epoch that was released, in a new series": Refusal(
        OPEN, Plan(1, NINE, ONE._replace(series=(1,))), (Plan(1, NINE, ONE),)
    ),
    "an epoch that is not yet open": Refusal(OPEN, Plan(2, NINE, ONE)),
    "an epoch that was closed without a release": Refusal(OPEN, Plan(1, NINE, ONE), (Plan(1, NINE, None),)),
    "tests after the one that halts": Refusal(
        "has halted", goes_on()._replace(epoch=2), (Plan(1, NINE, TESTS._replace(limits=(-(10**6),))),), FinishedError
    ),
    "an arm that does not exist": Refusal("of the arms", Plan(1, {"C": 9}, ONE), (), ArgumentError),
    "an arm that does not exist, beside one that does": Refusal(
        "of the arms", Plan(1, {"A": 9, "C": 9}, ONE), (), ArgumentError
    ),
    "a price that no noise is large enough for": Refusal(
        "epsilon must be larger", Plan(1, NINE, TotalsQuery((1e-20,))), (), ArgumentError
    ),
    "a price of a part that no noise is large enough for": Refusal(
        "epsilon must be larger", Plan(1, NINE, TotalsQuery((0.5, 1e-20)), Statistic.PAIRS), (), ArgumentError
    ),
    "a price of totals that no noise is large enough for": Refusal(
        "epsilon must be larger", Plan(1, NINE, TESTS._replace(release_epsilon=1e-20)), (), ArgumentError
    ),
    "a price of a counter that no noise is large enough for": Refusal(
        "epsilon must be larger", Plan(1, STEP, CounterQuery(1e-20, None)), (), ArgumentError
    ),
    "a price of held totals that no noise is large enough for": Refusal(
        "epsilon must be larger", Plan(2, NINE, TotalsQuery((1e-20,))),
        (Plan(1, NINE, ONE._replace(held=frozenset("A"))),), ArgumentError,
    ),
    "a person's epochs that add up to more": Refusal(
        BEYOND, Plan(3, BOTH, TotalsQuery((1e-9,))), tuple(Plan(epoch, NINE, TotalsQuery((0.5,))) for epoch in (1, 2)),
        unit=Unit.PERSON,
    ),
    "a person's epochs that add up to more than a rounded sum says": Refusal(
        BEYOND, Plan(10, NINE, TotalsQuery((0.1,))),
        tuple(Plan(epoch, NINE, TotalsQuery((0.1,))) for epoch in range(1, 10)), unit=Unit.PERSON,
    ),
    "a person's held totals": Refusal(
        "only whole totals", Plan(1, NINE, ONE._replace(held=frozenset("A"))), unit=Unit.PERSON
    ),
    "a person's tests": Refusal("only whole totals", Plan(1, NINE, TESTS), unit=Unit.PERSON),
    "a person's counter": Refusal("only whole totals", Plan(1, STEP, COUNTER), unit=Unit.PERSON),
    "a row's price for each arm": Refusal(BEYOND, Plan(1, NINE, TotalsQuery((0.51,))), unit=Unit.ROW),
    "a row's tests": Refusal(BEYOND, Plan(1, NINE, TESTS), unit=Unit.ROW),
    "a row's counter": Refusal(BEYOND, Plan(1, STEP, COUNTER), unit=Unit.ROW),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_draws_nothing_and_changes_nothing(name):
    """A curator that has refused goes on as its twin that was never asked."""
    refused = REFUSALS[name]
    noises = Counted(), Counted()
    curator, twin = (make(1.0, noise, refused.unit) for noise in noises)
    for plan in refused.first:
        for one in (curator, twin):
            one.release(plan, None if plan.query is None else totals_of(plan))
    before = curator.state(), noises[0].drawn
    for _ in range(2):
        with pytest.raises(refused.error, match=refused.match):
            curator.release(refused.plan, totals_of(refused.plan))
    assert (curator.state(), noises[0].drawn) == before
    last = refused.first[-1] if refused.first else None
    epoch = 1 if last is None else last.epoch + (before[0].get("threshold_noise") is None)
    later = Plan(epoch, NINE, TotalsQuery((0.25,), series=(9, 9)))
    if refused.unit is Unit.PERSON and len(refused.first) > 1:
        later = later._replace(query=None)  # a person who has paid everything pays no more
    assert curator.release(later, totals_of(later)) == twin.release(later, totals_of(later))
    assert curator.state() == twin.state()


@pytest.mark.parametrize(
    "bad",
    [None, 3, [("A", 3), ("B", 3)], {}, {"A": 3}, {"A": 3, "B": 3, "C": 3}, {"A": 3, "C": 3}, {"A": 3, "B": None},
     {"A": 3, "B": 3.0}, {"A": 3, "B": np.float64(3)}, {"A": 3, "B": "3"}, {"A": 3, "B": True}, {"A": 3, "B": math.nan},
     {"A": 3, "B": -1}, {"A": 3, "B": 10}, {"A": 3, "B": np.int64(10)}, {"A": 3, "B": [3]},
     {"A": 3, "B": np.array([3])}],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize(
    "query",
    [ONE, ONE._replace(held=frozenset("A")), TESTS._replace(measure=Measure.SPREAD)],
    ids=["all", "held", "tests"],
)
def test_wrong_totals_draw_nothing_and_change_nothing(query, bad):
    if isinstance(query, ThresholdQuery) and isinstance(bad, dict) and isinstance(bad.get("B"), np.ndarray):
        bad = {"A": 3, "B": np.array([10])}  # an array of one is a total of tests
    noises = Counted(), Counted()
    curator, twin = (make(1.0, noise) for noise in noises)
    plan = Plan(1, BOTH, query)
    with pytest.raises(ArgumentError, match="total") as refusal:
        curator.release(plan, bad)
    assert "10" not in str(refusal.value)  # a refusal does not show what it refuses
    assert (curator.state(), noises[0].drawn) == ({}, 0)
    assert curator.release(plan, {"A": 3, "B": 4}) == twin.release(plan, {"A": 3, "B": 4})


def test_prices_that_add_up_to_the_promise_exactly_are_granted():
    assert make(1.0, Counted()).release(Plan(1, NINE, ONE), {"A": 3})
    assert make(1.0, Counted()).release(Plan(1, NINE, TotalsQuery((0.25, 0.75)), Statistic.PAIRS), {"A": (1, 3)})
    row = make(1.0, Counted(), Unit.ROW)
    assert row.release(Plan(1, BOTH, TotalsQuery((0.5,))), {"A": 3, "B": 3})
    three = make(1.0, Counted(), Unit.ROW, arms="ABC")  # the float 1/3 is below a third
    assert three.release(Plan(1, NINE, TotalsQuery((1 / 3,))), {"A": 3})
    person = make(1.0, Counted(), Unit.PERSON)
    for epoch in range(1, 5):
        assert person.release(Plan(epoch, BOTH, TotalsQuery((0.25,))), {"A": 3, "B": 3})


def test_a_rows_shares_never_exceed_the_promise_by_a_rounding():
    plans = [Plan(1, NINE, TotalsQuery((price,))) for price in (0.1 / 11, share(0.1, 11))]
    for plan, exceeds in zip(plans, (True, False), strict=True):
        assert (11 * Fraction(*plan.query.prices) > Fraction(0.1)) is exceeds
        with pytest.raises(PrivacyError, match=BEYOND) if exceeds else contextlib.nullcontext():
            make(0.1, Counted(), Unit.ROW, arms="ABCDEFGHIJK").release(plan, {"A": 3})


def test_what_a_person_has_paid_before_counts():
    plan = Plan(3, NINE, TotalsQuery((0.25,)))
    given = {"epoch": 2, "taken": {"A": 18}}
    assert make(1.0, Counted(), Unit.PERSON, spent=(0.5, 0.25), **given).release(plan, {"A": 3})
    with pytest.raises(PrivacyError, match=BEYOND):
        make(1.0, Counted(), Unit.PERSON, spent=(0.5, 0.5), **given).release(plan, {"A": 3})


def test_what_persons_have_paid_is_read_from_the_ledger():
    driver = Totals(make_policy("dp-se-person", ["A", "B"], epsilon=1.0, horizon=10**8), Counted())
    driver.close_steps(dict.fromkeys("AB", 0))
    curator, plan = Curator.of(driver.algorithm, Counted()), driver.plan()
    dear = plan._replace(query=TotalsQuery((1.0,), series=plan.query.series))
    with pytest.raises(PrivacyError, match=BEYOND):
        curator.release(dear, dict.fromkeys("AB", 0))
    assert curator.release(plan, dict.fromkeys("AB", 0))


def test_a_promise_that_is_no_number_grants_nothing():
    with pytest.raises(PrivacyError, match=BEYOND):
        make(math.nan, Counted()).release(Plan(1, NINE, ONE), {"A": 3})


def test_a_query_that_nothing_answers_is_refused():
    class Cheap(NamedTuple):
        series: tuple[int, ...] = (0,)
        prices: tuple[float, ...] = (1e-9,)
        terms: tuple[object, ...] = ()

    class Lying(TotalsQuery):
        """A query of totals that says it costs next to nothing."""

        @property
        def prices(self):
            return (1e-9,)

    for query in (Cheap(), Lying((100.0,))):
        noise = Counted()
        with pytest.raises(PrivacyError, match="no mechanism answers"):
            make(1.0, noise).release(Plan(1, NINE, query), {"A": 3})
        assert noise.drawn == 0


def test_an_algorithm_that_asks_for_twice_its_epsilon_is_refused(monkeypatch):
    monkeypatch.setattr(DPSuccessiveElimination, "epoch_epsilon", lambda self, epoch: 2 * self.epsilon)
    noise = Counted()
    greedy = DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=8000)
    with pytest.raises(PrivacyError, match=BEYOND):
        Totals(greedy, noise)  # before any reward is collected
    with pytest.raises(PrivacyError, match=BEYOND):
        Curator.of(greedy, noise).release(greedy.plan(), dict.fromkeys("AB", 0))
    assert noise.drawn == 0


# ---------------------------------------------------------------------- without a promise


def test_without_a_promise_everything_is_exact_and_nothing_is_drawn():
    noise = Counted()
    curator = Curator(COINS, NOT_PRIVATE, noise, taken={"A": 0})
    (total,) = curator.release(Plan(1, NINE, TotalsQuery((math.inf,))), {"A": 3})
    assert (total.steps, total.scale, total.simulated) == (3, 0.0, False)
    steps = np.array([0, 1, 1])
    (samples,) = curator.release(Plan(2, {"A": 3}, SamplesQuery((1,))), {"A": steps})
    assert (samples.kind, samples.spans, samples.epsilon) == ("samples", (("A", 10, 12),), math.inf)
    assert samples.steps is steps
    query = ThresholdQuery((1,), (1,), math.inf, math.inf, series=(2,))
    tests, total = curator.release(Plan(3, STEP, query), {"A": 1})
    assert (tests.above, total.steps, noise.drawn) == (True, 1, 0)


# ---------------------------------------------------------------------- secrets


def open_curator(query, pulls, exact=3):
    curator = make(1.0, Counted())
    curator.release(Plan(1, pulls, query), dict.fromkeys(pulls, exact))
    return curator


OPEN_ONES = {
    "held": lambda: open_curator(ONE._replace(held=frozenset("A")), NINE),
    "tests": lambda: open_curator(TESTS, NINE),
    "counter": lambda: open_curator(COUNTER, STEP, 1),
    "hybrid counter": lambda: open_curator(CounterQuery(1.0, None), STEP, 1),
}


def test_nothing_is_kept_where_nothing_is_open():
    assert make().state() == {}
    assert open_curator(ONE, NINE).state() == {}
    assert open_curator(TESTS._replace(limits=(-(10**6),)), NINE).state() == {}  # halted


@pytest.mark.parametrize("name", OPEN_ONES)
def test_what_is_open_is_erased_when_it_ends(name):
    curator = OPEN_ONES[name]()
    assert curator.state()["series"] == [0]
    curator.end()
    assert curator.state() == {}
    without_query, new_series = OPEN_ONES[name](), OPEN_ONES[name]()
    epoch = 1 if name == "tests" else 2
    assert without_query.release(Plan(epoch, NINE, None)) == ()
    assert without_query.state() == {}
    new_series.release(Plan(epoch, NINE, ONE._replace(series=(1,))), {"A": 0})
    assert new_series.state() == {}


@pytest.mark.parametrize("name", OPEN_ONES)
def test_secrets_of_another_plan_are_not_restored(name):
    state = OPEN_ONES[name]().state()
    for plan in (None, Plan(2, NINE, None), Plan(2, NINE, ONE._replace(series=(1,)))):
        with pytest.raises(StateError, match="not those of the saved plan"):
            make().restore(state, plan)


def test_a_restored_query_is_charged_too():
    with pytest.raises(PrivacyError, match=BEYOND):
        make(0.5).restore(OPEN_ONES["tests"]().state(), goes_on())


@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_is_not_copied_or_pickled(attempt):
    private = Curator(COINS, Privacy(1.0, Unit.REWARD, "a test"), taken={"A": 0})
    with pytest.raises(PrivacyError, match="a Curator cannot be copied or pickled"):
        attempt(private)
    attempt(open_curator(TESTS, NINE))  # its noise is simulated: it protects nobody anyway


def test_it_is_not_used_in_a_forked_process(monkeypatch):
    curator = open_curator(TESTS, NINE)
    monkeypatch.setattr("os.getpid", lambda: 1)
    for attempt in (lambda: curator.release(goes_on(), {"A": 3}), curator.state):
        with pytest.raises(PrivacyError, match="belongs to process"):
            attempt()


def test_private_noise_is_the_default_and_is_not_marked_as_simulated():
    promise = Privacy(1.0, Unit.REWARD, "a test")
    for noise, simulated in ((None, False), (SimulatedNoise(1), True)):
        (release,) = Curator(COINS, promise, noise, taken={"A": 0}).release(Plan(1, NINE, ONE), {"A": 3})
        assert release.simulated is simulated
    with pytest.raises(ArgumentError, match="noise must be left out"):
        Curator(COINS, promise, 42, taken={"A": 0})

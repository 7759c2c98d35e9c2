"""Epochs by hand: totals in, releases out."""

import copy
import pickle

import numpy as np
import pytest

from discreet import ArgumentError, FinishedError, PrivacyError, SimulatedNoise, Sum, Totals
from discreet.core.errors import DiscreetError
from discreet.mechanisms import Curator
from discreet.testing import ScriptedNoise
from tests._tools import faults
from tests._tools.walking import advance, algorithm, totals_of

STEP = 2**20


def test_totals_are_released_once_and_learned(tmp_path):
    totals = Totals(algorithm("dp-se"), ScriptedNoise([5, -7]))
    plan = totals.plan()
    assert totals.plan() is plan  # asking changes nothing
    releases = totals.close_steps({"A": 300 * STEP, "B": 100 * STEP})
    assert [release.steps for release in releases] == [300 * STEP + 5, 100 * STEP - 7]
    assert [release.spans for release in releases] == [((arm, 1, plan.pulls[arm]),) for arm in "AB"]
    assert totals.ledger == releases
    assert totals.algorithm.epoch == 1
    assert totals.plan() is not plan


@pytest.mark.parametrize(
    "bad",
    [None, {}, {"A": 0}, {"A": 0, "C": 0}, {"A": 0, "B": 0, "C": 0}, {"A": -1, "B": 0}, {"A": 0.5, "B": 0},
     {"A": 10**12, "B": 0}, {"A": True, "B": 0}, {"A": None, "B": 0}, [0, 0], 0, {"A": np.ones(3, int), "B": 0}]
)  # fmt: skip
def test_bad_totals_change_nothing(bad, tmp_path):
    for saved in (False, True):
        totals = Totals(algorithm("dp-se"), SimulatedNoise(0))
        if saved:
            totals.save(tmp_path / "state")
        before = totals._head(), totals.algorithm
        with pytest.raises(ArgumentError):
            totals.close_steps(bad)
        assert (totals._head(), totals.algorithm) == before
        assert len(totals.close_steps(totals_of(totals.plan()))) == 2


@pytest.mark.parametrize("plain", [7, 7.0, np.int64(7), True, "7", None])
def test_a_plain_number_is_no_total(plain):
    """A number of clicks and a number of grid steps look alike: neither is taken, and nothing is drawn."""
    totals = Totals(algorithm("dp-se"), noise := ScriptedNoise([0, 0]))
    count = totals.plan().pulls["A"]
    with pytest.raises(
        ArgumentError, match=rf"arm 'B' needs Sum\(total, rewards={count}\), such as a number of clicks"
    ):
        totals.close({"A": Sum(7, rewards=count), "B": plain})
    assert not noise.scales
    assert len(totals.close({"A": Sum(7, rewards=count), "B": Sum(7, rewards=count)})) == 2


def test_sums_and_rewards_are_totals():
    wanted = Totals(algorithm("dp-se"), ScriptedNoise([]))
    count = wanted.plan().pulls["A"]
    released = wanted.close_steps({"A": 7 * STEP, "B": 3 * STEP // 2})
    for b in (Sum(1.5, rewards=count), [1.5 - 1, 1, *[0] * (count - 2)], np.array([1, 0.5, *[0] * (count - 2)])):
        totals = Totals(algorithm("dp-se"), ScriptedNoise([]))
        assert totals.close({"A": Sum(7, rewards=count), "B": b}) == released


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Sum(7, rewards=8), r"needs the sum of \d+ rewards, got one of 8"),
        (Sum(0.1, rewards=None), r"needs the sum of \d+ rewards, got one of None"),
        ([0.5], r"needs \d+ rewards, got 1"),
        ([float("nan")], "finite"),
        ([2.0], "must lie in"),
    ],
)
def test_wrong_sums_and_rewards_change_nothing(wrong, message):
    totals = Totals(algorithm("dp-se"), noise := ScriptedNoise([0, 0]))
    count = totals.plan().pulls["A"]
    for sums in ({"A": Sum(0, rewards=count), "B": wrong}, {"A": wrong, "B": Sum(0, rewards=count)}):
        with pytest.raises(ArgumentError, match=message):
            totals.close(sums)
    for impossible in (count + 1, -1, 0.1, float("inf"), "x"):
        with pytest.raises(ArgumentError):
            totals.close(dict.fromkeys("AB", Sum(impossible, rewards=count)))
    assert not noise.scales


def test_a_sum_does_not_show_itself():
    assert repr(Sum(7312, rewards=9)) == "Sum(..., rewards=9)"


@pytest.mark.parametrize("key", ["dp-nas", "dp-bernstein"])
def test_rules_take_their_samples_one_by_one(key):
    by_hand, by_steps = (Totals(algorithm(key, alpha=0.5), SimulatedNoise(1)) for _ in range(2))
    plan = by_hand.plan()
    ones = [1.0] * plan.size
    sums = plan.statistic.accumulator(STEP)
    sums.add(np.full(plan.size, STEP))
    assert by_hand.close({None: ones}) == by_steps.close_steps(
        {None: np.full(plan.size, STEP) if plan.many_tests else sums.values}
    )
    again = Totals(algorithm(key, alpha=0.5), SimulatedNoise(1))
    with pytest.raises(ArgumentError, match="needs the rewards of None one by one, got a sum"):
        again.close({None: Sum(1, rewards=plan.size)})


def test_any_integers_are_totals():
    totals = Totals(algorithm("dp-se"), ScriptedNoise([]))
    releases = totals.close_steps({"A": np.int64(7), "B": np.uint8(3)})
    assert [(release.steps, type(release.steps)) for release in releases] == [(7, int), (3, int)]


def test_a_plan_whose_rewards_are_not_used_takes_no_totals():
    totals = Totals(algorithm("dp-se", horizon=100), SimulatedNoise(0))
    assert not totals.plan().learns
    assert totals.close() == ()
    assert totals.plan() is None
    assert totals.finished
    with pytest.raises(FinishedError, match="this dp-se has finished after 100 pulls: there is no epoch to close"):
        totals.close()


@pytest.mark.parametrize("key", ["dp-nas", "dp-bernstein", "dp-exp-nas", "dp-ucb", "lazy-dp-ts", "dp-se-svt", "nas"])
def test_every_kind_of_query_can_be_answered_by_hand(key):
    totals = Totals(algorithm(key, **({"alpha": 0.5} if "nas" in key else {})), SimulatedNoise(1))
    for number in range(5):
        if totals.plan() is None:
            break
        advance(totals, number)
    assert totals.ledger
    assert (
        algorithm(key, **({"alpha": 0.5} if "nas" in key else {})).replay(totals.ledger.by_epoch()) == totals.algorithm
    )


def test_a_curator_that_refuses_ends_nothing(monkeypatch):
    """Its checks come before anything is drawn, so the next try may be right."""
    totals = Totals(algorithm("dp-se"), SimulatedNoise(0))
    honest = Curator.release

    def refuse(self, *_):
        monkeypatch.setattr(Curator, "release", honest)
        raise PrivacyError("beyond the promise")

    monkeypatch.setattr(Curator, "release", refuse)
    with pytest.raises(DiscreetError, match="beyond the promise"):
        advance(totals)
    advance(totals)
    assert len(totals.ledger) == 2


def test_a_driver_is_not_copied_or_pickled():
    """Once for all drivers and curators: they share the base class."""
    driver = Totals(algorithm("dp-se"))
    for secret in (driver, driver._curator):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(PrivacyError, match="cannot be copied or pickled: two copies would release"):
                attempt(secret)
    twin = pickle.loads(pickle.dumps(driver.algorithm))  # an algorithm is a public value
    assert twin == driver.algorithm == copy.deepcopy(driver.algorithm)


def test_what_a_driver_returns_is_nobody_elses():
    totals = Totals(algorithm("dp-se"), SimulatedNoise(0))
    advance(totals)
    for copied in (totals.algorithm, totals.algorithm):
        copied.learn(tuple(release._replace(epoch=2) for release in totals.ledger))
        assert copied.epoch == 2
    ledger = totals.ledger
    ledger.close_epoch(())
    assert (totals.algorithm.epoch, totals.ledger.epochs, len(totals.ledger)) == (1, 1, 2)
    advance(totals)
    assert totals.ledger.epochs == 2
    assert len(ledger) == 2


def test_a_persons_price_is_remembered_across_reloads(tmp_path):
    """The curator is made anew from the ledger: what persons have paid before counts."""
    path = tmp_path / "state"
    driver = Totals(algorithm("dp-se-person"))
    driver.save(path)
    for _ in range(3):
        advance(driver)
    again = Totals.load(faults.copy_of(path))
    assert again._curator._spent == driver._curator._spent
    assert len(driver._curator._spent) == 3


@pytest.mark.parametrize(("key", "epsilon"), [("adap-ucb", 1e-12), ("dp-ucb", 1e-12), ("dp-ucb-hybrid", 3e-9)])
def test_a_promise_that_noise_cannot_keep_is_refused_without_a_trace(key, epsilon):
    """The scale would not fit: the error comes again and again, and no reward is counted twice meanwhile."""
    totals = Totals(algorithm(key, epsilon=epsilon, horizon=100), SimulatedNoise(0))
    with pytest.raises(ArgumentError, match="epsilon must be larger"):
        for _ in range(20):  # a hybrid counter's fifth item is the first to need a larger scale
            advance(totals)
    before = totals._head()
    for _ in range(3):
        with pytest.raises(ArgumentError, match="epsilon must be larger"):
            advance(totals)
        assert totals._head() == before

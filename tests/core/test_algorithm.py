"""The base class of algorithms, on the smallest algorithm there is: a mean of epochs, each released once."""

import copy
import pickle
from dataclasses import dataclass, field

import pytest

from discreet import ArgumentError, FinishedError, Kind, Plan, Privacy, Release, StateError, Unit
from discreet.core.algorithm import Algorithm
from discreet.core.grid import Grid
from discreet.core.options import Count, Positive, Probability
from discreet.core.plans import TotalsQuery
from discreet.core.privacy import NOT_PRIVATE


@dataclass(kw_only=True)
class Means(Algorithm):
    """Releases the totals of some epochs of the same size."""

    key = "means"
    family = "rule"
    reason = "each reward enters one total"
    grid = Grid(0.0, 1.0)

    epsilon: Positive
    size: Count = 10
    level: Probability | None = None
    totals: list[int] = field(init=False, repr=False, default_factory=list)
    pairs: list[list[int]] = field(init=False, repr=False, default_factory=list)
    planned: int = field(init=False, repr=False, compare=False, default=0)

    @property
    def taken(self):
        return {None: self.size * self.epoch}

    def _plan(self):
        self.planned += 1
        return Plan(self.epoch + 1, {None: self.size}, TotalsQuery((self.epsilon,))) if self.epoch < 3 else None

    def _learn(self, plan, releases):
        self.totals.append(releases[0].steps)
        self.pairs.append([self.epoch, releases[0].steps])


def released(epoch, steps=5):
    return (Release(epoch, Kind.TOTAL, ((None, 1, 10),), steps, 1.0, 1.0, False),)


def after(*steps):
    return Means(epsilon=1.0).replay(released(number, one) for number, one in enumerate(steps, 1))


def test_options_are_checked_by_their_types_and_kept_as_given():
    means = Means(epsilon=2, size=5e1)
    assert (means.epsilon, means.size, means.level) == (2.0, 50, None)
    assert (type(means.epsilon), type(means.size)) == (float, int)
    assert repr(means) == "Means(epsilon=2.0, size=50, level=None)"
    for bad, message in (
        ({"epsilon": 0}, "epsilon must be a number above 0, got 0"),
        ({"epsilon": None}, "epsilon must be a number, got None"),
        ({"epsilon": 1, "size": 1.5}, "size must be a whole number, got 1.5"),
        ({"epsilon": 1, "level": 1}, "level must lie strictly between 0 and 1, got 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Means(**bad)


def test_options_go_to_json_and_back():
    means = Means(epsilon=2.0, level=0.5)
    assert means.options() == {"epsilon": 2.0, "size": 10, "level": 0.5}
    assert Means.from_options(means.options()) == means
    with pytest.raises(ArgumentError, match="means has no option 'x'; its options are epsilon, size, level"):
        Means.from_options({"epsilon": 1, "x": 1})
    with pytest.raises(ArgumentError, match="means needs the option 'epsilon'; its options are"):
        Means.from_options({"size": 1})


def test_a_plan_is_the_same_until_something_is_learned():
    means = Means(epsilon=1.0)
    assert means.plan() is means.plan()
    assert means.planned == 1
    means.learn(released(1))
    assert means.plan().epoch == 2
    assert means.planned == 2


def test_it_learns_what_it_has_planned_and_nothing_else():
    means = Means(epsilon=1.0)
    for wrong in ((), released(2), released(1) * 2, (released(1)[0]._replace(kind=Kind.TESTS, above=True),)):
        with pytest.raises(StateError, match="the releases are not those that epoch 1 of this means plans"):
            means.learn(wrong)
        assert means == Means(epsilon=1.0)
        assert means.ledger == ()
    for epoch in (1, 2, 3):
        means.learn(released(epoch, epoch))
    assert means.finished
    assert (means.epoch, means.totals, len(means.ledger)) == (3, [1, 2, 3], 3)
    with pytest.raises(FinishedError, match="this means has finished: there is nothing left to learn"):
        means.learn(released(4))


def test_it_is_rebuilt_from_options_and_ledger():
    means = after(7, 8)
    again = Means.from_options(means.options()).replay(means.ledger.by_epoch())
    assert again == means
    assert again.ledger == means.ledger
    assert again.plan() == means.plan()
    assert after(7, 9) != means
    assert after(7) != means


def test_copies_learn_apart():
    means = after(7)
    twins = means.copy(), copy.deepcopy(means), pickle.loads(pickle.dumps(means))
    assert all(twin == means and twin.ledger == means.ledger for twin in twins)
    for number, twin in enumerate(twins):
        twin.learn(released(2, number))
        twin.pairs[0].append(99)
    assert (means.totals, means.pairs, len(means.ledger)) == ([7], [[1, 7]], 1)
    assert [twin.totals for twin in twins] == [[7, 0], [7, 1], [7, 2]]


def test_a_snapshot_is_what_it_has_learned():
    means = after(7, 8)
    snapshot = means.snapshot()
    assert snapshot == {"epoch": 2, "totals": [7, 8], "pairs": [[1, 7], [2, 8]]}
    again = Means(epsilon=1.0).resume(snapshot)
    assert again == means
    again.learn(released(3))
    assert snapshot["totals"] == means.totals == [7, 8]
    for wrong in ({}, {"epoch": 2}, {**snapshot, "x": 1}):
        with pytest.raises(StateError, match="this is no snapshot of a means"):
            Means(epsilon=1.0).resume(wrong)


def test_its_promise_follows_from_its_class():
    assert Means(epsilon=2.0).privacy == Privacy(2.0, Unit.REWARD, "each reward enters one total")

    @dataclass(kw_only=True)
    class Plain(Means):
        reason = None

    plain = Plain(epsilon=1.0)
    assert plain.privacy is NOT_PRIVATE
    assert not plain.privacy.promised

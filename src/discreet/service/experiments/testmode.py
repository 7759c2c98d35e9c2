"""Test mode: a draft that assigns and takes rewards, so that a team sees that its integration works.

A test costs no epsilon, and nothing of it is ever learned from. It has tables, a secret and tokens of its own, which
the private path neither reads nor takes, and all of it is thrown away when the experiment starts. A started experiment
cannot be tested.
"""

import math
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from discreet.service import messages as m
from discreet.service.errors import NotStarted, conflict, invalid, not_found
from discreet.service.experiments import integration, tokens
from discreet.service.experiments.allocation import order
from discreet.service.experiments.assignments import units_of
from discreet.service.experiments.descriptions import Description, described, find
from discreet.service.experiments.tokens import Place
from discreet.service.storage import Database, Experiment, Transaction, testmode
from discreet.service.storage.schema import TestedUnit, TestMode

LASTS = 86_400.0
"""Seconds after which a test ends by itself, and after which again it is deleted."""
MOST_UNITS = 1000
"""The largest number of units of a test."""
MOST_COUNTED = 100
"""The largest number of unknown tokens, and of tokens of an earlier test, that are counted."""
WARNING = (
    "Units of a test are not protected: whoever has a key with the scope analyse sees every assignment and every "
    "reward. Use names that you made up, and colleagues, and nobody else."
)
_FRESH = 1.0  # seconds for which it is known which tests are under way
Report = tuple[Place | None, float]
"""What a token says (None if this service did not make it), and the reward."""


class TestModes:
    """The tests of all drafts of a database.

    Args:
        database: The database.
        token_secret: The key of the service's tokens.
    """

    __test__ = False

    def __init__(self, database: Database, token_secret: bytes) -> None:
        self._database, self._token_secret = database, token_secret
        self._known: tuple[float, list[testmode.Running]] | None = None
        self._turn = threading.Lock()  # traffic of running experiments waits for one transaction of a test at most

    # ------------------------------------------------------------------ the life of a test

    def begin(self, name: str) -> m.TestReport:
        """Put a draft into test mode. A test that has ended is thrown away.

        Args:
            name: The draft's id or name.
        """

        def work(transaction: Transaction) -> None:
            row, now = _held(transaction, name), transaction.now()
            if row.state != "draft":
                raise conflict(f"experiment {row.name!r} is {row.state}; only a draft can be tested")
            if described(row).request.source == "totals":
                raise conflict("this experiment is fed from an event log: there is nothing to test")
            found = testmode.find(transaction, row.id)
            if found is not None and _state(found, now) == "open":
                raise conflict(f"experiment {row.name!r} is in test mode already; end that test first")
            discard(transaction, row)
            new = TestMode(row.id, secrets.randbelow(2**31), secrets.token_bytes(32), now)
            testmode.begin(transaction, new)
            transaction.change(row, test_until=now + LASTS)

        self._database.write(work)
        self._known = None
        return self.report(name)

    def end(self, name: str) -> None:
        """End a test and throw away what was sent.

        Args:
            name: The draft's id or name.
        """

        def work(transaction: Transaction) -> None:
            row = _held(transaction, name)
            _found(transaction, row)
            discard(transaction, row)

        self._database.write(work)
        self._known = None

    # ------------------------------------------------------------------ looking

    def report(self, name: str, only: str | None = None) -> m.TestReport:
        """Return all that was sent in a test, and what is wrong with it.

        Args:
            name: The draft's id or name.
            only: The id of the one experiment that the caller may see; None for all.
        """
        with self._database.reading() as transaction:
            row = find(transaction, name, only)
            test, now = _found(transaction, row), transaction.now()
            units = transaction.rows(TestedUnit, "-number", experiment=row.id)
        return _report(row, test, units, now)

    def facts(self, name: str) -> str:
        """Return a text that is another one whenever something about a test has changed.

        Args:
            name: The draft's id.
        """
        with self._database.reading() as transaction:
            test = testmode.find(transaction, find(transaction, name).id)
            return "none" if test is None else f"{test.generation} {test.changes} {_state(test, transaction.now())}"

    # ------------------------------------------------------------------ assign and report

    def assign(self, name: str, request: m.AssignRequest, only: str | None = None) -> list[m.Assignment]:
        """Assign units of a test as a running experiment would: the same unit gets the same arm again.

        Args:
            name: The draft's id or name.
            request: The request.
            only: The id of the one experiment that the caller may see; None for all.

        Raises:
            ServiceProblem: The draft is not in test mode, or its test takes no more units.
        """

        def work(transaction: Transaction) -> list[m.Assignment]:
            row = _held(transaction, name, only)
            test, now = testmode.find(transaction, row.id), transaction.now()
            if row.state != "draft" or test is None:
                raise NotStarted(row.name)
            if _state(test, now) != "open":
                raise conflict(f"experiment {row.name!r} is not started, and its test has ended: {_end(test)}")
            return self._assign(transaction, test, described(row), request, now)

        with self._turn:
            return self._database.write(work)

    def _assign(
        self, transaction: Transaction, test: TestMode, description: Description, request: m.AssignRequest, now: float
    ) -> list[m.Assignment]:
        units = units_of(description, request)
        names = [_name(test, unit) for unit in units]
        wanted = tuple(dict.fromkeys(names))
        known = {one.name: one for one in transaction.rows(TestedUnit, experiment=test.experiment, name=wanted)}
        fresh = [(name, unit) for name, unit in dict(zip(names, units, strict=True)).items() if name not in known]
        fresh = fresh[: MOST_UNITS - test.units]
        slots = range(test.units, test.units + len(fresh))
        pulls = dict.fromkeys(range(len(description.arms)), MOST_UNITS)
        arms = order(test.secret, tokens.TEST, pulls, slots.start, slots.stop)
        deadline = now + description.request.window
        new = [
            TestedUnit(test.experiment, slot, name, _as_text(unit), arm, now, 1, deadline)
            for slot, arm, (name, unit) in zip(slots, arms, fresh, strict=True)
        ]
        added = {one.name: one for one in new}
        testmode.add_units(transaction, new)
        again = _without_first(names, added)
        testmode.count_asks(transaction, [(known | added)[name] for name in again if name in known or name in added])
        transaction.change(test, units=slots.stop, changes=test.changes + 1)
        known |= added
        return [self._answer(test, description, unit, known.get(name)) for unit, name in zip(units, names, strict=True)]

    def _answer(
        self, test: TestMode, description: Description, unit: str | None, found: TestedUnit | None
    ) -> m.Assignment:
        if found is None:  # beyond the last one: an arm is served all the same, as in a running experiment
            return m.Assignment(unit, description.arms[0], None, tokens.TEST, False, None, True)
        token = tokens.seal(self._token_secret, _place(test, found))
        return m.Assignment(unit, description.arms[found.arm], token, tokens.TEST, True, found.deadline, True)

    def concerns(self, places: Iterable[Place | None]) -> bool:
        """Return False if reports that no running experiment takes are surely of no test.

        Args:
            places: What their tokens say; None for tokens that this service did not make.
        """
        return self._known is None or self._is_old() or bool(self._known[1]) or any(map(is_of_test, places))

    def tell(self, reports: Sequence[Report], only: str | None = None) -> list[m.Status]:
        """Take reports that no running experiment takes.

        A token of a test goes to that test. One that this service did not make says nothing about where it belongs: it
        is counted for the experiment that the key is for, or for the only test that is under way.

        Args:
            reports: The reports.
            only: The id of the one experiment that the caller may see; None for all.

        Returns:
            The status of each report: "unknown" if it is of no test.
        """
        by_experiment: dict[int, list[int]] = {}
        for index, (place, reward) in enumerate(reports):
            if place is not None and is_of_test(place):
                by_experiment.setdefault(place.experiment, []).append(index)
                if not math.isfinite(reward):
                    raise invalid("reward", "reward must be a finite number")
        statuses: list[m.Status] = ["unknown"] * len(reports)
        for experiment, indexes in sorted(by_experiment.items()):
            with self._turn:
                told = self._database.write(_telling(experiment, [reports[index] for index in indexes], only))
            for index, status in zip(indexes, told, strict=True):
                statuses[index] = status
        unknown = sum(place is None for place, _ in reports)
        if unknown:
            self._count_unknown(unknown, only)
        return statuses

    def _count_unknown(self, count: int, only: str | None) -> None:
        found = [one for one in self._running() if only in {None, one.uid}]
        if len(found) != 1 or found[0].unknown >= MOST_COUNTED:
            return

        def work(transaction: Transaction) -> None:
            transaction.lock(found[0].experiment)
            test = testmode.find(transaction, found[0].experiment)
            if test is not None:
                most = min(MOST_COUNTED, test.unknown + count)
                transaction.change(test, unknown=most, changes=test.changes + 1)

        with self._turn:
            self._database.write(work)
        self._known = None

    def _running(self) -> list[testmode.Running]:
        known = self._known
        if known is None or self._is_old():
            began = time.monotonic()
            found = self._database.read(lambda one: testmode.running(one, one.now() - LASTS))
            self._known = known = began, found
        return known[1]

    def _is_old(self) -> bool:
        return self._known is not None and time.monotonic() - self._known[0] > _FRESH


def is_of_test(place: Place | None) -> bool:
    """Return True if a token is of a test.

    Args:
        place: What it says; None if this service did not make it.
    """
    return place is not None and place.epoch == tokens.TEST


def discard(transaction: Transaction, row: Experiment) -> None:
    """Throw away the test of an experiment, if there is one.

    Args:
        transaction: The transaction, which holds the experiment.
        row: The experiment.
    """
    testmode.discard(transaction, row.id)
    if row.test_until is not None:
        transaction.change(row, test_until=None)


def delete_ended(database: Database) -> int:
    """Delete tests that have ended a day ago, and what is left of those that were thrown away.

    Args:
        database: The database.

    Returns:
        Their number. Traces of them are to be erased then.
    """

    def work(experiment: int, transaction: Transaction) -> None:
        transaction.lock(experiment)
        row = transaction.find(Experiment, id=experiment)
        test = testmode.find(transaction, experiment)
        if row is not None and test is not None and test.began_at + 2 * LASTS <= transaction.now():
            discard(transaction, row)
        testmode.forget(transaction, experiment)

    found = database.read(lambda transaction: testmode.ended(transaction, transaction.now() - 2 * LASTS))
    for experiment in found:
        database.write(partial(work, experiment))
    return len(found)


# ---------------------------------------------------------------------- parts


def _telling(experiment: int, reports: Sequence[Report], only: str | None) -> Callable[[Transaction], list[m.Status]]:
    """Return the work that writes the reports of one test."""

    def work(transaction: Transaction) -> list[m.Status]:
        transaction.lock(experiment)
        row = transaction.find(Experiment, id=experiment)
        if row is None or only not in {None, row.uid}:
            return ["unknown"] * len(reports)
        test, now = testmode.find(transaction, experiment), transaction.now()
        if row.state != "draft" or test is None or _state(test, now) == "ended":
            return ["late"] * len(reports)
        return _tell(transaction, test, reports, now)

    return work


def _tell(transaction: Transaction, test: TestMode, reports: Sequence[Report], now: float) -> list[m.Status]:
    slots = tuple({place.slot for place, _ in reports if place is not None})
    known = {_place(test, one): one for one in transaction.rows(TestedUnit, experiment=test.experiment, number=slots)}
    changed: dict[Place, TestedUnit] = {}
    statuses: list[m.Status] = []
    stale = 0
    for place, reward in reports:
        one = None if place is None else changed.get(place) or known.get(place)
        if place is None or one is None:
            stale += 1
            statuses.append("late")
            continue
        first = one.told_at is None
        changed[place] = replace(one, reward=reward, told_at=now) if first else replace(one, again=one.again + 1)
        statuses.append("accepted" if one.deadline >= now else "late")
    testmode.write_rewards(transaction, list(changed.values()))
    transaction.change(test, stale=min(MOST_COUNTED, test.stale + stale), changes=test.changes + 1)
    return statuses


def _held(transaction: Transaction, name: str, only: str | None = None) -> Experiment:
    """Return an experiment, which nobody else can change before the transaction ends."""
    number = find(transaction, name, only).id
    transaction.lock(number)
    return find(transaction, name, only)


def _found(transaction: Transaction, row: Experiment) -> TestMode:
    test = testmode.find(transaction, row.id)
    if test is None:
        raise not_found(f"test of experiment {row.name!r}")
    return test


def _state(test: TestMode, now: float) -> integration.TestState:
    if now >= test.began_at + LASTS:
        return "ended"
    return "full" if test.units >= MOST_UNITS else "open"


def _end(test: TestMode) -> str:
    return f"it had {MOST_UNITS:,} units" if test.units >= MOST_UNITS else "a day has passed"


def _name(test: TestMode, unit: str | None) -> bytes:
    return secrets.token_bytes(tokens.PSEUDONYM) if unit is None else tokens.pseudonym(test.secret, unit)


def _as_text(unit: str | None) -> str | None:
    """Return a unit's name as both databases take it: PostgreSQL takes no zero byte."""
    return None if unit is None else unit.replace("\0", "\ufffd")


def _without_first(names: Sequence[bytes], added: dict[bytes, TestedUnit]) -> list[bytes]:
    """Return the names of units that were asked for again, as often as they were."""
    first = set(added)
    again = []
    for name in names:
        if name in first:
            first.discard(name)
        else:
            again.append(name)
    return again


def _place(test: TestMode, unit: TestedUnit) -> Place:
    tag = tokens.unit_tag(test.secret, test.generation, unit.number, unit.name)
    return Place(test.experiment, tokens.TEST, test.generation, unit.number, tag)


def _report(row: Experiment, test: TestMode, units: Sequence[TestedUnit], now: float) -> m.TestReport:
    description = described(row)
    shown = [integration.view(description, one, now) for one in units]
    ends_at = test.began_at + LASTS
    return m.TestReport(
        experiment=row.name,
        state=_state(test, now),
        warning=WARNING,
        began_at=test.began_at,
        ends_at=ends_at,
        deleted_at=ends_at + LASTS,
        units=test.units,
        rewards=sum(one.told_at is not None for one in units),
        unknown=test.unknown,
        findings=integration.check(description, shown, unknown=test.unknown, stale=test.stale, now=now),
        assignments=shown,
    )

"""The control plane: all that people do with experiments, populations and keys, as against assigning and reporting.

Synchronous and safe for threads. Every method is one transaction, and refuses with a `ServiceProblem`. None returns a
reward, a count of rewards or an exact sum; `tests` alone does, of units that are not protected.
"""

import json
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from discreet.service import messages as m
from discreet.service.errors import NotStarted, conflict, invalid, not_found
from discreet.service.experiments import budget, closing, descriptions, keys, standing, testmode
from discreet.service.experiments.assignments import Started
from discreet.service.experiments.descriptions import Description, described, find
from discreet.service.experiments.epsilon import amount
from discreet.service.experiments.reading import Reading
from discreet.service.experiments.statements import views
from discreet.service.experiments.testmode import TestModes
from discreet.service.experiments.upkeep import readiness
from discreet.service.storage import (
    Database,
    DuplicateError,
    EndedSession,
    Experiment,
    Population,
    Transaction,
    queries,
)
from discreet.service.storage.migrations import migrate

_TOKEN_SECRET = "token secret"
T = TypeVar("T")


class Control(Reading):
    """Experiments, populations and keys of one database.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._started: dict[str | int, Started] = {}
        self._lock = threading.Lock()

    def beside(self) -> "Control":
        """Return the same with database connections of its own, for whoever reads a lot."""
        return Control(self.database.beside())

    def set_up(self, deliver: Callable[[str], None] | None = None) -> str | None:
        """Bring the database to its newest form.

        Args:
            deliver: Takes the first key before it is valid; where it fails, there is none, and another one is made at
                the next start.

        Returns:
            The first key, with the scope admin, if the database was empty.
        """
        migrate(self.database)

        def work(transaction: Transaction) -> str | None:
            transaction.lock(0)
            if queries.read_setting(transaction, keys.SESSION_SECRET) is not None:
                return None
            now = transaction.now()
            for name in (keys.SESSION_SECRET, _TOKEN_SECRET):
                queries.write_setting(transaction, name, secrets.token_hex(32))
            queries.write_setting(transaction, readiness.LATEST, "0")
            self.database.settle(transaction)
            budget.create(transaction, budget.DEFAULT_POPULATION, budget.DEFAULT_BUDGET, now)
            key = keys.make(transaction, m.NewKey("first key", ["admin"]), now).key
            if deliver is not None:
                deliver(key)
            return key

        return self.database.write(work)

    @property
    def session_secret(self) -> bytes:
        """The key that sessions are signed with, in all workers."""
        return self._secret(keys.SESSION_SECRET)

    @cached_property
    def token_secret(self) -> bytes:
        """The key that tokens of assignments are sealed with, in all workers."""
        return self._secret(_TOKEN_SECRET)

    @cached_property
    def tests(self) -> TestModes:
        """The tests of drafts."""
        return TestModes(self.database, self.token_secret)

    def _secret(self, name: str) -> bytes:
        return self.database.read(lambda transaction: bytes.fromhex(queries.read_setting(transaction, name) or ""))

    # ------------------------------------------------------------------ experiments: reading

    def started(self, name: str | int, only: str | None = None) -> Started:
        """Return the part of a started experiment that does not change. It is cached: every request needs it.

        Args:
            name: The experiment's id, name or number.
            only: The id of the one experiment that the caller may see; None for all.
        """
        known = self._started.get(name) or self._look_up(name, only)
        if only not in {None, known.uid}:
            raise not_found(f"experiment {name!r}")
        return known

    def is_cached(self, name: str | int) -> bool:
        """Return True if `started` needs no look into the database."""
        return name in self._started

    def _look_up(self, name: str | int, only: str | None) -> Started:
        with self.database.reading() as transaction:
            row = transaction.find(Experiment, id=name) if isinstance(name, int) else find(transaction, name)
        if row is None or only not in {None, row.uid}:
            raise not_found(f"experiment {name!r}")
        if row.state == "draft":
            raise NotStarted(row.name)
        known = Started(row.id, row.uid, row.secret, self.token_secret, described(row))
        with self._lock:
            for key in (row.id, row.uid, row.name):
                self._started[key] = known
        return known

    # ------------------------------------------------------------------ experiments: changing

    def create(self, new: m.NewExperiment) -> m.ExperimentView:
        """Make an experiment, as a draft."""
        description = descriptions.describe(new)

        def work(transaction: Transaction) -> m.ExperimentView:
            _check_population(transaction, new.population)
            transaction.insert(
                Experiment,
                uid=f"exp_{secrets.token_hex(6)}",
                state="draft",
                secret=secrets.token_bytes(32),
                spent=Fraction(0),
                epochs=0,
                covered=0,
                created_at=transaction.now(),
                **_columns(description),
            )
            return views.experiment_view(transaction, find(transaction, new.name))

        return self._write_new(work, f"an experiment {new.name!r}")

    def replace(self, name: str, new: m.NewExperiment) -> m.ExperimentView:
        """Change a draft. A test of it is thrown away.

        Args:
            name: The draft's id or name.
            new: Its new description.
        """
        description = descriptions.describe(new)

        def work(transaction: Transaction) -> m.ExperimentView:
            row = _held(transaction, name, {"draft"}, "changed")
            _check_population(transaction, new.population)
            testmode.discard(transaction, row)
            return _update(transaction, row, **_columns(description))

        return self._write_new(work, f"an experiment {new.name!r}")

    def delete(self, name: str) -> None:
        """Delete a draft, and its test."""

        def work(transaction: Transaction) -> None:
            row = _held(transaction, name, {"draft"}, "deleted; archive it instead")
            testmode.discard(transaction, row)
            transaction.delete(row)

        self.database.write(work)

    def start(self, name: str) -> m.ExperimentView:
        """Start a draft: its test is thrown away, its epsilon is reserved, and its first epoch opens."""

        def work(transaction: Transaction) -> m.ExperimentView:
            row = _held(transaction, name, {"draft"}, "started")
            description, now = described(row), transaction.now()
            testmode.discard(transaction, row)
            budget.reserve(transaction, row.population, experiment=row.uid, wanted=description.epsilon, now=now)
            algorithm = description.make()
            closing.open_next(transaction, row, algorithm, now)
            return _update(transaction, row, state="running", started_at=now, **standing.snapshot(algorithm))

        return self.database.write(work)

    def pause(self, name: str) -> m.ExperimentView:
        """Assign nobody new and close nothing for a while. Rewards of those who were assigned still count."""
        return self._change(name, {"running"}, "paused", state="paused")

    def resume(self, name: str) -> m.ExperimentView:
        """Go on after a pause."""
        return self._change(name, {"paused"}, "resumed", state="running")

    def archive(self, name: str) -> m.ExperimentView:
        """Archive a stopped experiment: it assigns nobody any more."""
        return self._change(name, {"stopped"}, "archived: stop it first", state="archived")

    def stop(self, name: str) -> m.ExperimentView:
        """End an experiment. Its open epoch is discarded without a release, and what it has not spent is refunded."""

        def work(transaction: Transaction) -> m.ExperimentView:
            row = _held(transaction, name, {"running", "paused"}, "stopped")
            closing.stop(transaction, row, transaction.now())
            return _update(transaction, row)

        return self.database.write(work)

    def close_with(self, name: str, number: int, totals: dict[str, int], only: str | None = None) -> None:
        """Close the open epoch of an experiment that is fed from an event log.

        Args:
            name: The experiment's id or name.
            number: The epoch's number.
            totals: The exact totals in grid steps, by the arms' names.
            only: The id of the one experiment that the caller may see; None for all.
        """
        started = self.started(name, only)
        names = {views.arm_name(started.description, arm): arm for arm in range(len(started.description.arms))}
        planned = self.open_plan(name)
        if number == planned.epoch and set(totals) != set(planned.pulls):
            raise invalid("totals", f"totals must be of the arms {sorted(planned.pulls)}, got {sorted(totals)}")
        for arm, total in totals.items():
            if arm not in names or total > planned.pulls.get(arm, total) * planned.width:
                raise invalid("totals", f"the total of arm {arm!r} is not one of so many rewards on the grid")
        closing.close_with(self.database, started.id, number, {names[arm]: total for arm, total in totals.items()})

    # ------------------------------------------------------------------ populations, keys, planning

    def create_population(self, new: m.NewPopulation) -> m.PopulationView:
        """Make a population with its budget."""
        most = amount("budget", new.budget)

        def work(transaction: Transaction) -> m.PopulationView:
            budget.create(transaction, new.name, most, transaction.now())
            return budget.view(budget.state(transaction, new.name))

        return self._write_new(work, f"a population {new.name!r}")

    def set_budget(self, name: str, text: str) -> m.PopulationView:
        """Change a population's budget.

        Args:
            name: The population's name.
            text: The new budget, as a decimal.
        """
        most = amount("budget", text)

        def work(transaction: Transaction) -> m.PopulationView:
            budget.set_budget(transaction, name, most, transaction.now())
            return budget.view(budget.state(transaction, name))

        return self.database.write(work)

    def end_session(self, session: str, until: float) -> None:
        """End a session in all workers.

        Args:
            session: The session's id.
            until: When it would end by itself.
        """

        def work(transaction: Transaction) -> None:
            queries.forget_sessions(transaction, transaction.now())
            transaction.add(EndedSession(session, until))

        with suppress(DuplicateError):  # it was ended before
            self.database.write(work)

    def make_key(self, new: m.NewKey) -> m.MadeKey:
        """Make a key. It is shown this once."""

        def work(transaction: Transaction) -> m.MadeKey:
            if new.experiment is not None:
                if "admin" in new.scopes:
                    raise invalid("experiment", "a key for one experiment cannot have the scope admin")
                new.experiment = find(transaction, new.experiment).uid
            return keys.make(transaction, new, transaction.now())

        return self.database.write(work)

    def revoke_key(self, uid: str) -> m.KeyView:
        """Revoke a key; never the last one that may make others."""
        return self.database.write(lambda transaction: keys.revoke(transaction, uid, transaction.now()))

    # ------------------------------------------------------------------ helpers

    def _change(self, name: str, states: set[str], done: str, **values: Any) -> m.ExperimentView:
        return self.database.write(
            lambda transaction: _update(transaction, _held(transaction, name, states, done), **values)
        )

    def _write_new(self, work: Callable[[Transaction], T], what: str) -> T:
        try:
            return self.database.write(work)
        except DuplicateError:
            raise conflict(f"there is {what} already", "name") from None


def _held(transaction: Transaction, name: str, states: set[str], done: str) -> Experiment:
    """Return an experiment in one of these states, which nobody else can change meanwhile."""
    row, _ = closing.hold(transaction, find(transaction, name).id)
    if row.state not in states:
        raise conflict(f"experiment {row.name!r} is {row.state} and cannot be {done}")
    return row


def _update(transaction: Transaction, row: Experiment, **values: Any) -> m.ExperimentView:
    """Change an experiment, and return it as clients see it."""
    if values:
        transaction.change(row, **values)
    return views.experiment_view(transaction, find(transaction, row.uid))


def _check_population(transaction: Transaction, name: str) -> None:
    if transaction.find(Population, name=name) is None:
        raise invalid("population", f"there is no population {name!r}; create it first, with its budget")


def _columns(description: Description) -> dict[str, Any]:
    """Return the columns of an experiment that follow from its description."""
    request = description.request
    return {
        "name": request.name,
        "population": request.population,
        "description": msgspec.json.encode(request).decode(),
        "algorithm": description.algorithm,
        "options": json.dumps(description.options),
        "epsilon": description.epsilon,
    }

"""The control plane: everything that people do, as against the traffic of what they try.

Synchronous and safe for threads. Every method is one transaction, and refuses with a `ServiceProblem`.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.service.experiments import budget, closing, keys, planning, views
from discreet.service.experiments import descriptions as experiments
from discreet.service.experiments.assignments import Started
from discreet.service.experiments.epsilon import amount, as_stored
from discreet.service.http.errors import conflict, invalid, not_found
from discreet.service.http.messages import (
    AlgorithmView,
    EpochView,
    ExperimentPlan,
    ExperimentView,
    KeyView,
    Ledger,
    MadeKey,
    NewExperiment,
    NewKey,
    NewPopulation,
    PlanView,
    PopulationView,
    PrivacyUnit,
    ReleaseView,
)
from discreet.service.storage import queries as records
from discreet.service.storage import schema
from discreet.service.storage.database import Store
from discreet.service.storage.migrations import migrate

TABLE = schema.experiment
_SECRET = "session secret"


class Control:
    """Experiments, populations and keys of one database."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._started: dict[str | int, Started] = {}
        self._lock = threading.Lock()

    def set_up(self) -> str | None:
        """Bring the database to its newest form. Where it was empty, gives the first key, with the scope admin."""
        migrate(self.store)

        def work(connection: Connection) -> str | None:
            self.store.lock(connection, 0)
            if connection.execute(select(schema.setting)).first() is not None:
                return None
            now = self.store.now(connection)
            connection.execute(insert(schema.setting).values(name=_SECRET, value=secrets.token_hex(32)))
            budget.create(connection, budget.DEFAULT_POPULATION, budget.DEFAULT_BUDGET, now)
            return keys.make(connection, NewKey("first key", ["admin"]), now).key

        made: str | None = self.store.write(work)
        return made

    @property
    def session_secret(self) -> bytes:
        """What sessions are signed with, in all workers."""
        with self.store.reading() as connection:
            query = select(schema.setting.c.value).where(schema.setting.c.name == _SECRET)
            return bytes.fromhex(connection.execute(query).scalar_one())

    def now(self) -> float:
        """The time, by the database's clock."""
        with self.store.reading() as connection:
            return self.store.now(connection)

    # ------------------------------------------------------------------ experiments: looking

    def experiments(self) -> list[ExperimentView]:
        """All experiments, the newest first; archived ones last."""
        with self.store.reading() as connection:
            rows = connection.execute(select(TABLE).order_by(TABLE.c.id.desc())).all()
            found = [views.experiment_view(connection, row) for row in rows]
        return sorted(found, key=lambda one: one.state == "archived")

    def experiment(self, name: str) -> ExperimentView:
        """One experiment, by its id or its name."""
        with self.store.reading() as connection:
            return views.experiment_view(connection, records.find(connection, name))

    def epochs(self, name: str) -> list[EpochView]:
        """Its epochs, oldest first."""
        with self.store.reading() as connection:
            return views.epoch_views(connection, records.find(connection, name))

    def releases(self, name: str) -> list[ReleaseView]:
        """Its releases, oldest first."""
        with self.store.reading() as connection:
            return views.release_views(connection, records.find(connection, name))

    def open_plan(self, name: str) -> PlanView:
        """What its open epoch needs."""
        with self.store.reading() as connection:
            return views.plan_view(connection, records.find(connection, name))

    def started(self, name: str | int, only: str | None = None) -> Started:
        """What does not change about an experiment that has started; remembered, since traffic asks all the time.

        With `only` the id of an experiment, no other one is there.
        """
        known = self._started.get(name)
        if known is None:
            known = self._look_up(name, only)
        return known

    def remembered(self, name: str | int) -> Started | None:
        """The same, if it is remembered."""
        return self._started.get(name)

    def _look_up(self, name: str | int, only: str | None) -> Started:
        with self.store.reading() as connection:
            if isinstance(name, int):
                row = connection.execute(select(TABLE).where(TABLE.c.id == name)).first()
            else:
                row = records.find(connection, name)
        if row is None or only not in {None, row.uid}:
            raise not_found(f"experiment {name!r}")
        if row.state == "draft":
            raise conflict(f"experiment {row.name!r} is not started")
        known = Started(row.id, row.uid, row.secret, records.described(row))
        with self._lock:
            for key in (row.id, row.uid, row.name):
                self._started[key] = known
        return known

    # ------------------------------------------------------------------ experiments: doing

    def create(self, new: NewExperiment) -> ExperimentView:
        """A new experiment, as a draft."""
        description = experiments.describe(new)

        def work(connection: Connection) -> ExperimentView:
            self._check_population(connection, new.population)
            row = {
                "uid": f"exp_{secrets.token_hex(6)}",
                "state": "draft",
                "secret": secrets.token_bytes(32),
                "spent": "0/1",
                "created_at": self.store.now(connection),
                **_content(description),
            }
            connection.execute(insert(TABLE).values(row))
            return views.experiment_view(connection, records.find(connection, new.name))

        return self._named(work, new.name)

    def replace(self, name: str, new: NewExperiment) -> ExperimentView:
        """Change a draft."""
        description = experiments.describe(new)

        def work(connection: Connection) -> ExperimentView:
            row = self._held(connection, name, {"draft"}, "changed")
            self._check_population(connection, new.population)
            connection.execute(update(TABLE).where(TABLE.c.id == row.id).values(_content(description)))
            return views.experiment_view(connection, records.find(connection, row.uid))

        return self._named(work, new.name)

    def delete(self, name: str) -> None:
        """Delete a draft."""

        def work(connection: Connection) -> None:
            row = self._held(connection, name, {"draft"}, "deleted; archive it instead")
            connection.execute(delete(TABLE).where(TABLE.c.id == row.id))

        self.store.write(work)

    def start(self, name: str) -> ExperimentView:
        """Start a draft: its epsilon is set aside, and its first epoch opens."""

        def work(connection: Connection) -> ExperimentView:
            row = self._held(connection, name, {"draft"}, "started")
            description, now = records.described(row), self.store.now(connection)
            given = {"experiment": row.uid, "wanted": description.epsilon, "now": now}
            budget.reserve(self.store, connection, row.population, **given)
            course = description.begin()
            self._set(connection, row, state="running", started_at=now, course=json.dumps(course.state()))
            closing.open_next(connection, row, course, now)
            return views.experiment_view(connection, records.find(connection, row.uid))

        return self._view(work)

    def pause(self, name: str) -> ExperimentView:
        """Assign nobody new and close nothing for a while; rewards of those who were assigned still count."""
        return self._change(name, {"running"}, "paused", state="paused")

    def resume(self, name: str) -> ExperimentView:
        """Go on."""
        return self._change(name, {"paused"}, "resumed", state="running")

    def archive(self, name: str) -> ExperimentView:
        """Put a stopped experiment away: it answers no more questions."""
        return self._change(name, {"stopped"}, "archived: stop it first", state="archived")

    def stop(self, name: str) -> ExperimentView:
        """End an experiment. Its open epoch is thrown away unreleased, and what it has not spent goes back."""

        def work(connection: Connection) -> ExperimentView:
            row = self._held(connection, name, {"running", "paused"}, "stopped")
            stop(self.store, connection, row, self.store.now(connection))
            return views.experiment_view(connection, records.find(connection, row.uid))

        return self._view(work)

    def close_with(self, name: str, number: int, totals: dict[str, int]) -> None:
        """Close the open epoch of an experiment that is fed from an event log."""
        started = self.started(name)
        description = started.description
        names = {description.arms[arm] or "mean": arm for arm in range(len(description.arms))}
        planned = self.open_plan(name)
        if number == planned.epoch and set(totals) != set(planned.pulls):
            raise invalid("totals", f"totals must be of the arms {sorted(planned.pulls)}, got {sorted(totals)}")
        for arm, total in totals.items():
            if arm not in names or total > planned.pulls.get(arm, total) * planned.width:
                raise invalid("totals", f"the total of arm {arm!r} is not one of so many rewards on the grid")
        closing.close_with(self.store, started.id, number, {names[arm]: total for arm, total in totals.items()})

    # ------------------------------------------------------------------ populations, keys, planning

    def populations(self) -> list[PopulationView]:
        """All populations."""
        with self.store.reading() as connection:
            names = connection.execute(select(schema.population.c.name).order_by(schema.population.c.name)).scalars()
            return [self._population(connection, name) for name in names]

    def create_population(self, new: NewPopulation) -> PopulationView:
        """A new population with its budget."""
        most = amount("budget", new.budget)

        def work(connection: Connection) -> PopulationView:
            budget.create(connection, new.name, most, self.store.now(connection))
            return self._population(connection, new.name)

        try:
            made: PopulationView = self.store.write(work)
        except IntegrityError:
            raise conflict(f"there is a population {new.name!r} already") from None
        return made

    def set_budget(self, name: str, text: str) -> PopulationView:
        """Change a population's budget."""
        most = amount("budget", text)

        def work(connection: Connection) -> PopulationView:
            budget.set_budget(self.store, connection, name, most, self.store.now(connection))
            return self._population(connection, name)

        changed: PopulationView = self.store.write(work)
        return changed

    def ledger(self, population: str) -> Ledger:
        """All that was set aside, released, burnt and given back."""
        with self.store.reading() as connection:
            if not budget.exists(connection, population):
                raise not_found(f"population {population!r}")
            entries, intact = budget.lines(connection, population)
            return Ledger(self._population(connection, population), entries, intact)

    def keys(self) -> list[KeyView]:
        """All keys, the newest first."""
        with self.store.reading() as connection:
            return keys.all_keys(connection)

    def key(self, uid: str) -> KeyView | None:
        """A key by its id, if it may be used now."""
        with self.store.reading() as connection:
            found = keys.find(connection, uid)
            return found if found is not None and keys.is_valid(found, self.store.now(connection)) else None

    def make_key(self, new: NewKey) -> MadeKey:
        """A new key, shown once."""

        def work(connection: Connection) -> MadeKey:
            if new.experiment is not None:
                if "admin" in new.scopes:
                    raise invalid("experiment", "a key for one experiment cannot have the scope admin")
                new.experiment = records.find(connection, new.experiment).uid
            return keys.make(connection, new, self.store.now(connection))

        made: MadeKey = self.store.write(work)
        return made

    def revoke_key(self, uid: str) -> KeyView:
        """End a key."""
        revoked: KeyView = self.store.write(lambda one: keys.revoke(one, uid, self.store.now(one)))
        return revoked

    def authenticate(self, key: str) -> KeyView | None:
        """Whose key this is."""
        with self.store.reading() as connection:
            return keys.authenticate(connection, key, self.store.now(connection))

    def algorithms(self) -> list[AlgorithmView]:
        """What can be run."""
        return experiments.algorithms()

    def plan(
        self,
        arms: int,
        epsilon: str,
        beta: float,
        gap: float,
        *,
        policy: str | None = None,
        per_hour: float | None = None,
        window: float = 0.0,
        privacy_unit: PrivacyUnit = "person",
    ) -> ExperimentPlan:
        """How long it would take."""
        return planning.plan_experiment(
            arms, epsilon, beta, gap, policy=policy, per_hour=per_hour, window=window, privacy_unit=privacy_unit
        )

    # ------------------------------------------------------------------ helpers

    def _population(self, connection: Connection, name: str) -> PopulationView:
        row = connection.execute(select(schema.population).where(schema.population.c.name == name)).one()
        return budget.State(name, Fraction(row.budget), budget.reserved(connection, name)).view()

    def _check_population(self, connection: Connection, name: str) -> None:
        if not budget.exists(connection, name):
            raise invalid("population", f"there is no population {name!r}; create it first, with its budget")

    def _held(self, connection: Connection, name: str, states: set[str], done: str) -> Row[Any]:
        """An experiment in one of these states, which nobody else can change."""
        row, _ = closing.hold(self.store, connection, records.find(connection, name).id)
        if row.state not in states:
            raise conflict(f"experiment {row.name!r} is {row.state} and cannot be {done}")
        return row

    def _set(self, connection: Connection, row: Row[Any], **values: Any) -> None:
        connection.execute(update(TABLE).where(TABLE.c.id == row.id).values(values))

    def _change(self, name: str, states: set[str], done: str, **values: Any) -> ExperimentView:
        def work(connection: Connection) -> ExperimentView:
            row = self._held(connection, name, states, done)
            self._set(connection, row, **values)
            return views.experiment_view(connection, records.find(connection, row.uid))

        return self._view(work)

    def _view(self, work: Callable[[Connection], ExperimentView]) -> ExperimentView:
        seen: ExperimentView = self.store.write(work)
        return seen

    def _named(self, work: Callable[[Connection], ExperimentView], name: str) -> ExperimentView:
        try:
            return self._view(work)
        except IntegrityError:
            raise conflict(f"there is an experiment {name!r} already") from None


def stop(store: Store, connection: Connection, row: Row[Any], now: float) -> None:
    """End an experiment that the caller holds."""
    epoch = schema.epoch
    here = (epoch.c.experiment == row.id, epoch.c.state == "open")
    for number in connection.execute(select(epoch.c.number).where(*here)).scalars().all():
        closing.wipe(connection, row.id, number)
    connection.execute(update(epoch).where(*here).values(state="discarded", closed_at=now))
    unspent = Fraction(row.epsilon) - Fraction(row.spent)
    if unspent > 0:
        budget.hold(store, connection, row.population)
        budget.write(connection, row.population, "refund", unspent, now, experiment=row.uid)
    connection.execute(update(TABLE).where(TABLE.c.id == row.id).values(state="stopped", ended_at=now))


def _content(description: experiments.Description) -> dict[str, Any]:
    """An experiment's columns that follow from its description."""
    request = description.request
    return {
        "name": request.name,
        "population": request.population,
        "description": msgspec.json.encode(request).decode(),
        "epsilon": as_stored(description.epsilon),
    }

"""What a population may lose: a ledger that only grows, chained by digests, and refused beyond its budget.

An experiment reserves its epsilon when it starts. Its releases are written down inside that reservation, and what it
has not used when it ends goes back. Pure epsilons add up, also when they are chosen by what was released before, so a
person who is in all experiments of a population loses at most its budget, if these protect persons; a reward does if
they protect events.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from discreet.service.experiments.epsilon import as_stored, as_text
from discreet.service.http.errors import not_found, over_budget
from discreet.service.http.messages import LedgerEntry, PopulationView
from discreet.service.storage import schema
from discreet.service.storage.database import Store

DEFAULT_POPULATION, DEFAULT_BUDGET = "everybody", Fraction(10)
_SIGNS = {"reserve": 1, "burn": 1, "refund": -1, "release": 0, "budget": 0}
"""What a line does to the sum that is reserved. A release happens inside its experiment's reservation."""


def create(connection: Connection, name: str, budget: Fraction, now: float) -> None:
    """A new population."""
    row = {"name": name, "budget": as_stored(budget), "created_at": now}
    connection.execute(insert(schema.population).values(row))
    write(connection, name, "budget", budget, now)


def reserve(store: Store, connection: Connection, name: str, *, experiment: str, wanted: Fraction, now: float) -> None:
    """Set an experiment's epsilon aside, or refuse."""
    state = hold(store, connection, name)
    if state.reserved + wanted > state.budget:
        left = as_text(state.budget - state.reserved)
        raise over_budget(f"population {name!r} has {left} of {as_text(state.budget)} left, not {as_text(wanted)}")
    write(connection, name, "reserve", wanted, now, experiment=experiment)


def burn(
    store: Store, connection: Connection, name: str, *, experiment: str, epoch: int, extra: Fraction, now: float
) -> bool:
    """Write down an epoch that may have been released and is lost; False if the budget cannot take what it adds."""
    state = hold(store, connection, name)
    write(connection, name, "burn", extra, now, experiment=experiment, epoch=epoch)
    return state.reserved + extra <= state.budget


class State:
    """What a population has reserved of its budget."""

    def __init__(self, name: str, budget: Fraction, reserved: Fraction) -> None:
        self.name, self.budget, self.reserved = name, budget, reserved

    def view(self) -> PopulationView:
        """For people."""
        return PopulationView(
            self.name,
            as_text(self.budget),
            as_text(self.reserved),
            as_text(max(Fraction(0), self.budget - self.reserved)),
        )


def hold(store: Store, connection: Connection, name: str) -> State:
    """A population's state, which nobody else can change before this transaction ends."""
    query = select(schema.population.c.budget).where(schema.population.c.name == name)
    row = connection.execute(query if store.sqlite else query.with_for_update()).first()
    if row is None:
        raise not_found(f"population {name!r}")
    return State(name, Fraction(row.budget), reserved(connection, name))


def reserved(connection: Connection, name: str) -> Fraction:
    """The sum of what is set aside."""
    query = select(schema.ledger.c.kind, schema.ledger.c.epsilon).where(schema.ledger.c.population == name)
    return sum((_SIGNS[row.kind] * Fraction(row.epsilon) for row in connection.execute(query)), Fraction(0))


def write(
    connection: Connection,
    population: str,
    kind: str,
    epsilon: Fraction,
    now: float,
    *,
    experiment: str | None = None,
    epoch: int | None = None,
) -> None:
    """Add a line. The caller holds the population."""
    table = schema.ledger
    last = connection.execute(
        select(table.c.number, table.c.digest)
        .where(table.c.population == population)
        .order_by(table.c.number.desc())
        .limit(1)
    ).first()
    number, before = (last.number + 1, last.digest) if last else (1, "")
    row: dict[str, Any] = {
        "population": population,
        "number": number,
        "experiment": experiment,
        "epoch": epoch,
        "kind": kind,
        "epsilon": as_stored(epsilon),
        "at": now,
    }
    connection.execute(insert(table).values(**row, digest=_digest(before, row)))


def lines(connection: Connection, population: str) -> tuple[list[LedgerEntry], bool]:
    """All lines, and whether their chain holds."""
    query = select(schema.ledger).where(schema.ledger.c.population == population).order_by(schema.ledger.c.number)
    entries, before, intact = [], "", True
    for place, row in enumerate(connection.execute(query).mappings(), 1):
        content = {key: row[key] for key in row if key != "digest"}
        intact = intact and row["number"] == place and row["digest"] == _digest(before, content)
        before = row["digest"]
        amount = as_text(Fraction(row["epsilon"]))
        entries.append(LedgerEntry(**{**content, "epsilon": amount, "digest": row["digest"]}))
    return entries, intact


def set_budget(store: Store, connection: Connection, name: str, budget: Fraction, now: float) -> None:
    """Change a budget; never to less than is set aside."""
    state = hold(store, connection, name)
    if budget < state.reserved:
        raise over_budget(f"population {name!r} has {as_text(state.reserved)} set aside; its budget cannot be less")
    connection.execute(
        update(schema.population).where(schema.population.c.name == name).values(budget=as_stored(budget))
    )
    write(connection, name, "budget", budget, now)


def exists(connection: Connection, name: str) -> bool:
    """Whether there is such a population."""
    query = select(func.count()).select_from(schema.population).where(schema.population.c.name == name)
    return bool(connection.execute(query).scalar_one())


def _digest(before: str, row: dict[str, Any]) -> str:
    """What chains a line to the one before."""
    return hashlib.sha256(f"{before}{json.dumps(row, sort_keys=True)}".encode()).hexdigest()

"""SQL about experiments."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import Select, or_, select
from sqlalchemy import delete as delete_from
from sqlalchemy import insert as insert_into
from sqlalchemy import update as update_rows

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction

EXPERIMENT, EPOCH = schema.experiment, schema.epoch


@dataclass(frozen=True, slots=True)
class Experiment:
    """A row of the table `experiment`.

    Args:
        id: Its number in this database.
        uid: Its public id.
        name: Its name.
        population: The population that pays for it.
        description: The request that made it, as JSON.
        state: "draft", "running", "paused", "stopped" or "archived".
        secret: The key of its pseudonyms, tokens and orders of arms.
        algorithm: The key of its algorithm.
        options: The options of its algorithm, as JSON.
        epochs: The number of its closed epochs.
        snapshot: What its algorithm has learned, as JSON; a cache, or None.
        covered: The number of closed epochs that the snapshot covers.
        epsilon: The promise, and what forfeited epochs add to it.
        spent: The cost of its releases and forfeited epochs.
        created_at: When it was made.
        started_at: When it was started.
        ended_at: When it was stopped.
    """

    id: int
    uid: str
    name: str
    population: str
    description: str
    state: Any
    secret: bytes
    algorithm: str
    options: str
    epochs: int
    snapshot: str | None
    covered: int
    epsilon: Fraction
    spent: Fraction
    created_at: float
    started_at: float | None
    ended_at: float | None


def get(transaction: Transaction, identity: int) -> Experiment | None:
    """Return the experiment with a number, if there is one.

    Args:
        transaction: The transaction.
        identity: The number.
    """
    return _one(transaction, select(EXPERIMENT).where(EXPERIMENT.c.id == identity))


def find(transaction: Transaction, name: str) -> Experiment | None:
    """Return the experiment with a public id or a name, if there is one.

    Args:
        transaction: The transaction.
        name: The id or the name.
    """
    return _one(transaction, select(EXPERIMENT).where(or_(EXPERIMENT.c.uid == name, EXPERIMENT.c.name == name)))


def _one(transaction: Transaction, query: Select[Any]) -> Experiment | None:
    return next((Experiment(*row) for row in transaction.fetch(query)), None)


def everything(transaction: Transaction) -> list[Experiment]:
    """Return all experiments, the newest first."""
    return [Experiment(*row) for row in transaction.fetch(select(EXPERIMENT).order_by(EXPERIMENT.c.id.desc()))]


def insert(transaction: Transaction, values: Mapping[str, Any]) -> None:
    """Add an experiment.

    Args:
        transaction: The transaction.
        values: The columns.

    Raises:
        DuplicateError: Another experiment has its name.
    """
    transaction.execute(insert_into(EXPERIMENT).values(values))


def update(transaction: Transaction, identity: int, **values: Any) -> None:
    """Change an experiment.

    Args:
        transaction: The transaction.
        identity: Its number.
        **values: The columns that change.
    """
    transaction.execute(update_rows(EXPERIMENT).where(EXPERIMENT.c.id == identity).values(values))


def delete(transaction: Transaction, identity: int) -> None:
    """Delete an experiment.

    Args:
        transaction: The transaction.
        identity: Its number.
    """
    transaction.execute(delete_from(EXPERIMENT).where(EXPERIMENT.c.id == identity))


def with_open_epoch(transaction: Transaction) -> list[Experiment]:
    """Return the experiments that have an open epoch, the oldest first."""
    query = select(EXPERIMENT).join(EPOCH, EPOCH.c.experiment == EXPERIMENT.c.id)
    found = query.where(EPOCH.c.state == "open").order_by(EXPERIMENT.c.id)
    return [Experiment(*row) for row in transaction.fetch(found)]


def due(transaction: Transaction, now: float) -> list[int]:
    """Return the numbers of running experiments whose open epoch is due.

    Args:
        transaction: The transaction.
        now: The time.
    """
    query = (
        select(EXPERIMENT.c.id)
        .join(EPOCH, EPOCH.c.experiment == EXPERIMENT.c.id)
        .where(EXPERIMENT.c.state == "running", EPOCH.c.state == "open")
        .where(EPOCH.c.dealt == EPOCH.c.quota, EPOCH.c.due_at <= now)
        .order_by(EXPERIMENT.c.id)
    )
    return list(transaction.execute(query).scalars())

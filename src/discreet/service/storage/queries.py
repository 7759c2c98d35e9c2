"""SQL that joins tables, counts or chooses."""

from fractions import Fraction
from typing import Any

from sqlalchemy import delete, func, or_, select

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction
from discreet.service.storage.schema import Experiment, Setting

EPOCH, EXPERIMENT, RELEASE = schema.epoch, schema.experiment, schema.release
_WITH_OPEN_EPOCH = (
    select(EXPERIMENT)
    .join(EPOCH, EPOCH.c.experiment == EXPERIMENT.c.id)
    .where(EPOCH.c.state == "open")
    .order_by(EXPERIMENT.c.id)
)


Digest = tuple[str, int, str, Fraction, str]
"""Of a release: its experiment's public id, its epoch's number, its population, what is promised, and its digest."""


def find_experiment(transaction: Transaction, name: str) -> Experiment | None:
    """Return the experiment with a public id or a name, if there is one.

    Args:
        transaction: The transaction.
        name: The id or the name.
    """
    query = select(EXPERIMENT).where(or_(EXPERIMENT.c.uid == name, EXPERIMENT.c.name == name))
    return next((Experiment(*row) for row in transaction.fetch(query)), None)


def with_open_epoch(transaction: Transaction) -> list[Experiment]:
    """Return the experiments that have an open epoch, the oldest first."""
    return [Experiment(*row) for row in transaction.fetch(_WITH_OPEN_EPOCH)]


def due(transaction: Transaction, now: float) -> list[int]:
    """Return the numbers of running experiments whose open epoch is due.

    Args:
        transaction: The transaction.
        now: The time.
    """
    is_due = (EXPERIMENT.c.state == "running", EPOCH.c.dealt == EPOCH.c.quota, EPOCH.c.due_at <= now)
    return list(transaction.execute(_WITH_OPEN_EPOCH.where(*is_due).with_only_columns(EXPERIMENT.c.id)).scalars())


def count_releases(transaction: Transaction) -> int:
    """Return the number of releases of all experiments."""
    found: int = transaction.execute(select(func.count()).select_from(RELEASE)).scalar_one()
    return found


def digests(transaction: Transaction) -> list[Digest]:
    """Return the digest of every release, in the order of experiments, epochs and parts."""
    about = (EXPERIMENT.c.uid, RELEASE.c.epoch, EXPERIMENT.c.population, EXPERIMENT.c.epsilon, RELEASE.c.digest)
    query = (
        select(*about)
        .join(EXPERIMENT, EXPERIMENT.c.id == RELEASE.c.experiment)
        .order_by(RELEASE.c.experiment, RELEASE.c.epoch, RELEASE.c.part)
    )
    found: list[Any] = transaction.fetch(query)
    return found


def read_setting(transaction: Transaction, name: str) -> str | None:
    """Return a value of the whole service; None if it was never written.

    Args:
        transaction: The transaction.
        name: The value's name.
    """
    found = transaction.find(Setting, name=name)
    return None if found is None else found.value


def write_setting(transaction: Transaction, name: str, value: str) -> None:
    """Write a value of the whole service, in place of an older one.

    Args:
        transaction: The transaction.
        name: The value's name.
        value: The value.
    """
    transaction.execute(delete(schema.setting).where(schema.setting.c.name == name))
    transaction.add(Setting(name, value))

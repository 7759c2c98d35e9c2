"""SQL that joins tables, counts or chooses."""

from fractions import Fraction
from typing import Any

from sqlalchemy import and_, delete, func, or_, select

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction
from discreet.service.storage.schema import Epoch, Experiment, Setting

EPOCH, EXPERIMENT, LEASE, RELEASE = schema.epoch, schema.experiment, schema.lease, schema.release
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
    is_full = (EXPERIMENT.c.state == "running", EPOCH.c.state == "open", EPOCH.c.leased == EPOCH.c.quota)
    query = (
        select(EXPERIMENT.c.id)
        .join(EPOCH, EPOCH.c.experiment == EXPERIMENT.c.id)
        .join(LEASE, and_(LEASE.c.experiment == EPOCH.c.experiment, LEASE.c.epoch == EPOCH.c.number))
        .where(*is_full)
        .group_by(EXPERIMENT.c.id, EPOCH.c.quota)
        .having(func.sum(LEASE.c.dealt) == EPOCH.c.quota, func.max(LEASE.c.deadline) <= now)
        .order_by(EXPERIMENT.c.id)
    )
    return list(transaction.execute(query).scalars())


def ended(transaction: Transaction) -> Epoch | None:
    """Return an epoch that has ended and whose assignments are not all deleted, if there is one that nobody holds."""
    query = select(EPOCH).where(EPOCH.c.state != "open", EPOCH.c.erased.is_(False)).limit(1)
    return next((Epoch(*row) for row in transaction.fetch(query.with_for_update(skip_locked=True))), None)


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

"""SQL that joins tables, counts or chooses."""

from fractions import Fraction
from typing import NamedTuple

from sqlalchemy import delete, or_, select, update

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


class Digest(NamedTuple):
    """The digest of a release, and what it belongs to.

    Attributes:
        number: Its experiment's number.
        experiment: Its experiment's public id.
        epoch: Its epoch's number.
        population: The population that pays for it.
        promised: What its experiment may cost.
        digest: The digest.
    """

    number: int
    experiment: str
    epoch: int
    population: str
    promised: Fraction
    digest: str


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


def closed_counts(transaction: Transaction) -> dict[int, int]:
    """Return the number of closed epochs of each experiment that has any, by the experiment's number."""
    query = select(EXPERIMENT.c.id, EXPERIMENT.c.epochs).where(EXPERIMENT.c.epochs > 0)
    return dict(transaction.fetch(query))


def digests(transaction: Transaction, experiment: int | None = None, after: int = 0) -> list[Digest]:
    """Return the digest of every release, in the order of experiments, epochs and parts.

    Args:
        transaction: The transaction.
        experiment: The number of the only experiment to look at; by default all.
        after: The epoch after which to begin.
    """
    columns = EXPERIMENT.c
    about = (columns.id, columns.uid, RELEASE.c.epoch, columns.population, columns.epsilon, RELEASE.c.digest)
    query = (
        select(*about)
        .join(EXPERIMENT, columns.id == RELEASE.c.experiment)
        .order_by(RELEASE.c.experiment, RELEASE.c.epoch, RELEASE.c.part)
    )
    if experiment is not None:
        query = query.where(RELEASE.c.experiment == experiment, RELEASE.c.epoch > after)
    return [Digest(*row) for row in transaction.fetch(query)]


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


def update_setting(transaction: Transaction, name: str, value: str) -> None:
    """Change a value of the whole service that is there; of several who do so at once, the last one stands.

    Args:
        transaction: The transaction.
        name: The value's name.
        value: The value.
    """
    transaction.execute(update(schema.setting).where(schema.setting.c.name == name).values(value=value))


def delete_setting(transaction: Transaction, name: str) -> None:
    """Delete a value of the whole service, if it is there.

    Args:
        transaction: The transaction.
        name: The value's name.
    """
    transaction.execute(delete(schema.setting).where(schema.setting.c.name == name))


def forget_sessions(transaction: Transaction, now: float) -> None:
    """Delete ended sessions that would be over by now.

    Args:
        transaction: The transaction.
        now: The time.
    """
    transaction.execute(delete(schema.ended_session).where(schema.ended_session.c.until <= now))

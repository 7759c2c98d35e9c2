"""SQL that joins tables, counts or chooses."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Text, and_, case, delete, func, or_, select, type_coerce, update

from discreet.service.messages import State
from discreet.service.storage import schema
from discreet.service.storage.database import Transaction
from discreet.service.storage.schema import Epoch, Experiment, Key, Line, Population, Setting

EPOCH, EXPERIMENT, LEASE, RELEASE = schema.epoch, schema.experiment, schema.lease, schema.release
KEY, LEDGER, POPULATION = schema.api_key, schema.ledger, schema.population
ORDER: tuple[State, ...] = ("running", "paused", "draft", "stopped", "archived")
"""The states in the order of lists: what goes on comes first."""
_rank = case({state: rank for rank, state in enumerate(ORDER)}, value=EXPERIMENT.c.state)
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


# ---------------------------------------------------------------------- lists


@dataclass(frozen=True)
class Wanted:
    """A choice of experiments.

    Args:
        search: A part of the name or of the population's name; empty for all.
        state: The state; None for all.
        only: The public id of the only experiment that may be seen; None for all.
    """

    search: str = ""
    state: State | None = None
    only: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the choice as SQL. Names are in lower case, so that both databases compare alike."""
        found: list[ColumnElement[bool]] = []
        if self.search:
            columns = (EXPERIMENT.c.name, EXPERIMENT.c.population)
            found.append(or_(*(column.contains(self.search.lower(), autoescape=True) for column in columns)))
        if self.state is not None:
            found.append(EXPERIMENT.c.state == self.state)
        if self.only is not None:
            found.append(EXPERIMENT.c.uid == self.only)
        return found


class Place(NamedTuple):
    """The place of an experiment in lists.

    Attributes:
        rank: The index of its state in `ORDER`.
        id: Its number; larger ones come first.
    """

    rank: int
    id: int


def list_experiments(
    transaction: Transaction, wanted: Wanted, limit: int, *, after: Place | None = None, offset: int = 0
) -> list[Experiment]:
    """Return experiments in the order of lists: by state, and the newest first.

    Args:
        transaction: The transaction.
        wanted: The choice.
        limit: The largest number of them.
        after: The place of the last one that was seen.
        offset: The number of them to pass over.
    """
    conditions = wanted.conditions()
    if after is not None:
        conditions.append(or_(_rank > after.rank, and_(_rank == after.rank, EXPERIMENT.c.id < after.id)))
    query = _listed(select(EXPERIMENT), conditions, limit, offset)
    return [Experiment(*row) for row in transaction.fetch(query)]


def count_experiments(transaction: Transaction, wanted: Wanted) -> int:
    """Return the number of experiments.

    Args:
        transaction: The transaction.
        wanted: The choice.
    """
    found: int = transaction.execute(select(func.count(EXPERIMENT.c.id)).where(*wanted.conditions())).scalar_one()
    return found


def list_facts(transaction: Transaction, wanted: Wanted, limit: int, offset: int = 0) -> list[tuple[Any, ...]]:
    """Return all that changes of experiments in a list, in one statement that reads little.

    No number of the last change is kept, which every writer would have to raise: these are the facts themselves.

    Args:
        transaction: The transaction.
        wanted: The choice.
        limit: The largest number of them.
        offset: The number of them to pass over.
    """
    own = (EXPERIMENT.c.uid, EXPERIMENT.c.name, EXPERIMENT.c.population, EXPERIMENT.c.state, EXPERIMENT.c.epochs)
    more = (EXPERIMENT.c.algorithm, _as_stored(EXPERIMENT.c.epsilon), _as_stored(EXPERIMENT.c.spent))
    times = (EXPERIMENT.c.started_at, EXPERIMENT.c.ended_at, EXPERIMENT.c.test_until)
    conditions = wanted.conditions()
    total = select(func.count(EXPERIMENT.c.id)).where(*conditions).correlate(None).scalar_subquery()
    query = _with_facts(select(total, *own, *more, *times, *_OPEN_FACTS))
    return transaction.fetch(_listed(query, conditions, limit, offset))


def facts(transaction: Transaction, name: str) -> list[tuple[Any, ...]]:
    """Return all that changes of an experiment, in one statement; nothing if there is no such experiment.

    Args:
        transaction: The transaction.
        name: Its public id.
    """
    stored = [_as_stored(column) for column in EXPERIMENT.c if column.name not in {"secret", "snapshot"}]
    return transaction.fetch(_with_facts(select(*stored, *_OPEN_FACTS)).where(EXPERIMENT.c.uid == name))


_DEALT = (
    select(func.sum(LEASE.c.dealt))
    .where(LEASE.c.experiment == EPOCH.c.experiment, LEASE.c.epoch == EPOCH.c.number)
    .scalar_subquery()
)
_OPEN_FACTS = (EPOCH.c.number, EPOCH.c.generation, _DEALT)


def _with_facts(query: Any) -> Any:
    own = and_(EPOCH.c.experiment == EXPERIMENT.c.id, EPOCH.c.state == "open")
    return query.select_from(EXPERIMENT).outerjoin(EPOCH, own)


def _listed(query: Any, conditions: Sequence[ColumnElement[bool]], limit: int, offset: int = 0) -> Any:
    """Return a query of experiments in the order of lists. They are chosen by an index, and then read."""
    order = (_rank, EXPERIMENT.c.id.desc())
    chosen = select(EXPERIMENT.c.id).where(*conditions).order_by(*order).limit(limit).offset(offset)
    return query.where(EXPERIMENT.c.id.in_(chosen.correlate(None))).order_by(*order)


def _as_stored(column: Any) -> Any:
    """Return a column without decoding: texts are compared, not read."""
    return type_coerce(column, Text()) if isinstance(column.type, schema.Encoded) else column


def names(transaction: Transaction, uids: Collection[str]) -> dict[str, str]:
    """Return the names of experiments by their public ids.

    Args:
        transaction: The transaction.
        uids: The public ids.
    """
    if not uids:
        return {}
    query: Any = select(EXPERIMENT.c.uid, EXPERIMENT.c.name).where(EXPERIMENT.c.uid.in_(uids))
    return dict(map(tuple, transaction.execute(query)))


def list_names(transaction: Transaction, limit: int) -> list[str]:
    """Return the names of the first experiments of the list that are not archived.

    Args:
        transaction: The transaction.
        limit: The largest number of them.
    """
    query = _listed(select(EXPERIMENT.c.name), [EXPERIMENT.c.state != "archived"], limit)
    return [name for (name,) in transaction.fetch(query)]


def list_holders(transaction: Transaction, population: str, limit: int) -> list[Experiment]:
    """Return the first experiments of the list that hold or have spent a part of a population's budget.

    Args:
        transaction: The transaction.
        population: The population's name.
        limit: The largest number of them.
    """
    has_started = [EXPERIMENT.c.population == population, EXPERIMENT.c.state != "draft"]
    query = _listed(select(EXPERIMENT), has_started, limit)
    return [Experiment(*row) for row in transaction.fetch(query)]


def part_of(row: Experiment) -> Fraction:
    """Return an experiment's part of its population's budget: what is reserved or, once it has ended, spent."""
    return row.epsilon if row.ended_at is None else row.spent


def budget_parts(transaction: Transaction, population: str) -> dict[Fraction, int]:
    """Return how many experiments have which part of a population's budget.

    Args:
        transaction: The transaction.
        population: The population's name.
    """
    ended = EXPERIMENT.c.ended_at.is_not(None)
    part = type_coerce(case((ended, EXPERIMENT.c.spent), else_=EXPERIMENT.c.epsilon), EXPERIMENT.c.epsilon.type)
    chosen = select(part, func.count()).where(EXPERIMENT.c.population == population, EXPERIMENT.c.state != "draft")
    found: dict[Fraction, int] = {}
    for amount, count in transaction.fetch(chosen.group_by(part)):
        if amount > 0:
            found[amount] = found.get(amount, 0) + count
    return found


def list_lines(transaction: Transaction, population: str, above: int, upto: int) -> list[Line]:
    """Return lines of a ledger, the oldest first.

    Args:
        transaction: The transaction.
        population: The population's name.
        above: The number below the first line.
        upto: The number of the last line.
    """
    mine = (LEDGER.c.population == population, LEDGER.c.number > above, LEDGER.c.number <= upto)
    return [Line(*row) for row in transaction.fetch(select(LEDGER).where(*mine).order_by(LEDGER.c.number))]


class LedgerEnd(NamedTuple):
    """A population, and where its ledger ends.

    Attributes:
        name: The population's name.
        budget: Its budget.
        reserved: What is reserved of it.
        last: The number of the last line; 0 without lines.
    """

    name: str
    budget: Fraction
    reserved: Fraction
    last: int


def ledger_ends(transaction: Transaction, *populations: str) -> list[LedgerEnd]:
    """Return the kept sums with the last line that they count, read in one statement so that they belong together.

    Args:
        transaction: The transaction.
        *populations: The populations' names; none for all.
    """
    last = select(func.coalesce(func.max(LEDGER.c.number), 0)).where(LEDGER.c.population == POPULATION.c.name)
    columns = (POPULATION.c.name, POPULATION.c.budget, POPULATION.c.reserved, last.scalar_subquery())
    query = select(*columns).order_by(POPULATION.c.name)
    if populations:
        query = query.where(POPULATION.c.name.in_(populations))
    return [LedgerEnd(*row) for row in transaction.fetch(query)]


def list_populations(transaction: Transaction, limit: int, *, after: str = "", offset: int = 0) -> list[Population]:
    """Return populations by name.

    Args:
        transaction: The transaction.
        limit: The largest number of them.
        after: The name before the first one.
        offset: The number of further ones before it.
    """
    name = POPULATION.c.name
    query = select(POPULATION).where(name > after).order_by(name).limit(limit).offset(offset)
    return [Population(*row) for row in transaction.fetch(query)]


def count_populations(transaction: Transaction) -> int:
    """Return the number of all populations."""
    count: int = transaction.execute(select(func.count()).select_from(POPULATION)).scalar_one()
    return count


def started_after(transaction: Transaction, number: int, limit: int) -> list[Experiment]:
    """Return experiments that have started, in the order of their numbers.

    Args:
        transaction: The transaction.
        number: The number below the first one.
        limit: The largest number of them.
    """
    query = select(EXPERIMENT).where(EXPERIMENT.c.id > number, EXPERIMENT.c.state != "draft")
    return [Experiment(*row) for row in transaction.fetch(query.order_by(EXPERIMENT.c.id).limit(limit))]


def list_keys(transaction: Transaction, limit: int, *, after: Key | None = None) -> list[Key]:
    """Return keys, the newest first.

    Args:
        transaction: The transaction.
        limit: The largest number of them.
        after: The last one that was seen.
    """
    query = select(KEY).order_by(KEY.c.created_at.desc(), KEY.c.id).limit(limit)
    if after is not None:
        same = and_(KEY.c.created_at == after.created_at, KEY.c.id > after.id)
        query = query.where(or_(KEY.c.created_at < after.created_at, same))
    return [Key(*row) for row in transaction.fetch(query)]


def page_of_keys(transaction: Transaction, now: float, limit: int, offset: int) -> tuple[list[Key], int]:
    """Return keys, those that are valid first and then the newest first, and the number of all keys.

    Args:
        transaction: The transaction.
        now: The time.
        limit: The largest number of them.
        offset: The number of them to pass over.
    """
    ended = or_(KEY.c.revoked_at.is_not(None), and_(KEY.c.expires_at.is_not(None), KEY.c.expires_at <= now))
    order = (case((ended, 1), else_=0), KEY.c.created_at.desc(), KEY.c.id)
    found = transaction.fetch(select(KEY).order_by(*order).limit(limit).offset(offset))
    return [Key(*row) for row in found], transaction.execute(select(func.count(KEY.c.id))).scalar_one()


# ---------------------------------------------------------------------- epochs and releases


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

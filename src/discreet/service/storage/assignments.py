"""SQL about assignments, participants, and the slots and sums of open epochs: the hot path."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction
from discreet.service.storage.schema import Epoch

ASSIGNMENT, COUNTER, PARTICIPANT = schema.assignment, schema.counter, schema.participant
_DEALING = """SELECT number, generation, plan, learns, quota, dealt FROM epoch
    WHERE experiment = :experiment AND state = 'open'"""
_STATE = "SELECT state, {now} FROM experiment WHERE id = :experiment"
_IS_OPEN = """SELECT 1 FROM epoch
    WHERE experiment = :experiment AND number = :epoch AND generation = :generation AND state = 'open'"""
# A unit's pseudonym is of one experiment. With + 0 the index of units is the only one that fits: PostgreSQL, which
# knows little of a young table, may read all of another one instead.
_KNOWN = """SELECT unit, slot, arm, deadline FROM assignment
    WHERE {listed} AND experiment + 0 = :experiment AND epoch + 0 = :epoch"""
_PARTICIPANTS = "SELECT unit FROM participant WHERE {listed} AND experiment + 0 = :experiment"
# 1 for the first time, and then 2 and 3 in turn: where nothing changed, SQLite would not wait for the disk.
_REPORT = """UPDATE assignment SET told = CASE told WHEN 0 THEN 1 WHEN 2 THEN 3 ELSE 2 END
    WHERE experiment = :experiment AND epoch = :epoch AND {listed} AND deadline >= {now}
    RETURNING slot, arm, unit, told"""
_RETRACT = "UPDATE assignment SET told = 0 WHERE experiment = :experiment AND epoch = :epoch AND {listed}"
_ADD = """INSERT INTO counter (experiment, epoch, shard, arm, told, total)
    VALUES (:experiment, :epoch, :shard, :arm, :told, :total)
    ON CONFLICT (experiment, epoch, shard, arm)
    DO UPDATE SET told = counter.told + excluded.told, total = counter.total + excluded.total"""


class Dealing(NamedTuple):
    """The part of an open epoch that dealing its slots needs.

    Attributes:
        number: Its number.
        generation: A random number that is in all its tokens.
        plan: The number of slots of each arm, by index.
        learns: False if its rewards decide nothing.
        quota: The number of all slots.
        dealt: The number of slots that were assigned.
    """

    number: int
    generation: int
    plan: dict[int, int]
    learns: bool
    quota: int
    dealt: int


class Assigned(NamedTuple):
    """A unit's assignment in an epoch.

    Attributes:
        slot: The slot's index.
        arm: The arm's index.
        deadline: When its reward must have come.
    """

    slot: int
    arm: int
    deadline: float


class Reported(NamedTuple):
    """A slot whose reward was reported in time.

    Attributes:
        slot: The slot's index.
        arm: The arm's index.
        unit: The pseudonym of the unit that has the slot.
        first: True if no reward of it was reported before.
    """

    slot: int
    arm: int
    unit: str
    first: bool


def state_and_dealing(transaction: Transaction, experiment: int) -> tuple[str, float, Dealing | None]:
    """Return an experiment's state, the time, and its open epoch, which nobody else can change meanwhile.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    mine = {"experiment": experiment}
    epochs = transaction.database.select_for_update(transaction, _DEALING, mine)
    clock, given = transaction.database.clock()
    ((state, now),) = transaction.run(_STATE.format(now=clock), {**mine, **given})
    if not epochs:
        return state, now, None
    number, generation, plan, learns, quota, dealt = epochs[0]
    return state, now, Dealing(number, generation, schema.read_pulls(plan), bool(learns), quota, dealt)


def is_open(transaction: Transaction, experiment: int, epoch: int, generation: int) -> bool:
    """Return True if this very epoch is open.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        epoch: The epoch's number.
        generation: The epoch's generation.
    """
    given = {"experiment": experiment, "epoch": epoch, "generation": generation}
    return bool(transaction.run(_IS_OPEN, given))


def _run_on(
    transaction: Transaction, statement: str, column: str, values: Sequence[Any], **given: int
) -> Sequence[Any]:
    """Run SQL on the rows whose column is among some values."""
    database = transaction.database
    clock, now = database.clock()
    sql = statement.format(listed=database.among(column), now=clock)
    return transaction.run(sql, {**given, **now, "listed": database.as_list(values)})


def assigned(transaction: Transaction, experiment: int, epoch: int, units: Sequence[str]) -> dict[str, Assigned]:
    """Return the assignments that units have in an epoch, by pseudonym.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        epoch: The epoch's number.
        units: Pseudonyms.
    """
    rows = _run_on(transaction, _KNOWN, "unit", units, experiment=experiment, epoch=epoch)
    return {unit: Assigned(slot, arm, deadline) for unit, slot, arm, deadline in rows}


def participants(transaction: Transaction, experiment: int, units: Sequence[str]) -> list[str]:
    """Return those of the units that have contributed to an experiment in which each may do so once.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        units: Pseudonyms.
    """
    return [unit for (unit,) in _run_on(transaction, _PARTICIPANTS, "unit", units, experiment=experiment)]


def add_participants(transaction: Transaction, experiment: int, units: Sequence[str]) -> None:
    """Remember units that contribute to an experiment in which each may do so once.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        units: Pseudonyms.
    """
    transaction.execute(insert(PARTICIPANT), [{"experiment": experiment, "unit": unit} for unit in units])


def report(transaction: Transaction, experiment: int, epoch: int, slots: Sequence[int]) -> list[Reported]:
    """Mark slots as reported, and return those whose deadline has not passed.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        epoch: The epoch's number.
        slots: Indexes of slots.
    """
    rows = _run_on(transaction, _REPORT, "slot", slots, experiment=experiment, epoch=epoch)
    return [Reported(slot, arm, unit, told == 1) for slot, arm, unit, told in rows]


def retract(transaction: Transaction, experiment: int, epoch: int, slots: Sequence[int]) -> None:
    """Mark slots as not reported.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        epoch: The epoch's number.
        slots: Indexes of slots.
    """
    _run_on(transaction, _RETRACT, "slot", slots, experiment=experiment, epoch=epoch)


def add_totals(
    transaction: Transaction, experiment: int, epoch: int, shard: str, totals: Mapping[int, tuple[int, int]]
) -> None:
    """Add rewards to the sums of an open epoch.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        epoch: The epoch's number.
        shard: The writer's own part of the sums.
        totals: The number of rewards and their total in grid steps, by arm index.
    """
    mine = {"experiment": experiment, "epoch": epoch, "shard": shard}
    rows = [{**mine, "arm": arm, "told": count, "total": total} for arm, (count, total) in sorted(totals.items())]
    transaction.run(_ADD, rows)


def totals(transaction: Transaction, epoch: Epoch) -> dict[int, tuple[int, int]]:
    """Return the number of rewards that came and their exact total in grid steps, by arm index.

    Args:
        transaction: The transaction.
        epoch: The epoch.
    """
    query = (
        select(COUNTER.c.arm, func.sum(COUNTER.c.told), func.sum(COUNTER.c.total))
        .where(COUNTER.c.experiment == epoch.experiment, COUNTER.c.epoch == epoch.number)
        .group_by(COUNTER.c.arm)
    )
    return {int(arm): (int(count), int(total)) for arm, count, total in transaction.fetch(query)}


def delete_totals(transaction: Transaction, epoch: Epoch) -> None:
    """Delete the sums of an epoch.

    Args:
        transaction: The transaction.
        epoch: The epoch.
    """
    mine = (COUNTER.c.experiment == epoch.experiment, COUNTER.c.epoch == epoch.number)
    transaction.execute(delete(COUNTER).where(*mine))


def delete_assignments(transaction: Transaction, epoch: Epoch, most: int) -> int:
    """Delete assignments of an epoch, and with them whose reward came.

    Args:
        transaction: The transaction.
        epoch: The epoch.
        most: The largest number of assignments to delete.

    Returns:
        The number of assignments that were deleted.
    """
    table = ASSIGNMENT.c
    mine = (table.experiment == epoch.experiment, table.epoch == epoch.number, table.slot < epoch.quota)
    slots = select(table.slot).where(*mine).order_by(table.slot).limit(most).scalar_subquery()
    return transaction.execute(delete(ASSIGNMENT).where(*mine, table.slot.in_(slots))).rowcount

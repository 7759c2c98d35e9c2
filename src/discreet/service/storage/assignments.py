"""SQL about assignments, participants, and the slots and sums of open epochs: the hot path."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction
from discreet.service.storage.schema import Epoch

COUNTER, LEASE, PARTICIPANT = schema.counter, schema.lease, schema.participant
PART = 2_000  # slots or units that are deleted in one transaction
_DELETE_SLOTS = """DELETE FROM assignment
    WHERE experiment = :experiment AND epoch = :epoch AND slot >= :first AND slot < :stop"""
_DELETE_UNITS = """DELETE FROM unit_slot
    WHERE experiment = :experiment AND epoch = :epoch AND unit >= :first AND unit < :stop"""
_DEALING = """SELECT experiment.id, experiment.state, {now}, number, generation, plan, learns, next, stop
    FROM experiment
    LEFT JOIN epoch ON epoch.experiment = experiment.id AND epoch.state = 'open'
    LEFT JOIN lease ON lease.experiment = epoch.experiment AND lease.epoch = epoch.number AND lease.writer = :writer
    WHERE {listed}"""
# Subqueries rather than joins: PostgreSQL, which knows little of a young table, may read all of it for a join.
_KNOWN = """SELECT experiment, unit, slot,
        (SELECT arm FROM assignment AS one
            WHERE one.experiment = found.experiment AND one.epoch = found.epoch AND one.slot = found.slot),
        (SELECT deadline FROM assignment AS one
            WHERE one.experiment = found.experiment AND one.epoch = found.epoch AND one.slot = found.slot)
    FROM (
        SELECT rows.experiment, rows.epoch, rows.unit, (SELECT slot FROM unit_slot AS mine
            WHERE mine.experiment = rows.experiment AND mine.epoch = rows.epoch AND mine.unit = rows.unit) AS slot
        FROM {rows}
    ) AS found
    WHERE slot IS NOT NULL"""
_PARTICIPANTS = """SELECT rows.experiment, rows.unit FROM {rows}
    WHERE (SELECT 1 FROM participant AS mine WHERE mine.experiment = rows.experiment AND mine.unit = rows.unit) = 1"""
_OPEN = "SELECT experiment, number, generation FROM epoch WHERE state = 'open' AND {listed}"
_LISTED = """FROM {rows}
    WHERE assignment.experiment = rows.experiment AND assignment.epoch = rows.epoch AND assignment.slot = rows.slot"""
# 1 for the first time, and then 2 and 3 in turn: where nothing changed, SQLite would not wait for the disk.
_REPORT = f"""UPDATE assignment SET told = CASE told WHEN 0 THEN 1 WHEN 2 THEN 3 ELSE 2 END
    {_LISTED} AND deadline >= %s
    RETURNING assignment.experiment, assignment.epoch, assignment.slot, unit, arm, told"""
_RETRACT = f"UPDATE assignment SET told = 0 {_LISTED}"
_ADD = """INSERT INTO counter (experiment, epoch, shard, arm, told, total)
    SELECT rows.experiment, rows.epoch, :shard, rows.arm, rows.told, rows.total FROM {rows} WHERE true
    ON CONFLICT (experiment, epoch, shard, arm)
    DO UPDATE SET told = counter.told + excluded.told, total = counter.total + excluded.total"""


class Dealing(NamedTuple):
    """The part of an open epoch that dealing its slots needs.

    Attributes:
        number: Its number.
        generation: A random number that is in all its tokens.
        plan: The number of slots of each arm, by index.
        learns: False if its rewards decide nothing.
        next: The first slot that is left of this writer's lease; 0 if it has none.
        stop: The slot after the last one of the lease; 0 if there is none.
    """

    number: int
    generation: int
    plan: dict[int, int]
    learns: bool
    next: int
    stop: int


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
        experiment: The experiment's number.
        epoch: The epoch's number.
        generation: The epoch's generation.
        slot: The slot's index.
        unit: The pseudonym of the unit that has the slot.
        arm: The arm's index.
        first: True if no reward of it was reported before.
    """

    experiment: int
    epoch: int
    generation: int
    slot: int
    unit: bytes
    arm: int
    first: bool


def dealings(
    transaction: Transaction, writer: str, experiments: Sequence[int]
) -> tuple[float, dict[int, tuple[str, Dealing | None]]]:
    """Return the time, and the state and the open epoch of some experiments, by number.

    Args:
        transaction: The transaction, which has locked the experiments.
        writer: The writer whose leases are wanted.
        experiments: The experiments' numbers.
    """
    database = transaction.database
    clock, time = database.clock()
    sql = _DEALING.format(now=clock, listed=database.among("experiment.id"))
    rows = transaction.run(sql, {**time, "writer": writer, "listed": database.as_list(experiments)})
    now = 0.0
    found: dict[int, tuple[str, Dealing | None]] = {}
    for experiment, state, now, number, generation, plan, learns, first, stop in rows:  # noqa: B007
        if number is None:
            found[experiment] = state, None
        else:
            epoch = Dealing(number, generation, schema.read_pulls(plan), bool(learns), first or 0, stop or 0)
            found[experiment] = state, epoch
    return now, found


def assigned(transaction: Transaction, units: Sequence[tuple[int, int, bytes]]) -> dict[tuple[int, bytes], Assigned]:
    """Return the assignments that units have in open epochs, by experiment and pseudonym.

    Args:
        transaction: The transaction.
        units: Numbers of experiments and of their epochs, and pseudonyms.
    """
    rows = transaction.each(_KNOWN, ("experiment", "epoch", "unit"), units)
    return {(experiment, unit): Assigned(slot, arm, deadline) for experiment, unit, slot, arm, deadline in rows}


def participants(transaction: Transaction, units: Sequence[tuple[int, bytes]]) -> set[tuple[int, bytes]]:
    """Return those of the units that have contributed to an experiment in which each may do so once.

    Args:
        transaction: The transaction.
        units: Numbers of experiments, and pseudonyms.
    """
    rows = transaction.each(_PARTICIPANTS, ("experiment", "unit"), units)
    return {(experiment, unit) for experiment, unit in rows}


def add_participants(transaction: Transaction, units: Sequence[tuple[int, bytes]]) -> None:
    """Remember units that contribute to an experiment in which each may do so once.

    Args:
        transaction: The transaction.
        units: Numbers of experiments, and pseudonyms.
    """
    rows = [{"experiment": experiment, "unit": unit} for experiment, unit in sorted(units)]
    transaction.execute(insert(PARTICIPANT), rows)


def report(transaction: Transaction, places: Iterable[tuple[Any, ...]]) -> list[Reported]:
    """Mark slots of open epochs as reported, and return those whose deadline has not passed.

    Args:
        transaction: The transaction, which has locked the experiments.
        places: The experiment's number, the epoch's number and generation, and the index of each slot; what follows
            does not matter here. Nothing is marked where the epoch has another generation.
    """
    wanted, database = {place[:4] for place in places}, transaction.database
    sql = _OPEN.format(listed=database.among("experiment"))
    rows = transaction.run(sql, {"listed": database.as_list(sorted({one[0] for one in wanted}))}) if wanted else ()
    current = {(experiment, epoch): generation for experiment, epoch, generation in rows}
    found = sorted(  # so that no writer blocks another
        (experiment, epoch, slot)
        for experiment, epoch, generation, slot in wanted
        if current.get((experiment, epoch)) == generation
    )
    clock, now = database.clock()
    reported = transaction.each(_REPORT % clock, ("experiment", "epoch", "slot"), found, **now)
    return [
        Reported(experiment, epoch, current[experiment, epoch], slot, unit, arm, told == 1)
        for experiment, epoch, slot, unit, arm, told in reported
    ]


def retract(transaction: Transaction, slots: Iterable[tuple[int, int, int]]) -> None:
    """Mark slots as not reported.

    Args:
        transaction: The transaction.
        slots: The experiment's number, the epoch's number, and the index of each slot, once.
    """
    transaction.each(_RETRACT, ("experiment", "epoch", "slot"), sorted(slots))


def add_totals(transaction: Transaction, shard: str, totals: Mapping[tuple[int, int, int], tuple[int, int]]) -> None:
    """Add rewards to the sums of open epochs.

    Args:
        transaction: The transaction.
        shard: The writer's own part of the sums.
        totals: The number of rewards and their total in grid steps, by experiment, epoch and arm index.
    """
    rows = [(*where, *figures) for where, figures in sorted(totals.items())]
    transaction.each(_ADD, ("experiment", "epoch", "arm", "told", "total"), rows, shard=shard)


def with_progress(transaction: Transaction, epochs: Sequence[Epoch]) -> list[Epoch]:
    """Return epochs with what their leases say of those that are open: slots that were dealt, and if all were, when.

    Args:
        transaction: The transaction.
        epochs: The epochs.
    """
    of_open = LEASE.c.experiment.in_({epoch.experiment for epoch in epochs if epoch.state == "open"})
    figures = func.sum(LEASE.c.dealt), func.max(LEASE.c.dealt_at), func.max(LEASE.c.deadline)
    where = LEASE.c.experiment, LEASE.c.epoch
    found = {
        tuple(row[:2]): row[2:] for row in transaction.fetch(select(*where, *figures).where(of_open).group_by(*where))
    }
    shown = []
    for epoch in epochs:
        dealt, full_at, due_at = found.get((epoch.experiment, epoch.number), (epoch.dealt, epoch.full_at, epoch.due_at))
        full = dealt == epoch.quota
        shown.append(
            replace(epoch, dealt=int(dealt), full_at=full_at if full else None, due_at=due_at if full else None)
        )
    return shown


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
    """Delete the sums of an epoch, and its leases.

    Args:
        transaction: The transaction.
        epoch: The epoch.
    """
    for table in (COUNTER, LEASE):
        mine = (table.c.experiment == epoch.experiment, table.c.epoch == epoch.number)
        transaction.execute(delete(table).where(*mine))


def delete_part(transaction: Transaction, epoch: Epoch, part: int) -> bool:
    """Delete a part of an epoch's assignments, and with them whose reward came.

    A part is a range of a table's key, so that few pages are changed: first of slots, then of units.

    Args:
        transaction: The transaction.
        epoch: The epoch, which has ended.
        part: The part's number, from 0.

    Returns:
        True if there are more parts.
    """
    parts = max(1, -(-epoch.quota // PART))
    mine = {"experiment": epoch.experiment, "epoch": epoch.number}
    if part < parts:
        transaction.run(_DELETE_SLOTS, {**mine, "first": part * PART, "stop": (part + 1) * PART})
    else:
        first, stop = (_bound(at, parts) for at in (part - parts, part - parts + 1))
        transaction.run(_DELETE_UNITS, {**mine, "first": first, "stop": stop})
    return part + 1 < 2 * parts


def _bound(part: int, parts: int) -> bytes:
    """Return the least pseudonym of a part, of so many that are equally large."""
    return b"\xff" * 17 if part == parts else ((part << 64) // parts).to_bytes(8, "big")

"""SQL about epochs."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy import insert as insert_into
from sqlalchemy import update as update_rows

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction

EPOCH = schema.epoch
_DEALING = """SELECT number, generation, plan, learns, quota, dealt FROM epoch
    WHERE experiment = :experiment AND state = 'open'"""
_STATE = "SELECT state, {now} FROM experiment WHERE id = :experiment"
_IS_OPEN = """SELECT 1 FROM epoch
    WHERE experiment = :experiment AND number = :epoch AND generation = :generation AND state = 'open'"""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A row of the table `epoch`.

    Args:
        experiment: The number of its experiment.
        number: Its number, from 1.
        state: "open", "closed", "forfeited" or "discarded".
        generation: A random number that is in all its tokens.
        plan: The number of slots of each arm, by index.
        learns: False if its rewards decide nothing: they are not collected, and nothing is released.
        quota: The number of all slots.
        dealt: The number of slots that were assigned.
        threshold: The distance from the best arm at which an arm is dropped, in rewards.
        epsilon: What it costs a unit that is in it.
        opened_at: When it was opened.
        full_at: When its last slot was assigned.
        due_at: When it may be closed.
        closed_at: When it ended.
        dropped: The indexes of the arms that were dropped at its end.
        erased: True once its assignments were deleted.
    """

    experiment: int
    number: int
    state: Any
    generation: int
    plan: dict[int, int]
    learns: bool
    quota: int
    dealt: int
    threshold: float | None
    epsilon: Fraction
    opened_at: float
    full_at: float | None
    due_at: float | None
    closed_at: float | None
    dropped: list[int]
    erased: bool


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


def open_epoch(transaction: Transaction, experiment: int, *, hold: bool = False) -> Epoch | None:
    """Return the open epoch of an experiment, if it has one.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
        hold: True to keep others from changing it before the transaction ends.
    """
    query = select(EPOCH).where(EPOCH.c.experiment == experiment, EPOCH.c.state == "open")
    return _one(transaction, query.with_for_update() if hold else query)


def _one(transaction: Transaction, query: Select[Any]) -> Epoch | None:
    return next((Epoch(*row) for row in transaction.fetch(query)), None)


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


def of_experiment(transaction: Transaction, experiment: int) -> list[Epoch]:
    """Return all epochs of an experiment, the oldest first.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    query = select(EPOCH).where(EPOCH.c.experiment == experiment).order_by(EPOCH.c.number)
    return [Epoch(*row) for row in transaction.fetch(query)]


def closed(transaction: Transaction, experiment: int) -> list[int]:
    """Return the numbers of the closed epochs of an experiment, the oldest first.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    query = select(EPOCH.c.number).where(EPOCH.c.experiment == experiment, EPOCH.c.state == "closed")
    return list(transaction.execute(query.order_by(EPOCH.c.number)).scalars())


def last_number(transaction: Transaction, experiment: int) -> int:
    """Return the number of the newest epoch of an experiment; 0 if it has none.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    return transaction.execute(select(func.max(EPOCH.c.number)).where(EPOCH.c.experiment == experiment)).scalar() or 0


def costs(transaction: Transaction, experiment: int) -> list[Fraction]:
    """Return what each closed or forfeited epoch of an experiment costs a unit that is in it.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    ended = (EPOCH.c.experiment == experiment, EPOCH.c.state.in_(("closed", "forfeited")))
    return list(transaction.execute(select(EPOCH.c.epsilon).where(*ended)).scalars())


def insert(transaction: Transaction, values: Mapping[str, Any]) -> None:
    """Add an epoch.

    Args:
        transaction: The transaction.
        values: The columns.

    Raises:
        DuplicateError: The experiment has an open epoch.
    """
    transaction.execute(insert_into(EPOCH).values(values))


def update(transaction: Transaction, epoch: Epoch, **values: Any) -> None:
    """Change an epoch.

    Args:
        transaction: The transaction.
        epoch: The epoch.
        **values: The columns that change.
    """
    here = (EPOCH.c.experiment == epoch.experiment, EPOCH.c.number == epoch.number)
    transaction.execute(update_rows(EPOCH).where(*here).values(values))


def not_erased(transaction: Transaction) -> Epoch | None:
    """Return an epoch that has ended and whose assignments were not all deleted, if there is one."""
    return _one(transaction, select(EPOCH).where(EPOCH.c.state != "open", EPOCH.c.erased.is_(False)).limit(1))

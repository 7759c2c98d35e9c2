"""SQL about tests of drafts. Nothing else reads or writes their tables."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, or_, select, update

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction
from discreet.service.storage.schema import TestedUnit, TestMode

TEST, UNIT, EXPERIMENT = schema.test_mode, schema.tested_unit, schema.experiment
_OF_UNIT = (UNIT.c.experiment == bindparam("of"), UNIT.c.number == bindparam("place"))
_ASKED = update(UNIT).where(*_OF_UNIT).values(asks=UNIT.c.asks + 1)
_TOLD = (
    update(UNIT).where(*_OF_UNIT).values({name: bindparam(f"new_{name}") for name in ("reward", "told_at", "again")})
)


class Running(NamedTuple):
    """A test that is under way.

    Attributes:
        experiment: The experiment's number.
        uid: The experiment's public id.
        unknown: The number of reports whose token is unknown.
    """

    experiment: int
    uid: str
    unknown: int


def find(transaction: Transaction, experiment: int) -> TestMode | None:
    """Return the test of an experiment; None if there is none, or it was thrown away.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    return transaction.find(TestMode, experiment=experiment, over=False)


def running(transaction: Transaction, began_after: float) -> list[Running]:
    """Return the tests that began after a time.

    Args:
        transaction: The transaction.
        began_after: The time.
    """
    query = select(TEST.c.experiment, EXPERIMENT.c.uid, TEST.c.unknown).join(
        EXPERIMENT, EXPERIMENT.c.id == TEST.c.experiment
    )
    found = transaction.fetch(query.where(TEST.c.over.is_(False), TEST.c.began_at > began_after))
    return [Running(*row) for row in found]


def begin(transaction: Transaction, test: TestMode) -> None:
    """Add a test, in place of one that was thrown away.

    Args:
        transaction: The transaction.
        test: The test.
    """
    transaction.delete(test)
    transaction.add(test)


def discard(transaction: Transaction, experiment: int) -> None:
    """Delete all that was sent in a test. An empty row is left, so that traces will be erased.

    Args:
        transaction: The transaction, which holds the experiment.
        experiment: The experiment's number.
    """
    transaction.execute(delete(UNIT).where(UNIT.c.experiment == experiment))
    empty = dict.fromkeys(("generation", "began_at", "units", "unknown", "stale", "changes"), 0)
    transaction.execute(update(TEST).where(TEST.c.experiment == experiment).values(over=True, secret=b"", **empty))


def ended(transaction: Transaction, began_before: float) -> list[int]:
    """Return the numbers of the experiments whose tests are to go: thrown away, or begun before a time.

    Args:
        transaction: The transaction.
        began_before: The time.
    """
    query = select(TEST.c.experiment).where(or_(TEST.c.over.is_(True), TEST.c.began_at <= began_before))
    return list(transaction.execute(query.order_by(TEST.c.experiment)).scalars())


def forget(transaction: Transaction, experiment: int) -> None:
    """Delete the row that is left of a test.

    Args:
        transaction: The transaction, which holds the experiment.
        experiment: The experiment's number.
    """
    transaction.execute(delete(TEST).where(TEST.c.experiment == experiment, TEST.c.over.is_(True)))


def add_units(transaction: Transaction, units: Sequence[TestedUnit]) -> None:
    """Add units.

    Args:
        transaction: The transaction.
        units: The units.
    """
    if units:
        transaction.execute(insert(UNIT), [asdict(one) for one in units])


def count_asks(transaction: Transaction, units: Sequence[TestedUnit]) -> None:
    """Count that units were asked for again.

    Args:
        transaction: The transaction.
        units: The units, which may repeat.
    """
    if units:
        transaction.execute(_ASKED, [{"of": one.experiment, "place": one.number} for one in units])


def write_rewards(transaction: Transaction, units: Sequence[TestedUnit]) -> None:
    """Write the rewards of units, and how often more came.

    Args:
        transaction: The transaction.
        units: The units as they are now.
    """
    given: list[dict[str, Any]] = [
        {"of": one.experiment, "place": one.number, "new_reward": one.reward, "new_told_at": one.told_at}
        | {"new_again": one.again}
        for one in units
    ]
    if given:
        transaction.execute(_TOLD, given)

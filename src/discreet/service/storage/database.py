"""Databases and their transactions. What differs between SQLite and PostgreSQL is a method of `Database`."""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, CursorResult, Engine, Executable, Select, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import IntegrityError as DuplicateError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from discreet.service.storage.schema import TABLES

__all__ = ["UNAVAILABLE", "Collision", "Database", "Dealt", "DuplicateError", "Slot", "Transaction", "failure"]

UNAVAILABLE = (OperationalError, InterfaceError, NoConnectionLeft)
"""Errors of a database that is gone, full, or has no connection left. It may be back in a moment."""
FEW = 5
"""The number of connections of a database that is opened beside another one."""
_RETRIES = 8
Row = TypeVar("Row")
_Result = TypeVar("_Result")


class Collision(Exception):
    """Writers were in each other's way: the transaction is to be done again from its start."""


class Transaction:
    """An open transaction of a database.

    Args:
        database: The database, which knows its dialect.
        connection: The connection that the transaction runs on.
    """

    __slots__ = ("connection", "database")

    def __init__(self, database: Database, connection: Connection) -> None:
        self.database, self.connection = database, connection

    def rows(self, kind: Callable[..., Row], /, *order: str, **where: Any) -> list[Row]:
        """Return rows of a table.

        Args:
            kind: The kind of row.
            *order: The columns to sort by; with a "-" before its name from the largest value on.
            **where: The values of columns, or tuples of values.
        """
        return [kind(*row) for row in self.fetch(_select(kind, order, where))]

    def find(self, kind: Callable[..., Row], /, *order: str, hold: bool = False, **where: Any) -> Row | None:
        """Return the first row that there is.

        Args:
            kind: The kind of row.
            *order: The columns to sort by, as in `rows`.
            hold: True to keep others from changing it before the transaction ends.
            **where: The values of columns, as in `rows`.
        """
        query = _select(kind, order, where).limit(1)
        return next((kind(*row) for row in self.fetch(query.with_for_update() if hold else query)), None)

    def values(self, kind: type, /, names: Sequence[str], *order: str, **where: Any) -> list[Any]:
        """Return some columns of the rows of a table.

        Args:
            kind: The kind of row.
            names: The columns; where it is one, its values are returned alone.
            *order: The columns to sort by, as in `rows`.
            **where: The values of columns, as in `rows`.
        """
        columns = (TABLES[kind].c[name] for name in names)
        found = self.execute(_select(kind, order, where).with_only_columns(*columns))
        return list(found.scalars()) if len(names) == 1 else list(found)

    def fetch(self, query: Executable) -> list[tuple[Any, ...]]:
        """Return the rows of a query of SQLAlchemy."""
        return [tuple(row) for row in self.execute(query)]

    def insert(self, kind: type, /, **values: Any) -> None:
        """Add a row.

        Args:
            kind: The kind of row.
            **values: The values of its columns.

        Raises:
            DuplicateError: There is such a row.
        """
        self.execute(insert(TABLES[kind]).values(values))

    def add(self, row: Any) -> None:
        """Add a row; a `DuplicateError` says that there is such a row."""
        self.insert(type(row), **asdict(row))

    def change(self, row: Any, /, **values: Any) -> None:
        """Change a row.

        Args:
            row: The row as it was read, which has its key.
            **values: The columns that change.
        """
        self.execute(update(TABLES[type(row)]).filter_by(**_key(row)).values(values))

    def delete(self, row: Any) -> None:
        """Delete a row."""
        self.execute(delete(TABLES[type(row)]).filter_by(**_key(row)))

    def execute(self, statement: Executable, given: Any = None) -> CursorResult[Any]:
        """Run a statement of SQLAlchemy.

        Args:
            statement: The statement.
            given: Its parameters, or a list of them for one row each.
        """
        return self.connection.execute(statement, given)

    def run(self, statement: str, given: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        """Run SQL without SQLAlchemy's compiler, which takes longer than the statements of the hot path do.

        Args:
            statement: SQL with :names.
            given: The parameters by name, or a list of them for one row each.

        Returns:
            The rows, if there are any.
        """
        result = self.connection.exec_driver_sql(self.database.driver_sql(statement), given)
        return result.fetchall() if result.returns_rows else ()

    def each(self, statement: str, names: Sequence[str], rows: Sequence[Sequence[Any]], **given: Any) -> list[Any]:
        """Run SQL for each of many rows of values.

        Args:
            statement: SQL with a table {rows}, which is called `rows` in it, and with :names.
            names: The names of the columns of {rows}.
            rows: Their values.
            **given: The parameters that all rows share.

        Returns:
            The rows of all results.
        """
        return self.database.each(self, statement, names, rows, given) if rows else []

    def now(self) -> float:
        """Return the time in seconds since 1970, by the clock that all workers share."""
        clock, given = self.database.clock()
        return self.database.saw(float(self.run(f"SELECT {clock}", given)[0][0]))

    def raw_now(self) -> float:
        """Return the time by the clock itself, which may have jumped back."""
        clock, given = self.database.raw_clock()
        return float(self.run(f"SELECT {clock}", given)[0][0])

    def lock(self, *experiments: int, shared: bool = False) -> None:
        """Wait until nobody else changes some experiments.

        Args:
            *experiments: Their ids, sorted; 0 stands for the whole database.
            shared: True to share the lock with others who share it, as assignments and rewards do.
        """
        self.database.lock(self, experiments, shared=shared)


def _select(kind: Any, order: Sequence[str], where: Mapping[str, Any]) -> Select[Any]:
    table = TABLES[kind]
    wanted = [
        table.c[name].in_(value) if isinstance(value, tuple) else table.c[name] == value
        for name, value in where.items()
    ]
    sort = [table.c[name[1:]].desc() if name.startswith("-") else table.c[name] for name in order]
    return select(table).where(*wanted).order_by(*sort)


def _key(row: Any) -> dict[str, Any]:
    return {column.name: getattr(row, column.name) for column in TABLES[type(row)].primary_key}


class Slot(NamedTuple):
    """A slot that is dealt to a unit.

    Attributes:
        experiment: The experiment's number.
        epoch: The epoch's number.
        slot: The slot's index.
        unit: The unit's pseudonym.
        arm: The arm's index.
        deadline: When its reward must have come.
    """

    experiment: int
    epoch: int
    slot: int
    unit: bytes
    arm: int
    deadline: float


class Dealt(NamedTuple):
    """The change of a writer's lease when slots are dealt.

    Attributes:
        experiment: The experiment's number.
        epoch: The epoch's number.
        was_next: The first slot that was left before; 0 if there was no lease.
        was_stop: The slot after the last one before; 0 if there was no lease.
        next: The first slot that is left now.
        stop: The slot after the last one now.
        dealt: The number of slots that are dealt.
        dealt_at: The time.
        deadline: The deadline of these slots.
    """

    experiment: int
    epoch: int
    was_next: int
    was_stop: int
    next: int
    stop: int
    dealt: int
    dealt_at: float
    deadline: float


class Database(ABC):
    """A database and its transactions.

    Args:
        engine: SQLAlchemy's engine.
        clock: A clock for tests; by default the database's own.
    """

    WRITES_AT_ONCE = False
    """True if transactions that write do not wait for each other."""

    def __init__(self, engine: Engine, clock: Callable[[], float] | None = None) -> None:
        self.engine = engine
        self._clock = clock
        self._beside: list[Database] = []
        self._latest = 0.0

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open a transaction that may write: all of it is durable at the end, or nothing of it happened."""
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield Transaction(self, connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that reads what was committed at one moment, and never waits for a writer."""
        with self.engine.connect() as connection, connection.begin():
            yield Transaction(self, connection)

    def write(self, work: Callable[[Transaction], _Result]) -> _Result:
        """Do some work in one transaction, from its start again where writers collided.

        Nothing that the work finds out may be shown before this returns.
        """
        for left in reversed(range(_RETRIES)):
            try:
                with self.writing() as transaction:
                    return work(transaction)
            except (DBAPIError, Collision) as error:
                if not left or not (isinstance(error, Collision) or self._collided(error)):
                    raise
                time.sleep(0.01 * (_RETRIES - left))
        raise AssertionError("unreachable")

    def read(self, work: Callable[[Transaction], _Result]) -> _Result:
        """Return what some work finds in what is committed. It never waits for a writer."""
        with self.reading() as transaction:
            return work(transaction)

    def beside(self) -> Database:
        """Return the same database with a few connections of its own: whoever reads for long takes none of these.

        They are closed with these.
        """
        self._beside.append(self._open_beside())
        return self._beside[-1]

    def close(self) -> None:
        """Close all connections."""
        for other in self._beside:
            other.close()
        self.engine.dispose()

    # ------------------------------------------------------------------ dialect

    @property
    def journal_path(self) -> Path | None:
        """The default place of the journal of releases; None if the database has no folder of its own."""
        return None

    def clock(self) -> tuple[str, dict[str, float]]:
        """Return the time in seconds since 1970 as SQL, and the SQL's parameters.

        It never goes back: where the clock jumps back, it stands still until that has caught up, or rewards that were
        late, and keys and sessions that were over, would be good again.
        """
        return ":now", {"now": self.saw(self.raw_clock()[1]["now"])}

    def raw_clock(self) -> tuple[str, dict[str, float]]:
        """Return the time of the clock itself, which may have jumped back, as `clock` does."""
        return ":now", {"now": (self._clock or time.time)()}

    def saw(self, now: float) -> float:
        """Take note of a time, and return the latest one that this process has seen."""
        self._latest = max(self._latest, now)
        return self._latest

    def new_shard(self) -> str:
        """Return the name of a writer's own counters, so that writers do not wait for each other."""
        return secrets.token_hex(4)

    @abstractmethod
    def erase_traces(self) -> bool:
        """Erase deleted rows where they have left traces; False if that must wait for now."""

    @abstractmethod
    def _open_beside(self) -> Database:
        """Return the same database with `FEW` connections."""

    def is_copy(self, transaction: Transaction) -> bool:
        """Return True if the tables are seen to be a copy, as of a dump that was restored."""
        return False

    def settle(self, transaction: Transaction) -> None:
        """Note where the tables are, so that a copy of them is found out."""
        return

    def continue_numbers(self, transaction: Transaction) -> None:
        """Have new rows numbered after those that were copied."""
        return

    @abstractmethod
    def set_room_aside(self, transaction: Transaction, size: int) -> None:
        """Find room on the disk for a transaction before noise is drawn in it.

        A transaction that fails is tried again with other noise, so its success must not depend on what was drawn.

        Args:
            transaction: The transaction.
            size: The number of bytes.
        """

    def driver_sql(self, statement: str) -> str:
        """Return SQL with :names as the driver takes it."""
        return statement

    @abstractmethod
    def lock(self, transaction: Transaction, experiments: Sequence[int], *, shared: bool) -> None:
        """Wait until nobody else changes some experiments.

        Args:
            transaction: The transaction.
            experiments: Their ids, sorted; 0 stands for the whole database.
            shared: True to share the lock with others who share it.
        """

    @abstractmethod
    def each(
        self,
        transaction: Transaction,
        statement: str,
        names: Sequence[str],
        rows: Sequence[Sequence[Any]],
        given: Mapping[str, Any],
    ) -> list[Any]:
        """Run SQL for each of many rows of values, and return the rows of all results.

        Args:
            transaction: The transaction.
            statement: SQL with a table {rows}, which is called `rows` in it, and with :names.
            names: The names of the columns of {rows}.
            rows: Their values.
            given: The parameters that all rows share.
        """

    @abstractmethod
    def for_update(self, *, free: bool = False) -> str:
        """Return the end of a SELECT whose rows nobody else can change before the transaction ends.

        Args:
            free: True to leave out rows that others hold, instead of waiting for them.
        """

    @abstractmethod
    def among(self, column: str) -> str:
        """Return SQL that is true for rows whose column is in the parameter :listed, made by `as_list`."""

    @abstractmethod
    def as_list(self, values: Sequence[int]) -> str:
        """Return whole numbers as one parameter."""

    @abstractmethod
    def deal(self, transaction: Transaction, writer: str, leases: Sequence[Dealt], slots: Sequence[Slot]) -> None:
        """Write assignments, and the leases that their slots come from.

        Args:
            transaction: The transaction.
            writer: The writer of the leases.
            leases: What changes in them, one of each epoch.
            slots: The slots that are dealt.

        Raises:
            Collision: Another writer has taken slots of these leases meanwhile.
        """

    @abstractmethod
    def _collided(self, error: DBAPIError) -> bool:
        """Return True if the error is that writers were in each other's way."""


def failure(error: BaseException) -> str | None:
    """Return the first line of the driver's message; None if the error does not come from the database."""
    return str(error.orig).partition("\n")[0] if isinstance(error, DBAPIError) else None

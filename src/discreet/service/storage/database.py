"""The database, SQLite or PostgreSQL, behind the same methods. All differences between the two are in this module."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, CursorResult, Engine, Executable, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import IntegrityError as DuplicateError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft
from sqlalchemy.pool import QueuePool

from discreet.core.errors import ArgumentError

__all__ = ["UNAVAILABLE", "Database", "DuplicateError", "PostgreSQL", "SQLite", "Transaction", "open_database"]

UNAVAILABLE = (OperationalError, InterfaceError, NoConnectionLeft)
"""Errors of a database that is gone, full, or has no connection left. It may be back in a moment."""
_LOCK_SECONDS = 30.0  # that a writer waits for another one
_RETRIES = 8
_IDLE = 1.0  # seconds after which a connection is tested before it is used
_ADVISORY = 1684632419  # the first key of our advisory locks in PostgreSQL
_UPDATE_DEALT = """UPDATE epoch SET dealt = :dealt, full_at = :full_at, due_at = :due_at
    WHERE experiment = :experiment AND number = :epoch"""
_Result = TypeVar("_Result")


class Transaction:
    """An open transaction of a database.

    Args:
        database: The database, which knows its dialect.
        connection: The connection that the transaction runs on.
    """

    __slots__ = ("connection", "database")

    def __init__(self, database: Database, connection: Connection) -> None:
        self.database, self.connection = database, connection

    def execute(self, statement: Executable, given: Any = None) -> CursorResult[Any]:
        """Run a statement of SQLAlchemy.

        Args:
            statement: The statement.
            given: Its parameters, or a list of them for one row each.
        """
        return self.connection.execute(statement, given)

    def fetch(self, query: Executable) -> list[tuple[Any, ...]]:
        """Return the rows of a query of SQLAlchemy."""
        return [tuple(row) for row in self.connection.execute(query)]

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

    def now(self) -> float:
        """Return the time in seconds since 1970, by the clock that all workers share."""
        clock, given = self.database.clock()
        return float(self.run(f"SELECT {clock}", given)[0][0])

    def lock(self, experiment: int, *, shared: bool = False) -> None:
        """Wait until nobody else changes an experiment.

        Args:
            experiment: Its id; 0 stands for the whole database.
            shared: True to share the lock with others who share it, as reports of rewards do.
        """
        self.database.lock(self, experiment, shared=shared)


class Slot(NamedTuple):
    """A slot of an epoch that is dealt to a unit.

    Attributes:
        slot: The slot's index.
        unit: The unit's pseudonym.
        arm: The arm's index.
    """

    slot: int
    unit: str
    arm: int


class Database(ABC):
    """A database and its transactions.

    Args:
        engine: SQLAlchemy's engine.
        clock: A clock for tests; by default the database's own.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] | None = None) -> None:
        self.engine = engine
        self._clock = clock

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open a transaction that may write: all of it is durable at the end, or nothing of it happened."""
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield Transaction(self, connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that reads what is committed, and never waits for a writer."""
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
            except DBAPIError as error:
                if not left or not self._collided(error):
                    raise
                time.sleep(0.01 * (_RETRIES - left))
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    # ------------------------------------------------------------------ dialect

    @property
    def journal_path(self) -> Path | None:
        """The default place of the journal of releases; None if the database has no folder of its own."""
        return None

    def clock(self) -> tuple[str, dict[str, float]]:
        """Return the time in seconds since 1970 as SQL, and the SQL's parameters."""
        return ":now", {"now": (self._clock or time.time)()}

    def new_shard(self) -> str:
        """Return the name of a writer's own counters, so that writers do not wait for each other."""
        return secrets.token_hex(4)

    def erase_log(self) -> bool:
        """Erase deleted rows from the log beside the data; False if a reader prevented it for now."""
        return True

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
    def lock(self, transaction: Transaction, experiment: int, *, shared: bool) -> None:
        """Wait until nobody else changes an experiment.

        Args:
            transaction: The transaction.
            experiment: Its id; 0 stands for the whole database.
            shared: True to share the lock with others who share it.
        """

    @abstractmethod
    def select_for_update(self, transaction: Transaction, statement: str, given: Mapping[str, Any]) -> Sequence[Any]:
        """Return rows that nobody else can change before the transaction ends.

        Args:
            transaction: The transaction.
            statement: A SELECT with :names.
            given: The parameters.
        """

    @abstractmethod
    def among(self, column: str) -> str:
        """Return SQL that is true for rows whose column is in the parameter :listed, made by `as_list`."""

    @abstractmethod
    def as_list(self, values: Sequence[Any]) -> Any:
        """Return a list as one parameter."""

    @abstractmethod
    def deal(self, transaction: Transaction, epoch: Mapping[str, Any], slots: Sequence[Slot]) -> None:
        """Write assignments, and the progress of their epoch.

        Args:
            transaction: The transaction.
            epoch: `experiment`, `epoch`, `deadline`, and the new values of `dealt`, `full_at` and `due_at`.
            slots: The slots that are dealt.
        """

    @abstractmethod
    def _collided(self, error: DBAPIError) -> bool:
        """Return True if the error is that writers were in each other's way."""


class SQLite(Database):
    """One file, in write-ahead mode. A commit is on the disk before it returns (synchronous=FULL).

    Args:
        path: The file; it is created if it does not exist.
        clock: A clock for tests.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], float] | None = None) -> None:
        self.path = Path(path)
        _create_private(self.path)
        engine = create_engine(
            f"sqlite+pysqlite:///{self.path}",
            connect_args={"timeout": _LOCK_SECONDS, "check_same_thread": False},
            poolclass=QueuePool,
            hide_parameters=True,  # an error that quotes them would quote rewards
        )
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        super().__init__(engine, clock)

    @property
    def journal_path(self) -> Path | None:
        """A file beside the database."""
        return Path(f"{self.path}.releases")

    def new_shard(self) -> str:
        """Return the one shard: writers wait for each other anyway."""
        return "-"

    def erase_log(self) -> bool:
        """Truncate the write-ahead log.

        It does not wait for long: until a reader has left, nobody else could write.
        """
        with self.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout=100")
            try:
                busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={_LOCK_SECONDS * 1000:.0f}")
        return not busy

    def set_room_aside(self, transaction: Transaction, size: int) -> None:
        """Write a row of this size and delete it. Its pages stay in the transaction, since they are written over.

        Args:
            transaction: The transaction.
            size: The number of bytes.
        """
        transaction.run("INSERT INTO setting (name, value) VALUES ('room', :room)", {"room": "." * size})
        transaction.run("DELETE FROM setting WHERE name = 'room'", {})

    def lock(self, transaction: Transaction, experiment: int, *, shared: bool) -> None:
        """Do nothing: a transaction that may write has locked the whole file.

        Args:
            transaction: The transaction.
            experiment: Not used.
            shared: Not used.
        """

    def select_for_update(self, transaction: Transaction, statement: str, given: Mapping[str, Any]) -> Sequence[Any]:
        """Select: a transaction that may write has locked the whole file.

        Args:
            transaction: The transaction.
            statement: A SELECT with :names.
            given: The parameters.
        """
        return transaction.run(statement, given)

    def among(self, column: str) -> str:
        """Return a test of membership in a JSON array."""
        return f"{column} IN (SELECT value FROM json_each(:listed))"

    def as_list(self, values: Sequence[Any]) -> Any:
        """Return a JSON array."""
        return json.dumps(list(values))

    def deal(self, transaction: Transaction, epoch: Mapping[str, Any], slots: Sequence[Slot]) -> None:
        """Run one prepared statement for many rows.

        Args:
            transaction: The transaction.
            epoch: The epoch's columns, as in `Database.deal`.
            slots: The slots that are dealt.
        """
        transaction.run(_UPDATE_DEALT, epoch)
        same = tuple(epoch[name] for name in ("experiment", "epoch", "deadline"))
        transaction.run(
            "INSERT INTO assignment (experiment, epoch, deadline, slot, unit, arm, told) VALUES (?, ?, ?, ?, ?, ?, 0)",
            [same + slot for slot in slots],
        )

    def _collided(self, error: DBAPIError) -> bool:
        return isinstance(error, OperationalError) and "locked" in str(error)


class PostgreSQL(Database):
    """A server that many workers on many machines share.

    Args:
        url: Its address, as postgresql://user@host/name.
        clock: A clock for tests.
    """

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        address = make_url(url).set(drivername="postgresql+psycopg")
        engine = create_engine(
            address,
            isolation_level="READ COMMITTED",  # whoever has waited for a lock must see what was done under it
            pool_size=8,
            max_overflow=8,
            hide_parameters=True,
        )
        event.listen(engine, "connect", _set_up_postgresql)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", partial(_test_if_idle, engine))
        super().__init__(engine, clock)

    def clock(self) -> tuple[str, dict[str, float]]:
        """Return the server's clock, which is the same for all workers."""
        if self._clock is not None:
            return super().clock()
        return "CAST(extract(epoch FROM clock_timestamp()) AS float8)", {}

    def set_room_aside(self, transaction: Transaction, size: int) -> None:
        """Do nothing: the server's log is in segments of a fixed size, which it makes ahead.

        Args:
            transaction: The transaction.
            size: The number of bytes.
        """

    def driver_sql(self, statement: str) -> str:
        """Return SQL with the names as psycopg takes them."""
        return _as_psycopg(statement)

    def lock(self, transaction: Transaction, experiment: int, *, shared: bool) -> None:
        """Take an advisory lock that ends with the transaction.

        Args:
            transaction: The transaction.
            experiment: Its id; 0 stands for the whole database.
            shared: True to share the lock with others who share it.
        """
        name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        transaction.run(f"SELECT {name}({_ADVISORY}, :experiment)", {"experiment": experiment})

    def select_for_update(self, transaction: Transaction, statement: str, given: Mapping[str, Any]) -> Sequence[Any]:
        """Select with row locks.

        A statement that has waited for a lock does not see rows that were inserted meanwhile, so it is run again where
        it found nothing.

        Args:
            transaction: The transaction.
            statement: A SELECT with :names.
            given: The parameters.
        """
        locking = f"{statement} FOR UPDATE"
        return transaction.run(locking, given) or transaction.run(locking, given)

    def among(self, column: str) -> str:
        """Return a test of membership in an array."""
        return f"{column} = ANY(:listed)"

    def as_list(self, values: Sequence[Any]) -> Any:
        """Return an array."""
        return list(values)

    def deal(self, transaction: Transaction, epoch: Mapping[str, Any], slots: Sequence[Slot]) -> None:
        """Pass columns as arrays in one statement: each statement is a way to the server and back.

        Args:
            transaction: The transaction.
            epoch: The epoch's columns, as in `Database.deal`.
            slots: The slots that are dealt.
        """
        indexes, units, arms = map(list, zip(*slots, strict=True))
        transaction.run(
            f"WITH counted AS ({_UPDATE_DEALT}) "
            "INSERT INTO assignment (experiment, epoch, deadline, slot, unit, arm, told) "
            "SELECT :experiment, :epoch, :deadline, new.slot, new.unit, new.arm, 0 "
            "FROM unnest(CAST(:slots AS bigint[]), CAST(:units AS text[]), CAST(:arms AS smallint[])) "
            "AS new (slot, unit, arm)",
            {**epoch, "slots": indexes, "units": units, "arms": arms},
        )

    def _collided(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlstate", None) in {"40001", "40P01", "55P03"}


def open_database(address: str | os.PathLike[str], clock: Callable[[], float] | None = None) -> Database:
    """Open the database at an address.

    Args:
        address: `postgresql://...`, or the path of an SQLite file.
        clock: A clock for tests.

    Raises:
        ArgumentError: There is no database of this kind, or the address cannot be read.
    """
    where = os.fspath(address)
    if "://" not in where:
        return SQLite(where, clock)
    scheme, _, rest = where.partition("://")
    if scheme == "sqlite":
        return SQLite(rest.removeprefix("/") or where, clock)
    if scheme in {"postgresql", "postgres", "postgresql+psycopg"}:
        try:
            return PostgreSQL(f"postgresql://{rest}", clock)
        except (UrlError, ValueError, NoSuchModuleError) as error:
            raise ArgumentError(f"database must be an address such as postgresql://user@host/name: {error}") from None
    raise ArgumentError(f"database must be a file or start with postgresql://, got {scheme}://...")


def failure(error: BaseException) -> str | None:
    """Return the first line of the driver's message; None if the error does not come from the database."""
    return str(error.orig).partition("\n")[0] if isinstance(error, DBAPIError) else None


def _create_private(path: Path) -> None:
    """Create a file that only its owner can read, and no folder: a wrong one is an error."""
    if not path.parent.is_dir():
        raise ArgumentError(f"the folder of {str(path)!r} does not exist; create it first")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _set_up_postgresql(connection: Any, _: Any) -> None:
    """Set what must hold however the server is configured.

    Rows are found by their keys, planned anew each time: a plan that was made while a table was small would read all
    of it, or all of the wrong index, for ever after. And a commit is on the disk before it returns: a release that was
    seen and then lost would be drawn again.
    """
    connection.execute("SET enable_seqscan = off")
    connection.execute("SET plan_cache_mode = force_custom_plan")
    lasting = "SELECT set_config('synchronous_commit', 'on', false)"
    connection.execute(f"{lasting} WHERE current_setting('synchronous_commit') IN ('off', 'local')")
    connection.commit()


def _note_use(_: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _test_if_idle(engine: Engine, connection: Any, record: Any, _: Any) -> None:
    """Replace a connection that died while it was idle, before a request meets it."""
    if time.monotonic() - record.info.get("used", -math.inf) < _IDLE:
        return
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error:
        raise DisconnectionError from None


@lru_cache(maxsize=256)
def _as_psycopg(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", statement)


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at once where there will be writes, so that nobody comes between reading and writing."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

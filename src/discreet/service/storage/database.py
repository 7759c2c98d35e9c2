"""Where it is kept: one SQLite file, or one PostgreSQL, behind the same few methods.

What differs between the two is here, and nowhere else.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft
from sqlalchemy.pool import QueuePool

from discreet.core.errors import ArgumentError

PATIENCE = 30.0  # seconds that a writer waits for another one
AWAY = (OperationalError, InterfaceError, NoConnectionLeft)
"""What is raised where the database is gone, full, or has no connection left: it may be back in a moment."""
_RETRIES = 8
_IDLE = 1.0  # seconds after which a connection is tried before it is used
_DEALT = """UPDATE epoch SET dealt = :dealt, full_at = :full_at, ripe_at = :ripe_at
    WHERE experiment = :experiment AND number = :epoch"""


class Store(ABC):
    """A database and its transactions."""

    sqlite: bool

    def __init__(self, engine: Engine, clock: Callable[[], float] | None = None) -> None:
        self.engine = engine
        self._clock = clock

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write: all of it is there at the end, for good, or nothing is."""
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees what is committed, and never waits for a writer."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    def write(self, work: Callable[[Connection], Any]) -> Any:
        """Do some work in one transaction; again, from its start, where writers were in each other's way.

        Nothing that the work finds out may be shown before this returns.
        """
        for left in reversed(range(_RETRIES)):
            try:
                with self.writing() as connection:
                    return work(connection)
            except DBAPIError as error:
                if not left or not self._collided(error):
                    raise
                time.sleep(0.01 * (_RETRIES - left))
        raise AssertionError("unreachable")

    @abstractmethod
    def _collided(self, error: DBAPIError) -> bool:
        """Whether writers were in each other's way."""

    def clock(self) -> tuple[str, dict[str, float]]:
        """Seconds since 1970, by the one clock that all workers share: as SQL, and its parameter if it has one."""
        return ":now", {"now": (self._clock or time.time)()}

    def now(self, connection: Connection) -> float:
        """The same as a number."""
        written, given = self.clock()
        return float(self.run(connection, f"SELECT {written}", given)[0][0])

    @abstractmethod
    def lock(self, connection: Connection, experiment: int, *, shared: bool = False) -> None:
        """Wait until nobody else changes this experiment; many may share it to report."""

    def run(self, connection: Connection, statement: str, given: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        """A statement with :names, past SQLAlchemy's compiler, which takes longer than the hot path's statements do."""
        result = connection.exec_driver_sql(self._written(statement), given)
        return result.fetchall() if result.returns_rows else ()

    def _written(self, statement: str) -> str:
        """A statement as the driver has it."""
        return statement

    @abstractmethod
    def among(self, column: str) -> str:
        """SQL that is true for rows whose column is in the parameter :listed, which is `listed(...)`."""

    @abstractmethod
    def listed(self, values: Sequence[Any]) -> Any:
        """A list as a parameter."""

    @abstractmethod
    def deal(self, connection: Connection, epoch: Mapping[str, Any], rows: list[tuple[int, str, int]]) -> None:
        """Write down assignments, as (slot, unit, arm), and how far their `epoch` is with them."""

    for_update = ""
    """What makes a SELECT hold its rows until the end of the transaction."""

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


class SQLiteStore(Store):
    """One file, in write-ahead mode. A commit is on the disk before it returns (synchronous=FULL)."""

    sqlite = True

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], float] | None = None) -> None:
        self.path = Path(path)
        _make_private(self.path)
        engine = create_engine(
            f"sqlite+pysqlite:///{self.path}",
            connect_args={"timeout": PATIENCE, "check_same_thread": False},
            poolclass=QueuePool,
            hide_parameters=True,  # an error that quotes them would quote rewards
        )
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        super().__init__(engine, clock)

    def _collided(self, error: DBAPIError) -> bool:
        return isinstance(error, OperationalError) and "locked" in str(error)

    def lock(self, connection: Connection, experiment: int, *, shared: bool = False) -> None:
        """A transaction that may write has the whole file."""

    def among(self, column: str) -> str:
        """Membership in a JSON array."""
        return f"{column} IN (SELECT value FROM json_each(:listed))"

    def listed(self, values: Sequence[Any]) -> Any:
        """A JSON array."""
        return json.dumps(list(values))

    def deal(self, connection: Connection, epoch: Mapping[str, Any], rows: list[tuple[int, str, int]]) -> None:
        """One prepared statement, many rows."""
        self.run(connection, _DEALT, epoch)
        same = tuple(epoch[name] for name in ("experiment", "epoch", "deadline"))
        connection.exec_driver_sql(
            "INSERT INTO assignment (experiment, epoch, deadline, slot, unit, arm, told) VALUES (?, ?, ?, ?, ?, ?, 0)",
            [same + row for row in rows],
        )

    def forget(self) -> bool:
        """Write deleted sums over in the log that is kept beside the file, too; False if somebody was in the way.

        It does not wait for long: until a reader has left, nobody else could write.
        """
        with self.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout=100")
            try:
                busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one()
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={PATIENCE * 1000:.0f}")
        return not busy


class PostgresStore(Store):
    """A server that many workers on many machines share."""

    sqlite = False
    for_update = " FOR UPDATE"

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        address = make_url(url).set(drivername="postgresql+psycopg")
        engine = create_engine(
            address,
            isolation_level="READ COMMITTED",  # whoever has waited for a lock must see what was done under it
            pool_size=8,
            max_overflow=8,
            hide_parameters=True,
        )
        event.listen(engine, "connect", _set_up_postgres)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", partial(_try_if_idle, engine))
        super().__init__(engine, clock)

    def clock(self) -> tuple[str, dict[str, float]]:
        """The server's clock, which is the same for all workers."""
        if self._clock is not None:
            return super().clock()
        return "CAST(extract(epoch FROM clock_timestamp()) AS float8)", {}

    def _collided(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlstate", None) in {"40001", "40P01", "55P03"}

    def lock(self, connection: Connection, experiment: int, *, shared: bool = False) -> None:
        """A lock of the transaction; the first number says whose locks these are."""
        name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        self.run(connection, f"SELECT {name}(1684632419, :experiment)", {"experiment": experiment})

    def _written(self, statement: str) -> str:
        """With the names as psycopg has them."""
        return _as_psycopg(statement)

    def among(self, column: str) -> str:
        """Membership in an array."""
        return f"{column} = ANY(:listed)"

    def listed(self, values: Sequence[Any]) -> Any:
        """An array."""
        return list(values)

    def deal(self, connection: Connection, epoch: Mapping[str, Any], rows: list[tuple[int, str, int]]) -> None:
        """Columns as arrays, and all in one statement: each one is a way to the server and back."""
        slots, units, arms = map(list, zip(*rows, strict=True))
        self.run(
            connection,
            f"WITH counted AS ({_DEALT}) "
            "INSERT INTO assignment (experiment, epoch, deadline, slot, unit, arm, told) "
            "SELECT :experiment, :epoch, :deadline, new.slot, new.unit, new.arm, 0 "
            "FROM unnest(CAST(:slots AS bigint[]), CAST(:units AS text[]), CAST(:arms AS smallint[])) "
            "AS new (slot, unit, arm)",
            {**epoch, "slots": slots, "units": units, "arms": arms},
        )


def open_store(database: str | os.PathLike[str], clock: Callable[[], float] | None = None) -> Store:
    """The store at an address: `postgresql://...`, or the path of an SQLite file."""
    where = os.fspath(database)
    if "://" not in where:
        return SQLiteStore(where, clock)
    scheme, _, rest = where.partition("://")
    if scheme == "sqlite":
        return SQLiteStore(rest.removeprefix("/") or where, clock)
    if scheme in {"postgresql", "postgres", "postgresql+psycopg"}:
        try:
            return PostgresStore(f"postgresql://{rest}", clock)
        except (UrlError, ValueError, NoSuchModuleError) as error:
            raise ArgumentError(f"database must be an address such as postgresql://user@host/name: {error}") from None
    raise ArgumentError(f"database must be a file or start with postgresql://, got {scheme}://...")


def _make_private(path: Path) -> None:
    """Create a file that only its owner can read, and nothing else: a wrong folder is an error."""
    if not path.parent.is_dir():
        raise ArgumentError(f"the folder of {str(path)!r} does not exist; create it first")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _set_up_postgres(connection: Any, _: Any) -> None:
    """What must hold however the server is set up.

    Find rows by their keys, and look each time how: a plan that was made while a table was small would read all of it,
    or all of the wrong index, for ever after. And a commit is on the disk before it returns: a release that was seen
    and then lost would be drawn again.
    """
    connection.execute("SET enable_seqscan = off")
    connection.execute("SET plan_cache_mode = force_custom_plan")
    lasting = "SELECT set_config('synchronous_commit', 'on', false)"
    connection.execute(f"{lasting} WHERE current_setting('synchronous_commit') IN ('off', 'local')")
    connection.commit()


def _note_use(_: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _try_if_idle(engine: Engine, connection: Any, record: Any, _: Any) -> None:
    """A connection that has long been idle may be dead: it is replaced before anybody is told so."""
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
    """Take the write lock at once where there will be writes: nobody can come between reading and writing then."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

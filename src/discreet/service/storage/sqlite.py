"""SQLite: one file, for one process."""

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import QueuePool

from discreet.core.errors import ArgumentError
from discreet.service.storage.database import FEW, Database, Dealt, Slot, Transaction

_LOCK_SECONDS = 30.0  # that a writer waits for another one
_LOG_PAGES = 4_000  # of the write-ahead log (16 MB) after which they are copied: a writer waits twice for the disk then


class SQLite(Database):
    """One file, in write-ahead mode. A commit is on the disk before it returns (synchronous=FULL).

    Args:
        path: The file; it is created if it does not exist.
        clock: A clock for tests.
        turn: The lock that writers of this process wait for; by default a new one.
        **pool: Options of SQLAlchemy's pool of connections.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Callable[[], float] | None = None,
        turn: AbstractContextManager[Any] | None = None,
        **pool: Any,
    ) -> None:
        self.path = Path(path)
        _create_private(self.path)
        engine = create_engine(
            f"sqlite+pysqlite:///{self.path}",
            connect_args={"timeout": _LOCK_SECONDS, "check_same_thread": False},
            poolclass=QueuePool,
            **pool,
            hide_parameters=True,  # an error that quotes them would quote rewards
        )
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        super().__init__(engine, clock)
        self._turn = turn or threading.Lock()

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open a transaction that may write. Threads wait for each other here: SQLite would have them try and sleep."""
        with self._turn, super().writing() as transaction:
            yield transaction

    @property
    def journal_path(self) -> Path | None:
        """A file beside the database."""
        return Path(f"{self.path}.releases")

    def _open_beside(self) -> Database:
        return SQLite(self.path, self._clock, self._turn, pool_size=FEW, max_overflow=0)

    def new_shard(self) -> str:
        """Return the one shard: writers wait for each other anyway."""
        return "-"

    def erase_traces(self) -> bool:
        """Truncate the write-ahead log. Deleted rows of the file itself were overwritten with zeros (secure_delete).

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

    def lock(self, transaction: Transaction, experiments: Sequence[int], *, shared: bool) -> None:
        """Do nothing: a transaction that may write has locked the whole file.

        Args:
            transaction: The transaction.
            experiments: Not used.
            shared: Not used.
        """

    def each(
        self,
        transaction: Transaction,
        statement: str,
        names: Sequence[str],
        rows: Sequence[Sequence[Any]],
        given: Mapping[str, Any],
    ) -> list[Any]:
        """Run the statement once for all rows: numbers as JSON, and columns of bytes, which JSON has not, end to end.

        Args:
            transaction: The transaction.
            statement: SQL with a table {rows}, and with :names.
            names: The names of the columns of {rows}.
            rows: Their values. Those of a column of bytes are equally long.
            given: The parameters that all rows share.
        """
        sizes = tuple(len(value) if isinstance(value, bytes) else 0 for value in rows[0])
        columns = list(zip(*rows, strict=True))
        numbers = [column for column, size in zip(columns, sizes, strict=True) if not size]
        in_bytes = {}
        for name, column, size in zip(names, columns, sizes, strict=True):
            if size:
                if set(map(len, column)) != {size}:
                    raise ArgumentError(f"all values of {name} must have {size} bytes, as the first one has")
                in_bytes[f"all_{name}"] = b"".join(column)
        as_json = json.dumps(list(zip(range(len(rows)), *numbers, strict=True)))
        sql = _with_rows(statement, tuple(names), sizes)
        return list(transaction.run(sql, {**given, **in_bytes, "all_rows": as_json}))

    def for_update(self, *, free: bool = False) -> str:
        """Return nothing: a transaction that may write has locked the whole file.

        Args:
            free: Not used.
        """
        return ""

    def among(self, column: str) -> str:
        """Return a test of membership in a JSON array."""
        return f"{column} IN (SELECT value FROM json_each(:listed))"

    def as_list(self, values: Sequence[int]) -> str:
        """Return a JSON array."""
        return json.dumps(list(values))

    def deal(self, transaction: Transaction, writer: str, leases: Sequence[Dealt], slots: Sequence[Slot]) -> None:
        """Run prepared statements for many rows.

        Args:
            transaction: The transaction.
            writer: The writer of the leases.
            leases: What changes in them.
            slots: The slots that are dealt.
        """
        transaction.run(
            "UPDATE lease SET next = ?, stop = ?, dealt = dealt + ?, dealt_at = ?, deadline = ? "
            "WHERE experiment = ? AND epoch = ? AND writer = ?",
            [(*one[4:], *one[:2], writer) for one in leases],
        )
        transaction.run("INSERT INTO assignment VALUES (?, ?, ?, ?, ?, ?, 0)", list(slots))
        units = sorted((one.experiment, one.epoch, one.unit, one.slot) for one in slots)
        transaction.run("INSERT INTO unit_slot VALUES (?, ?, ?, ?)", units)

    def _collided(self, error: DBAPIError) -> bool:
        return isinstance(error, OperationalError) and "locked" in str(error)


@lru_cache(maxsize=64)
def _with_rows(statement: str, names: tuple[str, ...], sizes: tuple[int, ...]) -> str:
    """Return a statement with its table of rows; `sizes` are the bytes of each column's values, 0 for numbers."""
    place, columns = itertools.count(1), []
    for name, size in zip(names, sizes, strict=True):
        value = f"substr(:all_{name}, key * {size} + 1, {size})" if size else f"value ->> {next(place)}"
        columns.append(f"{value} AS {name}")
    return statement.format(rows=f"(SELECT {', '.join(columns)} FROM json_each(:all_rows)) AS rows")


def _create_private(path: Path) -> None:
    """Create a file that only its owner can read, and no folder: a wrong one is an error."""
    if not path.parent.is_dir():
        raise ArgumentError(f"the folder of {str(path)!r} does not exist; create it first")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at once where there will be writes, so that nobody comes between reading and writing."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

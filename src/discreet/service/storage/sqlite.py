"""SQLite: one file, for one process."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import QueuePool

from discreet.core.errors import ArgumentError
from discreet.service.storage.database import FEW, UPDATE_DEALT, Database, Slot, Transaction

_LOCK_SECONDS = 30.0  # that a writer waits for another one


class SQLite(Database):
    """One file, in write-ahead mode. A commit is on the disk before it returns (synchronous=FULL).

    Args:
        path: The file; it is created if it does not exist.
        clock: A clock for tests.
        **pool: Options of SQLAlchemy's pool of connections.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], float] | None = None, **pool: Any) -> None:
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

    @property
    def journal_path(self) -> Path | None:
        """A file beside the database."""
        return Path(f"{self.path}.releases")

    def _open_beside(self) -> Database:
        return SQLite(self.path, self._clock, pool_size=FEW, max_overflow=0)

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
        transaction.run(UPDATE_DEALT, epoch)
        same = tuple(epoch[name] for name in ("experiment", "epoch", "deadline"))
        transaction.run(
            "INSERT INTO assignment (experiment, epoch, deadline, slot, unit, arm, told) VALUES (?, ?, ?, ?, ?, ?, 0)",
            [same + slot for slot in slots],
        )

    def _collided(self, error: DBAPIError) -> bool:
        return isinstance(error, OperationalError) and "locked" in str(error)


def _create_private(path: Path) -> None:
    """Create a file that only its owner can read, and no folder: a wrong one is an error."""
    if not path.parent.is_dir():
        raise ArgumentError(f"the folder of {str(path)!r} does not exist; create it first")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at once where there will be writes, so that nobody comes between reading and writing."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

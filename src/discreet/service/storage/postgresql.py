"""PostgreSQL: a server that many workers share."""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError

from discreet.service.storage.database import UPDATE_DEALT, Database, Slot, Transaction

_IDLE = 1.0  # seconds after which a connection is tested before it is used
_CLOCK = "CAST(extract(epoch FROM clock_timestamp()) AS float8)"
_NOTE = {"name": "place of the tables"}
_PLACE = """SELECT (SELECT system_identifier FROM pg_control_system()),
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    (SELECT oid FROM pg_database WHERE datname = current_database())"""
_ADVISORY = 1684632419  # the first key of our advisory locks


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
        """Return the server's clock, which is the same for all workers, and never goes back."""
        if self._clock is not None:
            return super().clock()
        return f"GREATEST({_CLOCK}, :latest)", {"latest": self._latest}

    def raw_clock(self) -> tuple[str, dict[str, float]]:
        """Return the server's clock as it is."""
        return super().raw_clock() if self._clock is not None else (_CLOCK, {})

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Open a transaction that reads what one moment saw, however long it takes."""
        connected = self.engine.connect().execution_options(isolation_level="REPEATABLE READ")
        with connected as connection, connection.begin():
            yield Transaction(self, connection)

    def is_copy(self, transaction: Transaction) -> bool:
        """Compare where the tables are with where they were.

        The note names the server, its timeline, the database and the transaction that wrote the note. A dump that is
        restored is written by another transaction, and mostly elsewhere; a restore to a point in time, or a standby
        that takes over, begins a timeline.
        """
        noted = transaction.run(
            "SELECT value, CAST(CAST(xmin AS text) AS bigint) FROM setting WHERE name = :name", _NOTE
        )
        if not noted:
            return True
        ((value, writer),) = noted
        place, _, transaction_id = value.rpartition(" ")
        return bool(place != self._place(transaction) or int(transaction_id) % 2**32 != writer)

    def settle(self, transaction: Transaction) -> None:
        """Note the server, its timeline, the database and this transaction."""
        transaction.run("DELETE FROM setting WHERE name = :name", _NOTE)
        given = {**_NOTE, "place": self._place(transaction)}
        transaction.run("INSERT INTO setting VALUES (:name, :place || ' ' || CAST(txid_current() AS text))", given)

    def _place(self, transaction: Transaction) -> str:
        return " ".join(str(part) for part in transaction.run(_PLACE, {})[0])

    def continue_numbers(self, transaction: Transaction) -> None:
        """Set the sequence of experiments."""
        sequence = "pg_get_serial_sequence('experiment', 'id')"
        transaction.run(f"SELECT setval({sequence}, max(id)) FROM experiment HAVING max(id) > 0", {})

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
            f"WITH counted AS ({UPDATE_DEALT}) "
            "INSERT INTO assignment (experiment, epoch, deadline, slot, unit, arm, told) "
            "SELECT :experiment, :epoch, :deadline, new.slot, new.unit, new.arm, 0 "
            "FROM unnest(CAST(:slots AS bigint[]), CAST(:units AS text[]), CAST(:arms AS smallint[])) "
            "AS new (slot, unit, arm)",
            {**epoch, "slots": indexes, "units": units, "arms": arms},
        )

    def _collided(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlstate", None) in {"40001", "40P01", "55P03"}


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

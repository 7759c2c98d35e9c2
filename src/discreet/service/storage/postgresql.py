"""PostgreSQL: a server that many workers share."""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, get_type_hints

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError

from discreet.service.storage.database import FEW, Collision, Database, Dealt, Slot, Transaction

_IDLE = 1.0  # seconds after which a connection is tested before it is used
_BETWEEN_VACUUMS = 60.0  # seconds
_CLOCK = "CAST(extract(epoch FROM clock_timestamp()) AS float8)"
_NOTE = {"name": "place of the tables"}
_PLACE = """SELECT (SELECT system_identifier FROM pg_control_system()),
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    (SELECT oid FROM pg_database WHERE datname = current_database())"""
_ADVISORY = 1684632419  # the first key of our advisory locks
_DEALT_ONCE = {"assignment_pkey", "unit_slot_pkey", "participant_pkey", "lease_pkey"}
_SLOT, _LEASE = tuple(get_type_hints(Slot)), tuple(get_type_hints(Dealt))
_LEASE_TYPES = dict.fromkeys(_LEASE[2:-2], "bigint") | dict.fromkeys(_LEASE[-2:], "float8")
_TYPES = dict.fromkeys(("slot", "generation", "told", "total"), "bigint")
_TYPES |= {"unit": "bytea", "arm": "smallint", "deadline": "float8"}


def _rows(names: Sequence[str], prefix: str = "all", types: Mapping[str, str] = _TYPES) -> str:
    """Return a table of arrays as SQL."""
    arrays = ", ".join(f"CAST(:{prefix}_{name} AS {types.get(name, 'int')}[])" for name in names)
    return f"unnest({arrays}) AS rows ({', '.join(names)})"


def _columns(prefix: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Return the parameters of `_rows`."""
    return {f"{prefix}_{name}": _array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _array(values: Sequence[Any]) -> str:
    """Return numbers or bytes as an array's text, which takes a tenth of the time that psycopg takes for a list."""
    in_bytes = bool(values) and isinstance(values[0], bytes)
    return "{" + ",".join([f'"\\\\x{one.hex()}"' for one in values] if in_bytes else map(repr, values)) + "}"


# Units are inserted in one order by all writers, so that these cannot block each other.
_DEAL = f"""WITH dealt AS (SELECT * FROM {_rows(_SLOT)}),
    units AS (INSERT INTO unit_slot SELECT experiment, epoch, unit, slot FROM dealt ORDER BY experiment, epoch, unit),
    slots AS (INSERT INTO assignment SELECT experiment, epoch, slot, unit, arm, deadline, 0 FROM dealt),
    leased AS (
        UPDATE lease SET next = rows.next, stop = rows.stop, dealt = lease.dealt + rows.dealt,
            dealt_at = rows.dealt_at, deadline = rows.deadline
        FROM {_rows(_LEASE, "lease", _LEASE_TYPES)}
        WHERE lease.experiment = rows.experiment AND lease.epoch = rows.epoch AND lease.writer = :writer
            AND lease.next = rows.was_next AND lease.stop = rows.was_stop
        RETURNING 1
    )
    SELECT count(*) FROM leased"""


class PostgreSQL(Database):
    """A server that many workers on many machines share.

    Args:
        url: Its address, as postgresql://user@host/name.
        clock: A clock for tests.
        **pool: Options of SQLAlchemy's pool of connections.
    """

    WRITES_AT_ONCE = True

    def __init__(self, url: str | URL, clock: Callable[[], float] | None = None, **pool: Any) -> None:
        address = make_url(url).set(drivername="postgresql+psycopg")
        engine = create_engine(
            address,
            isolation_level="READ COMMITTED",  # whoever has waited for a lock must see what was done under it
            hide_parameters=True,
            pool_use_lifo=True,  # few connections with warm caches, not all in turn
            **{"pool_size": 8, "max_overflow": 8, **pool},
        )
        event.listen(engine, "connect", _set_up_postgresql)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", partial(_test_if_idle, engine))
        super().__init__(engine, clock)
        self._vacuumed = -math.inf

    def _open_beside(self) -> Database:
        return PostgreSQL(self.engine.url, self._clock, pool_size=FEW, max_overflow=0)

    def clock(self) -> tuple[str, dict[str, float]]:
        """Return the server's clock, which is the same for all workers, and never goes back."""
        if self._clock is not None:
            return super().clock()
        return f"GREATEST({_CLOCK}, :latest)", {"latest": self._latest}

    def raw_clock(self) -> tuple[str, dict[str, float]]:
        """Return the server's clock as it is."""
        return super().raw_clock() if self._clock is not None else (_CLOCK, {})

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction whose statements all read what was committed at one moment.

        Else an epoch that closes between two statements would be shown open, and without its progress.
        """
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

    def erase_traces(self) -> bool:
        """Have the server remove deleted rows from its tables and indexes, at most once a minute.

        It would do so by itself, but at some time later. Traffic does not wait for it.
        """
        if time.monotonic() - self._vacuumed < _BETWEEN_VACUUMS:
            return False
        self._vacuumed = time.monotonic()
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql(
                "VACUUM (INDEX_CLEANUP ON) assignment, unit_slot, counter, tested_unit, test_mode"
            )
        return True

    def set_room_aside(self, transaction: Transaction, size: int) -> None:
        """Do nothing: the server's log is in segments of a fixed size, which it makes ahead.

        Args:
            transaction: The transaction.
            size: The number of bytes.
        """

    def driver_sql(self, statement: str) -> str:
        """Return SQL with the names as psycopg takes them."""
        return _as_psycopg(statement)

    def lock(self, transaction: Transaction, experiments: Sequence[int], *, shared: bool) -> None:
        """Take advisory locks that end with the transaction.

        Args:
            transaction: The transaction.
            experiments: Their ids, sorted; 0 stands for the whole database.
            shared: True to share the locks with others who share them.
        """
        name = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        sql = f"SELECT {name}({_ADVISORY}, id) FROM unnest(CAST(:experiments AS int[])) AS id"
        transaction.run(sql, {"experiments": list(experiments)})

    def each(
        self,
        transaction: Transaction,
        statement: str,
        names: Sequence[str],
        rows: Sequence[Sequence[Any]],
        given: Mapping[str, Any],
    ) -> list[Any]:
        """Run the statement once, with columns as arrays: each statement is a way to the server and back.

        Args:
            transaction: The transaction.
            statement: SQL with a table {rows}, and with :names.
            names: The names of the columns of {rows}.
            rows: Their values.
            given: The parameters that all rows share.
        """
        return list(transaction.run(_with_rows(statement, tuple(names)), {**given, **_columns("all", names, rows)}))

    def for_update(self, *, free: bool = False) -> str:
        """Return a clause that locks rows.

        Args:
            free: True to skip rows that are locked.
        """
        return " FOR UPDATE SKIP LOCKED" if free else " FOR UPDATE"

    def among(self, column: str) -> str:
        """Return a test of membership in an array."""
        return f"{column} = ANY(CAST(:listed AS bigint[]))"

    def as_list(self, values: Sequence[int]) -> str:
        """Return an array."""
        return _array(values)

    def deal(self, transaction: Transaction, writer: str, leases: Sequence[Dealt], slots: Sequence[Slot]) -> None:
        """Pass columns as arrays in one statement: each statement is a way to the server and back.

        Args:
            transaction: The transaction.
            writer: The writer of the leases.
            leases: What changes in them.
            slots: The slots that are dealt.

        Raises:
            Collision: Another writer has taken slots of these leases meanwhile.
        """
        given = {"writer": writer, **_columns("lease", _LEASE, leases), **_columns("all", _SLOT, slots)}
        ((changed,),) = transaction.run(_DEAL, given)
        if changed != len(leases):
            raise Collision("another writer has taken slots of a lease")

    def _collided(self, error: DBAPIError) -> bool:
        state = getattr(error.orig, "sqlstate", None)
        if state == "23505":  # another writer has dealt a slot, or to a unit, at the same time
            return error.orig.diag.constraint_name in _DEALT_ONCE  # type: ignore[union-attr]
        return state in {"40001", "40P01", "55P03"}


def _set_up_postgresql(connection: Any, _: Any) -> None:
    """Set what must hold however the server is configured.

    Rows are found by their keys, planned anew each time: a plan that was made while a table was small would read all
    of it, or all of the wrong index, for ever after. Nothing is compiled, which would take a tenth of a second where a
    small table is read whole: its cost is set so high. And a commit is on the disk before it returns: a release that
    was seen and then lost would be drawn again.
    """
    connection.execute("SET enable_seqscan = off")
    connection.execute("SET jit = off")
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


@lru_cache(maxsize=64)
def _with_rows(statement: str, names: tuple[str, ...]) -> str:
    return statement.format(rows=_rows(names))


@lru_cache(maxsize=256)
def _as_psycopg(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", statement)

"""Backups: a copy of a database without anything that follows from rewards that were not released.

A backup is an SQLite file with the tables of the service, whatever database it is of. Open epochs are forfeited when it
is used, since they may have been released meanwhile; so their sums, and who has reported, are not copied at all. Nor
are tests of drafts.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import insert, select

from discreet.core.errors import ArgumentError, StateError
from discreet.service.storage import queries, schema
from discreet.service.storage.database import Database, Transaction
from discreet.service.storage.migrations import migrate
from discreet.service.storage.sqlite import SQLite

FROM_BACKUP = "from a backup"
"""The setting that says that a database comes from a backup, and its open epochs must be forfeited."""
_ROWS = 10_000  # that are copied at once
_COLLECTED = (schema.assignment, schema.unit_slot, schema.lease, schema.counter)
_TESTS = (schema.test_mode, schema.tested_unit)
_LEFT_OUT = {table.name for table in (*_COLLECTED, *_TESTS)}


def back_up(database: Database, file: Path) -> None:
    """Write a backup, as one moment saw the database. Writers need not wait.

    Args:
        database: The database.
        file: A new file. It is complete and checked before it gets this name.

    Raises:
        ArgumentError: There is such a file.
    """
    check_new(file)
    part = Path(f"{file}.part")
    part.unlink(missing_ok=True)
    copy = SQLite(part)
    try:
        migrate(copy)
        with database.reading() as source, copy.writing() as target:
            copy_rows(source, target)
            queries.write_setting(target, FROM_BACKUP, "1")
    finally:
        copy.close()
    _finish(part)
    _put(part, file)


def restore_file(file: Path, target: Path) -> None:
    """Make an SQLite database from a backup.

    Args:
        file: The backup.
        target: A new file.

    Raises:
        ArgumentError: The file is no backup, or the target or a log of it is there.
    """
    for end in ("", "-wal", "-shm"):
        check_new(Path(f"{target}{end}"))
    _check_backup(file)
    part = Path(f"{target}.part")
    part.unlink(missing_ok=True)
    with open(file, "rb") as old, open(part, "xb", opener=partial(os.open, mode=0o600)) as new:
        shutil.copyfileobj(old, new)
        os.fsync(new.fileno())
    _put(part, target)


def restore(file: Path, database: Database) -> None:
    """Copy a backup to an empty database.

    Args:
        file: The backup.
        database: The database.

    Raises:
        ArgumentError: The file is no backup.
        StateError: The database is not empty.
    """
    _check_backup(file)
    with _opened(file) as backup:
        migrate(database)
        with backup.reading() as source, database.writing() as target:
            target.lock(0)
            if target.find(schema.Setting) is not None:
                raise StateError("the database is not empty; restore to a new one")
            copy_rows(source, target)
            database.continue_numbers(target)


def copy_rows(source: Transaction, target: Transaction) -> None:
    """Copy all rows of all tables, but for those of open epochs' sums and assignments.

    Args:
        source: A transaction that sees one moment.
        target: A transaction on empty tables.
    """
    for table in schema.metadata.sorted_tables:
        if table.name in _LEFT_OUT:
            continue
        for rows in source.execute(select(table)).yield_per(_ROWS).mappings().partitions():
            target.execute(insert(table), [dict(row) for row in rows])


def check_new(file: Path) -> None:
    """Refuse a file that is there, or whose folder is not."""
    if file.exists():
        raise ArgumentError(f"{file} is there already; give a new file, or move that one away")
    if not file.absolute().parent.is_dir():
        raise ArgumentError(f"the folder of {str(file)!r} does not exist; create it first")


@contextmanager
def _opened(file: Path) -> Iterator[SQLite]:
    """Open a copy of a backup, in the newest form."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "backup.db"
        shutil.copyfile(file, copy)
        backup = SQLite(copy)
        try:
            migrate(backup)
            yield backup
        finally:
            backup.close()


def _check_backup(file: Path) -> None:
    """Refuse a file that is no backup, or damaged. It is left as it is."""
    if not file.is_file():
        raise ArgumentError(f"there is no backup {file}")
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        marked = connection.execute("SELECT 1 FROM setting WHERE name = ?", [FROM_BACKUP]).fetchall()
        sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    except sqlite3.Error as error:
        raise ArgumentError(f"{file} is not a backup made by `discreet backup`: {error}") from None
    finally:
        connection.close()
    if not marked or not sound:
        raise ArgumentError(f"{file} is {'damaged' if marked else 'not a backup made by `discreet backup`'}")


def _finish(part: Path) -> None:
    """Bring a backup into one file on the disk, and check it."""
    connection = sqlite3.connect(part)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
        found = connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()
    if found != [("ok",)]:
        raise StateError(f"the backup is damaged and was not kept: {found[0][0]}")
    with open(part, "rb") as opened:
        os.fsync(opened.fileno())


def _put(part: Path, file: Path) -> None:
    """Give a complete file its name, on the disk too."""
    os.replace(part, file)
    handle = os.open(file.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

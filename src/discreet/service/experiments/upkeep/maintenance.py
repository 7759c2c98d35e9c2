"""Work on a database from the machine of its owner, without a server: a new admin key, backups."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.core.errors import ArgumentError, PrivacyError
from discreet.drivers.file_lock import FileLock
from discreet.service.experiments import keys
from discreet.service.messages import MOST_NAME, NewKey
from discreet.service.storage import Database, Transaction, backups, file_of, open_database
from discreet.service.storage.database import failure
from discreet.service.storage.migrations import check_present


def make_admin_key(address: str, name: str, deliver: Callable[[str], None] | None = None) -> str:
    """Make a key with the scope admin that does not expire.

    Args:
        address: The database's address.
        name: Whom or what it is for.
        deliver: Takes the key before it is valid; where it fails, none is made.

    Returns:
        The key.

    Raises:
        ArgumentError: There is no database of the service at this address, or the name is too long or empty.
    """
    if not 1 <= len(name) <= MOST_NAME or "\0" in name:
        raise ArgumentError(f"name must have 1 to {MOST_NAME} letters, got {name!r}")

    def work(transaction: Transaction) -> str:
        key = keys.make(transaction, NewKey(name, ["admin"]), transaction.now()).key
        if deliver is not None:
            deliver(key)
        return key

    with existing(address) as database:
        return database.write(work)


def back_up(address: str, file: Path) -> None:
    """Write a backup of a database, which may be served meanwhile.

    Args:
        address: The database's address.
        file: A new file.

    Raises:
        ArgumentError: There is no database of the service at this address, or the file is there.
    """
    backups.check_new(file)
    with existing(address) as database:
        backups.back_up(database, file)


def restore(file: Path, address: str) -> None:
    """Make a database from a backup. Its open epochs are forfeited when it is first served.

    Args:
        file: The backup.
        address: The address of a database that does not exist (SQLite) or is empty (PostgreSQL).

    Raises:
        ArgumentError: The file is no backup, or the database is there.
    """
    target = file_of(address)
    if target is not None:
        with held(address):
            backups.restore_file(file, target)
        return
    with opened(address) as database:
        backups.restore(file, database)


@contextmanager
def held(address: str) -> Iterator[None]:
    """Hold an SQLite file for this process alone: two servers would not see each other's work in memory.

    The lock is the operating system's, on a file beside the database. It goes with the process, however that ends.

    Args:
        address: The database's address; where it is no file's, nothing is held.

    Raises:
        ArgumentError: Another process serves it, or its folder does not exist.
    """
    file = file_of(address)
    if file is None:
        yield
        return
    if not file.absolute().parent.is_dir():
        raise ArgumentError(f"the folder of {str(file)!r} does not exist; create it first")
    try:
        lock = FileLock(os.path.realpath(file))
    except PrivacyError:
        raise ArgumentError(
            f"database {file} is served by another process, and SQLite is for one: stop the other `discreet serve`, or "
            "use PostgreSQL"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def existing(address: str) -> Iterator[Database]:
    """Open a database that the service has set up.

    Args:
        address: Its address.

    Raises:
        ArgumentError: There is none at this address.
    """
    file = file_of(address)
    if file is not None and not file.is_file():
        raise ArgumentError(f"there is no database {file}; give its file, or postgresql://user@host/name")
    with opened(address) as database:
        check_present(database)
        yield database


@contextmanager
def opened(address: str) -> Iterator[Database]:
    """Open a database, and say in a sentence if it cannot be used.

    Args:
        address: Its address.

    Raises:
        ArgumentError: It cannot be used.
    """
    database = open_database(address)
    try:
        yield database
    except Exception as error:
        why = failure(error)
        if why is None:
            raise
        raise ArgumentError(f"database {shown(address)} cannot be used: {why}") from None
    finally:
        database.close()


def shown(address: str) -> str:
    """Return an address without its password.

    >>> shown("postgresql://ann:secret@host/team"), shown("team.db")
    ('postgresql://host/team', 'team.db')
    """
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else address

"""Work on a database from the machine of its owner, without a server: a new admin key."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.core.errors import ArgumentError
from discreet.service.experiments import keys
from discreet.service.messages import MOST_NAME, NewKey
from discreet.service.storage import Database, Transaction, file_of, open_database
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
    database = open_database(address)
    try:
        check_present(database)
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

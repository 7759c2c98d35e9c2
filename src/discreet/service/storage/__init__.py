"""The database: all SQL, for SQLite and PostgreSQL."""

import os
from collections.abc import Callable

from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import NoSuchModuleError

from discreet.core.errors import ArgumentError
from discreet.service.storage.database import UNAVAILABLE, Database, Dealt, DuplicateError, Slot, Transaction
from discreet.service.storage.postgresql import PostgreSQL
from discreet.service.storage.schema import Epoch, Experiment, Key, Line, Population, Released
from discreet.service.storage.sqlite import SQLite

__all__ = [
    "UNAVAILABLE", "Database", "Dealt", "DuplicateError", "Epoch", "Experiment", "Key", "Line", "Population",
    "PostgreSQL", "Released", "SQLite", "Slot", "Transaction", "open_database",
]  # fmt: skip


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

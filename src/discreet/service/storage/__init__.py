"""The database: all SQL, for SQLite and PostgreSQL."""

import os
from collections.abc import Callable
from pathlib import Path

from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import NoSuchModuleError

from discreet.core.errors import ArgumentError
from discreet.service.storage.database import UNAVAILABLE, Database, Dealt, DuplicateError, Slot, Transaction
from discreet.service.storage.postgresql import PostgreSQL
from discreet.service.storage.schema import EndedSession, Epoch, Experiment, Key, Line, Population, Released
from discreet.service.storage.sqlite import SQLite

__all__ = [
    "UNAVAILABLE", "Database", "Dealt", "DuplicateError", "EndedSession", "Epoch", "Experiment", "Key", "Line",
    "Population", "PostgreSQL", "Released", "SQLite", "Slot", "Transaction", "file_of", "open_database",
]  # fmt: skip


def open_database(address: str | os.PathLike[str], clock: Callable[[], float] | None = None) -> Database:
    """Open the database at an address.

    Args:
        address: `postgresql://...`, or the path of an SQLite file.
        clock: A clock for tests.

    Raises:
        ArgumentError: There is no database of this kind, or the address cannot be read.
    """
    file = file_of(address)
    if file is not None:
        return SQLite(file, clock)
    scheme, _, rest = os.fspath(address).partition("://")
    if scheme in {"postgresql", "postgres", "postgresql+psycopg"}:
        try:
            return PostgreSQL(f"postgresql://{rest}", clock)
        except (UrlError, ValueError, NoSuchModuleError) as error:
            raise ArgumentError(f"database must be an address such as postgresql://user@host/name: {error}") from None
    raise ArgumentError(f"database must be a file or start with postgresql://, got {scheme}://...")


def file_of(address: str | os.PathLike[str]) -> Path | None:
    """Return the SQLite file at an address; None if it is no file's.

    >>> file_of("team.db"), file_of("sqlite:///team.db"), file_of("postgresql://ann@host/team")
    (PosixPath('team.db'), PosixPath('team.db'), None)
    """
    where = os.fspath(address)
    scheme, mark, rest = where.partition("://")
    if not mark:
        return Path(where)
    return Path(rest.removeprefix("/") or where) if scheme == "sqlite" else None

"""`discreet serve`: set a database up, and serve it from one process or several."""

import gc
import json
import logging
import os
import re
from dataclasses import asdict, dataclass
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from discreet.core.errors import ArgumentError
from discreet.service.experiments.control import Control
from discreet.service.experiments.journal import Journal
from discreet.service.experiments.restoring import Forfeited, recover
from discreet.service.http.app import make_app
from discreet.service.http.background import TICK
from discreet.service.http.connections import PER_ADDRESS, Connection, raise_file_limit
from discreet.service.storage import Database, open_database
from discreet.service.storage.database import failure

DATABASE, HOST, PORT = "discreet.db", "127.0.0.1", 8477
_PASSED_ON = "DISCREET_SERVER"  # the environment variable by which a process passes settings to its workers


@dataclass(frozen=True)
class Settings:
    """The settings of a server.

    Args:
        database: An SQLite file, or postgresql://...
        host: The address to listen at.
        port: The port to listen at.
        workers: The number of processes; more than one with PostgreSQL only.
        journal: The file of the journal; by default beside an SQLite file.
        tick: Seconds between looks for due epochs.
        secure: True if HTTPS is in front.
        origins: Sites, such as https://shop.example, whose pages may assign and report from people's browsers.
        host_names: The names under which it is reached; requests for others are refused. Empty for any.
        per_address: The largest number of connections of one address; a proxy in front is one address.

    Raises:
        ArgumentError: A setting is wrong.
    """

    database: str = DATABASE
    host: str = HOST
    port: int = PORT
    workers: int = 1
    journal: str | None = None
    tick: float = TICK
    secure: bool = False
    origins: tuple[str, ...] = ()
    host_names: tuple[str, ...] = ()
    per_address: int = PER_ADDRESS

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ArgumentError(f"workers must be at least 1, got {self.workers!r}")
        if self.workers > 1 and "://" not in self.database:
            raise ArgumentError(f"SQLite is for one process; for {self.workers} workers give a postgresql:// database")
        if self.per_address < 1:
            raise ArgumentError(f"per_address must be at least 1, got {self.per_address!r}")
        if not 0 < self.tick <= 3600:
            raise ArgumentError(f"tick must be a number of seconds up to 3600, got {self.tick!r}")
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/\s*]+", origin):
                raise ArgumentError(f"origin must be like https://shop.example, without a path, got {origin!r}")

    @property
    def shown(self) -> str:
        """The database's address without its password."""
        scheme, mark, rest = self.database.partition("://")
        return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else self.database

    def open_journal(self, database: Database) -> Journal | None:
        """Return the journal: as given, or beside an SQLite file."""
        path = database.journal_path if self.journal is None else self.journal
        return None if path is None else Journal(path)


@dataclass(frozen=True)
class Prepared:
    """The result of `prepare`.

    Args:
        key: The first key, if the database was empty.
        forfeited: Ids of experiments and numbers of their epochs that were forfeited.
    """

    key: str | None
    forfeited: list[Forfeited]


def prepare(settings: Settings, *, restored: bool = False) -> Prepared:
    """Bring the database up to date, make a first key if it is new, and forfeit open epochs if it is from a backup.

    Args:
        settings: The settings.
        restored: True if somebody says that the database is from a backup.

    Raises:
        ArgumentError: The database cannot be used.
    """
    database = open_database(settings.database)
    try:
        key = Control(database).set_up()
        journal = settings.open_journal(database)
        forfeited = recover(database, journal, asked=restored)
        if journal is not None:
            journal.catch_up(database)
        return Prepared(key, forfeited)
    except Exception as error:
        why = failure(error)
        if why is None:
            raise
        raise ArgumentError(f"database {settings.shown} cannot be used: {why}") from None
    finally:
        database.close()


def serve(settings: Settings) -> None:
    """Serve until interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    options: dict[str, Any] = {"host": settings.host, "port": settings.port, "timeout_graceful_shutdown": 10}
    options |= {"access_log": False, "log_level": "warning", "server_header": False, "http": Connection, "ws": "none"}
    if settings.workers == 1:
        uvicorn.run(_app(settings), **options)
        return
    os.environ[_PASSED_ON] = json.dumps(asdict(settings))
    uvicorn.run("discreet.service.http.server:worker", factory=True, workers=settings.workers, **options)


def worker() -> ASGIApp:
    """Return the application of one of several processes."""
    return _app(Settings(**json.loads(os.environ[_PASSED_ON])))


def _app(settings: Settings) -> ASGIApp:
    Connection.per_address = settings.per_address
    raise_file_limit()
    database = open_database(settings.database)
    journal = settings.open_journal(database)
    gc.collect()
    gc.freeze()  # these objects stay: each garbage collection among them would delay all requests by 0.1 s
    return make_app(
        Control(database),
        journal=journal,
        tick=settings.tick,
        secure=settings.secure,
        origins=settings.origins,
        host_names=settings.host_names,
    )

"""`discreet serve`: set a database up, and serve it from one process or several."""

import errno
import gc
import ipaddress
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from discreet.core.errors import ArgumentError
from discreet.service.experiments.control import Control
from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.experiments.upkeep.maintenance import held, opened, shown
from discreet.service.experiments.upkeep.restoring import Forfeited, recover
from discreet.service.http import logs
from discreet.service.http.app import make_app
from discreet.service.http.background import TICK
from discreet.service.http.connections import PER_ADDRESS, Connection, raise_file_limit
from discreet.service.http.workers import Pulse, supervise
from discreet.service.storage import Database, open_database

__all__ = ["Prepared", "Settings", "held", "is_loopback", "listening", "prepare", "run", "serve"]

DATABASE, HOST, PORT = "discreet.db", "127.0.0.1", 8477
BACKLOG = 2048
_BETWEEN_COLLECTIONS = 20_000  # objects: a batch of rewards makes thousands, and none of them in a cycle


@dataclass(frozen=True)
class Settings:
    """The settings of a server.

    Args:
        database: An SQLite file, or postgresql://...
        host: The address to listen at.
        port: The port to listen at; 0 for any that is free.
        workers: The number of processes; more than one with PostgreSQL only.
        journal: The file of the journal; by default beside an SQLite file.
        tick: Seconds between looks for due epochs.
        secure: True if HTTPS is in front.
        origins: Sites, such as https://shop.example, whose pages may assign and report from people's browsers.
        host_names: The names under which it is reached; requests for others are refused. Empty for any.
        per_address: The largest number of connections of one address; a proxy in front is one address.
        log_level: The least level that is logged: debug, info, warning or error.
        log_format: The form of the log: text or json.
        access_log: True for a line in the log for each request.

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
    log_level: str = "info"
    log_format: str = "text"
    access_log: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise ArgumentError(f"port must be from 1 to 65535, or 0 for any that is free, got {self.port!r}")
        if self.workers < 1:
            raise ArgumentError(f"workers must be at least 1, got {self.workers!r}")
        if self.workers > 1 and "://" not in self.database:
            raise ArgumentError(f"SQLite is for one process; for {self.workers} workers give a postgresql:// database")
        if self.per_address < 1:
            raise ArgumentError(f"per_address must be at least 1, got {self.per_address!r}")
        if self.log_level not in logs.LEVELS:
            raise ArgumentError(f"log_level must be one of {', '.join(logs.LEVELS)}, got {self.log_level!r}")
        if self.log_format not in logs.FORMATS:
            raise ArgumentError(f"log_format must be text or json, got {self.log_format!r}")
        if not 0 < self.tick <= 3600:
            raise ArgumentError(f"tick must be a number of seconds up to 3600, got {self.tick!r}")
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/\s*]+", origin):
                raise ArgumentError(f"origin must be like https://shop.example, without a path, got {origin!r}")

    @property
    def shown(self) -> str:
        """The database's address without its password."""
        return shown(self.database)

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


def prepare(settings: Settings, *, restored: bool = False, deliver: Callable[[str], None] | None = None) -> Prepared:
    """Bring the database up to date, make a first key if it is new, and forfeit open epochs if it is from a backup.

    Args:
        settings: The settings.
        restored: True if somebody says that the database is from a backup.
        deliver: Takes the first key before it is valid.

    Raises:
        ArgumentError: The database cannot be used.
    """
    with opened(settings.database) as database:
        key = Control(database).set_up(deliver)
        journal = settings.open_journal(database)
        forfeited = recover(database, journal, asked=restored)
        if journal is not None and not journal.catch_up(database):
            raise ArgumentError(f"journal {journal.path} cannot be written: {journal.trouble}")
        return Prepared(key, forfeited)


@contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """Listen at the address of the settings, so that a port that is taken is known before anything else is done.

    Args:
        settings: The settings.

    Yields:
        The socket that listens.

    Raises:
        ArgumentError: The address is not one of this machine, or the port is taken.
    """
    try:
        family, *_, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ArgumentError(
            f"host must be an address of this machine, got {settings.host!r}: {error.strerror}"
        ) from None
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.set_inheritable(True)
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ArgumentError(f"port {settings.port} of {settings.host} is taken; give another --port") from None
            if error.errno == errno.EACCES:
                raise ArgumentError(
                    f"port {settings.port} is for the system's own programs; give another --port"
                ) from None
            why = error.strerror
            raise ArgumentError(f"host must be an address of this machine, got {settings.host!r}: {why}") from None
        yield listener


def is_loopback(listener: socket.socket) -> bool:
    """Return True if a socket can be reached from this machine alone."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def serve(settings: Settings, listener: socket.socket) -> None:
    """Serve until interrupted.

    Args:
        settings: The settings.
        listener: The socket that listens.
    """
    if settings.workers == 1:
        run(settings, listener)
        return
    logs.configure(settings.log_level, settings.log_format, access_log=settings.access_log)
    supervise(settings.workers, run, settings, listener)


def run(settings: Settings, listener: socket.socket, pulse: Pulse | None = None) -> None:
    """Serve in this process until it is told to end.

    Args:
        settings: The settings.
        listener: The socket that listens.
        pulse: What it says that it serves by, if somebody looks.
    """
    logs.configure(settings.log_level, settings.log_format, access_log=settings.access_log)
    options: dict[str, Any] = {"timeout_graceful_shutdown": 10, "access_log": False, "log_config": None}
    options |= {"server_header": False, "http": Connection, "ws": "none"}
    with _signals_held_back():
        app = _app(settings)
    _Server(uvicorn.Config(app, **options), pulse).run([listener])


class _Server(uvicorn.Server):
    """A server whose event loop says, ten times a second, that it turns.

    Args:
        config: The server's configuration.
        pulse: What it says it by, if somebody looks.
    """

    def __init__(self, config: uvicorn.Config, pulse: Pulse | None) -> None:
        super().__init__(config)
        self._pulse = pulse

    async def on_tick(self, counter: int) -> bool:
        """Say that the loop turns; return True if the server should end.

        Args:
            counter: The number of ticks so far.
        """
        if self._pulse is not None:
            self._pulse.beat()
        return await super().on_tick(counter)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Let signals to end wait: one that came while the garbage collector calls back would be shown there and lost."""
    held: list[int] = []
    before = {one: signal.signal(one, lambda number, _: held.append(number)) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, signal.SIG_DFL if handler is None else handler)
    for number in held:
        signal.raise_signal(number)


def _app(settings: Settings) -> ASGIApp:
    Connection.per_address = settings.per_address
    raise_file_limit()
    database = open_database(settings.database)
    journal = settings.open_journal(database)
    gc.collect()
    gc.freeze()  # these objects stay: each garbage collection among them would delay all requests by 0.1 s
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    return make_app(
        Control(database),
        journal=journal,
        tick=settings.tick,
        secure=settings.secure,
        origins=settings.origins,
        host_names=settings.host_names,
    )

"""`discreet serve`: the service."""

import importlib
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import typer

from discreet._install import install
from discreet.cli import Interrupted, missing_package
from discreet.cli import _options as opt
from discreet.cli._console import complain, show
from discreet.cli.service import _settings as settings
from discreet.cli.service._settings import Config, Database, DatabaseFile, KeyFile, address, sourced
from discreet.core.errors import ArgumentError


@opt.command(
    "discreet serve",
    "discreet serve --database postgresql://discreet@localhost/discreet --workers 4",
    "DISCREET_DATABASE_FILE=/run/secrets/database discreet serve --config discreet.toml",
)
def _serve(
    context: typer.Context,
    database: Database = "discreet.db",
    *,
    database_file: DatabaseFile = None,
    config: Config = None,
    host: settings.Host = "127.0.0.1",
    port: settings.Port = 8477,
    workers: settings.Workers = 1,
    journal: settings.JournalFile = None,
    restored: settings.Restored = False,
    key_file: KeyFile = None,
    tick: settings.Tick = 1.0,
    secure: settings.Secure = False,
    host_name: settings.HostNames = None,
    per_address: settings.PerAddress = 256,
    origin: settings.Origins = None,
    log_level: settings.LogLevel = "info",
    log_format: settings.LogFormat = "text",
    access_log: settings.AccessLog = False,
) -> None:
    """Run private experiments for a team: an HTTP API and a dashboard on a database.

    With nothing else installed, everything is in one SQLite file. On the first start an admin key is printed, once.
    An option is taken from the command line, or else the environment, or else the file of --config.
    """
    server = service("http.server")
    with sourced(context):
        chosen = server.Settings(
            database=address(context, database, database_file),
            host=host,
            port=port,
            workers=workers,
            journal=journal,
            tick=tick,
            secure=secure,
            origins=tuple(origin or ()),
            host_names=tuple(host_name or ()),
            per_address=per_address,
            log_level=log_level,
            log_format=log_format,
            access_log=access_log,
        )
        _start(server, chosen, restored, key_file)


def _start(server: Any, chosen: Any, restored: bool, key_file: Path | None) -> None:
    """Set the database up, say where it is served, and serve."""
    with ExitStack() as stack:  # all that can fail comes first: a key that a failed start has shown is lost
        listener = stack.enter_context(server.listening(chosen))
        stack.enter_context(server.held(chosen.database))
        deliver = None if key_file is None else partial(write_key, key_file)
        prepared = server.prepare(chosen, restored=restored, deliver=deliver)
        _say(server, chosen, listener, prepared, key_file)
        try:
            server.serve(chosen, listener)
        except KeyboardInterrupt as stop:
            raise Interrupted(f"the service has ended; all that it has answered is in {chosen.shown}") from stop


def _say(server: Any, chosen: Any, listener: Any, prepared: Any, key_file: Path | None) -> None:
    """Print what was found, where it serves, and the first key."""
    for experiment, epoch in prepared.forfeited:
        complain(
            f"epoch {epoch} of {experiment} was open in a backup: it is forfeited, and a new one takes its place",
            "note: ",
        )
    if not (chosen.secure or server.is_loopback(listener)):
        complain(
            f"{chosen.host} can be reached from other machines, and keys and rewards would travel unencrypted: put a "
            "proxy with HTTPS in front, and add --secure",
            "warning: ",
        )
    if "://" in chosen.database and chosen.journal is None:
        complain(
            "without --journal FILE on another disk, a database whose disk was put back as it was is not noticed, and "
            "the same rewards could be released twice",
            "hint: ",
        )
    host = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
    show(f"discreet serves {chosen.shown} at http://{host}:{listener.getsockname()[1]}")
    if prepared.key is not None:
        show_key(prepared.key, key_file)


def service(module: str) -> Any:
    """Return a module of the service, or say what is not installed."""
    try:
        return importlib.import_module(f"discreet.service.{module}")
    except ModuleNotFoundError as error:
        raise ArgumentError(f"{missing_package(error)} is not installed: {install('service')}") from None


def write_key(file: Path, key: str) -> None:
    """Write a key to a new file that only its owner can read.

    Args:
        file: The file.
        key: The key.

    Raises:
        ArgumentError: The file cannot be made, or is there already.
    """
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ArgumentError(
            f"key_file must be a new file in a folder that is there, got {file}: {error.strerror}"
        ) from None
    with os.fdopen(handle, "w") as opened:
        opened.write(f"{key}\n")
        opened.flush()
        os.fsync(handle)


def show_key(key: str, file: Path | None) -> None:
    """Say what the admin key is, or where it was written.

    Args:
        key: The key.
        file: The file that has it, if there is one.
    """
    if file is not None:
        show(f"admin key: in {file}, which only you can read")
        return
    show(f"admin key: {key}")
    show("It is shown this once. Sign in with it, and make keys with smaller scopes for everything else.", "dim")

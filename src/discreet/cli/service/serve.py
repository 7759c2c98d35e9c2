"""`discreet serve`: the service."""

import importlib
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet._install import install
from discreet.cli import _options as opt
from discreet.cli import missing_package
from discreet.cli._console import complain, show
from discreet.cli.service._settings import Config, Database, DatabaseFile, KeyFile, address, sourced
from discreet.cli.service._settings import option as _option
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
    host: Annotated[
        str, _option("HOST", "Where to listen; put a proxy with HTTPS in front of others.", "host")
    ] = "127.0.0.1",
    port: Annotated[int, opt.whole("Where to listen; 0 is any port that is free.", envvar="DISCREET_PORT")] = 8477,
    workers: Annotated[int, opt.whole("Processes; more than one with PostgreSQL.", envvar="DISCREET_WORKERS")] = 1,
    journal: Annotated[
        str | None,
        _option("FILE", "A list of releases, by which a restored backup is found out; keep it apart.", "journal"),
    ] = None,
    restored: Annotated[
        bool,
        typer.Option(
            help="The database comes from a backup that is not seen to be one: forfeit all open epochs.",
            envvar="DISCREET_RESTORED",
        ),
    ] = False,
    key_file: KeyFile = None,
    tick: Annotated[float, opt.real("Seconds between looks for due epochs.", envvar="DISCREET_TICK")] = 1.0,
    secure: Annotated[
        bool, typer.Option(help="HTTPS is in front: cookies are sent over it alone.", envvar="DISCREET_SECURE")
    ] = False,
    host_name: Annotated[
        list[str] | None,
        _option("NAME", "A name under which it is reached; requests for others are refused.", "host_name"),
    ] = None,
    per_address: Annotated[
        int, opt.whole("Connections of one address; a proxy in front is one address.", envvar="DISCREET_PER_ADDRESS")
    ] = 256,
    origin: Annotated[
        list[str] | None, _option("URL", "A site whose pages may assign and report, as https://shop.example.", "origin")
    ] = None,
    log_level: Annotated[str, _option("LEVEL", "debug, info, warning or error.", "log_level")] = "info",
    log_format: Annotated[str, _option("FORM", "text, or json for an object a line.", "log_format")] = "text",
    access_log: Annotated[
        bool, typer.Option(help="Log a line for each request, without names.", envvar="DISCREET_ACCESS_LOG")
    ] = False,
) -> None:
    """Run private experiments for a team: an HTTP API and a dashboard on a database.

    With nothing else installed, everything is in one SQLite file. On the first start an admin key is printed, once.
    An option is taken from the command line, or else the environment, or else the file of --config.
    """
    server = service("http.server")
    with sourced(context):
        settings = server.Settings(
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
        with ExitStack() as stack:  # all that can fail comes first: a key that a failed start has shown is lost
            listener = stack.enter_context(server.listening(settings))
            stack.enter_context(server.held(settings.database))
            deliver = None if key_file is None else partial(write_key, key_file)
            prepared = server.prepare(settings, restored=restored, deliver=deliver)
            _say(server, settings, listener, prepared, key_file)
            server.serve(settings, listener)


def _say(server: Any, settings: Any, listener: Any, prepared: Any, key_file: Path | None) -> None:
    """Print what was found, where it serves, and the first key."""
    for experiment, epoch in prepared.forfeited:
        complain(
            f"epoch {epoch} of {experiment} was open in a backup: it is forfeited, and a new one takes its place",
            "note: ",
        )
    if not (settings.secure or server.is_loopback(listener)):
        complain(
            f"{settings.host} can be reached from other machines, and keys and rewards would travel unencrypted: put a "
            "proxy with HTTPS in front, and add --secure",
            "warning: ",
        )
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    show(f"discreet serves {settings.shown} at http://{host}:{listener.getsockname()[1]}")
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

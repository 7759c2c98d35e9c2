"""`discreet serve`: the service."""

import importlib
import socket
from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli import missing_package
from discreet.cli._console import complain, show
from discreet.core.errors import ArgumentError


@opt.command(
    "discreet serve",
    "discreet serve --database postgresql://discreet@localhost/discreet --workers 4",
    "discreet serve --restored",
)
def _serve(
    database: Annotated[
        str, opt.option("ADDRESS", "An SQLite file, or postgresql://user:password@host/name.")
    ] = "discreet.db",
    *,
    host: Annotated[
        str, opt.option("HOST", "Where to listen; put a proxy with HTTPS in front of others.")
    ] = "127.0.0.1",
    port: Annotated[int, opt.whole("Where to listen; 0 is any port that is free.")] = 8477,
    workers: Annotated[int, opt.whole("Processes; more than one with PostgreSQL.")] = 1,
    journal: Annotated[
        str | None, opt.option("FILE", "A list of releases, by which a restored backup is found out; keep it apart.")
    ] = None,
    restored: Annotated[
        bool, typer.Option(help="The database comes from a backup: forfeit all open epochs before anything else.")
    ] = False,
    tick: Annotated[float, opt.real("Seconds between looks for due epochs.")] = 1.0,
    secure: Annotated[bool, typer.Option(help="HTTPS is in front: cookies are sent over it alone.")] = False,
    host_name: Annotated[
        list[str] | None, opt.option("NAME", "A name under which it is reached; requests for others are refused.")
    ] = None,
    per_address: Annotated[int, opt.whole("Connections of one address; a proxy in front is one address.")] = 256,
    origin: Annotated[
        list[str] | None, opt.option("URL", "A site whose pages may assign and report, as https://shop.example.")
    ] = None,
) -> None:
    """Run private experiments for a team: an HTTP API and a dashboard on a database.

    With nothing else installed, everything is in one SQLite file. On the first start an admin key is printed, once.
    """
    try:
        server = importlib.import_module("discreet.service.http.server")
    except ModuleNotFoundError as error:
        raise ArgumentError(f"{missing_package(error)} is not installed: pip install 'discreet[service]'") from None
    settings = server.Settings(
        database=database,
        host=host,
        port=port or _free_port(host),
        workers=workers,
        journal=journal,
        tick=tick,
        secure=secure,
        origins=tuple(origin or ()),
        host_names=tuple(host_name or ()),
        per_address=per_address,
    )
    prepared = server.prepare(settings, restored=restored)
    for experiment, epoch in prepared.forfeited:
        complain(
            f"epoch {epoch} of {experiment} was open in a backup: it is forfeited, and a new one takes its place",
            "note: ",
        )
    show(f"discreet serves {settings.shown} at http://{settings.host}:{settings.port}")
    if prepared.key is not None:
        show(f"admin key: {prepared.key}")
        show("It is shown this once. Sign in with it, and make keys with smaller scopes for everything else.", "dim")
    server.serve(settings)


def _free_port(host: str) -> int:
    try:
        with socket.socket() as probe:
            probe.bind((host, 0))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise ArgumentError(f"host must be an address of this machine, got {host!r}: {error.strerror}") from None

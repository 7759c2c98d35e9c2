"""What `serve` does: start the service, and say where it is."""

from __future__ import annotations

import importlib
import socket
from typing import Annotated, Any

import typer

from discreet.cli import missing_package
from discreet.cli.arguments import NUMBER, real, whole
from discreet.cli.console import complain, show
from discreet.core.errors import ArgumentError

Database = Annotated[
    str, typer.Option(metavar="ADDRESS", help="An SQLite file, or postgresql://user:password@host/name.")
]
Host = Annotated[str, typer.Option(metavar="HOST", help="Where to listen; put a proxy with HTTPS in front of others.")]
Port = Annotated[int, typer.Option(parser=whole, metavar=NUMBER, help="Where to listen; 0 is any port that is free.")]
Workers = Annotated[int, typer.Option(parser=whole, metavar=NUMBER, help="Processes; more than one with PostgreSQL.")]
JournalFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A list of releases, by which a restored backup is found out; keep it apart."),
]
Restored = Annotated[
    bool, typer.Option(help="The database comes from a backup: forfeit all open epochs before anything else.")
]
Tick = Annotated[float, typer.Option(parser=real, metavar=NUMBER, help="Seconds between looks for due epochs.")]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", metavar="URL", help="A site whose pages may assign and report, as https://shop.example."),
]
Secure = Annotated[bool, typer.Option(help="HTTPS is in front: cookies are sent over it alone.")]


def start(*, restored: bool, **given: Any) -> None:
    """Prepare the database, say what there is to say, and serve until interrupted."""
    try:
        server = importlib.import_module("discreet.service.http.server")
    except ModuleNotFoundError as error:
        raise ArgumentError(f"{missing_package(error)} is not installed: pip install 'discreet[service]'") from None
    if given["port"] == 0:
        given["port"] = _free_port(given["host"])
    settings = server.Settings(**given)
    prepared = server.prepare(settings, restored=restored)
    for experiment, epoch in prepared.forfeited:
        complain(f"epoch {epoch} of {experiment} was open in a backup: it is forfeited, and a new one opens", "note: ")
    show(f"discreet serves {settings.shown} at http://{settings.host}:{settings.port}")
    if prepared.key is not None:
        show(f"admin key: {prepared.key}")
        show("It is shown this once. Sign in with it, and make keys with smaller scopes for everything else.", "dim")
    server.serve(settings)


def _free_port(host: str) -> int:
    try:
        with socket.socket() as probe:
            probe.bind((host, 0))
            port: int = probe.getsockname()[1]
            return port
    except OSError as error:
        raise ArgumentError(f"host must be an address of this machine, got {host!r}: {error.strerror}") from None

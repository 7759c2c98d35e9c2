"""`discreet restore`: a database from a backup."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli._console import show
from discreet.cli.serve import service


@opt.command("discreet restore monday.backup", "discreet restore monday.backup --database postgresql://host/new")
def _restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup made by `discreet backup`.")],
    *,
    database: Annotated[
        str, opt.option("ADDRESS", "An SQLite file that is not there yet, or an empty database of PostgreSQL.")
    ] = "discreet.db",
) -> None:
    """Make a database from a backup, of the same kind as before or of the other one.

    At the next `discreet serve` all epochs that were open in it are charged and forfeited, and new ones begin: they may
    have been released since. Leave the journal of releases where it is.
    """
    maintenance = service("experiments.maintenance")
    maintenance.restore(file, database)
    show(f"{maintenance.shown(database)} is restored; at the next `discreet serve` open epochs are forfeited")

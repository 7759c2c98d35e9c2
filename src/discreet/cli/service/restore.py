"""`discreet restore`: a database from a backup."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli._console import show
from discreet.cli.service._settings import Database, DatabaseFile, address
from discreet.cli.service.serve import service


@opt.command("discreet restore monday.backup", "discreet restore monday.backup --database postgresql://host/new")
def _restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup made by `discreet backup`.")],
    *,
    database: Database = "discreet.db",
    database_file: DatabaseFile = None,
) -> None:
    """Make a database from a backup, of the same kind as before or of the other one.

    At the next `discreet serve` all epochs that were open in it are charged and forfeited, and new ones begin: they may
    have been released since. Leave the journal of releases where it is.
    """
    maintenance = service("experiments.upkeep.maintenance")
    where = address(context, database, database_file)
    maintenance.restore(file, where)
    show(f"{maintenance.shown(where)} is restored; at the next `discreet serve` open epochs are forfeited")

"""`discreet backup`: a copy of the service's database."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli._console import show
from discreet.cli.service._settings import Database, DatabaseFile, address
from discreet.cli.service.serve import service


@opt.command("discreet backup monday.backup", "discreet backup monday.backup --database team.db")
def _backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    *,
    database: Database = "discreet.db",
    database_file: DatabaseFile = None,
) -> None:
    """Write a backup of the service's database. The service may be running meanwhile.

    It has no rewards in it: neither sums of open epochs nor who has reported. These would be of no use: whatever was
    open when the backup was made is forfeited when it is restored. Names are in it: keep it safe.
    """
    service("experiments.upkeep.maintenance").back_up(address(context, database, database_file), file)
    show(f"{file} is the backup; `discreet restore` makes a database of it")

"""`discreet admin-key`: a new admin key, for whoever has lost the last one."""

from functools import partial
from typing import Annotated

import typer

from discreet.cli import _options as opt
from discreet.cli.service._settings import Database, DatabaseFile, KeyFile, address
from discreet.cli.service.serve import service, show_key, write_key


@opt.command("discreet admin-key", "discreet admin-key --database team.db --key-file admin.key")
def _admin_key(
    context: typer.Context,
    database: Database = "discreet.db",
    *,
    database_file: DatabaseFile = None,
    name: Annotated[str, opt.option("NAME", "Whom or what it is for.")] = "made with discreet admin-key",
    key_file: KeyFile = None,
) -> None:
    """Make a new admin key, when the last one is lost. The service may be running meanwhile.

    It works on the database itself, so whoever can open that can always make a key. The lost one still opens the
    service: revoke it on the page of keys.
    """
    deliver = None if key_file is None else partial(write_key, key_file)
    key = service("experiments.upkeep.maintenance").make_admin_key(
        address(context, database, database_file), name, deliver
    )
    show_key(key, key_file)

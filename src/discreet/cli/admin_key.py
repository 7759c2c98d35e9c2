"""`discreet admin-key`: a new admin key, for whoever has lost the last one."""

from functools import partial
from typing import Annotated

from discreet.cli import _options as opt
from discreet.cli.serve import KeyFile, service, show_key, write_key


@opt.command("discreet admin-key", "discreet admin-key --database team.db --key-file admin.key")
def _admin_key(
    database: Annotated[
        str, opt.option("ADDRESS", "An SQLite file, or postgresql://user:password@host/name.")
    ] = "discreet.db",
    *,
    name: Annotated[str, opt.option("NAME", "Whom or what it is for.")] = "made with discreet admin-key",
    key_file: KeyFile = None,
) -> None:
    """Make a new admin key, when the last one is lost. The service may be running meanwhile.

    It works on the database itself, so whoever can open that can always make a key. The lost one still opens the
    service: revoke it on the page of keys.
    """
    deliver = None if key_file is None else partial(write_key, key_file)
    key = service("experiments.maintenance").make_admin_key(database, name, deliver)
    show_key(key, key_file)

"""Alembic's migrations, run when a server starts."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from discreet.core.errors import StateError
from discreet.service.storage.database import Database

_WHOLE = 0  # stands for the whole database where experiments are locked
_BEFORE = {"0001", "0002"}  # forms from before the first release, which had another way of storing releases


def migrate(database: Database) -> None:
    """Bring a database to the newest form. Whoever comes second finds it done.

    Raises:
        StateError: The database has a form that this version does not know.
    """
    with database.writing() as transaction:
        transaction.lock(_WHOLE)
        config = configuration(transaction.connection)
        _check(config, MigrationContext.configure(transaction.connection).get_current_revision())
        command.upgrade(config, "head")


def check_present(database: Database) -> None:
    """Refuse a database that is not one of the service in its newest form.

    Raises:
        StateError: It has another form, or no table at all.
    """
    with database.reading() as transaction:
        config = configuration(transaction.connection)
        present = MigrationContext.configure(transaction.connection).get_current_revision()
    _check(config, present)
    if present != ScriptDirectory.from_config(config).get_current_head():
        raise StateError("the database has not been set up by this version of discreet; start `discreet serve` first")


def _check(config: Config, present: str | None) -> None:
    """Refuse a form that this version does not know."""
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if present in _BEFORE:
        raise StateError(
            f"the database has the form {present!r} of an unreleased version of discreet and cannot be brought up to "
            "date; start with a new one"
        )
    if present is not None and present not in known:
        raise StateError(f"the database has the form {present!r} of a newer version of discreet; update this one")


def configuration(connection: Connection) -> Config:
    """Return Alembic's configuration, for a connection."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config

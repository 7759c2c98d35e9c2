"""Alembic's migrations, run when a server starts."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from discreet.core.errors import StateError
from discreet.service.storage.database import Database

_WHOLE = 0  # stands for the whole database where experiments are locked
_BEFORE = {"0001", "0002"}  # forms from before the first release, which had another way of storing releases


def migrate(database: Database, target: str = "head") -> None:
    """Bring a database to a form. Whoever comes second finds it done.

    Args:
        database: The database.
        target: The form's revision; by default the newest.

    Raises:
        StateError: The database has a form that this version does not know.
    """
    with database.writing() as transaction:
        transaction.lock(_WHOLE)
        config = _config()
        config.attributes["connection"] = transaction.connection
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        present = MigrationContext.configure(transaction.connection).get_current_revision()
        if present in _BEFORE:
            raise StateError(
                f"the database has the form {present!r} of an unreleased version of discreet and cannot be brought up "
                "to date; start with a new one"
            )
        if present is not None and present not in known:
            raise StateError(f"the database has the form {present!r} of a newer version of discreet; update this one")
        if target == "head" or target in _ahead(config, present):
            command.upgrade(config, target)
        else:
            command.downgrade(config, target)


def revision(database: Database) -> str | None:
    """Return the revision of the form that a database has; None if it is empty."""
    with database.reading() as transaction:
        return MigrationContext.configure(transaction.connection).get_current_revision()


def _ahead(config: Config, present: str | None) -> list[str]:
    steps = ScriptDirectory.from_config(config).iterate_revisions("head", present or "base")
    return [step.revision for step in steps]


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config

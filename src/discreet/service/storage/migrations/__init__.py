"""How a database comes to its present form: alembic's migrations, run when a server starts."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from discreet.core.errors import StateError
from discreet.service.storage.database import Store

_TURN = 0  # what stands for the whole database where experiments are locked


def migrate(store: Store, target: str = "head") -> None:
    """Bring a database to the newest form, or to a given one; whoever comes second finds it done."""
    with store.writing() as connection:
        store.lock(connection, _TURN)
        config = _config()
        config.attributes["connection"] = connection
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        present = MigrationContext.configure(connection).get_current_revision()
        if present is not None and present not in known:
            raise StateError(f"the database has the form {present!r} of a newer version of discreet; update this one")
        if target == "head" or target in _ahead(config, present):
            command.upgrade(config, target)
        else:
            command.downgrade(config, target)


def revision(store: Store) -> str | None:
    """The form that a database has."""
    with store.reading() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def _ahead(config: Config, present: str | None) -> list[str]:
    steps = ScriptDirectory.from_config(config).iterate_revisions("head", present or "base")
    return [step.revision for step in steps]


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config

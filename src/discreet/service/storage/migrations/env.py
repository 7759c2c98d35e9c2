"""Run alembic's migrations on the connection that it was given."""

from alembic import context

from discreet.service.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()

"""The first form: the tables as they are declared.

It is frozen by a test. Whoever changes a table after a release copies the declarations of that release to here, and
writes the next migration.
"""

from alembic import op

from discreet.service.storage.schema import metadata

revision = "1"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    metadata.create_all(op.get_bind(), checkfirst=False)


def downgrade() -> None:
    """Drop all tables."""
    metadata.drop_all(op.get_bind(), checkfirst=False)

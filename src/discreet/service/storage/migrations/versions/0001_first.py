"""The first form."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "setting",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        comment="values of the whole service",
    )
    op.create_table(
        "population",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("budget", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("uid", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("population", sa.Text, sa.ForeignKey("population.name"), nullable=False),
        sa.Column("description", sa.Text, nullable=False, comment="the request that made it, as JSON"),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("algorithm", sa.Text, nullable=False, comment="its key"),
        sa.Column("options", sa.Text, nullable=False, comment="all options of the algorithm, as JSON"),
        sa.Column("epochs", sa.Integer, nullable=False, comment="the number of closed ones"),
        sa.Column("snapshot", sa.Text, comment="what the algorithm has learned from its releases, as JSON: a cache"),
        sa.Column(
            "covered", sa.Integer, nullable=False, comment="the number of closed epochs that the snapshot covers"
        ),
        sa.Column("epsilon", sa.Text, nullable=False, comment="what was promised, and what forfeited epochs add"),
        sa.Column("spent", sa.Text, nullable=False, comment="what releases and forfeited epochs have cost"),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
    )
    op.create_table(
        "epoch",
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiment.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False, comment="open, closed, forfeited or discarded"),
        sa.Column(
            "generation", sa.Integer, nullable=False, comment="random: a lost epoch of this number had another one"
        ),
        sa.Column("plan", sa.Text, nullable=False, comment="slots by arm index"),
        sa.Column("quota", sa.BigInteger, nullable=False),
        sa.Column("dealt", sa.BigInteger, nullable=False),
        sa.Column("threshold", sa.Double),
        sa.Column("epsilon", sa.Text, nullable=False),
        sa.Column("opened_at", sa.Double, nullable=False),
        sa.Column("full_at", sa.Double),
        sa.Column("due_at", sa.Double),
        sa.Column("closed_at", sa.Double),
        sa.Column("dropped", sa.Text, nullable=False, comment="indexes of the arms that were dropped at its end"),
        sa.Column("erased", sa.Boolean, nullable=False, comment="true once its assignments were deleted"),
        sa.PrimaryKeyConstraint("experiment", "number"),
    )
    is_open = sa.text("state = 'open'")
    op.create_index(
        "one_open_epoch", "epoch", ["experiment"], unique=True, sqlite_where=is_open, postgresql_where=is_open
    )
    op.create_table(
        "assignment",
        sa.Column("experiment", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("slot", sa.BigInteger, nullable=False),
        sa.Column("unit", sa.Text, nullable=False, comment="a keyed hash"),
        sa.Column("arm", sa.SmallInteger, nullable=False),
        sa.Column("deadline", sa.Double, nullable=False),
        sa.Column("told", sa.SmallInteger, nullable=False),
        sa.PrimaryKeyConstraint("slot", "epoch", "experiment"),
        sa.UniqueConstraint("unit", "epoch", "experiment", name="one_slot_a_unit"),
        sqlite_with_rowid=False,
    )
    if op.get_context().dialect.name == "postgresql":
        # PostgreSQL writes a changed row anew. Where its page is full, the row goes elsewhere, and both indexes are
        # changed too, which takes three times as long. Each row is marked once as a rule: half of a page is enough.
        op.execute("ALTER TABLE assignment SET (fillfactor = 50)")
    op.create_table(
        "participant",
        sa.Column("experiment", sa.Integer, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("unit", "experiment"),
        comment="units that have contributed, where each may do so once in an experiment",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "counter",
        sa.Column("experiment", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column(
            "shard", sa.Text, nullable=False, comment="one for each writer, so that writers do not wait for each other"
        ),
        sa.Column("arm", sa.SmallInteger, nullable=False),
        sa.Column("told", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("experiment", "epoch", "shard", "arm"),
    )
    op.create_table(
        "release",
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiment.id"), nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("part", sa.SmallInteger, nullable=False, comment="its place in the epoch"),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("arm", sa.SmallInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False, comment="of the arm's rewards that it covers, from 1"),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("steps", sa.Text, nullable=False, comment="text, since no noise may be too large to be written"),
        sa.Column("scale", sa.Double, nullable=False, comment="of the noise, in grid steps"),
        sa.Column("epsilon", sa.Double, nullable=False, comment="the price of each reward"),
        sa.Column("digest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("experiment", "epoch", "part"),
    )
    op.create_table(
        "ledger",
        sa.Column("population", sa.Text, sa.ForeignKey("population.name"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("experiment", sa.Text),
        sa.Column("epoch", sa.Integer),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("epsilon", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("population", "number"),
    )
    op.create_table(
        "api_key",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("experiment", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
    )


def downgrade() -> None:
    """Drop them."""
    for table in (
        "api_key", "ledger", "release", "counter", "participant", "assignment", "epoch", "experiment", "population",
        "setting",
    ):  # fmt: skip
        op.drop_table(table)

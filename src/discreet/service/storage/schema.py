"""What is kept, in SQLite and PostgreSQL alike.

Nothing here holds a reward. An open epoch has a sum for each arm and shard, and for each assignment whether its reward
came; both are as sensitive as the rewards, and both are gone once the epoch is closed.

Keys of large tables begin with what tells rows apart. A planner takes a new epoch for a few rows, whatever its size,
and would read all of it if it could look an epoch up.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

setting = Table(
    "setting",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    comment="secrets and marks of the whole service",
)

population = Table(
    "population",
    metadata,
    Column("name", Text, primary_key=True),
    Column("budget", Text, nullable=False, comment="a fraction"),
    Column("created_at", Double, nullable=False),
)

experiment = Table(
    "experiment",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("population", Text, ForeignKey("population.name"), nullable=False),
    Column("description", Text, nullable=False, comment="the request that made it, as JSON"),
    Column("state", Text, nullable=False),
    Column("secret", LargeBinary, nullable=False),
    Column("course", Text, comment="the algorithm between epochs, as JSON; nothing in it but releases"),
    Column("epsilon", Text, nullable=False, comment="a fraction: what was promised, and what burnt epochs add"),
    Column("spent", Text, nullable=False, comment="a fraction: what releases and burnt epochs have cost"),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
)

epoch = Table(
    "epoch",
    metadata,
    Column("experiment", Integer, ForeignKey("experiment.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", Text, nullable=False, comment="open, closed, burnt or discarded"),
    Column(
        "mark", Integer, nullable=False, comment="random, in all its tokens: a lost epoch of this number had another"
    ),
    Column("plan", Text, nullable=False, comment="slots by arm number, as JSON"),
    Column("quota", BigInteger, nullable=False),
    Column("dealt", BigInteger, nullable=False),
    Column("threshold", Double),
    Column("epsilon", Text, nullable=False),
    Column("opened_at", Double, nullable=False),
    Column("full_at", Double),
    Column("ripe_at", Double),
    Column("closed_at", Double),
    Column("dropped", Text, nullable=False, comment="the arms that went at its end, as JSON"),
    Column("scrubbed", SmallInteger, nullable=False, comment="whether its assignments were deleted"),
    PrimaryKeyConstraint("experiment", "number"),
)
Index(
    "one_open_epoch",
    epoch.c.experiment,
    unique=True,
    sqlite_where=text("state = 'open'"),
    postgresql_where=text("state = 'open'"),
)

assignment = Table(
    "assignment",
    metadata,
    Column("experiment", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("slot", BigInteger, nullable=False),
    Column("unit", Text, nullable=False, comment="a keyed hash"),
    Column("arm", SmallInteger, nullable=False),
    Column("deadline", Double, nullable=False),
    Column("told", SmallInteger, nullable=False),
    PrimaryKeyConstraint("slot", "epoch", "experiment"),
    UniqueConstraint("unit", "epoch", "experiment", name="one_slot_a_unit"),
    sqlite_with_rowid=False,
)

participant = Table(
    "participant",
    metadata,
    Column("experiment", Integer, nullable=False),
    Column("unit", Text, nullable=False),
    PrimaryKeyConstraint("unit", "experiment"),
    comment="units that have contributed, where each may do so once in an experiment",
    sqlite_with_rowid=False,
)

counter = Table(
    "counter",
    metadata,
    Column("experiment", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("shard", Text, nullable=False, comment="one for each writer, so that writers do not wait for each other"),
    Column("arm", SmallInteger, nullable=False),
    Column("told", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    PrimaryKeyConstraint("experiment", "epoch", "shard", "arm"),
)

release = Table(
    "release",
    metadata,
    Column("experiment", Integer, ForeignKey("experiment.id"), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("arm", SmallInteger, nullable=False),
    Column("what", Text, nullable=False),
    Column("pulls", BigInteger, nullable=False),
    Column("units", Text, nullable=False, comment="text, since no noise may be too large to be written"),
    Column("value", Double, nullable=False),
    Column("scale", Double, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("digest", Text, nullable=False),
    PrimaryKeyConstraint("experiment", "epoch", "arm", "what"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("population", Text, ForeignKey("population.name"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("experiment", Text),
    Column("epoch", Integer),
    Column("kind", Text, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("digest", Text, nullable=False),
    PrimaryKeyConstraint("population", "number"),
)

api_key = Table(
    "api_key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("experiment", Text),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
)

"""The tables, in SQLite and PostgreSQL alike.

Nothing here holds a reward. An open epoch has a sum for each arm and shard, and for each assignment whether its reward
came. Both are as sensitive as the rewards, and both are deleted once the epoch is closed.

Keys of large tables begin with the column that has the most values. PostgreSQL's planner takes a new epoch for a few
rows, whatever its size, and would read all of it if it could look an epoch up.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
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
    TypeDecorator,
    UniqueConstraint,
    text,
)

metadata = MetaData()


class Encoded(TypeDecorator[Any]):
    """A value that is stored as text.

    Args:
        encode: Returns the text of a value.
        decode: Returns the value of a text.
    """

    impl = Text
    cache_ok = True

    def __init__(self, encode: Callable[[Any], str], decode: Callable[[str], Any]) -> None:
        super().__init__()
        self.encode, self.decode = encode, decode

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        """Return the text of a value.

        Args:
            value: The value; None stays None.
            dialect: Not used: it is the same in all.
        """
        return None if value is None else self.encode(value)

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        """Return the value of a text.

        Args:
            value: The text; None stays None.
            dialect: Not used: it is the same in all.
        """
        return None if value is None else self.decode(value)


def exact(amount: Fraction) -> str:
    """Return a fraction as text.

    >>> exact(Fraction(3, 8)), Fraction(exact(Fraction(1, 3)))
    ('3/8', Fraction(1, 3))
    """
    return f"{amount.numerator}/{amount.denominator}"


def read_pulls(stored: str) -> dict[int, int]:
    """Return numbers of assignments by arm index from their JSON text."""
    return {int(arm): int(count) for arm, count in json.loads(stored).items()}


Exact = Encoded(exact, Fraction)  # sums of epsilons are exact
Json = Encoded(json.dumps, json.loads)
Pulls = Encoded(json.dumps, read_pulls)

setting = Table(
    "setting",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    comment="values of the whole service",
)

population = Table(
    "population",
    metadata,
    Column("name", Text, primary_key=True),
    Column("budget", Exact, nullable=False),
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
    Column("algorithm", Text, nullable=False, comment="its key"),
    Column("options", Text, nullable=False, comment="all options of the algorithm, as JSON"),
    Column("epochs", Integer, nullable=False, comment="the number of closed ones"),
    Column("snapshot", Text, comment="what the algorithm has learned from its releases, as JSON: a cache"),
    Column("covered", Integer, nullable=False, comment="the number of closed epochs that the snapshot covers"),
    Column("epsilon", Exact, nullable=False, comment="what was promised, and what forfeited epochs add"),
    Column("spent", Exact, nullable=False, comment="what releases and forfeited epochs have cost"),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
)

epoch = Table(
    "epoch",
    metadata,
    Column("experiment", Integer, ForeignKey("experiment.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", Text, nullable=False, comment="open, closed, forfeited or discarded"),
    Column("generation", Integer, nullable=False, comment="random: a lost epoch of this number had another one"),
    Column("plan", Pulls, nullable=False, comment="slots by arm index"),
    Column("learns", Boolean, nullable=False, comment="false if rewards of it decide nothing"),
    Column("quota", BigInteger, nullable=False),
    Column("dealt", BigInteger, nullable=False),
    Column("threshold", Double),
    Column("epsilon", Exact, nullable=False),
    Column("opened_at", Double, nullable=False),
    Column("full_at", Double),
    Column("due_at", Double),
    Column("closed_at", Double),
    Column("dropped", Json, nullable=False, comment="indexes of the arms that were dropped at its end"),
    Column("erased", Boolean, nullable=False, comment="true once its assignments were deleted"),
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
    # PostgreSQL writes a changed row anew. Where its page is full, the row goes elsewhere, and both indexes are changed
    # too, which takes three times as long. Each row is marked once as a rule: half of a page is enough.
    postgresql_with={"fillfactor": 50},
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
    Column("part", SmallInteger, nullable=False, comment="its place in the epoch"),
    Column("kind", Text, nullable=False),
    Column("arm", SmallInteger, nullable=False),
    Column("first", BigInteger, nullable=False, comment="of the arm's rewards that it covers, from 1"),
    Column("last", BigInteger, nullable=False),
    Column("steps", Text, nullable=False, comment="text, since no noise may be too large to be written"),
    Column("scale", Double, nullable=False, comment="of the noise, in grid steps"),
    Column("epsilon", Double, nullable=False, comment="the price of each reward"),
    Column("digest", Text, nullable=False),
    PrimaryKeyConstraint("experiment", "epoch", "part"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("population", Text, ForeignKey("population.name"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("experiment", Text),
    Column("epoch", Integer),
    Column("kind", Text, nullable=False),
    Column("epsilon", Exact, nullable=False),
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
    Column("scopes", Json, nullable=False),
    Column("experiment", Text),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
)

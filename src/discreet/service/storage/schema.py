"""The tables, in SQLite and PostgreSQL alike, and their rows.

Nothing here holds a reward, but for `tested_unit`: whoever is in a test is not protected, and its rows never leave that
table. An open epoch has a sum for each arm and shard, and for each assignment whether its reward came. Both are as
sensitive as the rewards, and both are deleted once the epoch is closed.

A large table has one key, by which alone its rows are found. PostgreSQL's planner takes a new epoch for a few rows,
whatever its size, and would read all of it if another key could look it up.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKey, PrimaryKeyConstraint, Table, UniqueConstraint

from discreet.service.messages import EpochState, LedgerKind, Scope, State

metadata = sa.MetaData()


class Encoded(sa.TypeDecorator[Any]):
    """A value that is stored as text.

    Args:
        encode: Returns the text of a value.
        decode: Returns the value of a text.
    """

    impl = sa.Text
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


Exact = Encoded(exact, lru_cache(maxsize=4096)(Fraction))  # sums of epsilons are exact
Json = Encoded(json.dumps, json.loads)
Pulls = Encoded(json.dumps, read_pulls)

Big = Annotated[int, sa.BigInteger()]
Small = Annotated[int, sa.SmallInteger()]
_TYPES: dict[Any, Any] = {
    int: sa.Integer,
    str: sa.Text,
    Literal: sa.Text,
    float: sa.Double,
    bool: sa.Boolean,
    bytes: sa.LargeBinary,
    Fraction: Exact,
    dict: Pulls,
    list: Json,
}


TABLES: dict[Any, Table] = {}
"""The table of each kind of row."""


def table_of(row: type, name: str, *key: str, unique: Sequence[str] = (), comment: str | None = None) -> Table:
    """Return the table of a kind of row.

    Args:
        row: The kind of row.
        name: The table's name.
        *key: The columns of its primary key.
        unique: Further columns whose values are different in all rows.
        comment: A comment about the table.
    """
    constraints = [PrimaryKeyConstraint(*key), *map(UniqueConstraint, unique)]
    TABLES[row] = Table(name, metadata, *columns(row), *constraints, comment=comment)
    return TABLES[row]


def columns(row: type) -> list[Column[Any]]:
    """Return a column for each field of a row.

    Its annotation may have a type of SQLAlchemy's, if Python's is not enough, a foreign key, and a comment.
    """
    found = []
    for name, hint in get_type_hints(row, include_extras=True).items():
        plain, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        nullable = NoneType in get_args(plain)
        kind = get_args(plain)[0] if nullable else plain
        given = [one for one in more if not isinstance(one, str)]
        if not any(isinstance(one, sa.types.TypeEngine) for one in given):
            given.insert(0, _TYPES[get_origin(kind) or kind])
        comment = next((one for one in more if isinstance(one, str)), None)
        found.append(Column(name, *given, nullable=nullable, comment=comment))
    return found


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table `setting`: a value of the whole service.

    Args:
        name: The value's name.
        value: The value.
    """

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Population:
    """A row of the table `population`.

    Args:
        name: Its name.
        budget: Its budget.
        reserved: What is reserved of it: the sum of the ledger's lines, which changes with them.
        created_at: When it was made.
    """

    name: str
    budget: Fraction
    reserved: Annotated[Fraction, "the sum of its ledger's lines"]
    created_at: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """A row of the table `experiment`.

    Args:
        id: Its number in this database.
        uid: Its public id.
        name: Its name.
        population: The population that pays for it.
        description: The request that made it, as JSON.
        state: "draft", "running", "paused", "stopped" or "archived".
        secret: The key of its pseudonyms and orders of arms.
        algorithm: The key of its algorithm.
        options: The options of its algorithm, as JSON.
        epochs: The number of its closed epochs.
        snapshot: What its algorithm has learned, as JSON; a cache, or None.
        covered: The number of closed epochs that the snapshot covers.
        epsilon: The promise, and what forfeited epochs add to it.
        spent: The cost of its releases and forfeited epochs.
        created_at: When it was made.
        started_at: When it was started.
        ended_at: When it was stopped.
        test_until: When the test of a draft ends by itself; None if there is none.
    """

    id: int
    uid: str
    name: str
    population: Annotated[str, ForeignKey("population.name")]
    description: Annotated[str, "the request that made it, as JSON"]
    state: State
    secret: bytes
    algorithm: Annotated[str, "its key"]
    options: Annotated[str, "all options of the algorithm, as JSON"]
    epochs: Annotated[int, "the number of closed ones"]
    snapshot: Annotated[str | None, "what the algorithm has learned from its releases, as JSON: a cache"]
    covered: Annotated[int, "the number of closed epochs that the snapshot covers"]
    epsilon: Annotated[Fraction, "what was promised, and what forfeited epochs add"]
    spent: Annotated[Fraction, "what releases and forfeited epochs have cost"]
    created_at: float
    started_at: float | None
    ended_at: float | None
    test_until: Annotated[float | None, "when the test of a draft ends by itself"] = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """A row of the table `epoch`.

    Args:
        experiment: The number of its experiment.
        number: Its number, from 1.
        state: "open", "closed", "forfeited" or "discarded".
        generation: A random number that is in all its tokens.
        plan: The number of slots of each arm, by index.
        learns: False if its rewards decide nothing: they are not collected, and nothing is released.
        quota: The number of all slots.
        leased: The number of slots that writers have leased.
        dealt: The number of slots that were assigned; while it is open, its leases say so.
        threshold: The distance from the best arm at which an arm is dropped, in rewards.
        epsilon: What it costs a unit that is in it.
        opened_at: When it was opened.
        full_at: When its last slot was assigned; while it is open, its leases say so.
        due_at: When it may be closed; while it is open, its leases say so.
        closed_at: When it ended.
        dropped: The indexes of the arms that were dropped at its end.
        erased_parts: The number of parts of its assignments that were deleted.
        erased: True once all of them were deleted.
    """

    experiment: Annotated[int, ForeignKey("experiment.id")]
    number: int
    state: Annotated[EpochState, "open, closed, forfeited or discarded"]
    generation: Annotated[int, "random: a lost epoch of this number had another one"]
    plan: Annotated[dict[int, int], "slots by arm index"]
    learns: Annotated[bool, "false if rewards of it decide nothing"]
    quota: Big
    leased: Big
    dealt: Big
    threshold: float | None
    epsilon: Fraction
    opened_at: float
    full_at: float | None
    due_at: float | None
    closed_at: float | None
    dropped: Annotated[list[int], "indexes of the arms that were dropped at its end"]
    erased_parts: Annotated[int, "the number of parts of its assignments that were deleted"]
    erased: Annotated[bool, "true once all of them were deleted"]


@dataclass(frozen=True, slots=True)
class Released:
    """A row of the table `release`.

    Args:
        experiment: The experiment's number.
        epoch: The epoch's number, among closed, forfeited and discarded ones.
        part: Its place in the epoch, from 0.
        kind: What it says.
        arm: The arm's index.
        first: The first of the arm's rewards that it covers, from 1.
        last: The last of them.
        steps: The noisy number in grid steps, as text.
        scale: The noise's scale in grid steps.
        epsilon: The price of each reward.
        digest: A checksum of all other columns.
    """

    experiment: Annotated[int, ForeignKey("experiment.id")]
    epoch: int
    part: Annotated[Small, "its place in the epoch"]
    kind: str
    arm: Small
    first: Annotated[Big, "of the arm's rewards that it covers, from 1"]
    last: Big
    steps: Annotated[str, "text, since no noise may be too large to be written"]
    scale: Annotated[float, "of the noise, in grid steps"]
    epsilon: Annotated[float, "the price of each reward"]
    digest: str = ""

    @property
    def count(self) -> int:
        """The number of rewards that it covers."""
        return self.last - self.first + 1

    def checksum(self) -> str:
        """Return a digest of all columns but itself, which shows that a row was changed."""
        content = asdict(self)
        del content["digest"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table `ledger`.

    Args:
        population: The population's name.
        number: The line's number, from 1.
        experiment: The public id of the experiment that it is about.
        epoch: The number of the epoch that it is about.
        kind: What happened.
        epsilon: How much of epsilon it is about.
        at: When it was written.
        digest: The digest of this line and the one before.
    """

    population: Annotated[str, ForeignKey("population.name")]
    number: int
    experiment: str | None
    epoch: int | None
    kind: LedgerKind
    epsilon: Fraction
    at: float
    digest: str


@dataclass(frozen=True, slots=True)
class Key:
    """A row of the table `api_key`.

    Args:
        id: Its public id.
        digest: The digest of the key, which itself is not stored.
        name: Whom or what it is for.
        scopes: What it may do.
        experiment: The public id of the only experiment that it is for; None for all.
        created_at: When it was made.
        expires_at: When it ends.
        revoked_at: When it was revoked.
    """

    id: str
    digest: str
    name: str
    scopes: list[Scope]
    experiment: str | None
    created_at: float
    expires_at: float | None
    revoked_at: float | None = None


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A row of the table `ended_session`: somebody has signed out, and all copies of the cookie are worth nothing.

    Args:
        id: The session's random id.
        until: When it would have ended by itself, and this row with it.
    """

    id: str
    until: float


@dataclass(frozen=True, slots=True)
class TestMode:
    """A row of the table `test_mode`: the test of a draft.

    Args:
        experiment: The experiment's number.
        generation: A random number that is in all its tokens.
        secret: The key of its pseudonyms and its order of arms, which are not those of the experiment.
        began_at: When it began.
        units: The number of units that were assigned.
        unknown: The number of reports whose token this service did not make, up to a limit.
        stale: The number of reports with a token of an earlier test, up to a limit.
        changes: The number of changes, by which pages know that there is something new.
        over: True once it is thrown away, until traces of it are erased.
    """

    experiment: int
    generation: int
    secret: bytes
    began_at: float
    units: int = 0
    unknown: int = 0
    stale: int = 0
    changes: int = 0
    over: bool = False


@dataclass(frozen=True, slots=True)
class TestedUnit:
    """A row of the table `tested_unit`: a unit of a test, and what was sent for it. It is not protected.

    Args:
        experiment: The experiment's number.
        number: Its number in the test, from 0.
        name: Its pseudonym in the test.
        unit: Its name as it was sent; None if it has none.
        arm: The arm's index.
        asked_at: When it was assigned.
        asks: How often it was asked for.
        deadline: When its reward must have come.
        reward: The first reward as it was sent; None if none came.
        told_at: When that came.
        again: The number of further rewards.
    """

    experiment: int
    number: int
    name: bytes
    unit: str | None
    arm: Small
    asked_at: float
    asks: int
    deadline: float
    reward: Annotated[float | None, "as it was sent: whoever is in a test is not protected"] = None
    told_at: float | None = None
    again: int = 0


setting = table_of(Setting, "setting", "name", comment="values of the whole service")

population = table_of(Population, "population", "name")

experiment = table_of(Experiment, "experiment", "id", unique=("uid", "name"))
sa.Index("experiments_by_state", *(experiment.c[name] for name in ("state", "id", "name", "population")))

epoch = table_of(Epoch, "epoch", "experiment", "number")
_OPEN = sa.text("state = 'open'")
_LEFT = sa.text("state <> 'open' AND NOT erased")
sa.Index("epoch_to_erase", epoch.c.experiment, sqlite_where=_LEFT, postgresql_where=_LEFT)
sa.Index("one_open_epoch", epoch.c.experiment, unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN)

assignment = Table(
    "assignment",
    metadata,
    Column("experiment", sa.Integer, nullable=False),
    Column("epoch", sa.Integer, nullable=False),
    Column("slot", sa.BigInteger, nullable=False),
    Column("unit", sa.LargeBinary, nullable=False, comment="a keyed hash"),
    Column("arm", sa.SmallInteger, nullable=False),
    Column("deadline", sa.Double, nullable=False),
    Column("told", sa.SmallInteger, nullable=False),
    PrimaryKeyConstraint("experiment", "epoch", "slot"),
    sqlite_with_rowid=False,
    # PostgreSQL writes a changed row anew. Where its page is full, the row goes elsewhere, and its index is changed
    # too, which takes longer. Each row is marked once as a rule: half of a page is enough.
    postgresql_with={"fillfactor": 50},
)

unit_slot = Table(
    "unit_slot",
    metadata,
    Column("experiment", sa.Integer, nullable=False),
    Column("epoch", sa.Integer, nullable=False),
    Column("unit", sa.LargeBinary, nullable=False),
    Column("slot", sa.BigInteger, nullable=False),
    PrimaryKeyConstraint("experiment", "epoch", "unit"),
    comment="the slot of each unit: a table of its own, so that both can be deleted in the order of their keys",
    sqlite_with_rowid=False,
)

lease = Table(
    "lease",
    metadata,
    Column("experiment", sa.Integer, nullable=False),
    Column("epoch", sa.Integer, nullable=False),
    Column("writer", sa.Text, nullable=False),
    Column("next", sa.BigInteger, nullable=False, comment="the first slot that is left"),
    Column("stop", sa.BigInteger, nullable=False, comment="the slot after the last one"),
    Column("dealt", sa.BigInteger, nullable=False, comment="the number of slots that this writer has dealt"),
    Column("dealt_at", sa.Double, nullable=False, comment="when the last of them was dealt"),
    Column("deadline", sa.Double, nullable=False, comment="of that one"),
    PrimaryKeyConstraint("experiment", "epoch", "writer"),
    comment="ranges of slots that one writer deals, so that writers do not wait for each other",
)

participant = Table(
    "participant",
    metadata,
    Column("experiment", sa.Integer, nullable=False),
    Column("unit", sa.LargeBinary, nullable=False),
    PrimaryKeyConstraint("experiment", "unit"),
    comment="units that have contributed, where each may do so once in an experiment",
    sqlite_with_rowid=False,
)

counter = Table(
    "counter",
    metadata,
    Column("experiment", sa.Integer, nullable=False),
    Column("epoch", sa.Integer, nullable=False),
    Column("shard", sa.Text, nullable=False, comment="one for each writer, so that writers do not wait for each other"),
    Column("arm", sa.SmallInteger, nullable=False),
    Column("told", sa.BigInteger, nullable=False),
    Column("total", sa.BigInteger, nullable=False),
    PrimaryKeyConstraint("experiment", "epoch", "shard", "arm"),
)

test_mode = table_of(TestMode, "test_mode", "experiment", comment="tests of drafts, which cost nothing")

tested_unit = table_of(TestedUnit, "tested_unit", "experiment", "number", comment="what was sent in tests")
sa.Index("tested_unit_by_name", tested_unit.c.experiment, tested_unit.c.name, unique=True)

release = table_of(Released, "release", "experiment", "epoch", "part")

ledger = table_of(Line, "ledger", "population", "number")

api_key = table_of(Key, "api_key", "id", unique=("digest",))

ended_session = table_of(EndedSession, "ended_session", "id", comment="sessions that were signed out of")

"""SQL about populations and their ledgers."""

from dataclasses import asdict, dataclass
from fractions import Fraction

from sqlalchemy import insert, select, update

from discreet.service.storage import schema
from discreet.service.storage.database import Transaction

LEDGER, POPULATION = schema.ledger, schema.population


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

    population: str
    number: int
    experiment: str | None
    epoch: int | None
    kind: str
    epsilon: Fraction
    at: float
    digest: str


def names(transaction: Transaction) -> list[str]:
    """Return the names of all populations, in order."""
    return list(transaction.execute(select(POPULATION.c.name).order_by(POPULATION.c.name)).scalars())


def budget(transaction: Transaction, name: str, *, hold: bool = False) -> Fraction | None:
    """Return a population's budget; None if there is no such population.

    Args:
        transaction: The transaction.
        name: The population's name.
        hold: True to keep others from changing it, or its ledger, before the transaction ends.
    """
    query = select(POPULATION.c.budget).where(POPULATION.c.name == name)
    found: Fraction | None = transaction.execute(query.with_for_update() if hold else query).scalar()
    return found


def create(transaction: Transaction, name: str, amount: Fraction, now: float) -> None:
    """Add a population.

    Args:
        transaction: The transaction.
        name: Its name.
        amount: Its budget.
        now: The time.

    Raises:
        DuplicateError: There is a population of this name.
    """
    transaction.execute(insert(POPULATION).values(name=name, budget=amount, created_at=now))


def set_budget(transaction: Transaction, name: str, amount: Fraction) -> None:
    """Change a population's budget.

    Args:
        transaction: The transaction.
        name: The population's name.
        amount: The new budget.
    """
    transaction.execute(update(POPULATION).where(POPULATION.c.name == name).values(budget=amount))


def lines(transaction: Transaction, name: str) -> list[Line]:
    """Return a population's ledger, the oldest line first.

    Args:
        transaction: The transaction.
        name: The population's name.
    """
    query = select(LEDGER).where(LEDGER.c.population == name).order_by(LEDGER.c.number)
    return [Line(*row) for row in transaction.fetch(query)]


def last_line(transaction: Transaction, name: str) -> Line | None:
    """Return the newest line of a population's ledger, if there is one.

    Args:
        transaction: The transaction.
        name: The population's name.
    """
    query = select(LEDGER).where(LEDGER.c.population == name).order_by(LEDGER.c.number.desc()).limit(1)
    return next((Line(*row) for row in transaction.fetch(query)), None)


def amounts(transaction: Transaction, name: str) -> list[tuple[str, Fraction]]:
    """Return the kind and epsilon of each line of a population's ledger.

    Args:
        transaction: The transaction.
        name: The population's name.
    """
    query = select(LEDGER.c.kind, LEDGER.c.epsilon).where(LEDGER.c.population == name)
    return [(kind, epsilon) for kind, epsilon in transaction.fetch(query)]


def add_line(transaction: Transaction, line: Line) -> None:
    """Add a line to a ledger, whose population the caller holds.

    Args:
        transaction: The transaction.
        line: The line.
    """
    transaction.execute(insert(LEDGER).values(asdict(line)))

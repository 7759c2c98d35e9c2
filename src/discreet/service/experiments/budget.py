"""Budgets of populations: a ledger that only grows, chained by digests; what exceeds the budget is refused.

An experiment reserves its epsilon when it starts. Its releases are written down inside that reservation, and what it
has not used when it ends is refunded. Pure epsilons add up, also when they are chosen by what was released before, so a
person who is in all experiments of a population loses at most its budget, if these protect persons; a reward does if
they protect events.

The sum of a ledger is kept in its population's row, which changes in the same transaction as the line is written.
`checking` compares it with the lines.
"""

import hashlib
import json
from dataclasses import asdict, replace
from fractions import Fraction

from discreet.service.errors import not_found, over_budget
from discreet.service.experiments.epsilon import as_text
from discreet.service.messages import LedgerEntry, LedgerKind, PopulationView
from discreet.service.storage import Line, Population, Transaction
from discreet.service.storage.queries import LedgerEnd
from discreet.service.storage.schema import exact

DEFAULT_POPULATION, DEFAULT_BUDGET = "everybody", Fraction(10)
SIGNS: dict[LedgerKind, int] = {"reserve": 1, "forfeit": 1, "refund": -1, "release": 0, "budget": 0}
"""The sign of each kind of line in the sum that is reserved. A release is inside its experiment's reservation."""


def state(transaction: Transaction, name: str, *, hold: bool = False) -> Population:
    """Return a population with its budget and what is reserved of it.

    Args:
        transaction: The transaction.
        name: The population's name.
        hold: True to keep others from changing it before the transaction ends.

    Raises:
        ServiceProblem: There is no such population.
    """
    population = transaction.find(Population, name=name, hold=hold)
    if population is None:
        raise not_found(f"population {name!r}")
    return population


def view(population: Population | LedgerEnd) -> PopulationView:
    """Return a population as clients see it."""
    budget, reserved = population.budget, population.reserved
    left = as_text(max(Fraction(0), budget - reserved))
    return PopulationView(population.name, as_text(budget), as_text(reserved), left)


def create(transaction: Transaction, name: str, budget: Fraction, now: float) -> None:
    """Add a population.

    Args:
        transaction: The transaction.
        name: Its name.
        budget: Its budget.
        now: The time.

    Raises:
        DuplicateError: There is a population of this name.
    """
    transaction.add(Population(name, budget, Fraction(0), now))
    write(transaction, name, "budget", budget, now)


def set_budget(transaction: Transaction, name: str, budget: Fraction, now: float) -> None:
    """Change a population's budget.

    Args:
        transaction: The transaction.
        name: The population's name.
        budget: The new budget.
        now: The time.

    Raises:
        ServiceProblem: There is no such population, or more than the new budget is reserved.
    """
    present = state(transaction, name, hold=True)
    if budget < present.reserved:
        raise over_budget(f"population {name!r} has {as_text(present.reserved)} set aside; its budget cannot be less")
    transaction.change(present, budget=budget)
    write(transaction, name, "budget", budget, now)


def reserve(transaction: Transaction, name: str, *, experiment: str, wanted: Fraction, now: float) -> None:
    """Reserve an experiment's epsilon.

    Args:
        transaction: The transaction.
        name: The population's name.
        experiment: The experiment's public id.
        wanted: Its epsilon.
        now: The time.

    Raises:
        ServiceProblem: The budget has not so much left.
    """
    present = state(transaction, name, hold=True)
    budget = present.budget
    if present.reserved + wanted > budget:
        left = as_text(budget - present.reserved)
        raise over_budget(f"population {name!r} has {left} of {as_text(budget)} left, not {as_text(wanted)}")
    write(transaction, name, "reserve", wanted, now, experiment=experiment)


def forfeit(transaction: Transaction, name: str, *, experiment: str, epoch: int, extra: Fraction, now: float) -> bool:
    """Charge an epoch that may have been released and is lost.

    Args:
        transaction: The transaction.
        name: The population's name.
        experiment: The experiment's public id.
        epoch: The epoch's number.
        extra: What it adds to the experiment's promise.
        now: The time.

    Returns:
        False if the budget is exceeded by it.
    """
    present = state(transaction, name, hold=True)
    write(transaction, name, "forfeit", extra, now, experiment=experiment, epoch=epoch)
    return present.reserved + extra <= present.budget


def write(
    transaction: Transaction,
    population: str,
    kind: LedgerKind,
    epsilon: Fraction,
    now: float,
    *,
    experiment: str | None = None,
    epoch: int | None = None,
) -> None:
    """Add a line to a ledger, and change what is reserved with it.

    Args:
        transaction: The transaction.
        population: The population's name.
        kind: What happened.
        epsilon: How much of epsilon it is about.
        now: The time.
        experiment: The public id of the experiment that it is about.
        epoch: The number of the epoch that it is about.
    """
    present = state(transaction, population, hold=True)
    last = transaction.find(Line, "-number", population=population)
    number, before = (1, "") if last is None else (last.number + 1, last.digest)
    line = Line(population, number, experiment, epoch, kind, epsilon, now, "")
    transaction.add(replace(line, digest=digest(before, line)))
    if SIGNS[kind]:
        transaction.change(present, reserved=present.reserved + SIGNS[kind] * epsilon)


def entry(line: Line) -> LedgerEntry:
    """Return a line as clients see it."""
    return LedgerEntry(**{**asdict(line), "epsilon": as_text(line.epsilon)})


def digest(before: str, line: Line) -> str:
    """Return the digest that chains a line to the one before.

    Args:
        before: The digest of the line before; empty for the first line.
        line: The line.
    """
    content = {**asdict(line), "epsilon": exact(line.epsilon)}
    del content["digest"]
    return hashlib.sha256(f"{before}{json.dumps(content, sort_keys=True)}".encode()).hexdigest()

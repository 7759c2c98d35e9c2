"""Budgets of populations: a ledger that only grows, chained by digests; what exceeds the budget is refused.

An experiment reserves its epsilon when it starts. Its releases are written down inside that reservation, and what it
has not used when it ends is refunded. Pure epsilons add up, also when they are chosen by what was released before, so a
person who is in all experiments of a population loses at most its budget, if these protect persons; a reward does if
they protect events.
"""

import hashlib
import json
from dataclasses import asdict, replace
from fractions import Fraction
from typing import NamedTuple

from discreet.service.errors import not_found, over_budget
from discreet.service.experiments.epsilon import as_text
from discreet.service.messages import LedgerEntry, LedgerKind, PopulationView
from discreet.service.storage import Line, Population, Transaction
from discreet.service.storage.schema import exact

DEFAULT_POPULATION, DEFAULT_BUDGET = "everybody", Fraction(10)
SIGNS: dict[LedgerKind, int] = {"reserve": 1, "forfeit": 1, "refund": -1, "release": 0, "budget": 0}
"""The sign of each kind of line in the sum that is reserved. A release is inside its experiment's reservation."""


class State(NamedTuple):
    """The state of a population's budget.

    Attributes:
        population: The population.
        reserved: What is reserved of its budget.
    """

    population: Population
    reserved: Fraction

    def view(self) -> PopulationView:
        """Return the state as clients see it."""
        name, budget, reserved = self.population.name, self.population.budget, self.reserved
        return PopulationView(name, as_text(budget), as_text(reserved), as_text(max(Fraction(0), budget - reserved)))


def state(transaction: Transaction, name: str, *, hold: bool = False) -> State:
    """Return the state of a population's budget.

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
    lines = transaction.values(Line, ("kind", "epsilon"), population=name)
    return State(population, sum((SIGNS[kind] * epsilon for kind, epsilon in lines), Fraction(0)))


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
    transaction.add(Population(name, budget, now))
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
    transaction.change(present.population, budget=budget)
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
    budget = present.population.budget
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
    return present.reserved + extra <= present.population.budget


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
    """Add a line to a ledger, whose population the caller holds.

    Args:
        transaction: The transaction.
        population: The population's name.
        kind: What happened.
        epsilon: How much of epsilon it is about.
        now: The time.
        experiment: The public id of the experiment that it is about.
        epoch: The number of the epoch that it is about.
    """
    last = transaction.find(Line, "-number", population=population)
    number, before = (1, "") if last is None else (last.number + 1, last.digest)
    line = Line(population, number, experiment, epoch, kind, epsilon, now, "")
    transaction.add(replace(line, digest=_digest(before, line)))


def entries(transaction: Transaction, population: str) -> tuple[list[LedgerEntry], bool]:
    """Return all lines of a ledger, and True if the chain of their digests holds.

    Args:
        transaction: The transaction.
        population: The population's name.
    """
    found, before, intact = [], "", True
    for number, line in enumerate(transaction.rows(Line, "number", population=population), 1):
        intact = intact and line.number == number and line.digest == _digest(before, line)
        before = line.digest
        content = {**asdict(line), "epsilon": as_text(line.epsilon)}
        found.append(LedgerEntry(**content))
    return found, intact


def _digest(before: str, line: Line) -> str:
    """Return the digest that chains a line to the one before."""
    content = {**asdict(line), "epsilon": exact(line.epsilon)}
    del content["digest"]
    return hashlib.sha256(f"{before}{json.dumps(content, sort_keys=True)}".encode()).hexdigest()

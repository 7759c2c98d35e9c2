"""Checks of what is kept against what it was made of: sums and chains of ledgers, and what experiments have spent.

Whoever serves a page or closes an epoch reads a kept sum. A thread compares it with its parts, a bounded number of rows
at a time, and from the beginning again each hour: a line that was changed after it was checked is found too. What was
found is kept in memory, where nobody who changes the database can change it.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from discreet.core.errors import PrivacyError
from discreet.service.errors import not_found
from discreet.service.experiments import budget
from discreet.service.experiments.descriptions import described
from discreet.service.experiments.standing import History, histories, verified
from discreet.service.storage import Database, Experiment, Line, Transaction, queries
from discreet.service.storage.queries import LedgerEnd

LINES, EXPERIMENTS = 500, 20
"""The largest numbers of lines and of experiments that are checked in one look."""
AGAIN = 3600.0
"""Seconds after which everything is checked from the beginning."""
log = logging.getLogger("discreet.service")


class Checked(NamedTuple):
    """The last check of a ledger.

    Attributes:
        lines: The number of the last line that was checked.
        at: When that was; None before the first check.
        problems: What was found.
    """

    lines: int = 0
    at: float | None = None
    problems: tuple[str, ...] = ()


@dataclass
class Walk:
    """A walk along a ledger.

    Args:
        began: When it began.
        number: The number of the last line that was passed.
        digest: That line's digest.
        reserved: The sum of the lines so far.
        budget: The budget by these lines.
        broken: The number of a line that does not follow from the one before; None if the chain holds.
    """

    began: float
    number: int = 0
    digest: str = ""
    reserved: Fraction = Fraction(0)
    budget: Fraction = Fraction(0)
    broken: int | None = None

    def over(self, lines: Sequence[Line]) -> None:
        """Pass over the next lines, up to one that does not follow."""
        for line in lines:
            if line.number != self.number + 1 or line.digest != budget.digest(self.digest, line):
                self.broken = self.number + 1
                return
            self.number, self.digest = line.number, line.digest
            self.reserved += budget.SIGNS[line.kind] * line.epsilon
            self.budget = line.epsilon if line.kind == "budget" else self.budget

    def problem(self, end: LedgerEnd) -> str | None:
        """Return what is wrong with a ledger as far as it was walked; None if nothing is."""
        if self.broken is not None:
            return f"line {self.broken} of the ledger was changed or taken out"
        if self.number > end.last:
            return f"lines after {end.last} were taken out of the ledger"
        if self.number == end.last and self.reserved != end.reserved:
            return "what is kept as reserved is not the sum of the ledger's lines"
        if self.number == end.last and self.budget != end.budget:
            return "the budget is not the one that the ledger's last line about it says"
        return None


@dataclass
class Checker:
    """Checks a database a little at a time, and knows what was found. Safe for threads.

    Args:
        database: The database.
    """

    database: Database
    _walks: dict[str, Walk] = field(init=False, default_factory=dict)
    _ledgers: dict[str, Checked] = field(init=False, default_factory=dict)
    _experiments: dict[str, tuple[str, str]] = field(init=False, default_factory=dict)  # by id: population, problem
    _next: int = field(init=False, default=0)  # the number of the last experiment that was checked
    _rested: float | None = field(init=False, default=None)  # when all experiments had been checked
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock, repr=False)

    def look(self) -> None:
        """Check some lines and some experiments."""
        with self._lock, self.database.reading() as transaction:
            now, room = transaction.now(), LINES
            for end in queries.ledger_ends(transaction):
                room -= self._follow(transaction, end, now, room)
            self._check_experiments(transaction, now)

    def verify(self, population: str) -> Checked:
        """Check a whole ledger at once.

        Args:
            population: The population's name.

        Raises:
            ServiceProblem: There is no such population.
        """
        with self._lock, self.database.reading() as transaction:
            found = queries.ledger_ends(transaction, population)
            if not found:
                raise not_found(f"population {population!r}")
            self._walks.pop(population, None)
            while self._follow(transaction, found[0], transaction.now(), LINES) == LINES:
                pass
        return self.checked(population)

    def checked(self, population: str) -> Checked:
        """Return what the last check of a ledger found, and of its experiments."""
        found = self._ledgers.get(population, Checked())
        others = tuple(problem for where, problem in list(self._experiments.values()) if where == population)
        return Checked(found.lines, found.at, found.problems + others)

    def _follow(self, transaction: Transaction, end: LedgerEnd, now: float, room: int) -> int:
        """Walk on along a ledger, and return the number of lines that were read."""
        walk = self._walks.get(end.name)
        if walk is None or now - walk.began >= AGAIN:
            walk = self._walks[end.name] = Walk(now)
        lines: Sequence[Line] = ()
        if room > 0 and walk.broken is None and walk.number < end.last:
            lines = queries.list_lines(transaction, end.name, walk.number, min(end.last, walk.number + room))
            walk.over(lines)
            if not lines:  # all the rest is gone
                walk.broken = walk.number + 1
        problem, before = walk.problem(end), self._ledgers.get(end.name, Checked())
        if problem is not None or walk.number >= min(before.lines, end.last):
            self._ledgers[end.name] = Checked(walk.number, now, () if problem is None else (problem,))
        if problem is not None and problem not in before.problems:
            log.error("the ledger of %s is damaged: %s", end.name, problem)
        return len(lines)

    def _check_experiments(self, transaction: Transaction, now: float) -> None:
        if self._rested is not None and now - self._rested < AGAIN:
            return
        rows = queries.started_after(transaction, self._next, EXPERIMENTS)
        for row, history in zip(rows, histories(transaction, rows), strict=True):
            problem = _problem(row, history)
            if problem is None:
                self._experiments.pop(row.uid, None)
            elif transaction.find(Experiment, id=row.id) == row:  # else it was being closed between two statements
                if row.uid not in self._experiments:
                    log.error("experiment %s is damaged: %s", row.uid, problem)
                self._experiments[row.uid] = row.population, problem
        self._next = rows[-1].id if len(rows) == EXPERIMENTS else 0
        self._rested = None if self._next else now


def _problem(row: Experiment, history: History) -> str | None:
    """Return what is wrong with an experiment; None if nothing is."""
    try:
        verified(row, history.released)
    except PrivacyError as error:
        return str(error)
    costs = [epoch.epsilon for epoch in history.epochs if epoch.state in {"closed", "forfeited"}]
    if row.spent != described(row).cost(costs, row.epsilon):
        return f"what is kept as spent by {row.name!r} is not what its epochs have cost"
    return None

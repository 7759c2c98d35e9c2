"""Privacy as a value: what is promised, and to whom."""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet._display import Page, Shown

if TYPE_CHECKING:
    from discreet.core.ledger import Ledger


class Unit(StrEnum):
    """Whom a promise protects. The values are stored in files and databases: they never change their meaning."""

    REWARD = "reward"
    """One reward."""
    ROW = "row"
    """The rewards that all arms would have had at one time step."""
    PERSON = "person"
    """One person, with at most one reward in each epoch."""
    NONE = "none"
    """Nobody."""

    @property
    def neighbours(self) -> str:
        """The inputs that must be hard to tell apart, in words."""
        return _NEIGHBOURS[self]

    @property
    def words(self) -> str:
        """The unit in words, for reports."""
        return _WORDS[self]


_NEIGHBOURS = {
    Unit.REWARD: "streams that differ in the reward of one time step",
    Unit.ROW: "tables of potential rewards that differ in the row of one time step",
    Unit.PERSON: "streams with the same participants that differ in any rewards of one person, one in each epoch",
    Unit.NONE: "none",
}
_WORDS = {
    Unit.REWARD: "one reward (event level)",
    Unit.ROW: "one time step's rewards of all arms",
    Unit.PERSON: "one person, with at most one reward in each epoch",
    Unit.NONE: "nothing",
}


class Theorem(StrEnum):
    """The theorem by which a promise holds, as its file and its name in `proofs`, which Coq checks (`make prove`).

    It says that the curator keeps the promise for whatever an algorithm plans, as long as it asks for nothing else than
    what the theorem is about. `docs/proofs/machine.md` has the theorems in words.
    """

    REWARDS = "Promises.rewards_are_private"
    """Each reward enters one release: noisy totals, statistics of several parts, sparse vectors."""
    PERSONS = "Promises.persons_are_private"
    """A person has one reward in each epoch, and the prices of all epochs add up."""
    TREES = "Promises.trees_are_private"
    """A binary tree for each arm; a reward is in one node of each level."""
    HYBRIDS = "Promises.hybrids_are_private"
    """A hybrid counter for each arm."""
    ROWS = "Promises.rows_of_trees_are_private"
    """A binary tree for each of K arms, at epsilon/K each, and a row of one reward of each arm."""
    BY_HAND = "argued by hand"
    """None of these: the reason is an argument for people to read."""

    @property
    def words(self) -> str:
        """The theorem in words, for reports."""
        return str(self) if self is Theorem.BY_HAND else f"proved by machine ({self})"


@dataclass(frozen=True, slots=True)
class Privacy(Shown):
    """A promise of pure differential privacy.

    For all neighbouring inputs S and S' and every set O of outputs, Pr[M(S) in O] <= exp(epsilon) Pr[M(S') in O].
    The output is everything that was released: decisions, stopping times and noisy totals.

    Args:
        epsilon: The largest privacy loss of one unit over the whole run; infinite for what is not private.
        unit: Whom it protects.
        reason: Why it holds, in one sentence.
        simulated: Whether the noise came from a seed. Then the numbers have the distribution of a private run, but
            are not private themselves.
        theorem: The theorem by which it holds; None for what is not private.
    """

    epsilon: float
    unit: Unit
    reason: str
    simulated: bool = False
    theorem: Theorem | None = Theorem.BY_HAND

    @property
    def neighbours(self) -> str:
        """The inputs that must be hard to tell apart, in words."""
        return self.unit.neighbours

    @property
    def promised(self) -> bool:
        """True unless nothing is promised."""
        return self.unit is not Unit.NONE

    def to_dp_event(self, ledger: "Ledger | None" = None, relation: object = "REPLACE_ONE") -> Any:
        """Return the promise as an event of `dp_accounting`, to compose it with other mechanisms.

        Args:
            ledger: What was released, which an accountant under REPLACE_SPECIAL needs.
            relation: The accountant's relation: "REPLACE_ONE", "REPLACE_SPECIAL", or a member of its own enumeration.

        Raises:
            PrivacyError: Nothing is promised, or the noise was simulated.
            ArgumentError: In this relation no event is right.
            ModuleNotFoundError: dp_accounting is not installed.
        """
        from discreet.core.probability.accounting import dp_event  # noqa: PLC0415  (it knows promises)

        return dp_event(self, ledger, relation)

    def _page(self) -> Page:
        if not self.promised:
            return Page("not private", {"why": self.reason})
        facts = {"protects": self.unit.words, "neighbours": self.neighbours, "why": self.reason}
        proof = {} if self.theorem is None else {"proof": self.theorem.words}
        notes = ["The noise came from a seed, and protects nobody."] if self.simulated else []
        return Page(f"epsilon = {self.epsilon:g}", {**facts, **proof}, notes=notes)


NOT_PRIVATE = Privacy(math.inf, Unit.NONE, "no noise is added", theorem=None)
"""The statement of what is not private."""


def split(epsilon: float, share: float) -> tuple[float, float]:
    """Return two parts of epsilon, about share : 1 - share, that add up to it exactly.

    Args:
        epsilon: The sum of both parts.
        share: The first part's share, between 0 and 1.

    >>> sum(split(0.1, 0.3)) == 0.1
    True
    """
    larger = epsilon * max(share, 1 - share)
    smaller = epsilon - larger
    return (larger, smaller) if share >= 0.5 else (smaller, larger)


def share(epsilon: float, count: int) -> float:
    """Return the largest float that is at most epsilon if it is taken `count` times.

    Args:
        epsilon: What is shared out.
        count: The number of equal shares.

    >>> share(1.0, 4), share(0.1, 11) < 0.1 / 11  # eleven times 0.1 / 11, as floats, are more than 0.1
    (0.25, True)
    """
    exact = Fraction(epsilon) / count
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)

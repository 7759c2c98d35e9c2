"""The base class of elimination policies: viable arms that shrink, and a horizon that may cut an epoch short."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from discreet.bandits._policy import Policy
from discreet.core.errors import ArgumentError
from discreet.core.options import Count, Probability
from discreet.core.plans import Arm, Plan, Query, TotalsQuery
from discreet.core.releases import Release

PERSON_REASON = (
    "a person has one reward in an epoch at most, which enters one noisy total: basic composition over epochs, "
    "whose epsilons add up to less than the whole"
)
"""Why eliminations whose epochs spend less and less of epsilon are private for a person."""


@dataclass(kw_only=True)
class Elimination(Policy):
    """Pulls all viable arms equally, drops those that fall behind, and then pulls the last one.

    A subclass writes `rounds`, `_decide` and its formulas. An epoch that the horizon cuts short releases nothing.

    Attributes:
        max_pulls: Where a search without a horizon gives up, rather than begin an epoch that goes beyond.
    """

    beta: Probability | None = None
    max_pulls: Count | None = field(init=False, default=None, repr=False)
    _viable: list[int] = field(init=False, repr=False, default_factory=list)
    _leader: int | None = field(init=False, repr=False, default=None)

    def _start(self) -> None:
        super()._start()
        if self.beta is None and self.horizon is None:
            raise ArgumentError("give a horizon (then beta is 1/horizon), or beta; got neither")
        if self.max_pulls is not None and self.max_pulls < len(self.arms):
            raise ArgumentError(f"max_pulls must allow one pull of each arm, got {self.max_pulls}")
        self._viable = list(range(len(self.arms)))

    @property
    def viable(self) -> tuple[Arm, ...]:
        """The arms that may still be the best one."""
        return tuple(self.arms[index] for index in self._viable)

    @property
    def settled(self) -> bool:
        """True when one arm is left."""
        return len(self._viable) == 1

    @property
    def best_arm(self) -> Arm:
        """The last viable arm, or while there are several the one of the best latest release."""
        return None if self._leader is None else self.arms[self._leader]

    @cached_property
    def failure(self) -> float:
        """The probability of failure: beta as given, or the paper's 1/T."""
        return self.beta if self.beta is not None else 1 / (self.horizon or 1)

    @abstractmethod
    def rounds(self, epoch: int, viable: int) -> int:
        """Return the number of pulls of each viable arm in an epoch.

        Args:
            epoch: The epoch's number, from 1.
            viable: The number of viable arms.
        """

    def _query(self) -> Query:
        return TotalsQuery((self.epoch_epsilon(self.epoch + 1),))

    def _plan(self) -> Plan | None:
        viable = self._viable
        if len(viable) == 1:  # "pull the arm in S in all remaining rounds"; without a horizon nothing is left to find
            return self._plan_for({viable[0]: self.remaining or 0}, None)
        rounds = self.rounds(self.epoch + 1, len(viable))
        if self.max_pulls is not None and self.time + rounds * len(viable) > self.max_pulls:
            return None
        return self._plan_for(dict.fromkeys(viable, rounds), self._query())

    def _scores(self, releases: Sequence[Release]) -> dict[int, int]:
        """Return the released totals by arm index."""
        index = self._index
        return {index[release.spans[0][0]]: release.steps for release in releases}

    def _keep(self, scores: Mapping[int, int], stays: Callable[[int, int], bool]) -> None:
        """Keep the arms for which `stays(lead, score)` is true; the lead is that of the best arm over this one."""
        self._leader = max(scores, key=scores.__getitem__)
        best = scores[self._leader]
        self._viable = [index for index in self._viable if stays(best - scores[index], scores[index])]

    def _log(self, number: float) -> float:
        """Return ln(number/beta), also for a beta so small that the quotient would overflow."""
        return math.log(number) - math.log(self.failure)

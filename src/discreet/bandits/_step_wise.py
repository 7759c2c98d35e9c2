"""The base class of policies that pull one arm at a time."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from discreet.bandits._policy import Policy
from discreet.core.plans import Arm, Plan, Query, TotalsQuery
from discreet.core.releases import Release
from discreet.core.statistics import Statistic

_SUM = Statistic.TOTAL  # looked up once: it takes longer than a comparison
_new_tuple = tuple.__new__  # quicker than calling a named tuple's class


@dataclass(kw_only=True)
class StepWisePolicy(Policy):
    """Pulls each arm once, then at each time step the arm that `choose` returns, by the released mean of each arm.

    A subclass writes `choose`. As it is here, every reward is released as it is: that is not private.

    Attributes:
        tries_each_first: True if each arm is pulled once before `choose` is asked.
    """

    tries_each_first: ClassVar[bool] = True

    _totals: list[int] = field(init=False, repr=False, default_factory=list)

    def _start(self) -> None:
        super()._start()
        self._totals = [0] * len(self.arms)

    @abstractmethod
    def choose(self, time: int) -> int:
        """Return the index of the arm to pull at a time step, from 1."""

    def total(self, arm: int) -> float:
        """Return the released sum of an arm's rewards, each rescaled to [0, 1]; `arm` is its index."""
        return self._totals[arm] / self.grid.width

    def mean(self, arm: int) -> float:
        """Return the released mean of an arm that was pulled, rescaled to [0, 1]; `arm` is its index."""
        return self._totals[arm] / (self.pulls[arm] * self.grid.width)

    @property
    def best_arm(self) -> Arm:
        """The arm of the highest released mean; None until each arm was pulled."""
        return self.arms[max(range(len(self.arms)), key=self.mean)] if all(self.pulls) else None

    @cached_property
    def _query(self) -> Query:
        """One object for all pulls: the curator charges a query that it has not seen before."""
        return TotalsQuery((math.inf,))

    def _plan(self) -> Plan | None:
        time, arms = self.time, self.arms
        if time == self.horizon:
            return None
        arm = time if self.tries_each_first and time < len(arms) else self.choose(time + 1)
        return _new_tuple(Plan, (self.epoch + 1, {arms[arm]: 1}, self._query, _SUM))

    def _decide(self, releases: Sequence[Release]) -> None:
        (release,) = releases
        self._totals[self._index[release.spans[0][0]]] += release.steps

"""The inputs of an audit: every reward is known, so a neighbour is the same list with one reward or person changed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.core.grid import Grid


@dataclass(frozen=True)
class Rewards:
    """What each arm pays at each of its pulls, in grid units: always the same, but for one pull of one arm.

    A stopping rule's stream is an input with one arm.

    >>> rewards = Rewards(levels=(10, 0), arm=1, pull=2, paid=7)
    >>> rewards.units(1, first=1, last=3).tolist(), rewards.total(0, first=1, last=3)
    ([0, 7, 0], 30)
    """

    levels: tuple[int, ...]
    arm: int
    pull: int
    paid: int

    def units(self, arm: int, first: int, last: int) -> NDArray[np.int64]:
        """The rewards of the pulls number `first` to `last` of an arm."""
        units = np.full(last - first + 1, self.levels[arm], dtype=np.int64)
        if self.is_in(arm, first, last):
            units[self.pull - first] = self.paid
        return units

    def total(self, arm: int, first: int, last: int) -> int:
        """Their exact sum, at any length."""
        changed = self.paid - self.levels[arm] if self.is_in(arm, first, last) else 0
        return (last - first + 1) * self.levels[arm] + changed

    def is_in(self, arm: int, first: int, last: int) -> bool:
        """Whether the reward that may change is one of these."""
        return arm == self.arm and first <= self.pull <= last

    def floats(self, grid: Grid, arm: int, first: int, last: int) -> NDArray[np.float64]:
        """The rewards as a program would report them; the grid gives back the very same units."""
        return np.asarray((self.units(arm, first, last) + grid.floor) * grid.step, dtype=np.float64)

    def changed(self, width: int) -> tuple[Rewards, Rewards]:
        """Two neighbours: the one pull pays nothing, or all that a reward can."""
        return replace(self, paid=0), replace(self, paid=width)


@dataclass(frozen=True)
class PersonRewards(Rewards):
    """The same where one person has a reward of the arm in each epoch. Only whole epochs can be asked for, by totals.

    >>> person = PersonRewards(levels=(10, 0), arm=0, pull=1, paid=7)
    >>> person.total(0, first=1, last=3), person.total(0, first=4, last=8), person.total(1, first=1, last=3)
    (27, 47, 0)
    """

    def is_in(self, arm: int, first: int, last: int) -> bool:
        """Whether the person is in this epoch of the arm: always."""
        return arm == self.arm

    def units(self, arm: int, first: int, last: int) -> NDArray[np.int64]:
        """Not known: which of an epoch's rewards is the person's does not matter to a total."""
        raise NotImplementedError("a person's rewards are known by totals of epochs only")

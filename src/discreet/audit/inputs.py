"""The inputs of an audit: every reward is known, so a neighbour is the same list with one reward or person changed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.core.grid import Grid


@dataclass(frozen=True)
class Rewards:
    """The rewards of each arm at each of its pulls, in grid steps: always the same, but for one pull of one arm.

    A stopping rule's stream is an input with one arm.

    Args:
        levels: What each arm pays, by its index.
        arm: The index of the arm with another reward.
        pull: The number of the pull that pays it, from 1.
        paid: The other reward.
        each_epoch: True if the arm pays it once in each epoch, to a person who takes part in all of them. Then rewards
            are asked for by whole epochs.

    >>> rewards = Rewards(levels=(10, 0), arm=1, pull=2, paid=7)
    >>> rewards.steps(1, first=1, last=3).tolist(), rewards.total(0, first=1, last=3)
    ([0, 7, 0], 30)
    >>> person = Rewards(levels=(10, 0), arm=0, pull=1, paid=7, each_epoch=True)
    >>> person.total(0, first=1, last=3), person.total(0, first=4, last=8), person.total(1, first=1, last=3)
    (27, 47, 0)
    """

    levels: tuple[int, ...]
    arm: int
    pull: int
    paid: int
    each_epoch: bool = False

    def steps(self, arm: int, first: int, last: int) -> NDArray[np.int64]:
        """Return rewards of an arm.

        Args:
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        steps = np.full(last - first + 1, self.levels[arm], dtype=np.int64)
        if self.has_other(arm, first, last):
            steps[0 if self.each_epoch else self.pull - first] = self.paid
        return steps

    def total(self, arm: int, first: int, last: int) -> int:
        """Return the exact sum of rewards of an arm, of any number of them.

        Args:
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        changed = self.paid - self.levels[arm] if self.has_other(arm, first, last) else 0
        return (last - first + 1) * self.levels[arm] + changed

    def has_other(self, arm: int, first: int, last: int) -> bool:
        """Return True if the other reward is one of these.

        Args:
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        return arm == self.arm and (self.each_epoch or first <= self.pull <= last)

    def floats(self, grid: Grid, arm: int, first: int, last: int) -> NDArray[np.float64]:
        """Return rewards as a program would report them; the grid rounds them to the very same steps.

        Args:
            grid: The grid.
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        return np.asarray((self.steps(arm, first, last) + grid.floor) * grid.step, dtype=np.float64)

    def changed(self, width: int) -> tuple[Rewards, Rewards]:
        """Return two neighbours: one in which the other reward is the least, and one in which it is the largest."""
        return replace(self, paid=0), replace(self, paid=width)

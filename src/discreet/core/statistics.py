"""Statistics: what is added up of an epoch's rewards, as integers with a declared sensitivity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[Any]
"""Rewards on the grid, as whole numbers of steps above its floor."""


class Statistic(StrEnum):
    """A statistic of an epoch's rewards. A new statistic is a new member; members never change their meaning.

    Attributes:
        TOTAL: The sum of the rewards.
        PAIRS: The squared differences of disjoint pairs of rewards, divided by the range and rounded up; and the sum.
        COINS: The sum of the rewards, each of which is rounded at random to an end of the range before it is added.
    """

    TOTAL = "total"
    PAIRS = "pairs"
    COINS = "coins"

    @property
    def parts(self) -> tuple[str, ...]:
        """The kinds of its integers, in the order in which they are released."""
        return ("squares", "total") if self is Statistic.PAIRS else ("total",)

    def sensitivities(self, width: int) -> tuple[int, ...]:
        """Return the most by which one changed reward moves each part.

        A reward lies in [0, width] steps, so it moves the sum by at most width. It is in one pair, whose squared
        difference divided by the width lies in [0, width] too.

        Args:
            width: The grid's width in steps.
        """
        return (width,) * len(self.parts)

    def largest(self, width: int, count: int) -> tuple[int, ...]:
        """Return the largest value of each part for `count` rewards.

        Args:
            width: The grid's width in steps.
            count: The number of rewards.
        """
        return (count // 2 * width, count * width) if self is Statistic.PAIRS else (count * width,)

    def accumulator(self, width: int) -> Accumulator:
        """Return an empty accumulator for rewards on a grid of this width, each as `coins.counted` returns it."""
        return PairsAccumulator(width) if self is Statistic.PAIRS else TotalAccumulator(width)


class Accumulator(ABC):
    """The exact sums of one arm in an open epoch. They are secret.

    Args:
        width: The grid's width in steps.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.count = 0

    @abstractmethod
    def add(self, steps: Steps) -> None:
        """Add rewards."""

    @property
    @abstractmethod
    def values(self) -> tuple[int, ...]:
        """The parts of the statistic, in the order in which they are released."""

    @abstractmethod
    def state(self) -> list[int | None]:
        """Return what `restore` takes, as JSON values."""

    @abstractmethod
    def restore(self, state: list[int | None]) -> None:
        """Go on from a saved state."""


class TotalAccumulator(Accumulator):
    """Adds up rewards."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self._total = 0

    def add(self, steps: Steps) -> None:
        """Add rewards."""
        self._total += int(steps.sum())
        self.count += steps.size

    @property
    def values(self) -> tuple[int, ...]:
        """The sum."""
        return (self._total,)

    def state(self) -> list[int | None]:
        """Return what `restore` takes."""
        return [self.count, self._total]

    def restore(self, state: list[int | None]) -> None:
        """Go on from a saved state."""
        self.count, self._total = (int(value or 0) for value in state)


class PairsAccumulator(Accumulator):
    """Adds up rewards, and the squared differences of disjoint pairs divided by the width, rounded up."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self._total = self._squares = 0
        self._single: int | None = None  # the first reward of a pair that waits for its second

    def add(self, steps: Steps) -> None:
        """Add rewards."""
        self._total += int(steps.sum())
        self.count += steps.size
        rewards = np.asarray(steps, dtype=np.int64)
        if self._single is not None:
            rewards = np.concatenate([[self._single], rewards])
        self._single = int(rewards[-1]) if rewards.size % 2 else None
        pairs = rewards[: rewards.size // 2 * 2].reshape(-1, 2)
        difference = pairs[:, 0] - pairs[:, 1]
        self._squares += int(-(-difference * difference // self.width).sum())

    @property
    def values(self) -> tuple[int, ...]:
        """The squared differences, and the sum."""
        return self._squares, self._total

    def state(self) -> list[int | None]:
        """Return what `restore` takes."""
        return [self.count, self._total, self._squares, self._single]

    def restore(self, state: list[int | None]) -> None:
        """Go on from a saved state."""
        count, total, squares, self._single = state
        self.count, self._total, self._squares = int(count or 0), int(total or 0), int(squares or 0)

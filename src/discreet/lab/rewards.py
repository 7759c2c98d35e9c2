"""The base class of reward distributions.

An epoch needs only the sum of an arm's rewards. Where the sum has a distribution that is cheap to draw from (coins,
dice, data columns) it is one draw, however many pulls there are; elsewhere rewards are drawn a chunk at a time. Either
way each reward is rounded to the algorithm's grid before it is added, as real rewards are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.coins import CoinGrid
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid

CHUNK = 65_536  # rewards drawn at a time: half a megabyte, which stays in the processor's cache


class Rewards(ABC):
    """Independent rewards of one arm in `[low, high]` with the exact mean `mean`, before any rounding.

    >>> from discreet.lab.arms import Uniform
    >>> arm = Uniform(0.2, 0.8)
    >>> arm.low, arm.high, arm.mean
    (0.2, 0.8, 0.5)
    >>> rng, grid = np.random.default_rng(1), Grid(0.0, 1.0)
    >>> grid.mean(arm.total(rng, 1_000_000, grid), 1_000_000)
    0.4999870064201355
    """

    __slots__ = ()

    low: float
    high: float
    mean: float

    def sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return independent rewards.

        Args:
            rng: The generator that they are drawn from.
            count: The number of rewards.
        """
        return self._sample(rng, count)

    def total(self, rng: np.random.Generator, count: int, grid: Grid) -> int:
        """Return the sum of independent rewards, each rounded to a grid, in grid steps.

        Args:
            rng: The generator that they are drawn from.
            count: The number of rewards.
            grid: The grid of the algorithm that gets them.

        Raises:
            ArgumentError: If the grid cannot hold every reward, or the count is no whole number of 0 or more.
        """
        return self.totals(rng, grid)(checks.whole("count", count, at_least=0))

    def totals(self, rng: np.random.Generator, grid: Grid) -> Callable[[int], int]:
        """Return a function from a number of rewards to their sum: `total`, with its checks made once.

        Args:
            rng: The generator that rewards are drawn from.
            grid: The grid of the algorithm that gets them.

        Raises:
            ArgumentError: If the grid cannot hold every reward.
        """
        self.check(grid)
        return self.coins(rng, grid) if isinstance(grid, CoinGrid) else partial(self._total, rng, grid)

    def coins(self, rng: np.random.Generator, grid: Grid) -> Callable[[int], int]:
        """Return a function from a number of rewards to the sum of the coins that they become, of 0 or the width.

        Coins of independent rewards are independent, so any sum is one binomial draw.

        Args:
            rng: The generator that they are drawn from.
            grid: The grid of the algorithm that gets them.
        """
        chance, width = min(1.0, self.mean / grid.high), grid.width
        return lambda count: int(rng.binomial(count, chance)) * width

    def one_by_one(self, rng: np.random.Generator, grid: Grid) -> Callable[[int], NDArray[np.int64]]:
        """Return a function from a number of rewards to the next ones in steps: those that `totals` would draw alone.

        Args:
            rng: The generator that rewards are drawn from.
            grid: The grid of the algorithm that gets them.
        """
        self.check(grid)
        return lambda count: grid.encode_checked(self._sample(rng, count)).astype(np.int64)

    def check(self, grid: Grid) -> None:
        """Refuse a grid that cannot hold every reward of this arm.

        >>> from discreet.lab.arms import Beta
        >>> Beta(2, 5, high=10).check(Grid(0.0, 1.0))
        Traceback (most recent call last):
            ...
        discreet.core.errors.ArgumentError: the arm Beta(2, 5, 0, 10) pays rewards in [0.0, 10.0], outside the
        algorithm's range [0.0, 1.0]; widen its low and high, or rescale the arm
        """
        if not grid.low <= self.low <= self.high <= grid.high:
            raise ArgumentError(
                f"the arm {self} pays rewards in [{self.low}, {self.high}], outside the algorithm's range "
                f"[{grid.low}, {grid.high}]; widen its low and high, or rescale the arm"
            )

    def two_values(self) -> tuple[float, float, float] | None:
        """Return the smaller value, the larger one and its probability, or None for more than two values.

        >>> from discreet.lab.arms import Bernoulli, Discrete, Empirical
        >>> Bernoulli(0.1).two_values(), Discrete([1, -1], [3, 1]).two_values(), Empirical([0, 1, 2]).two_values()
        ((0.0, 1.0, 0.1), (-1.0, 1.0, 0.75), None)
        """
        values, chances = self._atoms()
        different = np.unique(values)
        if different.size not in (1, 2):
            return None
        return float(different[0]), float(different[-1]), min(sum(chances[values == different[-1]].tolist()), 1.0)

    def _atoms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values of a discrete distribution and their probabilities; nothing for another one."""
        return np.empty(0), np.empty(0)

    def __str__(self) -> str:
        name = type(self).__name__.removeprefix("Truncated")
        return f"{name}({short(*(getattr(self, option) for option in options_of(self)))})"

    @abstractmethod
    def _sample(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return `count` independent rewards."""

    def _total(self, rng: np.random.Generator, grid: Grid, count: int) -> int:
        sizes = (min(CHUNK, count - done) for done in range(0, count, CHUNK))
        return sum(grid.total(self._sample(rng, size)) for size in sizes)

    def _set(self, **values: Any) -> None:
        """Set checked and derived fields of a frozen arm; for `__post_init__` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def options_of(arm: Any) -> list[str]:
    """Return the names of what an arm is made from."""
    return [entry.name for entry in fields(arm) if entry.init]


def short(*numbers: float) -> str:
    """Return numbers as short as they can be without losing a digit.

    >>> short(2.0, 0.1)
    '2, 0.1'
    """
    return ", ".join(repr(number).removesuffix(".0") for number in numbers)

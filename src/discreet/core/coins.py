"""Grids that round at random, so that a mean stays what it is: to many steps, or to one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.grid import CHUNK, Grid, unbool
from discreet.core.noise import Noise, uniforms
from discreet.core.statistics import Statistic


def toss(values: NDArray[Any], most: float, noise: Noise | None = None) -> NDArray[Any]:
    """Return a coin for each value: 1 with chance value/most, else 0. Nothing is drawn for values of 0 and `most`.

    Args:
        values: Numbers between 0 and `most`.
        most: The largest value.
        noise: A simulated source of random numbers; by default the private one.

    Returns:
        The coins: booleans where all values are coins already, else whole numbers.
    """
    ones = np.empty(values.size, np.bool_)
    for start in range(0, values.size, CHUNK):
        part, is_one = values[start : start + CHUNK], ones[start : start + CHUNK]
        np.equal(part, most, out=is_one)
        if np.count_nonzero(is_one) + np.count_nonzero(part == 0) < part.size:
            break
    else:
        return ones
    chances: NDArray[np.float64] = values / most
    between = chances * chances != chances
    if between.any():
        drawn = uniforms(noise, int(between.sum()))
        chances[between] = drawn < chances[between]
    return chances


def counted(statistic: Statistic, steps: NDArray[Any], width: int, noise: Noise | None = None) -> NDArray[Any]:
    """Return rewards as a statistic adds them up: for `COINS` 0 or the width, with the same means; else as they are.

    Args:
        statistic: The statistic.
        steps: Rewards in steps above the grid's floor.
        width: The grid's width in steps.
        noise: A simulated source of random numbers; by default the private one.
    """
    return toss(steps, width, noise).astype(np.int64) * width if statistic is Statistic.COINS else steps


class UnbiasedGrid(Grid):
    """A grid for rewards in `[0, high]` of 2^20 equal steps, to which rewards are rounded at random: no mean changes.

    A reward between two steps becomes the upper one with a chance that is its distance from the lower one, in steps.

    One changed reward changes one rounded reward: give each reward a random number of its own, the same in both
    inputs, and what they become differs in one place, by `width` steps at most. So what is private on the rounded
    rewards is as private on rewards, even for somebody who knows the random numbers. What is drawn is never stored.

    Args:
        low: The smallest possible reward, at least 0. It only serves to refuse others.
        high: The largest possible reward.

    >>> grid = UnbiasedGrid(0.0, 5.0)
    >>> grid.width, grid.encode(5), grid.encode(0), grid.encode(2.5)
    (1048576, 1048576, 0, 524288)
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low < 0:
            raise ArgumentError(f"low must be at least 0 for rewards that become coins, got low={self.low!r}")
        self._divide(2**self.bits)

    def _divide(self, parts: int) -> None:
        """Have so many steps from 0 to `high`."""
        for name, value in (("step", self.high / parts), ("floor", 0), ("width", parts)):
            object.__setattr__(self, name, value)

    @property
    def rounding(self) -> float:
        """The most by which rounding moves the mean of rewards: not at all."""
        return 0.0

    def encode(self, reward: Any, clip: bool = False, noise: Noise | None = None) -> int:
        """Return one reward in steps.

        Args:
            reward: A finite number in the range, or a boolean.
            clip: Move a reward from outside of the range to its nearest end, instead of refusing it.
            noise: A simulated source of random numbers; by default the private one.
        """
        value = checks.real("reward", unbool(reward))
        if not self.low <= value <= self.high:
            value = self._outside(value, clip)
        return int(self.encode_checked(np.array([value]), noise)[0])

    def encode_checked(self, values: NDArray[np.float64], noise: Noise | None = None) -> NDArray[Any]:
        """Return values that `check_array` has returned, in steps: whole numbers held exactly in float64.

        Args:
            values: Rewards in the range.
            noise: A simulated source of random numbers; by default the private one.
        """
        scaled = values / self.step
        steps: NDArray[np.float64] = np.floor(scaled)
        steps += toss(scaled - steps, 1.0, noise)
        return steps


class CoinGrid(UnbiasedGrid):
    """A grid of one step for rewards in `[0, high]`: a reward x becomes a coin, which is `high` with chance x/high.

    Its mean is that of the rewards, and sums of coins are binomial, whatever the law of the rewards was. Rewards of 0
    and `high` stay as they are, and nothing is drawn for them. One changed reward changes one coin, and a sum of coins
    by one step at most.

    Args:
        low: The smallest possible reward, at least 0. It only serves to refuse others.
        high: The largest possible reward.

    >>> grid = CoinGrid(0.0, 5.0)
    >>> grid.step, grid.width, grid.encode(5), grid.encode(0)
    (5.0, 1, 1, 0)
    >>> from discreet import SimulatedNoise
    >>> grid.total([5.0, 0.0, 2.5, 2.5, 2.5, 2.5], noise=SimulatedNoise(1))
    3
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._divide(1)

    def encode_checked(self, values: NDArray[np.float64], noise: Noise | None = None) -> NDArray[Any]:
        """Return values that `check_array` has returned as coins, 0 or 1.

        Args:
            values: Rewards in the range.
            noise: A simulated source of random numbers; by default the private one.
        """
        return toss(values, self.high, noise)

"""Samples of two values, for the kernels of stopping rules. Sums are in grid steps, rounded as the rule rounds them."""

from typing import Any, NamedTuple

import numpy as np

from discreet.core.coins import CoinGrid
from discreet.core.grid import Grid
from discreet.lab.instances import Instance

LARGEST = 2.0**62  # sums and thresholds stay below this, in 64 bits
_RAREST = 2.0**-30  # a coin's chance is held to 2^-53: to seven digits and more, if it is not below this
FRESH = np.zeros(0, np.uint8)  # no path of samples: they are drawn


class Coin(NamedTuple):
    """Samples of two values.

    Attributes:
        low: The smaller value in grid steps, counted from 0 and not from the range's floor.
        high: The larger value.
        chance: The probability of the larger value.
    """

    low: int
    high: int
    chance: float


def coin_of(rule: Any, instance: Instance) -> Coin | None:
    """Return a rule's samples as a coin; None without a cap, for more than two values, or if 64 bits are too few.

    A rule whose grid turns rewards into coins has one for rewards of any law.

    Args:
        rule: A stopping rule.
        instance: The distribution of its samples.
    """
    (rewards,), cap = instance.rewards, rule.max_samples
    if isinstance(rule.grid, CoinGrid):  # whatever the rewards are, they become coins
        rewards.check(rule.grid)
        return (
            None
            if cap is None
            else coin_on(rule.grid, 0.0, rule.grid.high, min(1.0, rewards.mean / rule.grid.high), cap)
        )
    values = rewards.two_values()
    return None if values is None or cap is None else coin_on(rule.grid, *values, cap)


def coin_on(grid: Grid, low: float, high: float, chance: float, cap: int) -> Coin | None:
    """Return samples of two values on a grid; None where 64 bits could overflow, or digits run short.

    >>> coin_on(Grid(-1.0, 1.0), -1.0, 1.0, 0.55, cap=10**9)
    Coin(low=-524288, high=524288, chance=0.55)
    >>> coin_on(Grid(-1.0, 1.0), -1.0, 1.0, 0.55, cap=2**43)

    Args:
        grid: The rule's grid.
        low: The smaller value.
        high: The larger value.
        chance: The probability of the larger value.
        cap: The largest number of samples.
    """
    coin = Coin(grid.encode(low) + grid.floor, grid.encode(high) + grid.floor, chance)
    farthest = max(abs(coin.low), abs(coin.high))
    if not 0 < farthest * cap < LARGEST or 0 < min(chance, 1 - chance) < _RAREST:
        return None
    return coin

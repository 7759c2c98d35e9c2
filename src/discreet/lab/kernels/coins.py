"""Samples of two values, for the kernels of stopping rules. Sums are in grid steps, rounded as the rule rounds them."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from typing import Any, NamedTuple

import numpy as np

from discreet.core.grid import Grid
from discreet.lab.instances import Instance
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import binomial

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
    """Return a rule's samples as a coin; None if they have more than two values, or do not fit into 64 bits.

    Args:
        rule: A stopping rule with a cap.
        instance: The distribution of its samples.
    """
    values = instance.rewards[0].two_values()
    return None if values is None else coin_on(rule.grid, *values, rule.max_samples)


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


@compiled
def heads(state, coin, start, size, path):
    """Return how many of the next samples are the larger value: one binomial draw, or counted on a path.

    Args:
        state: The generator's state, which is advanced.
        coin: The samples.
        start: The samples before.
        size: The number of samples.
        path: Samples to replay, 1 for the larger value; empty for fresh ones.
    """
    if path.size:
        return np.int64(path[start : start + size].sum())
    return binomial(state, size, coin.chance)


@compiled
def sum_of(coin, size, ones):
    """Return the sum of samples.

    Args:
        coin: The samples.
        size: The number of samples.
        ones: How many of them are the larger value.
    """
    return ones * coin.high + (size - ones) * coin.low


@compiled
def farthest(coin):
    """Return the most by which one sample can move the sum."""
    return max(abs(coin.low), abs(coin.high))

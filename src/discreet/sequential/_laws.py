"""Laws of whole numbers: counts of 0/1 rewards, released noise, and sums and differences of both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.core.errors import ArgumentError
from discreet.core.probability.evidence import Numbers
from discreet.core.probability.whole_noise import whole_noise

_REST = 1e-15  # the chance of values of a noise that are left out
_DEVIATIONS = 9.0  # how far from its mean a count is followed: beyond lies less than 1e-17
_LONGEST = 2**22  # values of a law


@dataclass(frozen=True, eq=False)
class Law:
    """The law of a whole number: the chances of `first`, `first` + 1, ...

    Args:
        first: The least value that is followed.
        chances: The chance of each value.
    """

    first: int
    chances: Numbers

    @property
    def values(self) -> Numbers:
        """The values that are followed."""
        return self.first + np.arange(len(self.chances), dtype=float)

    @property
    def mean(self) -> float:
        """The mean, of a law that adds up to 1."""
        return float(self.values @ self.chances)

    def __add__(self, other: Law) -> Law:
        """Return the law of the sum of two independent variables."""
        size = len(self.chances) + len(other.chances) - 1
        if min(len(self.chances), len(other.chances)) <= _SHORT:
            return Law(self.first + other.first, np.convolve(self.chances, other.chances))
        length = 1 << (size - 1).bit_length()
        product = np.fft.rfft(self.chances, length) * np.fft.rfft(other.chances, length)
        return Law(self.first + other.first, np.maximum(np.fft.irfft(product, length)[:size], 0.0))

    def __neg__(self) -> Law:
        """Return the law of minus the variable."""
        return Law(1 - self.first - len(self.chances), self.chances[::-1])

    def at_least(self, value: int) -> float:
        """Return the chance of this value or more."""
        return float(self.chances[max(0, value - self.first) :].sum())

    def up_to(self, value: int) -> float:
        """Return the chance of this value or less."""
        return float(self.chances[: max(0, value - self.first + 1)].sum())

    def between(self, low: int, high: int) -> Law:
        """Return the part of the law at values low, ..., high - 1."""
        start = min(max(0, low - self.first), len(self.chances))
        stop = max(start, min(high - self.first, len(self.chances)))
        return Law(self.first + start, self.chances[start:stop] if stop > start else np.zeros(1))

    def quantile_from_above(self, chance: float) -> int:
        """Return the least value v with P(v or more) <= chance."""
        tails = np.cumsum(self.chances[::-1])[::-1]
        return self.first + int(np.count_nonzero(tails > chance))

    def quantile_from_below(self, chance: float) -> int:
        """Return the largest value v with P(v or less) <= chance."""
        return self.first - 1 + int(np.count_nonzero(np.cumsum(self.chances) <= chance))


_SHORT = 500  # up to here a direct sum is quicker than a transform


def count_law(count: int, rate: float) -> Law:
    """Return the law of the number of ones among rewards.

    Args:
        count: The number of rewards.
        rate: The chance of a one.

    >>> law = count_law(2, 0.5)
    >>> law.first, law.chances.round(6).tolist()
    (0, [0.25, 0.5, 0.25])
    """
    if not 0 < rate < 1:
        return Law(count if rate >= 1 else 0, np.ones(1))
    reach = _DEVIATIONS * math.sqrt(count * rate * (1 - rate)) + 40
    low, high = max(0, math.floor(count * rate - reach)), min(count, math.ceil(count * rate + reach))
    _check_length(high - low)
    ones = np.arange(low, high, dtype=float)
    logs = np.cumsum(np.log((count - ones) / (ones + 1)) + (math.log(rate) - math.log1p(-rate)))
    logs = np.concatenate([[0.0], logs])
    chances = np.exp(logs - logs.max())
    return Law(low, chances / chances.sum())


@lru_cache(maxsize=256)
def noise_law(width: int, scale: float, noises: int = 1) -> Law:
    """Return the law of the sum of noises of totals that were rounded to whole rewards.

    Args:
        width: The steps of a reward.
        scale: The scale of each noise, in steps.
        noises: The number of noises.
    """
    each = scale / width
    reach = math.ceil(9 * math.sqrt(noises * (2 * each**2 + 0.3)) - each * math.log(_REST)) + 2
    _check_length(reach)
    size = 1 << (2 * reach + 1).bit_length()
    transform = np.fft.rfft(whole_noise(width, scale, size)) ** noises
    chances = np.maximum(np.roll(np.fft.irfft(transform, size), size // 2), 0.0)
    middle = size // 2
    return Law(-reach, chances[middle - reach : middle + reach + 1])


def total_law(count: int, rate: float, noise: Law) -> Law:
    """Return the law of a released total.

    Args:
        count: The number of rewards.
        rate: The chance of a one.
        noise: The law of its noise.
    """
    return count_law(count, rate) + noise


def difference_law(count: int, control: float, rate: float, noises: Law) -> Law:
    """Return the law of an arm's released total minus the control's, of as many rewards.

    Args:
        count: The number of rewards of each.
        control: The control's chance of a one.
        rate: The arm's chance of a one.
        noises: The law of the noises of both totals together; minus a noise has the law of a noise, but for less than
            a grid step.
    """
    return count_law(count, rate) + -count_law(count, control) + noises


def _check_length(length: float) -> None:
    if length > _LONGEST:
        raise ArgumentError(
            "epsilon must be larger, or the effect: this test would take so many rewards that its exact law is too "
            f"long to compute ({length:,.0f} values)"
        )

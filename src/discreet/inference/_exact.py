"""Exact intervals for rewards that are 0 or 1, at looks whose places were fixed in advance."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.core.probability.evidence import Numbers
from discreet.core.probability.whole_noise import whole_noise
from discreet.inference._blocks import Blocks

_FIRST, _FLAT, _LATER = 0.1, 0.8, 0.1  # shares of the error: of the first look, of usual sizes, of all beyond
_AIMED = 0.88, 0.02  # the last two if a size is aimed at
_SPAN = math.log(2.0**16)  # usual sizes are up to 2^16 first blocks
_TYPICAL = 0.05  # the variance by which windows are chosen
_DEVIATIONS = 10.0  # how far from its mean a binomial variable is looked at: beyond it lies less than 1e-20
_TINY = 1e-17  # the chance of a noise, beyond which it is cut off
_HALVINGS, _CLOSE = 60, 1e-4


def looks(ends: Numbers, aim: float | None = None) -> Numbers:
    """Return the share of the error that each look of an arm may use. They add up to 1 at most, for ever.

    Args:
        ends: The number of rewards up to the end of each block.
        aim: The number of rewards by which most of it may be used; by default 2^16 first blocks.

    >>> looks(np.array([100.0, 200.0, 400.0])).round(3).tolist()
    [0.1, 0.05, 0.05]
    """
    along = np.log(ends / ends[0])
    flat, later = (_FLAT, _LATER) if aim is None else _AIMED
    span = _SPAN if aim is None else max(math.log(2.0), math.log(aim / ends[0]))
    used = flat * np.minimum(along / span, 1) + later * np.maximum(0.0, 1 - span / np.maximum(along, span))
    shares: Numbers = np.diff(used, prepend=0.0)
    shares[0] = _FIRST
    return shares


def window(blocks: Blocks) -> int:
    """Return the first block of the last few whose mean has the least variance. It depends on sizes and noises only."""
    rewards = np.cumsum(blocks.counts[::-1])[::-1]
    noises = np.cumsum((2 * (blocks.scales / blocks.width) ** 2)[::-1])[::-1]
    return int(np.argmin((rewards * _TYPICAL + noises) / rewards**2))


def noise_tail(blocks: Blocks) -> tuple[Numbers, int]:
    """Return P(sum of noises >= k) of blocks whose totals were rounded to whole numbers, and the least k of the array.

    Each noise Z is discrete Laplace on steps, and a total is rounded up from half a reward on: it gains
    floor((Z + w//2)/w) whole rewards. The law of the sum is the product of characteristic functions.

    Args:
        blocks: The blocks of the window.
    """
    scales, counts = np.unique(blocks.scales[blocks.scales > 0], return_counts=True)
    return _noise_tail(blocks.width, tuple(zip(scales.tolist(), counts.tolist(), strict=True)))


@lru_cache(maxsize=512)
def _noise_tail(width: int, noises: tuple[tuple[float, int], ...]) -> tuple[Numbers, int]:
    deviation = math.sqrt(sum(count * (2 * (scale / width) ** 2 + 0.3) for scale, count in noises))
    widest = max((scale / width for scale, _ in noises), default=0.0)
    reach = math.ceil(9 * deviation + widest * -math.log(_TINY)) + 2
    size = 1 << (2 * reach + 1).bit_length()
    transform = np.ones(size // 2 + 1, dtype=complex)
    for scale, count in noises:
        transform *= np.fft.rfft(whole_noise(width, scale, size)) ** count
    chances = np.maximum(np.roll(np.fft.irfft(transform, size), size // 2), 0.0)
    tail = np.cumsum(chances[::-1])[::-1]
    return tail / tail[0], -(size // 2)


def upper_tail(total: float, count: float, mean: float, noise: tuple[Numbers, int]) -> float:
    """Return P(binomial variable + noise >= total).

    Args:
        total: The whole number that is reached.
        count: The number of rewards.
        mean: The chance of a 1.
        noise: The tail of the noise, as `noise_tail` returns it.
    """
    tail, least = noise
    if mean <= 0 or mean >= 1:
        return _tail_at(tail, total - count * min(max(mean, 0.0), 1.0) - least)
    reach = _DEVIATIONS * math.sqrt(count * mean * (1 - mean)) + 40
    low, high = max(0, math.floor(count * mean - reach)), min(count, math.ceil(count * mean + reach))
    k = np.arange(low, high + 1, dtype=float)
    ratios = np.log((count - k[:-1]) / k[1:]) + math.log(mean) - math.log1p(-mean)
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    chances = np.exp(logs - logs.max())
    places = np.clip(total - k - least, 0, tail.size).astype(np.int64)
    reached = np.append(tail, 0.0)[places]
    return float((chances * reached).sum() / chances.sum())


def _tail_at(tail: Numbers, place: float) -> float:
    return 1.0 if place <= 0 else float(tail[int(place)]) if place < tail.size else 0.0


def lower_end(total: float, count: float, noise: tuple[Numbers, int], chance: float) -> float:
    """Return the lowest mean at which a total this large or larger has more than a chance: Clopper and Pearson's end.

    Args:
        total: The noisy total, a whole number.
        count: The number of rewards.
        noise: The tail of the noise.
        chance: The chance at which a mean is ruled out.
    """
    if upper_tail(total, count, 0.0, noise) > chance:
        return 0.0
    low, high = 0.0, min(max(total / count, 1 / count), 1.0)
    reached, level = upper_tail(total, count, high, noise), math.log(chance)
    if reached <= chance:
        return high
    above = math.log(reached) - level
    step = math.sqrt((high * (1 - high) + 1 / count) / count) * 2
    while True:  # a bracket by growing steps: far below, windows are short and evaluations cheap
        near = high - step
        if near <= 0:
            below = -40.0
            break
        excess = math.log(max(upper_tail(total, count, near, noise), 1e-300)) - level
        if excess <= 0:
            low, below = near, excess
            break
        high, above, step = near, excess, 2 * step
    mean = min(max(total / count, 0.0), 1.0)
    for _ in range(_HALVINGS):
        if high - low <= _CLOSE * max(mean - low, 1e-12):
            break
        share = min(max(-below / (above - below), 0.02), 0.98)
        middle = low + share * (high - low)
        excess = math.log(max(upper_tail(total, count, middle, noise), 1e-300)) - level
        if excess <= 0:
            low, below, above = middle, excess, above / 2
        else:
            high, above, below = middle, excess, below / 2
    return low


def exact_interval(blocks: Blocks, alpha: float, aim: float | None = None) -> tuple[float, float]:
    """Return the means that the last window's exact law does not rule out at this look.

    It misses the mean at any look with a chance of alpha at most, for rewards that are 0 or 1, and blocks whose ends
    were fixed in advance.

    Args:
        blocks: The arm's released totals.
        alpha: The chance of an error, over all looks together; each side has half of it.
        aim: The number of rewards by which most of alpha may be used.
    """
    if not len(blocks):
        return 0.0, 1.0
    chance = alpha / 2 * float(looks(np.cumsum(blocks.counts), aim)[-1])
    last = blocks.at(slice(window(blocks), None))
    total, count = float(last.wholes.sum()), float(last.counts.sum())
    tail, least = noise_tail(last)
    lower = lower_end(total, count, (tail, least), chance)
    return lower, 1 - lower_end(count - total, count, _mirrored(tail, least), chance)


def _mirrored(tail: Numbers, least: int) -> tuple[Numbers, int]:
    """Return the tail of minus the noise: P(-R >= k) = 1 - P(R >= 1 - k)."""
    return np.concatenate([[1.0], 1.0 - tail[::-1]]), 1 - least - tail.size

"""Intervals at every look: how wide they are, and how often one of them misses the truth."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.noise import SimulatedNoise
from discreet.core.probability.evidence import log_sum
from discreet.core.releases import Kind, Release
from discreet.inference import summary
from discreet.inference._blocks import Blocks
from discreet.inference._one_arm import OneArm

Floats = NDArray[np.float64]
NORMAL = 1.959964
"""The 97.5 % quantile of a normal variable."""
_FIRST, _NOISY = 50, 20  # rewards of a first block, and over epsilon
_WIDTH = 2**20  # steps of the range
_LAST = 0.5  # blocks that end beyond this share of the last size are left out: ends at least double


def block_ends(size: int, epsilon: float, ratio: float = 2.0) -> list[int]:
    """Return the ends of blocks that grow by a factor, up to a size; the last one grows by 2 at least.

    Args:
        size: The last end.
        epsilon: The inverse of the noise's scale, which the first block's size follows.
        ratio: The factor.

    >>> block_ends(1000, 1.0)
    [50, 100, 200, 400, 1000]
    """
    ends = [max(_FIRST, int(_NOISY / epsilon))]
    while ends[-1] * ratio < _LAST * size:
        ends.append(math.ceil(ends[-1] * ratio))
    return [*ends, size] if ends[-1] < size else [size]


def expected_ledger(rates: dict[str, float], size: int, epsilon: float) -> Ledger:
    """Return a ledger whose noisy totals are what they are on average.

    Args:
        rates: The mean of each arm.
        size: The rewards of each arm.
        epsilon: The inverse of the noise's scale.
    """
    found, start = Ledger(list(rates), Grid(0.0, 1.0), fixed_blocks=True), 0
    for epoch, end in enumerate(block_ends(size, epsilon), start=1):
        totals = {arm: round((end - start) * rate) for arm, rate in rates.items()}
        found.close_epoch(
            [
                Release(epoch, Kind.TOTAL, ((arm, start + 1, end),), total * _WIDTH, _WIDTH / epsilon, epsilon, True)
                for arm, total in totals.items()
            ]
        )
        start = end
    return found


def widths(rate: float, size: int, epsilon: float, lift: float = 0.1) -> dict[str, float]:
    """Return how many times as wide intervals are as the usual one, for one look at this size and without noise.

    Args:
        rate: The rate of an arm whose rewards are 0 or 1.
        size: The rewards of an arm.
        epsilon: The inverse of the noise's scale.
        lift: How much higher the rate of a second arm is, as a share of it.
    """
    ledger = expected_ledger({"A": rate, "B": rate * (1 + lift)}, size, epsilon)
    fixed = 2 * NORMAL * math.sqrt(rate * (1 - rate) / size)
    found = {}
    for name, options in {"any schedule": {}, "aimed at this size": {"aim": size}, "exact": {"binary": True}}.items():
        given: Any = options
        found[name] = _width(summary(ledger, control="A", **given).interval("A")) / fixed
    higher = rate * (1 + lift)
    spread = math.sqrt((1 - rate) / (rate * size) + (1 - higher) / (higher * size))
    found["lift"] = _width(summary(ledger, control="A").lift("B").interval) / (2 * NORMAL * (1 + lift) * spread)
    return found


def _width(interval: Any) -> float:
    lower, upper = interval
    return float(upper - lower)


def first_misses(rate: float, size: int, epsilon: float, runs: int, seed: Any) -> tuple[list[int], NDArray[np.int64]]:
    """Return the ends of blocks, and at which look each run's interval misses the rate for the first time.

    The interval is the default one, of level 0.95. It misses the rate where the evidence against it, on either side, is
    2/0.05 or more. Evidence is a sum of terms whose logarithms are linear in the totals, so that the evidence of all
    runs is one product of matrices for each block.

    Args:
        rate: The rate of an arm whose rewards are 0 or 1.
        size: The rewards in all.
        epsilon: The inverse of the noise's scale.
        runs: The number of runs.
        seed: The seed.

    Returns:
        The ends, and the index of the look for each run: as many as there are looks, if none misses.
    """
    rng, ends = np.random.default_rng(seed), block_ends(size, epsilon)
    noise = SimulatedNoise(rng)
    missed, sums = np.full(runs, len(ends)), {side: np.zeros(1) for side in (1, -1)}
    level = math.log(2 / 0.05)
    for look, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        count = end - start
        totals = rng.binomial(count, rate, runs) + noise.draws(_WIDTH / epsilon, runs) / _WIDTH
        for side, x in ((1, rate), (-1, 1 - rate)):
            none, some = (_terms(count, total, epsilon, x) for total in (0.0, 1.0))
            weights = _terms(0, 0.0, epsilon, x)
            given = totals if side > 0 else count - totals
            sums[side] = sums[side] + (none - weights) + given[:, None] * (some - none)
            out = log_sum(weights + sums[side]) >= level
            missed[out & (missed > look)] = look
    return ends, missed


def _terms(count: int, total: float, epsilon: float, x: float) -> Floats:
    """Return the logarithms of the terms of evidence of one block; of none, their weights."""
    one = OneArm(_block(max(count, 1), total, epsilon))
    if not count:
        one.counts, one.noises = np.zeros(1), np.zeros(1)
    return np.asarray(one.terms(np.array([x]))[0])


def _block(count: int, total: float, epsilon: float) -> Blocks:
    given = {"counts": float(count), "totals": total, "wholes": math.floor(total + 0.5), "scales": _WIDTH / epsilon}
    numbers: dict[str, Any] = {name: np.array([float(each)]) for name, each in given.items()}
    unknown = np.array([math.nan])
    return Blocks(_WIDTH, np.array([1]), **numbers, tested=np.array([False]), squares=unknown, square_scales=unknown)

"""Evidence against means of one arm, and the interval of all means that it does not rule out."""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.core.probability.evidence import CAP, Numbers, log_sum, noise_cost, reward_cost, spread_cost
from discreet.inference._blocks import Blocks
from discreet.inference._mixture import Mixture, cap_of, mixture, plain_stakes
from discreet.inference._search import outer_end

_SPREAD_SHARE = 0.5  # the weight of stakes that use squares, where these were released
_SPREADS = 32  # the number of these stakes
_SPREAD_LEAST = 1e-3  # the smallest, in parts of the largest
_RUNGS: Numbers = 1 - np.exp2(-np.arange(21.0))  # from the far end towards the released mean


_HIGHER: Numbers = np.exp2(-np.arange(10.0, -1.0, -2.0))  # and beyond it, where noise has moved it


class OneArm:
    """Evidence that an arm's mean is above x, by its released totals, at any look.

    For each x, the mixture of products of factors starts at 1 and is a supermartingale if the mean is x or less: the
    chance that it ever reaches 1/a is at most a. For the other side there is `mirrored`.

    A block's stake depends on x, on its epsilon and on its size, rounded down to a power of two; where a sparse vector
    ended the block, not on its size. For means that may drift it depends on nothing.

    Args:
        blocks: The arm's released totals.
        aim: The number of rewards at which intervals shall be narrowest.
        drifting: True for the form that is about the average mean so far, whatever the means do.
    """

    def __init__(self, blocks: Blocks, aim: float | None = None, *, drifting: bool = False) -> None:
        self._mixture: Mixture = mixture(aim)
        self._plain = plain_stakes(float(blocks.epsilons[0]), aim) if drifting and len(blocks) else None
        self._width = blocks.width
        paired = ~np.isnan(blocks.squares)
        sizes = np.where(blocks.tested, np.inf, np.exp2(np.floor(np.log2(blocks.counts))))
        keys = (blocks.epsilons, sizes, np.where(paired, blocks.square_epsilons, -1.0))
        group, found = grouped(*keys)
        self._epsilons, self._sizes, self._square_epsilons = (key[:, None, None] for key in found)
        add = len(self._epsilons)
        self.counts = added(group, blocks.counts, add)
        self.totals = added(group, blocks.totals, add)
        self.noises = added(group, np.ones(len(blocks)), add)
        self._squares = added(group, np.where(paired, blocks.squares, 0.0), add)
        self._singles = added(group, np.where(paired, blocks.counts % 2, blocks.counts), add)

    def mirrored(self) -> OneArm:
        """Return the evidence of 1 minus each reward, for the other side."""
        twin = copy(self)
        twin.__dict__.pop("center", None)
        twin.totals = self.counts - self.totals
        return twin

    @cached_property
    def center(self) -> float:
        """About where the mean lies: blocks with less noise count more; 1/2 without a release."""
        return pooled(self.counts, self.totals, self.noises, self._epsilons)[0] if len(self.counts) else 0.5

    # ------------------------------------------------------------------ evidence

    def log_evidence(self, means: Numbers) -> Numbers:
        """Return the logarithm of the e-value against "the mean is x or less", for each x.

        Args:
            means: The values of x, in [0, 1].
        """
        return log_sum(self.terms(means))

    def terms(self, means: Numbers) -> Numbers:
        """Return the logarithms of the weighted products of factors that evidence is the sum of, for each x.

        Args:
            means: The values of x, in [0, 1].
        """
        x = np.asarray(means, dtype=float)[:, None]
        if self._plain is not None:
            stakes, weights = self._plain
            return weights + self._logs(stakes, x)
        base, groups = self._mixture, self._epsilons
        with np.errstate(divide="ignore"):
            variance = x * (1 - x) + 2 / (self._sizes * groups**2)
        near = base.target_weights + self._logs(base.stakes(variance, groups), x)
        far = base.ratio_weight + self._logs(base.ratios * cap_of(groups), x)
        parts = [near, far]
        if (self._square_epsilons >= 0).any():
            share = math.log(_SPREAD_SHARE)
            parts = [part + math.log(1 - _SPREAD_SHARE) for part in parts]
            parts.append(share - math.log(_SPREADS) + self._spread_logs(x))
        return np.concatenate(parts, axis=-1)

    def _logs(self, stakes: Numbers, x: Numbers) -> Numbers:
        """Return the logarithm of the product of factors of all groups, for each mean and stake."""
        logs = stakes * self.totals - self.counts * reward_cost(stakes, x)
        sums: Numbers = (logs - self.noises * noise_cost(stakes, self._epsilons, self._width)).sum(axis=0)
        return sums

    def _spread_logs(self, x: Numbers) -> Numbers:
        """Return the same with squares: a pair's factor is exp(s(X + Y - 2x) - f(s)(X - Y)^2)."""
        s, spread = self._spread_stakes
        logs = s * (self.totals - self.counts * x) - self._singles * (reward_cost(s, x) - s * x)
        logs = logs - self.noises * noise_cost(s, self._epsilons, self._width) - spread * self._squares
        paid = np.where(self._square_epsilons >= 0, self._square_epsilons, np.inf)
        sums: Numbers = (logs - self.noises * noise_cost(spread, paid, self._width)).sum(axis=0)
        return sums

    @cached_property
    def _spread_stakes(self) -> tuple[Numbers, Numbers]:
        """The stakes that use squares, and f of them: s below 1 and the cap, and f(s) below that of the squares."""
        paid = np.where(self._square_epsilons >= 0, self._square_epsilons, np.inf)
        most = np.minimum(cap_of(self._epsilons), 0.9)
        for _ in range(60):  # f increases: halve until it fits
            most = np.where(spread_cost(most) > CAP * paid, most * 0.9, most)
        ratios = np.exp(np.linspace(math.log(_SPREAD_LEAST), 0, _SPREADS))
        stakes = ratios * most
        return stakes, np.where(self._square_epsilons >= 0, spread_cost(stakes), 0.0)

    # ------------------------------------------------------------------ the interval

    def lower_end(self, level: float) -> float:
        """Return the lowest mean whose evidence is below `level`: all lower ones are ruled out.

        Args:
            level: The logarithm of the evidence that rules a mean out.
        """
        rungs = np.concatenate([self.center * _RUNGS, self.center + (1 - self.center) * _HIGHER])
        return outer_end(lambda means: self.log_evidence(means) - level, self.center, rungs)


def interval(blocks: Blocks, alpha: float, aim: float | None = None, *, drifting: bool = False) -> tuple[float, float]:
    """Return the means that the evidence does not rule out: it misses the mean at any look with chance alpha at most.

    Args:
        blocks: The arm's released totals.
        alpha: The chance of an error, over all looks together; each side has half of it.
        aim: The number of rewards at which it shall be narrowest.
        drifting: True for the form that is about the average mean so far, whatever the means do.
    """
    if not len(blocks):
        return 0.0, 1.0
    level = math.log(2 / alpha)
    arm = OneArm(blocks, aim, drifting=drifting)
    return arm.lower_end(level), 1 - arm.mirrored().lower_end(level)


def added(group: NDArray[np.int64], values: Numbers, count: int) -> Numbers:
    """Return the sum of the values of each group, along the first of three axes: those of means and stakes follow.

    Args:
        group: To which group each value belongs.
        values: The values.
        count: The number of groups.
    """
    return np.asarray(np.bincount(group, values, count), dtype=np.float64)[:, None, None]


def pooled(counts: Numbers, totals: Numbers, noises: Numbers, epsilons: Numbers) -> tuple[float, float]:
    """Return about where the mean lies, in [0, 1], and about its standard deviation: noisier groups count less.

    Args:
        counts: The rewards of each group.
        totals: Their noisy totals.
        noises: The number of noises in each.
        epsilons: The range over the scale of these.
    """
    noise = 2 * noises / epsilons**2
    weights = counts / (counts / 4 + noise)
    mean = float(min(max((weights * totals).sum() / (weights * counts).sum(), 0.0), 1.0))
    spread = counts * (mean * (1 - mean) + 1 / counts.sum()) + noise
    return mean, float(math.sqrt((weights**2 * spread).sum()) / (weights * counts).sum())


def grouped(*keys: Numbers) -> tuple[NDArray[np.int64], list[Numbers]]:
    """Return to which group each block belongs, and the groups' keys: blocks of equal keys are one group.

    Args:
        *keys: A number of each block, for each key.
    """
    group = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        _, number = np.unique(key, return_inverse=True)
        _, group = np.unique(group * (number.max(initial=0) + 1) + number, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    return group, [key[first] for key in keys]

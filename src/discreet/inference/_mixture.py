"""Stakes and their weights: fixed before the first reward, so that luck alone makes evidence large."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from discreet.core.probability.evidence import CAP, STEEPEST, Numbers

_DEVIATIONS = 3.2  # a stake of u/sd is best after (3.2/u)^2 rewards
_LEAST, _MOST = 4.0, 1e9  # rewards that targets cover
_USUAL = (300.0, 3e6)  # rewards at which intervals are narrowest, if no size is named
_OUTSIDE = 0.15  # the weight of all other sizes
_NEAR, _OUTSIDE_AIM = 4.0, 0.1  # the factor around a size that is aimed at, and the weight of all others
FAR = 0.1
"""The weight of stakes that do not depend on the mean."""
_PLAIN_LEAST = 3e-4  # the smallest stake for means that may drift
_FAR_LEAST = 3e-3  # the smallest of them, in parts of the largest


@dataclass(frozen=True, eq=False)
class Mixture:
    """Targets u with their weights, and a plain grid of stakes with theirs.

    Attributes:
        targets: u. At a mean of variance v the stake is about u/sqrt(v), best after (3.2/u)^2 rewards.
        target_weights: The logarithms of their weights.
        ratios: Stakes of the plain grid, in parts of the largest.
        ratio_weight: The logarithm of the weight of each.
    """

    targets: Numbers
    target_weights: Numbers
    ratios: Numbers
    ratio_weight: float

    @property
    def sizes(self) -> Numbers:
        """The number of rewards that each target is best for."""
        return (_DEVIATIONS / self.targets) ** 2

    def thinned(self, step: int) -> Mixture:
        """Return the mixture with every so-manieth target, which has the weight of all that it stands for."""
        whole = np.exp(self.target_weights).sum()
        weights = np.exp(self.target_weights[step // 2 :: step])
        return replace(
            self,
            targets=self.targets[step // 2 :: step],
            target_weights=np.log(weights / weights.sum() * whole),
        )

    def stakes(self, variance: Numbers, epsilon: Numbers, least: float = 1.0) -> Numbers:
        """Return the stakes of all targets: 1/(sqrt(v)/u + 1/cap), below `cap_of(epsilon)`.

        Args:
            variance: The variance of a reward with its share of the noise; its last axis is that of targets.
            epsilon: The range over the noise's scale.
            least: The caps are divided by it.
        """
        stakes: Numbers = 1 / (np.sqrt(variance) / self.targets + least / cap_of(epsilon))
        return stakes


@lru_cache
def mixture(aim: float | None = None, points: int = 40, far: int = 12) -> Mixture:
    """Return the weights: most on usual sizes, or within a factor 4 of the size that is aimed at.

    Args:
        aim: The number of rewards at which intervals shall be narrowest; None for all usual ones.
        points: The number of targets.
        far: The number of stakes in the plain grid.
    """
    low, high = (math.log(_DEVIATIONS / math.sqrt(size)) for size in (_MOST, _LEAST))
    targets = np.exp(np.linspace(low, high, points))
    sizes = (_DEVIATIONS / targets) ** 2
    first, last = _USUAL if aim is None else (aim / _NEAR, aim * _NEAR)
    inside = (sizes >= first) & (sizes <= last)
    if not inside.any():
        inside[np.argmin(np.abs(np.log(sizes / (aim or 1))))] = True
    outside = _OUTSIDE if aim is None else _OUTSIDE_AIM
    weights = np.where(inside, (1 - outside) / inside.sum(), outside / max(1, (~inside).sum()))
    ratios = np.exp(np.linspace(math.log(_FAR_LEAST), 0, far))
    return Mixture(targets, np.log(weights * (1 - FAR)), ratios, math.log(FAR / far))


def cap_of(epsilon: Numbers) -> Numbers:
    """Return the largest stake at an epsilon."""
    return np.minimum(CAP * epsilon, STEEPEST)


@lru_cache
def plain_stakes(epsilon: float, aim: float | None = None, points: int = 48) -> tuple[Numbers, Numbers]:
    """Return stakes that are the same for all blocks, for means that may drift, and the logarithms of their weights.

    Args:
        epsilon: The range over the scale of the first noise.
        aim: The number of rewards at which intervals shall be narrowest; None for all usual ones.
        points: The number of stakes.
    """
    most = min(CAP * epsilon, STEEPEST)
    stakes = np.exp(np.linspace(math.log(min(_PLAIN_LEAST, most / 100)), math.log(most), points))
    weights = np.ones(points)
    if aim is not None:  # of 3.2/sqrt(n v), for variances v from 1/100 to 1/4
        near = (stakes >= _DEVIATIONS / math.sqrt(aim)) & (stakes <= 20 * _DEVIATIONS / math.sqrt(aim))
        weights = np.where(near, 1.0, 0.15)
    return stakes, np.log(weights / weights.sum())

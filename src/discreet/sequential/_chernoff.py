"""Plans of tests between two means by factors of evidence: for rewards of any law in a range."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core.probability.evidence import noise_cost, reward_cost
from discreet.sequential._designs import MeanDesign

_ROOM = 1.1  # the first block brings so many times the evidence that a decision takes, on average
_CHOICES = 1500  # stakes that are tried
_LARGEST = 6.0  # the largest stake
_LEAST = 1e-9  # the least one, in parts of the largest
_LEAST_LATER = 0.5  # later blocks, in parts of the first
_GROWS = 0.1  # of what a decision takes, that a later block brings at least


@dataclass(frozen=True)
class ChernoffPlan:
    """A test between two means: blocks, and a stake for each side that was fixed in advance.

    Args:
        design: What is asked for.
        first: The rewards of the first block.
        later: The rewards of each later block.
        up: The stake against the null hypothesis.
        down: The stake against the alternative, on 1 minus each reward.
    """

    design: MeanDesign
    first: int
    later: int
    up: float
    down: float

    def up_factor(self, total: Any, count: int) -> Any:
        """Return the logarithm of what a block says against the null hypothesis.

        Args:
            total: Its released total, in rewards.
            count: The number of its rewards.
        """
        return self._factor(self.up, total, count, self.design.null)

    def down_factor(self, total: Any, count: int) -> Any:
        """Return the logarithm of what a block says against the alternative.

        Args:
            total: Its released total, in rewards.
            count: The number of its rewards.
        """
        return self._factor(self.down, count - total, count, 1 - self.design.alternative)

    def _factor(self, stake: float, total: Any, count: int, mean: float) -> Any:
        cost = noise_cost(stake, self.design.epsilon, self.design.width)
        return stake * total - count * reward_cost(stake, mean) - cost

    def rewards(self, looks: int) -> int:
        """Return the number of rewards up to a look, from 1."""
        return self.first + (looks - 1) * self.later


def _best(above: float, below: float, count: float, design: MeanDesign) -> tuple[float, float]:
    """Return the stake that grows fastest against `below` where the mean is `above`, and its mean growth in a block."""
    stakes = np.geomspace(_LEAST, 1, _CHOICES) * min(0.995 * design.epsilon, _LARGEST)
    growth = count * (stakes * above - reward_cost(stakes, below)) - noise_cost(stakes, design.epsilon, design.width)
    best = int(growth.argmax())
    return float(stakes[best]), float(growth[best])


def _first_block(above: float, below: float, wanted: float, design: MeanDesign) -> int:
    """Return about the least block that brings this much evidence on average."""
    low, high = 1, 2
    while _best(above, below, high, design)[1] < wanted:
        low, high = high, 2 * high
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        if _best(above, below, middle, design)[1] < wanted:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=64)
def chernoff_plan(design: MeanDesign) -> ChernoffPlan:
    """Return the plan: a first block that usually decides, and later ones of half its size, or more if noises ask."""
    null, alternative = design.null, design.alternative
    sides = (alternative, null, -math.log(design.alpha)), (1 - null, 1 - alternative, -math.log(design.beta))
    first = max(_first_block(above, below, _ROOM * level, design) for above, below, level in sides)
    up, down = (_best(above, below, first, design)[0] for above, below, _ in sides)
    plan = ChernoffPlan(design, first, max(1, math.ceil(_LEAST_LATER * first)), up, down)
    while plan.later < first:
        growths = plan.up_factor(plan.later * alternative, plan.later), plan.down_factor(plan.later * null, plan.later)
        if all(growth >= _GROWS * level for growth, (_, _, level) in zip(growths, sides, strict=True)):
            break  # noise does not eat it up
        plan = replace(plan, later=min(first, math.ceil(1.2 * plan.later)))
    return plan

"""Plans of tests of one arm against another with a few equal looks, from exact laws of 0/1 rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from discreet.core.noise import scale_for
from discreet.core.probability.evidence import Numbers
from discreet.core.probability.tails import tail_exponent
from discreet.sequential._designs import LeadDesign
from discreet.sequential._laws import Law, difference_law, noise_law

LOOKS = (1, 2, 3, 4, 6)
"""Numbers of looks that are tried."""
_POOLED = 0.02  # the part of alpha that the interval of the pooled mean may use
_GIVING_UP = 0.7  # the part of beta that giving up early may use
_SPENT = 0.98  # the part of beta that is planned for: releases decide which limits hold, which costs a trifle
_CELL = 0.01  # the log-odds of pooled means that have limits in common
_LAST_CELL = 1800  # odds of e^-18: below that no test is ever planned
_NEIGHBOURS = 3  # cells whose limits are compared
_TRIES = 40  # of sizes
_FINE = 1e-5  # how close the ends of intervals are computed
_CLOSE = 0.003  # more power than is asked for: the search for a size ends


def spending(looks: int, level: float) -> Numbers:
    """Return the part of a level that each look may use: it grows with the square of the share of rewards so far.

    Args:
        looks: The number of looks.
        level: What all of them may use together.

    >>> spending(2, 0.05).round(4).tolist()
    [0.0125, 0.0375]
    """
    shares: Numbers = np.diff((np.arange(looks + 1) / looks) ** 2)
    return level * shares


def cell_mean(cell: int) -> float:
    """Return the pooled mean at the end of a cell that is nearest to 1/2.

    Args:
        cell: 0 for 1/2, and 1, 2, ... for smaller means.
    """
    return 1 / (1 + math.exp(_CELL * cell))


@dataclass(frozen=True)
class LooksPlan:
    """A test of one arm against the control with equal looks.

    With n rewards of each arm so far, D is the arm's released total minus the control's, in whole rewards. It shows the
    arm better at the first look k with D >= limit(k, pooled total), and gives up at the first one with
    D <= give_up[k - 1]; at the last look it ends. Whether it gives up does not matter to alpha.

    Args:
        block: The rewards of each arm between two looks.
        looks: The number of looks.
        shift: The difference of means at the edge of the null hypothesis: minus the margin.
        alpha: The largest chance of a false alarm.
        give_up: The largest difference at which it gives up, at each look but the last.
        epsilon: The price of a reward.
        width: The grid steps of a reward.
    """

    block: int
    looks: int
    shift: float
    alpha: float
    give_up: tuple[int, ...]
    epsilon: float
    width: int

    def limit(self, look: int, pooled: float, more: float = 0.0) -> int:
        """Return the least difference that shows the arm better at a look.

        Args:
            look: The look's number, from 1.
            pooled: The sum of both arms' released totals so far, in rewards.
            more: What the look may use besides, as the last one may of what other arms have left.
        """
        return self.cell_limit(look, self.cell(look, math.ceil(pooled)), more)

    def cell(self, look: int, pooled: int) -> int:
        """Return the cell of the pooled mean that is nearest to 1/2 among those that are not ruled out.

        Args:
            look: The look's number, from 1.
            pooled: The sum of both arms' released totals so far, rounded up.
        """
        count = 2 * look * self.block
        smaller = min(pooled, count - pooled + 1)  # 1 minus each reward: the law of differences is the same
        return _cell(smaller, count, 2 * look, self.epsilon, self._pooled_level)

    def cell_limit(self, look: int, cell: int, more: float = 0.0) -> int:
        """Return the least difference that shows the arm better at a look, for a pooled mean in a cell.

        It is the largest of a few cells: limits grow with the variance but for the odd whole number.

        Args:
            look: The look's number, from 1.
            cell: The cell.
            more: What the look may use besides.
        """
        most = min(cell + _NEIGHBOURS, _LAST_CELL)
        return max(self._limits(each, look, more)[look - 1] for each in range(cell, most + 1))

    def _limits(self, cell: int, until: int, more: float = 0.0) -> tuple[int, ...]:
        spent = spending(self.looks, self.alpha * (1 - _POOLED))[:until]
        spent[-1] += more
        return _limits(self._walk(cell), tuple(spent.tolist()))

    def _walk(self, cell: int) -> _Walk:
        mean = max(cell_mean(cell), abs(self.shift) / 2)  # there must be room for the shift
        return _Walk(self.block, mean - self.shift / 2, mean + self.shift / 2, self.epsilon, self.width)

    @property
    def _pooled_level(self) -> float:
        """The exponent of each end of the interval of the pooled mean at one look."""
        return -math.log(self.alpha * _POOLED / (2 * self.looks))

    # ------------------------------------------------------------------ what it comes to

    def course(self, control: float, rate: float) -> tuple[Numbers, Numbers]:
        """Return the chances, by look, to show the arm better there, and to end there without.

        Limits are those of the pooled mean that is expected; those that are used depend on what was released.

        Args:
            control: The control's rate.
            rate: The arm's rate.
        """
        step = _Walk(self.block, control, rate, self.epsilon, self.width).step
        open_, shown, ended = Law(0, np.ones(1)), [], []
        for look in range(1, self.looks + 1):
            law = open_ + step if look > 1 else step
            cell = self.cell(look, math.ceil(look * self.block * (control + rate)))
            limit = self._limits(cell, look)[look - 1]
            least = law.first if look == self.looks else self.give_up[look - 1] + 1
            shown.append(law.at_least(limit))
            ended.append(law.up_to(min(least, limit) - 1) if look < self.looks else law.up_to(limit - 1))
            open_ = law.between(least, limit)
        return np.array(shown), np.array(ended)

    def power(self, control: float, rate: float) -> float:
        """Return the chance to show the arm better.

        Args:
            control: The control's rate.
            rate: The arm's rate.
        """
        return float(self.course(control, rate)[0].sum())

    def p_value(self, differences: Sequence[int], pooled: float) -> float:
        """Return the chance, at the edge of the null hypothesis, of showing as much so early; at most 1.

        It is the chance to reach a limit at an earlier look, or the last difference at the last one, at the pooled mean
        by which limits were chosen there; with what the interval of that mean may use added.

        Args:
            differences: The difference at each look so far.
            pooled: The sum of both arms' released totals so far.
        """
        return min(1.0, self.alpha * _POOLED + self._chance_beyond(differences, pooled, self.shift))

    def interval(self, differences: Sequence[int], pooled: float, more: float = 0.0) -> tuple[float, float]:
        """Return the differences of means that the outcome does not rule out, each end with a chance of alpha.

        Its lower end is above the edge of the null hypothesis exactly if the arm has passed: it has the differences
        that would have a p-value above alpha, by the same order of outcomes. Its upper end is the largest difference
        at which no more than was seen has a chance above alpha: there, paths that gave up are below all that went on.

        Args:
            differences: The difference at each look so far.
            pooled: The sum of both arms' released totals so far.
            more: The chance of each end beyond alpha, for an arm that has passed by what others have left.
        """
        chance = self.alpha * (1 - _POOLED) + more

        def end(beyond: Callable[[Sequence[int], float, float], float], level: float) -> tuple[float, float]:
            """Return two differences, close to each other, between which a chance that grows crosses a level."""
            low, high = -1.0, 1.0
            while high - low > _FINE:
                middle = (low + high) / 2
                low, high = (low, middle) if beyond(differences, pooled, middle) > level else (middle, high)
            return low, high

        return end(self._chance_beyond, chance)[0], end(self._chance_above, 1 - chance)[1]

    def _chance_beyond(self, differences: Sequence[int], pooled: float, shift: float) -> float:
        """Return the chance to reach a limit before the last look, or the last difference there, at a difference.

        It holds whether the test gives up or not: it is as if it never did.
        """
        return self._chance_from(differences[-1], len(differences), pooled, shift, None)

    def _chance_above(self, differences: Sequence[int], pooled: float, shift: float) -> float:
        """Return the chance to reach a limit before the last look, or more than the last difference there.

        Paths that have given up are not above, wherever they would have gone.
        """
        return self._chance_from(differences[-1] + 1, len(differences), pooled, shift, self.give_up)

    def _chance_from(
        self, least: int, look: int, pooled: float, shift: float, give_up: tuple[int, ...] | None
    ) -> float:
        """Return the chance to reach a limit before a look, or a difference there.

        Args:
            least: The difference.
            look: The look's number, from 1.
            pooled: The sum of both arms' released totals then, in rewards.
            shift: The difference of means.
            give_up: The largest difference that ends a path, at each look; None if none does.
        """
        cell = self.cell(look, math.ceil(pooled))
        limits = self._limits(cell, look)
        mean = min(max(cell_mean(cell), abs(shift) / 2), 1 - abs(shift) / 2)
        step = _Walk(self.block, mean - shift / 2, mean + shift / 2, self.epsilon, self.width).step
        open_, chance = step, 0.0
        for limit, given in zip(limits[: look - 1], give_up or limits, strict=False):
            chance += open_.at_least(limit)
            open_ = open_.between(open_.first if give_up is None else given + 1, limit) + step
        return chance + open_.at_least(least)


@lru_cache(maxsize=2**16)
def _cell(pooled: int, count: int, noises: int, epsilon: float, level: float) -> int:
    """Return the last cell whose mean a pooled total rules out from above; 0 if 1/2 is not ruled out."""
    if tail_exponent(pooled, count, noises, 0.5, epsilon) < level:
        return 0
    low, high = 0, _LAST_CELL
    while high - low > 1:
        middle = (low + high) // 2
        if tail_exponent(pooled, count, noises, cell_mean(middle), epsilon) >= level:
            low = middle
        else:
            high = middle
    return low


class _Walk(NamedTuple):
    """The walk of differences at the edge of the null hypothesis.

    Attributes:
        block: The rewards of each arm between two looks.
        control: The control's rate.
        rate: The arm's rate.
        epsilon: The price of a reward.
        width: The grid steps of a reward.
    """

    block: int
    control: float
    rate: float
    epsilon: float
    width: int

    @property
    def step(self) -> Law:
        """The law of the difference of one block."""
        noises = noise_law(self.width, scale_for(self.width, self.epsilon), 2)
        return difference_law(self.block, self.control, self.rate, noises)


@lru_cache(maxsize=4096)
def _limits(walk: _Walk, spent: tuple[float, ...]) -> tuple[int, ...]:
    """Return the least differences that are reached first at each look with a chance that it may spend.

    Args:
        walk: The walk.
        spent: What each look may spend. What one leaves is spent by the next.
    """
    step = walk.step
    law, left, found = step, 0.0, []
    for look, share in enumerate(spent, 1):
        limit = law.quantile_from_above(left + share)
        left += share - law.at_least(limit)
        found.append(limit)
        if look < len(spent):
            law = law.between(law.first, limit) + step
    return tuple(found)


def fixed_size(base: float, effect: float, alpha: float, beta: float, margin: float = 0.0) -> float:
    """Return the rewards of each arm that the usual test takes: one look, a normal law, and no privacy.

    Args:
        base: The control's rate.
        effect: The arm's rate minus the control's that is looked for.
        alpha: The chance of a false alarm, on one side.
        beta: The chance of missing the effect.
        margin: The margin of non-inferiority.

    >>> round(fixed_size(0.03, 0.003, alpha=0.05, beta=0.2))
    41912
    """
    normal = NormalDist()
    variance = base * (1 - base) + (base + effect) * (1 - base - effect)
    quantiles, lead = normal.inv_cdf(1 - alpha) + normal.inv_cdf(1 - beta), effect + margin
    return quantiles**2 * variance / lead / lead  # the square of a lead may be 0


@lru_cache(maxsize=64)
def looks_plan(design: LeadDesign) -> LooksPlan:
    """Return the plan of the fewest rewards on average, over both hypotheses, of a few numbers of looks."""
    base, found = design.base, []
    for looks in LOOKS:
        plan = _sized(design, looks)
        sizes = plan.block * np.arange(1, looks + 1)
        ends = [sum(plan.course(base, rate)) for rate in (base - design.margin, base + design.effect)]
        found.append((sum(float(sizes @ end) for end in ends), plan))
    return min(found, key=lambda each: each[0])[1]


def _sized(design: LeadDesign, looks: int) -> LooksPlan:
    """Return about the least plan with this number of looks that has the power."""
    base, effect, margin, alpha, beta, epsilon, width = design
    normal, wanted = NormalDist(), 1 - _SPENT * beta
    scale = scale_for(width, epsilon)

    def plan_of(block: int) -> LooksPlan:
        given = []
        for look, share in enumerate(spending(looks, _GIVING_UP * beta)[:-1], 1):
            law = difference_law(look * block, base, base + effect, noise_law(width, scale, 2 * look))
            given.append(law.quantile_from_below(float(share)))
        return LooksPlan(block, looks, -margin, alpha, tuple(given), epsilon, width)

    quantile = normal.inv_cdf(1 - alpha)
    block = max(1, math.ceil(fixed_size(base, effect, alpha, 1 - wanted, margin) / looks))
    low, high = 0, 0  # a size that is too small, and one that is not
    for _ in range(_TRIES):
        power = plan_of(block).power(base, base + effect)
        low, high = (low, block) if power >= wanted else (block, high)
        if high and (high - low <= max(1, 0.004 * high) or 0 <= power - wanted < _CLOSE):
            break
        # Of normal laws, the sum of both quantiles would grow with the root of the size.
        inside = min(max(power, 1e-6), 1 - 1e-9)
        wanting = (quantile + normal.inv_cdf(wanted + _CLOSE / 2)) / (quantile + normal.inv_cdf(inside))
        block = math.ceil(block * min(4.0, max(0.25, wanting**2 if wanting > 0 else 4.0)))
        block = max(block, low + 1) if not high else min(max(block, low + 1), high - 1)
    return plan_of(high or block)

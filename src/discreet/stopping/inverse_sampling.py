"""Inverse sampling: stop when the sum of 0/1 samples reaches a level. The ancestor of its private form."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist

from discreet.core import checks
from discreet.core.coins import CoinGrid, UnbiasedGrid
from discreet.core.errors import ArgumentError
from discreet.core.plans import Measure, Plan, ThresholdQuery
from discreet.core.registry import register
from discreet.core.releases import Release
from discreet.stopping._inverse.schedule import LAST, InverseTest, Schedule, schedule_for
from discreet.stopping._rule import StoppingRule

_FINEST = 0.01  # the least alpha: below it, levels take long to compute,
_HIGHEST = 110_000  # and so do those above this, for rare samples without noise
_SUREST = 1e-9  # the least beta
_AT_ONCE = 16  # the least number of tests in a plan


@register
@dataclass(kw_only=True)
class InverseSampling(StoppingRule):
    """Halts when the sum of the samples reaches a level, and returns about level/samples.

    How long 0/1 samples take to add up to r has a relative spread of 1/sqrt(r), whatever their mean: there is no price
    for looking often, and no variance to learn. Stopping at a sum is inverse binomial sampling (Haldane 1945), and the
    stopping rule of Dagum, Karp, Luby and Ross (2000). Here it is tested at times that grow by some alpha/20, against
    levels that follow the variance, and what is said of the mean is computed together with them: the chance of a wrong
    answer is at most beta for every mean in (0, 1], and not much less for most. A sample between 0 and `high` is
    rounded at random to one of the two, which keeps its mean (`CoinGrid`). Proved in docs/proofs/inverse-sampling.md.

    Not private.

    Args:
        alpha: The relative error of the estimate, at least 0.01.
        beta: The probability that the error is larger.
        radius: Refused, since samples would lie in [-radius, radius]; give `low` and `high`.
        low: The least sample, at least 0.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> rule = InverseSampling(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.494079, within 10% of the true mean with probability 0.95, from 416 samples (not private)
    """

    key = "inverse"
    kernel = "inverse"
    keeps_secrets = True

    _tests: int = field(init=False, repr=False, default=0)

    def _start(self) -> None:
        super()._start()
        for name, least in (("alpha", _FINEST), ("beta", _SUREST)):
            if getattr(self, name) < least:
                raise ArgumentError(
                    f"{name} must be at least {least:g} for {self.key}, got {getattr(self, name)!r}; use dp-bernstein"
                )
        ones = (NormalDist().inv_cdf(self.beta / 2) / self.alpha) ** 2
        if ones > _HIGHEST:
            raise ArgumentError(
                f"alpha or beta must be larger: {self.key} would read some {ones:,.0f} ones at alpha={self.alpha!r} "
                f"and beta={self.beta!r}, and computes levels for {_HIGHEST:,} at most; use dp-bernstein"
            )

    @cached_property
    def grid(self) -> UnbiasedGrid:
        """The grid that turns samples into coins."""
        low = -self.radius if self.radius is not None and self.low is None else self.low
        if low is not None and low < 0:
            raise ArgumentError(
                f"low must be at least 0 for {self.key}, got low={low!r}; use dp-bernstein for samples of either sign"
            )
        return CoinGrid(super().grid.low, super().grid.high)

    @property
    def scale(self) -> float:
        """The scale of the noises, in coins."""
        return 0.0

    @property
    def schedule(self) -> Schedule:
        """The schedule that all tests come from."""
        return schedule_for(self.alpha, self.beta, 1 / self.scale if self.scale else math.inf, self.grid.width)

    def test(self, number: int) -> InverseTest | None:
        """Return test number 0, 1, ..., with its level and estimate for samples of 0 and 1; None after the last."""
        return self.schedule.tests[number]

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        planned = max(_AT_ONCE, self._tests // 8)  # few at first, as levels take time to compute
        tests = self.schedule.tests.between(self._tests, self._tests + planned)
        if not tests:
            return Plan(self.epoch + 1, {None: self._at_most(LAST)})
        if self.max_samples is not None:
            tests = [tests[0], *(one for one in tests[1:] if one.count <= self.max_samples)]
        counts, limits = tuple(one.count for one in tests), tuple(round(one.level * self.grid.width) for one in tests)
        query = ThresholdQuery(counts, limits, self._price, None, Measure.ONE_SIDED)
        return self._plan_until(counts[-1], query, self.statistic)

    @property
    def _price(self) -> float:
        """The price of a sample for all tests."""
        return math.inf

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        self._learn_tests(plan, releases)
        if releases:
            self._tests = releases[0].tests
        if self.halted and (last := self.test(self._tests - 1)) is not None:
            self.estimate = last.estimate * self.grid.high

    def forecast(self, mean: float) -> int | None:
        """Return about how many samples it takes: where a sum and noises that are what they are on average halt it.

        Args:
            mean: The mean of the samples.

        Returns:
            The number of samples; None if it never halts.

        Raises:
            ArgumentError: The mean is outside of the range.

        >>> rule = InverseSampling(alpha=0.1, beta=0.05, low=0, high=1)
        >>> rule.forecast(0.01), rule.forecast(0.5), rule.forecast(0.0)
        (41973, 416, None)
        """
        share = checks.real("mean", mean) / self.grid.high
        if not self.grid.low <= mean <= self.grid.high:
            raise ArgumentError(f"mean must lie in [{self.grid.low}, {self.grid.high}], got {mean!r}")
        if share * LAST < self.schedule.highest:
            return None
        index = 0
        while (test := self.test(index)) is not None:
            if share * test.count >= test.level:
                return test.count
            index += 1
        return None

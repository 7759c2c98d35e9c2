"""NAS, nonmonotonic adaptive sampling (Domingo, Gavalda, Watanabe 2002): the ancestor of DP-NAS."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.plans import Measure, Plan, ThresholdQuery
from discreet.core.registry import register
from discreet.core.releases import Release
from discreet.stopping._rule import StoppingRule

_TESTS = 4096  # tests whose limits are computed at a time
_EXACT = 2.0**62


@register
@dataclass(kw_only=True)
class NAS(StoppingRule):
    """Halts at the first t at which |mean_t| >= h_t (1 + 1/alpha), and returns mean_t.

    h_t = R sqrt((2/t) ln(4 t^2/beta)) is the Hoeffding radius at confidence 1 - beta/(2 t^2), so
    |mean_t - mu| <= h_t for all t at once with probability 1 - beta; then
    |mean_t - mu| <= h_t <= alpha (|mean_t| - h_t) <= alpha |mu|.

    R is half of the range's width: the paper's R for [-R, R]. Half a grid step is added to h_t, which is what rounding
    can move the mean. Not private.

    Args:
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> rule = NAS(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.5, within 10% of the true mean with probability 0.95, from 5,204 samples (not private)
    """

    key = "nas"
    kernel = "nas"
    keeps_secrets = True

    @property
    def half_width(self) -> float:
        """R of the formulas, on the grid."""
        return self.grid.width * self.grid.step / 2

    def hoeffding_radius(self, t: Any) -> Any:
        """Return h_t, for one t or an array of them."""
        return self.half_width * np.sqrt(2 / t * self._log(4 * t**2))

    def threshold(self, t: Any) -> Any:
        """Return what |sum| must reach at t."""
        return self.hoeffding_radius(t) * (1 + 1 / self.alpha) * t

    def limit_steps(self, t: Any) -> Any:
        """Return the threshold in grid steps, with what the rounding of samples and noises may add."""
        rounding = 0.5 * t * (1 + 1 / self.alpha)
        return self.threshold(t) / self.grid.step + rounding + self.discrete_tails

    @property
    def discrete_tails(self) -> float:
        """The number of grid steps that discrete noises add to a threshold: none without noise."""
        return 0.0

    @property
    def prices(self) -> tuple[float, float]:
        """The price of a sample for all tests, and for the total at the end."""
        return math.inf, math.inf

    def _log(self, number: Any) -> Any:
        """Return ln(number/beta), also for a beta so small that the quotient would overflow."""
        return np.log(number) - math.log(self.beta)

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        start = self.samples - self.samples % _TESTS
        stop = self.samples + self._at_most(start + _TESTS - self.samples)
        limits = self._limits_from(start)[self.samples - start : stop - start]
        query = ThresholdQuery(range(self.samples + 1, stop + 1), limits, *self.prices, Measure.DISTANCE)
        return self._plan_until(stop, query)

    @cached_property
    def _blocks_of_limits(self) -> dict[int, NDArray[Any]]:
        """The last limits that were computed, by what they start from: many plans are cut from one block."""
        return {}

    def _limits_from(self, start: int) -> NDArray[Any]:
        """Return the limits of the tests after `start` samples, in grid steps, rounded against halting."""
        known = self._blocks_of_limits.get(start)
        if known is not None:
            return known
        times = np.arange(start + 1, start + _TESTS + 1, dtype=np.float64)
        limits: NDArray[Any] = np.ceil(self.limit_steps(times))
        if times[-1] * (abs(self.grid.floor) + self.grid.width) >= _EXACT:  # a range far from 0
            limits = np.array([int(limit) for limit in limits], dtype=object)
        else:
            limits = np.minimum(limits, _EXACT).astype(np.int64)
        self._blocks_of_limits.clear()
        self._blocks_of_limits[start] = limits
        return limits

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        self._learn_tests(plan, releases)

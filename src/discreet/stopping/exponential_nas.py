"""NAS that tests at doubling times: DP exponential NAS without privacy."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.plans import Plan, ThresholdQuery
from discreet.core.registry import register
from discreet.stopping.nas import NAS


@register
@dataclass(kw_only=True)
class ExponentialNAS(NAS):
    """NAS that tests only at t = 2, 4, 8, ..., with k^2 for t^2 inside the logarithm at t = 2^k.

    This is what DP exponential NAS, Algorithm 2 of Sajed and Sheffet (2019), does to DP-NAS, done to NAS itself: beside
    `NAS` it shows what doubling costs and gains, and beside `DPExponentialNAS` what privacy costs.

    h_t = R sqrt((2/t) ln(4 k^2/beta)) is the Hoeffding radius at confidence 1 - beta/(2 k^2). The sum of 1/(2 k^2) is
    below 1, so |mean_t - mu| <= h_t at all tests with probability 1 - beta, and the estimate is as good as that of NAS.
    ln ln t takes the place of ln t, but up to twice as many samples are taken as are needed. Not private.

    Args:
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> rule = ExponentialNAS(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.5, within 10% of the true mean with probability 0.95, from 4,096 samples (not private)
    """

    key = "exp-nas"

    def hoeffding_radius(self, t: Any) -> Any:
        """Return h_t, for one t or an array of them."""
        return self.half_width * np.sqrt(2 / t * self._log(4 * np.log2(t) ** 2))

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        t = max(2, 2 * self.samples)
        return self._plan_until(t, ThresholdQuery((t,), (math.ceil(self.limit_steps(t)),), *self.prices))

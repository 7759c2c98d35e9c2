"""DP exponential NAS: Algorithm 2 of Sajed and Sheffet (2019), the optimal private stopping rule."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.plans import Plan, ThresholdQuery
from discreet.core.registry import register
from discreet.stopping.dp_nas import DPNAS


@register
@dataclass(kw_only=True)
class DPExponentialNAS(DPNAS):
    """DP-NAS that tests only at t = 2, 4, 8, ..., with k^2 for t^2 inside the logarithms at t = 2^k.

    It halts by 2000 (t0 + t1 + t2) samples with probability 1 - beta (Theorem 3.3), which is optimal up to constants.
    Private for the same reason as DP-NAS; only the number of tests shrinks.

    Between tests only the running sum matters, so whole arrays are added up at memory speed.

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPExponentialNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000), noise=SimulatedNoise(seed=1)))
    mean 0.500683, within 10% of the true mean with probability 0.95, from 4,096 samples (epsilon = 0.5, simulated)
    """

    key = "dp-exp-nas"

    def test_number(self, t: Any) -> Any:
        """Return k, for t = 2^k."""
        return np.log2(t)

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        t = max(2, 2 * self.samples)
        return self._plan_until(t, ThresholdQuery((t,), (math.ceil(self.limit_steps(t)),), *self.prices))

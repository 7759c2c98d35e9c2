"""EBGStop (Mnih, Szepesvari, Audibert 2008): EBStop with a geometric union bound, not private."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.stopping._rule import Floats
from discreet.stopping.ebstop import EBStop


class EBGStop(EBStop):
    """EBStop that spends its confidence once a geometric interval of times, not once a sample.

    Time t lies in interval k, which grows by one whenever t > floor(g^k), g = 1.1. In interval k the term
    ln(3/d_t) becomes a ln(3/d_k) with d_k = c/k^p and a = floor(g^k)/floor(g^(k-1)), the ratio of the
    interval's ends. While floor(g^k) lags behind t, each interval holds one sample and a >= 1 is enough.

    Not private.

    >>> import numpy as np
    >>> rule = EBGStop(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.4, 0.6], 100_000)))
    mean 0.494935, within 10% of the true mean with probability 0.95, from 1,065 samples (not private)
    """

    key = "ebgstop"
    growth = 1.1

    def log_term(self, times: Floats) -> Floats:
        """A ln(3/d_k) at each of these times."""
        intervals = interval_of(times, self.growth)
        ends = np.floor(self.growth**intervals)
        ratio = ends / np.floor(self.growth ** (intervals - 1))
        result: Floats = ratio * (np.log(3 * intervals**self.p) - self._log_share())
        return result


def interval_of(times: Any, growth: float) -> Floats:
    """The k of each time t >= 1: k starts at 0 and grows by one, once a sample, whenever t > floor(growth^k).

    Early on k = t - 1 runs behind; from the first t with t <= floor(growth^(t-1)) on, k is the smallest
    number with t <= floor(growth^k). (t = 1 counts as interval 1, for its d_k to exist.)

    >>> interval_of([1, 2, 3, 100, 1000], 1.1)
    array([ 1.,  1.,  2., 49., 73.])
    """
    times = np.asarray(times, dtype=np.float64)
    smallest = np.ceil(np.log(times) / np.log(growth))
    smallest += np.floor(growth**smallest) < times  # where floating point or the floor fell short
    smallest -= np.floor(growth ** (smallest - 1)) >= times
    result: Floats = np.maximum(1.0, np.minimum(times - 1, smallest))
    return result

"""EBGStop (Mnih, Szepesvari, Audibert 2008): EBStop with a geometric union bound, not private."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.registry import register
from discreet.stopping.ebstop import EBStop, Floats


@register
@dataclass(kw_only=True)
class EBGStop(EBStop):
    """EBStop that spends its confidence once a geometric interval of times, not once a sample.

    Time t lies in interval k, which grows by one whenever t > floor(g^k), g = 1.1. In interval k the term ln(3/d_t)
    becomes a ln(3/d_k) with d_k = c/k^p and a = floor(g^k)/floor(g^(k-1)), the ratio of the interval's ends. While
    floor(g^k) lags behind t, each interval holds one sample and a >= 1 is enough.

    Not private: it reads every sample.

    Args:
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> rule = EBGStop(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.4, 0.6], 100_000)))
    mean 0.494935, within 10% of the true mean with probability 0.95, from 1,065 samples (not private)
    """

    key = "ebgstop"
    kernel = "empirical_bernstein"
    growth = 1.1

    def log_term(self, times: Floats) -> Floats:
        """Return a ln(3/d_k) at each of these times."""
        intervals = interval_of(times, self.growth)
        ends = np.floor(self.growth**intervals)
        ratio = ends / np.floor(self.growth ** (intervals - 1))
        result: Floats = ratio * (np.log(3 * intervals**self.p) - self.log_share)
        return result


def interval_of(times: ArrayLike, growth: float) -> Floats:
    """Return the interval k of each time t >= 1: k starts at 0 and grows by one whenever t > floor(growth^k).

    Early on k = t - 1 runs behind; from the first t with t <= floor(growth^(t-1)) on, k is the smallest number with
    t <= floor(growth^k). (t = 1 counts as interval 1, for its d_k to exist.)

    Args:
        times: The times.
        growth: The factor by which intervals grow.

    >>> interval_of([1, 2, 3, 100, 1000], 1.1)
    array([ 1.,  1.,  2., 49., 73.])
    """
    times = np.asarray(times, dtype=np.float64)
    smallest = np.ceil(np.log(times) / np.log(growth))
    smallest += np.floor(growth**smallest) < times  # where floating point or the floor fell short
    smallest -= np.floor(growth ** (smallest - 1)) >= times
    result: Floats = np.maximum(1.0, np.minimum(times - 1, smallest))
    return result

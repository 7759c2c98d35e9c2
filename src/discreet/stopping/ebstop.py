"""EBStop (Mnih, Szepesvari, Audibert 2008): empirical Bernstein stopping, not private."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.core.plans import Plan, SamplesQuery
from discreet.core.registry import register
from discreet.core.releases import Release
from discreet.stopping._rule import StoppingRule

Floats = NDArray[np.float64]
_SAMPLES = 2**14  # that are read at a time
_QUERY = SamplesQuery()


@register
@dataclass(kw_only=True)
class EBStop(StoppingRule):
    """Halts when the empirical Bernstein interval of |mean| is within a factor (1 + alpha)/(1 - alpha).

    With d_t = c/t^p, p = 1.1, c = beta (p - 1)/p (so that the d_t add up to at most beta) and the range's width W, the
    radius is c_t = s_t sqrt(2 ln(3/d_t)/t) + 3 W ln(3/d_t)/t, s_t^2 being the empirical variance. LB is the largest
    |mean| - c_t so far (at least 0), UB the smallest |mean| + c_t. It halts when (1 + alpha) LB >= (1 - alpha) UB, and
    returns sign(mean) ((1 + alpha) LB + (1 - alpha) UB)/2.

    Not private: it reads every sample.

    Args:
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> rule = EBStop(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.4, 0.6], 100_000)))
    mean 0.494979, within 10% of the true mean with probability 0.95, from 1,236 samples (not private)
    """

    key = "ebstop"
    kernel = "empirical_bernstein"
    reads_samples = True
    p = 1.1

    _sum: float = field(init=False, repr=False, default=0.0)  # of samples counted from the middle of the range,
    _squares: float = field(init=False, repr=False, default=0.0)  # where squares cancel least
    _lower: float = field(init=False, repr=False, default=0.0)
    _upper: float | None = field(init=False, repr=False, default=None)  # None before the first sample

    @cached_property
    def log_share(self) -> float:
        """Ln c: computed apart, so that no quotient overflows for a tiny beta."""
        return math.log(self.beta) + math.log((self.p - 1) / self.p)

    def log_term(self, times: Floats) -> Floats:
        """Return ln(3/d_t) at each of these times."""
        return np.log(3 * times**self.p) - self.log_share

    def _plan(self) -> Plan | None:
        return None if self.finished else self._plan_until(self.samples + self._at_most(_SAMPLES), _QUERY)

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        grid, steps = self.grid, np.asarray(releases[0].steps, dtype=np.float64)
        middle, values = (grid.floor + grid.width / 2) * grid.step, (steps - grid.width / 2) * grid.step
        times = np.arange(self.samples + 1, self.samples + steps.size + 1, dtype=np.float64)
        squares = values * values
        # Carry first, then a running sum: the same additions in the same order however the stream is cut.
        values[0] += self._sum
        squares[0] += self._squares
        sums, squares = values.cumsum(), squares.cumsum()
        means = sums / times
        deviation = np.sqrt(np.maximum(squares / times - means * means, 0.0))
        log = self.log_term(times)
        radius = deviation * np.sqrt(2 * log / times) + 3 * grid.width * grid.step * log / times + grid.step / 2
        size = np.abs(means + middle)
        lower, upper = size - radius, size + radius
        lower[0] = max(self._lower, lower[0])
        upper[0] = upper[0] if self._upper is None else min(self._upper, upper[0])
        lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper)
        done = (1 + self.alpha) * lower >= (1 - self.alpha) * upper
        last = int(done.argmax())
        self.halted = bool(done[last])
        if not self.halted:
            last = steps.size - 1
        self.samples += last + 1
        self._sum, self._squares = float(sums[last]), float(squares[last])
        self._lower, self._upper = float(lower[last]), float(upper[last])
        if self.halted:
            sign = np.sign(means[last] + middle)
            self.estimate = float(sign * ((1 + self.alpha) * self._lower + (1 - self.alpha) * self._upper) / 2)

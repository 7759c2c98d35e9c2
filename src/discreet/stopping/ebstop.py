"""EBStop (Mnih, Szepesvari, Audibert 2008): empirical Bernstein stopping, not private."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.stopping._rule import Floats, StoppingRule


class EBStop(StoppingRule):
    """Halts when the empirical Bernstein interval of |mean| is within a factor (1 + alpha)/(1 - alpha).

    With d_t = c/t^p, p = 1.1, c = beta (p - 1)/p (so that the d_t add up to at most beta) and the range's
    width W, the radius is c_t = s_t sqrt(2 ln(3/d_t)/t) + 3 W ln(3/d_t)/t, s_t^2 being the empirical
    variance. LB is the largest |mean| - c_t so far (at least 0), UB the smallest |mean| + c_t. Halts when
    (1 + alpha) LB >= (1 - alpha) UB and returns sign(mean) ((1 + alpha) LB + (1 - alpha) UB)/2.

    Not private: it reads exact means and variances.

    >>> import numpy as np
    >>> rule = EBStop(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.4, 0.6], 100_000)))
    mean 0.494979, within 10% of the true mean with probability 0.95, from 1,236 samples (not private)
    """

    key = "ebstop"
    p = 1.1

    def __init__(
        self,
        *,
        alpha: float,
        beta: float,
        radius: float | None = None,
        low: float | None = None,
        high: float | None = None,
        max_samples: int | None = None,
        clip: bool = False,
    ) -> None:
        super().__init__(alpha=alpha, beta=beta, radius=radius, low=low, high=high, max_samples=max_samples, clip=clip)
        self._sum = 0.0  # of samples counted from the middle of the range, where squares cancel least
        self._squares = 0.0
        self._lower = 0.0
        self._upper = float("inf")

    def log_term(self, times: Floats) -> Floats:
        """ln(3/d_t) at each of these times."""
        return np.log(3 * times**self.p) - self._log_share()

    def _log_share(self) -> float:
        """Ln c: computed apart, so that no quotient overflows for a tiny beta."""
        return math.log(self.beta) + math.log((self.p - 1) / self.p)

    def _absorb(self, units: Floats) -> None:
        middle = (self.grid.floor + self.grid.width / 2) * self.grid.step
        values = (units - self.grid.width / 2) * self.grid.step
        times = np.arange(self.samples + 1, self.samples + units.size + 1, dtype=np.float64)
        # Carry first, then a running sum: the same additions in the same order however the stream is cut.
        sums = np.cumsum(np.concatenate([[self._sum], values]))[1:]
        squares = np.cumsum(np.concatenate([[self._squares], values * values]))[1:]
        means = sums / times
        deviation = np.sqrt(np.maximum(squares / times - means * means, 0.0))
        log = self.log_term(times)
        width = self.grid.width * self.grid.step
        radius = deviation * np.sqrt(2 * log / times) + 3 * width * log / times + self.grid.step / 2
        size = np.abs(means + middle)
        lower = np.maximum.accumulate(np.concatenate([[self._lower], size - radius]))[1:]
        upper = np.minimum.accumulate(np.concatenate([[self._upper], size + radius]))[1:]
        done = (1 + self.alpha) * lower >= (1 - self.alpha) * upper
        last = int(done.argmax())
        self._halted = bool(done[last])
        if not self._halted:
            last = units.size - 1
        self.samples += last + 1
        self._sum, self._squares = float(sums[last]), float(squares[last])
        self._lower, self._upper = float(lower[last]), float(upper[last])
        if self._halted:
            sign = np.sign(means[last] + middle)
            self._estimate = float(sign * ((1 + self.alpha) * self._lower + (1 - self.alpha) * self._upper) / 2)

    def _progress(self) -> dict[str, Any]:
        upper = None if self._upper == float("inf") else self._upper
        return {"sum": self._sum, "squares": self._squares, "lower": self._lower, "upper": upper}

    def _restore(self, progress: dict[str, Any]) -> None:
        self._sum, self._squares = float(progress["sum"]), float(progress["squares"])
        self._lower = float(progress["lower"])
        self._upper = float("inf") if progress["upper"] is None else float(progress["upper"])

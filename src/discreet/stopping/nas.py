"""NAS, nonmonotonic adaptive sampling (Domingo, Gavalda, Watanabe 2002): the ancestor of DP-NAS."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.stopping._rule import Floats, StoppingRule


class NAS(StoppingRule):
    """Halts at the first t at which |mean_t| >= h_t (1 + 1/alpha), and returns mean_t.

    h_t = R sqrt((2/t) ln(4 t^2/beta)) is the Hoeffding radius at confidence 1 - beta/(2 t^2), so
    |mean_t - mu| <= h_t for all t at once with probability 1 - beta; then
    |mean_t - mu| <= h_t <= alpha (|mean_t| - h_t) <= alpha |mu|.

    R is half of the range's width: the paper's R for [-R, R]. Half a grid step is added to h_t, which is
    what rounding can move the mean. Not private.

    >>> import numpy as np
    >>> rule = NAS(alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.5, within 10% of the true mean with probability 0.95, from 5,204 samples (not private)
    """

    key = "nas"

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
        self._sum = 0

    @property
    def half_width(self) -> float:
        """R of the formulas, on the grid."""
        return self.grid.width * self.grid.step / 2

    def hoeffding_radius(self, t: Any) -> Any:
        """h_t, for one t or an array of them."""
        return self.half_width * np.sqrt(2 / t * self._log(4 * t**2))

    def _log(self, number: Any) -> Any:
        """ln(number/beta), also for a beta so small that the quotient would overflow."""
        return np.log(number) - math.log(self.beta)

    def threshold(self, t: Any) -> Any:
        """What |sum| must reach at t."""
        return self.hoeffding_radius(t) * (1 + 1 / self.alpha) * t

    def _absorb(self, units: Floats) -> None:
        """Test after every sample, all at once; stop at the first test that succeeds."""
        times = np.arange(self.samples + 1, self.samples + units.size + 1, dtype=np.float64)
        sums = self._sum + np.cumsum(units.astype(np.int64))
        used = self._test(self._margins(sums, times), units.size)
        self.samples += used
        self._sum = int(sums[used - 1])
        if self._halted:
            self._finish()

    def _margins(self, sums: Any, times: Floats) -> Any:
        """|sum| minus its threshold, in grid units, rounded against halting."""
        steps: Any = times.astype(np.int64)
        limits: Any = np.ceil(self._threshold_units(times))
        if times[-1] * (abs(self.grid.floor) + self.grid.width) >= 2.0**62:
            # A range far from 0, where 64 bits would overflow: Python's integers do not.
            steps, limits = steps.astype(object), np.array([int(limit) for limit in limits], dtype=object)
        else:
            limits = np.minimum(limits, 2.0**62).astype(np.int64)
        return np.abs(sums + steps * self.grid.floor) - limits

    def _threshold_units(self, times: Any) -> Any:
        rounding = 0.5 * times * (1 + 1 / self.alpha)
        return self.threshold(times) / self.grid.step + rounding

    def _test(self, margins: Any, size: int) -> int:
        """How many samples are used up to the first success, which sets `_halted`."""
        above = margins >= 0
        first = int(above.argmax())
        self._halted = bool(above[first])
        return first + 1 if self._halted else size

    def _finish(self) -> None:
        self._estimate = self.grid.mean(self._sum, self.samples)
        self._sum = 0

    def _progress(self) -> dict[str, Any]:
        return {"sum": self._sum}

    def _restore(self, progress: dict[str, Any]) -> None:
        self._sum = int(progress["sum"])

"""DP exponential NAS: Algorithm 2 of Sajed and Sheffet (2019), the optimal private stopping rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.stopping._rule import Floats
from discreet.stopping.dp_nas import DPNAS


class DPExponentialNAS(DPNAS):
    """DP-NAS that tests only at t = 2, 4, 8, ..., with k^2 for t^2 inside the logarithms at t = 2^k.

    It halts by 2000 (t0 + t1 + t2) samples with probability 1 - beta (Theorem 3.3), which is optimal up to
    constants. Private for the same reason as DP-NAS; only the number of tests shrinks.

    Between tests only the running sum matters, so whole arrays are added up at memory speed.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPExponentialNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1, noise=SimulatedNoise(seed=1))
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.500683, within 10% of the true mean with probability 0.95, from 4,096 samples (epsilon = 0.5, simulated)
    """

    key = "dp-exp-nas"
    _ahead = 1

    def test_number(self, t: Any) -> Any:
        """k, for t = 2^k."""
        return np.log2(t)

    def _until_test(self) -> int:
        return (2 << self._sparse.tests) - self.samples

    def _absorb(self, units: Floats) -> None:
        while units.size and not self._halted:
            block = units[: self._until_test()]
            units = units[block.size :]
            self._take(int(block.sum()), block.size)

    def _take(self, total: int, count: int) -> None:
        due = count == self._until_test()
        self._sum += total
        self.samples += count
        if due:
            self._test_now()

    def _test_now(self) -> None:
        t = self.samples
        distance = abs(self._sum + t * self.grid.floor)
        self._halted = self._sparse.test(distance, float(self._threshold_units(t)))
        self._record_tests(t)
        if self._halted:
            self._finish()

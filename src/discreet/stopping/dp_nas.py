"""DP-NAS: Algorithm 1 of Sajed and Sheffet (2019), a private stopping rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Release
from discreet.mechanisms.above_threshold import AboveThreshold
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.stopping._rule import Floats
from discreet.stopping.nas import NAS

_BATCH = 256  # tests at a time, and noises drawn ahead of them: they are dear, and wasted past the halting test


class DPNAS(NAS):
    """Tests after every sample, through a sparse vector, whether the mean is known well enough.

    With sigma1 = sigma2 = 12R/epsilon and sigma3 = 4R/epsilon, B ~ Lap(sigma1) once and A_t ~ Lap(sigma2)
    each time, halts at the first t at which |mean_t| >= h_t (1 + 1/alpha) + (c_t + B + A_t)/t, and returns
    mean_t + Lap(sigma3)/t. It is an (alpha, beta)-stopping rule (Theorem 3.1).

    Private because |sum_t| has sensitivity 2R and is tested by AboveThreshold at epsilon/2 (both noises
    of scale 3 * 2R/(epsilon/2) = 12R/epsilon); the final sum is released at epsilon/2, with noise of
    scale 2R/(epsilon/2) = 4R/epsilon. Thresholds are public and rounded against halting: half a grid step
    a sample for the rounding of samples, and one grid step for each noise whose tail is discrete.

    A range [low, high] enters as R = (high - low)/2: it has the same width and sensitivity as [-R, R].

    >>> from discreet import SimulatedNoise
    >>> rule = DPNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1, noise=SimulatedNoise(seed=1))
    >>> rule.sigma1, rule.sigma3
    (12.0, 4.0)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.500415, within 10% of the true mean with probability 0.95, from 7,403 samples (epsilon = 0.5, simulated)
    """

    key = "dp-nas"
    _ahead = _BATCH
    privacy_reason = (
        "a sparse vector over prefix sums at epsilon/2, then one Laplace release of the last sum at epsilon/2"
    )

    def __init__(
        self,
        *,
        epsilon: float,
        alpha: float,
        beta: float,
        radius: float | None = None,
        low: float | None = None,
        high: float | None = None,
        max_samples: int | None = None,
        clip: bool = False,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(alpha=alpha, beta=beta, radius=radius, low=low, high=high, max_samples=max_samples, clip=clip)
        self.epsilon = checks.positive("epsilon", epsilon)
        self._sparse = AboveThreshold(self.grid.width, self.epsilon / 2, noise, self._ahead)  # B and the A_t
        self._laplace = LaplaceMechanism(self.grid.width, self.epsilon / 2, noise)  # L
        self.noise = self._sparse.noise

    # ------------------------------------------------------------------ the formulas of Algorithm 1

    @property
    def sigma1(self) -> float:
        """The scale of the threshold's noise B, line 1 (and sigma2, that of each A_t)."""
        return self._sparse.scale * self.grid.step

    @property
    def sigma3(self) -> float:
        """The scale of the released mean's noise L, line 1."""
        return self._laplace.scale * self.grid.step

    def test_number(self, t: Any) -> Any:
        """Which test takes place at t: here every sample is tested."""
        return t

    def hoeffding_radius(self, t: Any) -> Any:
        """h_t, line 8."""
        return self.half_width * np.sqrt(2 / t * self._log(16 * self.test_number(t) ** 2))

    def noise_margin(self, t: Any) -> Any:
        """c_t, line 9."""
        once, tests = self._log(4), self._log(8 * self.test_number(t) ** 2)
        return self.sigma1 * once + self.sigma1 * tests + self.sigma3 / self.alpha * once

    def threshold(self, t: Any) -> Any:
        """What |sum| must reach at t, apart from the noise B + A_t, line 10."""
        return self.hoeffding_radius(t) * (1 + 1 / self.alpha) * t + self.noise_margin(t)

    # ------------------------------------------------------------------ the tests

    def _absorb(self, units: Floats) -> None:
        for start in range(0, units.size, _BATCH):
            if not self._halted:
                super()._absorb(units[start : start + _BATCH])

    def _threshold_units(self, times: Any) -> Any:
        discrete_tails = 2 + 1 / self.alpha  # B, A_t and L/alpha
        return super()._threshold_units(times) + discrete_tails

    def _test(self, margins: Any, size: int) -> int:
        first = self._sparse.first_above(margins)
        self._halted = first is not None
        used = size if first is None else first + 1
        self._record_tests(self.samples + used)
        return used

    def _finish(self) -> None:
        units = self._laplace.release(self._sum)
        self._sum = 0
        self._estimate = self.grid.mean(units, self.samples)
        total = self._estimate * self.samples
        self._ledger.append(self._entry("final total", self.samples, total, units, self.sigma3))

    def _record_tests(self, last: int) -> None:
        """One entry for the sparse vector: it grows with every test, and costs epsilon/2 once."""
        what = f"above threshold: {self._sparse.tests} tests, {'halted' if self._halted else 'not halted'}"
        self._ledger = [self._entry(what, last, None, None, self.sigma1)]

    def _entry(self, what: str, last: int, value: float | None, units: int | None, scale: float) -> Release:
        spans = ((None, 1, last),)
        return Release(self._sparse.tests, what, spans, value, units, scale, self.epsilon / 2, self.simulated)

    def _progress(self) -> dict[str, Any]:
        return {**super()._progress(), "sparse": self._sparse._state(), "laplace": self._laplace._state()}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._sparse._restore(progress["sparse"])
        self._laplace._restore(progress["laplace"])

"""DP-NAS: Algorithm 1 of Sajed and Sheffet (2019), a private stopping rule."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.noise import scale_for
from discreet.core.options import Positive
from discreet.core.privacy import Theorem
from discreet.core.registry import register
from discreet.stopping.nas import NAS


@register
@dataclass(kw_only=True)
class DPNAS(NAS):
    """Tests after every sample, through a sparse vector, whether the mean is known well enough.

    With sigma1 = sigma2 = 12R/epsilon and sigma3 = 4R/epsilon, B ~ Lap(sigma1) once and A_t ~ Lap(sigma2) each time, it
    halts at the first t at which |mean_t| >= h_t (1 + 1/alpha) + (c_t + B + A_t)/t, and returns mean_t + Lap(sigma3)/t.
    It is an (alpha, beta)-stopping rule (Theorem 3.1).

    Private because |sum_t| has sensitivity 2R and is tested by a sparse vector at epsilon/2 (both noises of scale
    3 * 2R/(epsilon/2) = 12R/epsilon); the final sum is released at epsilon/2, with noise of scale
    2R/(epsilon/2) = 4R/epsilon. Thresholds are public and rounded against halting: half a grid step a sample for the
    rounding of samples, and one grid step for each noise whose tail is discrete.

    A range [low, high] enters as R = (high - low)/2: it has the same width and sensitivity as [-R, R].

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> from discreet import SimulatedNoise
    >>> rule = DPNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1)
    >>> rule.sigma1, rule.sigma3
    (12.0, 4.0)
    >>> rule.run(np.tile([0.0, 1.0], 100_000), noise=SimulatedNoise(seed=1)).samples
    7467
    """

    key = "dp-nas"
    reason = "a sparse vector over prefix sums at epsilon/2, then one Laplace release of the last sum at epsilon/2"
    theorem = Theorem.REWARDS
    kernel = "nas"

    epsilon: Positive

    @cached_property
    def sigma1(self) -> float:
        """The scale of the threshold's noise B, line 1 (and sigma2, that of each A_t)."""
        return scale_for(3 * self.grid.width, self.epsilon / 2) * self.grid.step

    @cached_property
    def sigma3(self) -> float:
        """The scale of the released mean's noise L, line 1."""
        return scale_for(self.grid.width, self.epsilon / 2) * self.grid.step

    def test_number(self, t: Any) -> Any:
        """Return the number of the test that takes place at t: here every sample is tested."""
        return t

    def hoeffding_radius(self, t: Any) -> Any:
        """Return h_t, line 8."""
        return self.half_width * np.sqrt(2 / t * self._log(16 * self.test_number(t) ** 2))

    def noise_margin(self, t: Any) -> Any:
        """Return c_t, line 9."""
        once, tests = self._log(4), self._log(8 * self.test_number(t) ** 2)
        return self.sigma1 * once + self.sigma1 * tests + self.sigma3 / self.alpha * once

    def threshold(self, t: Any) -> Any:
        """Return what |sum| must reach at t, apart from the noise B + A_t, line 10."""
        return self.hoeffding_radius(t) * (1 + 1 / self.alpha) * t + self.noise_margin(t)

    @property
    def discrete_tails(self) -> float:
        """The number of grid steps that discrete noises add to a threshold: of B, A_t and L/alpha."""
        return 2 + 1 / self.alpha

    @property
    def prices(self) -> tuple[float, float]:
        """The price of a sample for all tests, and for the total at the end."""
        return self.epsilon / 2, self.epsilon / 2

    def _start(self) -> None:
        super()._start()
        _ = self.sigma1, self.sigma3  # refuses an epsilon that no noise is large or small enough for

"""DP exponential NAS for samples of known sign: smaller noises, and constants that use the sign."""

from __future__ import annotations

import math
from typing import Any

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise
from discreet.core.privacy import Release, split
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.mechanisms.prefix_above_threshold import PrefixSumAboveThreshold
from discreet.stopping._rule import Floats, StoppingRule

_LAST_POWER = 62  # a test after 2^62 samples stands for never


class DPOneSidedNAS(StoppingRule):
    """DP exponential NAS for samples that are never negative, such as clicks, amounts or times.

    Algorithm 2 of Sajed and Sheffet (2019) tests |sum|. Where `low` is at least 0 the sum itself can be tested, and
    the sparse vector needs a third of the noise (`PrefixSumAboveThreshold`): with width W it halts at the first test k,
    at time t, at which sum + N >= h_t (1 + 1/alpha) t + c_k + B, and returns (sum + L)/t. B and N are absolute values
    of Lap(W/epsilon') variables, L is Lap(W/epsilon''), and c_k bounds N and L/alpha. Tests double in time from the
    first t at which samples that are all `high` would pass, and k counts from there.

    Private because the tests cost epsilon' in all and the release epsilon''; the two add up to epsilon and are
    chosen so that c_1 is least. Neighbours differ in one sample, as everywhere here.

    An (alpha, beta)-stopping rule because, but for a chance of beta, no test's mean is too high by more than h_t or too
    low by more than h_t (1 + alpha)/(1 - alpha), N <= W/epsilon' ln(4k(k + 1)/beta) at every test, and
    |L| <= W/epsilon'' ln(4/beta). Rounding is allowed for as in DP-NAS. `docs/proofs/one-sided-nas.md` has the proofs.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPOneSidedNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1, noise=SimulatedNoise(seed=1))
    >>> rule.first_test, round(rule.epsilon_tests, 3)
    (1024, 0.127)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.500915, within 10% of the true mean with probability 0.95, from 2,048 samples (epsilon = 0.5, simulated)
    """

    key = "dp-nas-one-sided"
    privacy_reason = "a one-sided sparse vector over prefix sums, then one Laplace release of the last sum"

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
        if self.grid.low < 0:
            raise ArgumentError(
                f"low must be at least 0 for {self.key}, got low={self.grid.low!r}; "
                f"use dp-exp-nas for samples of either sign"
            )
        self.epsilon = checks.positive("epsilon", epsilon)
        self.epsilon_tests, self.epsilon_release = split(self.epsilon, self.test_share)
        self._sparse = PrefixSumAboveThreshold(self.grid.width, self.epsilon_tests, noise)  # B and the N's
        self._laplace = LaplaceMechanism(self.grid.width, self.epsilon_release, noise)  # L
        self.noise = self._sparse.noise
        self.first_test = self._first_test()

    # ------------------------------------------------------------------ the formulas

    @property
    def test_share(self) -> float:
        """The tests' share of epsilon: a/x + b/(1 - x) is least where x : 1 - x = sqrt(a) : sqrt(b)."""
        tests, release = self._test_level(1), self._release_level / self.alpha
        return math.sqrt(tests) / (math.sqrt(tests) + math.sqrt(release))

    @property
    def sigma_tests(self) -> float:
        """The scale W/epsilon' of the tests' noises."""
        return self._sparse.scale * self.grid.step

    @property
    def sigma_release(self) -> float:
        """The scale W/epsilon'' of the released sum's noise."""
        return self._laplace.scale * self.grid.step

    def _test_level(self, number: int) -> float:
        """ln(4k(k + 1)/beta): beta/4 for the tests' noises together, since 1/(k(k + 1)) adds up to 1."""
        return math.log(4 * number * (number + 1)) - math.log(self.beta)

    @property
    def _release_level(self) -> float:
        """ln(4/beta): beta/4 for the released sum's noise."""
        return math.log(4) - math.log(self.beta)

    def _mean_level(self, number: int) -> float:
        """ln(1/u) such that a mean too high has chance u, and one too low u^r: b = beta/(2k(k + 1)) for both.

        Too low matters only from (1 + alpha)/(1 - alpha) radii on, so that r is the square of that; and
        u = b/(1 + b^(r - 1)) gives u + u^r <= b.
        """
        level = math.log(2 * number * (number + 1)) - math.log(self.beta)
        return level + math.log1p(math.exp(-level * 4 * self.alpha / (1 - self.alpha) ** 2))

    def test_time(self, number: int) -> int:
        """When test k = 1, 2, ... takes place."""
        return self.first_test << (number - 1)

    def hoeffding_radius(self, t: int, number: int) -> float:
        """h_t, at test k."""
        return self.grid.width * self.grid.step * math.sqrt(self._mean_level(number) / (2 * t))

    def noise_margin(self, number: int) -> float:
        """c_k: what N and L/alpha may be."""
        return self.sigma_tests * self._test_level(number) + self.sigma_release * self._release_level / self.alpha

    def threshold(self, t: int, number: int) -> float:
        """What the sum must reach at t, at test k, apart from the noise B - N."""
        return self.hoeffding_radius(t, number) * (1 + 1 / self.alpha) * t + self.noise_margin(number)

    def limit(self, t: int, number: int) -> int:
        """The same in grid units, rounded against halting.

        Half a step a sample is for the rounding of samples, and a step for each noise whose tail is discrete.
        """
        rounding = 0.5 * t * (1 + 1 / self.alpha) + 1 + 1 / self.alpha
        return math.ceil(self.threshold(t, number) / self.grid.step + rounding)

    def _first_test(self) -> int:
        """The first power of two at which samples that are all `high` pass without noise."""
        most = self.grid.floor + self.grid.width
        powers = (1 << power for power in range(_LAST_POWER))
        return next((t for t in powers if t * most >= self.limit(t, 1)), 1 << _LAST_POWER)

    # ------------------------------------------------------------------ the tests

    def _until_test(self) -> int:
        return self.test_time(self._sparse.tests + 1) - self.samples

    def _absorb(self, units: Floats) -> None:
        while units.size and not self._halted:
            block = units[: self._until_test()]
            units = units[block.size :]
            self._take(int(block.sum()), block.size)

    def _take(self, total: int, count: int) -> None:
        due = count == self._until_test()
        self._sparse.add(total, count)
        self.samples += count
        if due:
            self._test_now()

    def _test_now(self) -> None:
        t, number = self.samples, self._sparse.tests + 1
        self._halted = self._sparse.test(self.limit(t, number) - t * self.grid.floor)  # items count from the floor
        what = f"above threshold: {number} tests, {'halted' if self._halted else 'not halted'}"
        self._ledger = [self._entry(what, None, None, self.sigma_tests, self.epsilon_tests)]
        if self._halted:
            self._finish()

    def _finish(self) -> None:
        units = self._laplace.release(self._sparse._take_sum())
        self._estimate = self.grid.mean(units, self.samples)
        total = self._estimate * self.samples
        self._ledger.append(self._entry("final total", total, units, self.sigma_release, self.epsilon_release))

    def _entry(self, what: str, value: float | None, units: int | None, scale: float, epsilon: float) -> Release:
        spans = ((None, 1, self.samples),)
        return Release(self._sparse.tests, what, spans, value, units, scale, epsilon, self.simulated)

    def _progress(self) -> dict[str, Any]:
        return {"sparse": self._sparse._state(), "laplace": self._laplace._state()}

    def _restore(self, progress: dict[str, Any]) -> None:
        self._sparse._restore(progress["sparse"])
        self._laplace._restore(progress["laplace"])

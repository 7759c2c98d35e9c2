"""DP exponential NAS for samples of known sign: smaller noises, and constants that use the sign."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.core.errors import ArgumentError
from discreet.core.noise import scale_for
from discreet.core.options import Positive
from discreet.core.plans import Measure, Plan, ThresholdQuery
from discreet.core.privacy import Theorem, split
from discreet.core.registry import register
from discreet.core.releases import Release
from discreet.stopping._rule import StoppingRule

_LAST_POWER = 62  # a test after 2^62 samples stands for never


@register
@dataclass(kw_only=True)
class DPOneSidedNAS(StoppingRule):
    """DP exponential NAS for samples that are never negative, such as clicks, amounts or times.

    Algorithm 2 of Sajed and Sheffet (2019) tests |sum|. Where `low` is at least 0 the sum itself can be tested, and
    the sparse vector needs a third of the noise: with width W it halts at the first test k, at time t, at which
    sum + N >= h_t (1 + 1/alpha) t + c_k + B, and returns (sum + L)/t. B and N are absolute values of Lap(W/epsilon')
    variables, L is Lap(W/epsilon''), and c_k bounds N and L/alpha. Tests double in time from the first t at which
    samples that are all `high` would pass, and k counts from there.

    Private because the tests cost epsilon' in all (a one-sided `SparseVector`) and the release epsilon''; the two add
    up to epsilon and are chosen so that c_1 is least. Neighbours differ in one sample, as everywhere here.

    An (alpha, beta)-stopping rule because, but for a chance of beta, no test's mean is too high by more than h_t or too
    low by more than h_t (1 + alpha)/(1 - alpha), N <= W/epsilon' ln(4k(k + 1)/beta) at every test, and
    |L| <= W/epsilon'' ln(4/beta). Rounding is allowed for as in DP-NAS. `docs/proofs/one-sided-nas.md` has the proofs.

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Refused, since samples would lie in [-radius, radius]; give `low` and `high`.
        low: The least sample, at least 0.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPOneSidedNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1)
    >>> rule.first_test, round(rule.epsilon_tests, 3)
    (1024, 0.127)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000), noise=SimulatedNoise(seed=1)))
    mean 0.500915, within 10% of the true mean with probability 0.95, from 2,048 samples (epsilon = 0.5, simulated)
    """

    key = "dp-nas-one-sided"
    reason = "a one-sided sparse vector over prefix sums, then one Laplace release of the last sum"
    theorem = Theorem.REWARDS
    keeps_secrets = True
    kernel = "nas"

    epsilon: Positive

    def _start(self) -> None:
        super()._start()
        if self.grid.low < 0:
            raise ArgumentError(
                f"low must be at least 0 for {self.key}, got low={self.grid.low!r}; "
                f"use dp-exp-nas for samples of either sign"
            )
        _ = self.sigma_tests, self.sigma_release  # refuses an epsilon that no noise is large or small enough for

    # ------------------------------------------------------------------ the formulas

    @cached_property
    def test_share(self) -> float:
        """The tests' share of epsilon: a/x + b/(1 - x) is least where x : 1 - x = sqrt(a) : sqrt(b)."""
        tests, release = self.test_level(1), self.release_level / self.alpha
        return math.sqrt(tests) / (math.sqrt(tests) + math.sqrt(release))

    @property
    def epsilon_tests(self) -> float:
        """epsilon': the price of a sample for all tests together."""
        return split(self.epsilon, self.test_share)[0]

    @property
    def epsilon_release(self) -> float:
        """epsilon'': the price of a sample for the released sum."""
        return split(self.epsilon, self.test_share)[1]

    @cached_property
    def sigma_tests(self) -> float:
        """The scale W/epsilon' of the tests' noises."""
        return scale_for(self.grid.width, self.epsilon_tests) * self.grid.step

    @cached_property
    def sigma_release(self) -> float:
        """The scale W/epsilon'' of the released sum's noise."""
        return scale_for(self.grid.width, self.epsilon_release) * self.grid.step

    def test_level(self, number: int) -> float:
        """Return ln(4k(k + 1)/beta): beta/4 is for the tests' noises together, since 1/(k(k + 1)) adds up to 1."""
        return math.log(4 * number * (number + 1)) - math.log(self.beta)

    @property
    def release_level(self) -> float:
        """ln(4/beta): beta/4 is for the released sum's noise."""
        return math.log(4) - math.log(self.beta)

    def mean_level(self, number: int) -> float:
        """Return ln(1/u) such that a mean too high has chance u, and one too low u^r: b = beta/(2k(k + 1)) for both.

        Too low matters only from (1 + alpha)/(1 - alpha) radii on, so that r is the square of that; and
        u = b/(1 + b^(r - 1)) gives u + u^r <= b.
        """
        level = math.log(2 * number * (number + 1)) - math.log(self.beta)
        return level + math.log1p(math.exp(-level * 4 * self.alpha / (1 - self.alpha) ** 2))

    @cached_property
    def first_test(self) -> int:
        """The time of the first test: the first power of two at which samples that are all `high` pass."""
        most = self.grid.floor + self.grid.width
        powers = (1 << power for power in range(_LAST_POWER))
        return next((t for t in powers if t * most >= self.limit(t, 1)), 1 << _LAST_POWER)

    def test_time(self, number: int) -> int:
        """Return the time of test k = 1, 2, ..."""
        return self.first_test << (number - 1)

    def hoeffding_radius(self, t: int, number: int) -> float:
        """Return h_t.

        Args:
            t: The time of the test.
            number: The test's number k.
        """
        return self.grid.width * self.grid.step * math.sqrt(self.mean_level(number) / (2 * t))

    def noise_margin(self, number: int) -> float:
        """Return c_k, the bound of N and L/alpha."""
        return self.sigma_tests * self.test_level(number) + self.sigma_release * self.release_level / self.alpha

    def threshold(self, t: int, number: int) -> float:
        """Return what the sum must reach, apart from the noise B - N.

        Args:
            t: The time of the test.
            number: The test's number k.
        """
        return self.hoeffding_radius(t, number) * (1 + 1 / self.alpha) * t + self.noise_margin(number)

    def limit(self, t: int, number: int) -> int:
        """Return the threshold in grid steps, rounded against halting.

        Half a step a sample is for the rounding of samples, and a step for each noise whose tail is discrete.

        Args:
            t: The time of the test.
            number: The test's number k.
        """
        rounding = 0.5 * t * (1 + 1 / self.alpha) + 1 + 1 / self.alpha
        return math.ceil(self.threshold(t, number) / self.grid.step + rounding)

    # ------------------------------------------------------------------ the tests

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        t = 2 * self.samples or self.first_test
        limit = self.limit(t, (t // self.first_test).bit_length())
        query = ThresholdQuery((t,), (limit,), self.epsilon_tests, self.epsilon_release, Measure.ONE_SIDED)
        return self._plan_until(t, query)

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        self._learn_tests(plan, releases)

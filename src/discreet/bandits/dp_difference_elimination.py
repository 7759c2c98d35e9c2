"""A stopping rule on the difference of two arms: the starting point of DP-SE in Sajed and Sheffet (2019)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from discreet.bandits._elimination import Elimination
from discreet.core.errors import ArgumentError
from discreet.core.noise import scale_for
from discreet.core.options import Positive, Probability
from discreet.core.plans import Measure, Query, ThresholdQuery
from discreet.core.privacy import Theorem, split
from discreet.core.registry import register
from discreet.core.releases import Release

_TWO = 2


@register
@dataclass(kw_only=True)
class DPDifferenceElimination(Elimination):
    """Two arms are pulled in turn until DP exponential NAS knows the mean of their difference; then the worse one goes.

    Section 4 of Sajed and Sheffet (2019) starts here: with K = 2 arms "we can straight-forwardly use the private
    stopping-rule to assess the mean of the difference between the arms up to a constant (say 0.5)". It is Algorithm 2
    on the differences X_t of the rewards of round t, with R = 1. After t = 2^k rounds it halts if
    |sum| >= h_t (1 + 1/alpha) t + c_t + B + A, and the lower noisy total goes. Where the paper's rule would have noises
    for a sample that moves by 2R, one reward moves the difference by 1: half of that is enough. And of 2t independent
    rewards the radius h_t = sqrt(ln(16 k^2/beta)/t) is that of R = 1 divided by sqrt(2).

    `DPSparseVectorElimination` with two arms is much the same, with 10 h_t for each of the two means and a threshold
    for who goes.

    Private because the difference of sums has sensitivity 1 and is tested by a sparse vector at epsilon/2 (both noises
    of scale 6/epsilon), and both totals are released at epsilon/2 (noise of scale 2/epsilon).

    The better arm stays with probability 1 - beta: but for a chance of beta/4 each, |mean_t - Delta| <= h_t at all
    tests, |B| <= 6/epsilon ln(4/beta), |A| <= 6/epsilon ln(8 k^2/beta) at all tests, and the noises of both totals stay
    below 2/epsilon ln(8/beta). With c_t the sum of the second, the third and 2/alpha times the last, the estimate lies
    within alpha |Delta| of Delta, as in Theorem 3.1, and has its sign.

    Args:
        arms: The names of the two arms.
        epsilon: The largest privacy loss of one reward, above 0.
        alpha: The relative error of the estimated difference.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPDifferenceElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> while len(epochs.algorithm.viable) == 2:  # A always pays, B never does
    ...     pulls = epochs.plan().pulls
    ...     _ = epochs.close_steps({"A": pulls["A"] * policy.grid.width, "B": 0})
    >>> epochs.algorithm.best_arm, epochs.algorithm.taken
    ('A', {'A': 1024, 'B': 1024})
    """

    key = "dp-se-difference"
    reason = "a sparse vector over sums of differences at epsilon/2, then one Laplace release of both sums at epsilon/2"
    theorem = Theorem.REWARDS
    keeps_secrets = True
    experimental = "the starting point of the paper, for two arms: it is here to be compared with DP-SE"
    tests_share: ClassVar[float] = 0.5

    epsilon: Positive
    alpha: Probability = 0.5
    _tests: int = field(init=False, repr=False, default=0)

    def _start(self) -> None:
        super()._start()
        if len(self.arms) != _TWO:
            raise ArgumentError(f"arms must be two for {self.key}, got {len(self.arms)}; use dp-se for more")
        _ = self.test_scale, self.total_scale  # refuses an epsilon that no noise is large or small enough for

    @property
    def prices(self) -> tuple[float, float]:
        """The price of a reward for all tests, and for the totals at the end."""
        return split(self.epsilon, self.tests_share)

    @property
    def test_scale(self) -> float:
        """The scale 6/epsilon of B and A."""
        return scale_for(3 * self.grid.width, self.prices[0]) / self.grid.width

    @property
    def total_scale(self) -> float:
        """The scale 2/epsilon of the noise of a total."""
        return scale_for(self.grid.width, self.prices[1]) / self.grid.width

    def hoeffding_radius(self, rounds: int, test: int) -> float:
        """Return h_t.

        Args:
            rounds: The number of rounds t.
            test: The number of the test k.
        """
        return math.sqrt(self._log(16 * test**2) / rounds)

    def noise_margin(self, test: int) -> float:
        """Return c_t of test k."""
        tests = self.test_scale * (self._log(4) + self._log(8 * test**2))
        return tests + 2 / self.alpha * self.total_scale * self._log(8)

    def halting_threshold(self, rounds: int, test: int) -> float:
        """Return what the difference of sums must reach, apart from the noises B + A.

        Args:
            rounds: The number of rounds t.
            test: The number of the test k.
        """
        return self.hoeffding_radius(rounds, test) * (1 + 1 / self.alpha) * rounds + self.noise_margin(test)

    def rounds(self, epoch: int, viable: int) -> int:
        """Return the pulls of each arm before the next test. Tests are after 2, 4, 8, ... rounds.

        Args:
            epoch: The epoch's number, from 1.
            viable: The number of viable arms.
        """
        return 1 << max(1, self._tests)

    def _query(self) -> Query:
        test = self._tests + 1
        rounding = (2**test + 2) * (1 + 1 / self.alpha)  # half a step a reward, and one for each noise
        limit = math.ceil(self.halting_threshold(2**test, test) * self.grid.width + rounding)
        return ThresholdQuery((2**test,), (limit,), *self.prices, Measure.SPREAD)

    def _decide(self, releases: Sequence[Release]) -> None:
        tests, *totals = releases
        self._tests = tests.tests
        if tests.above:
            scores = self._scores(totals)
            self._leader = max(scores, key=scores.__getitem__)
            self._viable = [self._leader]

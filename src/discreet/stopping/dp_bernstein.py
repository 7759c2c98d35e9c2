"""DP-Bernstein: a private stopping rule whose need for samples follows their variance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.core.options import Probability
from discreet.core.privacy import Theorem, split
from discreet.core.probability.tails import bernstein_radius, hoeffding_radius, largest_mean
from discreet.core.registry import register
from discreet.core.statistics import Statistic
from discreet.stopping._released import ReleasedRule

_FAIRNESS = 4  # how evenly the chance of a wrong variance is spent over the tests: the first has 1/(1 + this)


@register
@dataclass(kw_only=True)
class DPBernstein(ReleasedRule):
    """Halts when Bennett's radius for the last blocks, with their noises, is at most alpha times their mean.

    The paper's rules pay for the range of samples: a rate of 1 % costs them R^2/(alpha mean)^2 samples, where its
    variance would ask for a hundredth of that. This one, of order

        max(variance/(alpha mean)^2, R/(alpha |mean|)) log(1/beta) + R log(1/beta)/(epsilon alpha |mean|),

    learns the variance on the way. Beside the total of a block it releases that of (x - y)^2 over its disjoint pairs
    of samples, whose mean is twice the variance. The variance is at most half of its upper confidence bound, and at
    most (mean - low)(high - mean) at the worst mean in a confidence interval: with rare events the second bound is
    the better one, and costs nothing. The variance bounds of all tests hold together but for a chance of
    `beta_share` of beta; the rest of beta is for the means, as in `ReleasedRule`. Proved in docs/proofs/bernstein.md.

    Private because each sample is in one block and in one of its pairs. Changing it moves the block's total by the
    width of the range, and the total of squares by its square, at most; the total is released at
    (1 - `epsilon_share`) epsilon and the squares at `epsilon_share` epsilon; the two add up to epsilon exactly.

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        epsilon_share: The squares' share of epsilon: more for samples that hardly vary, less for coins.
        beta_share: The variance bounds' share of beta.
        growth: The factor by which blocks grow, between 1.05 and 10.
        window: The number of blocks that a test adds up; by default 5 to 8, more where noises weigh less.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPBernstein(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1)
    >>> clicks = np.random.default_rng(1).random(1_000_000) < 0.01
    >>> print(rule.run(clicks.astype(float), noise=SimulatedNoise(seed=1)))
    mean 0.0100215, within 10% of the true mean with probability 0.95, from 148,658 samples (epsilon = 1, simulated)
    """

    key = "dp-bernstein"
    reason = (
        "each sample enters the noisy total and the noisy sum of squared differences of one block, at shares of "
        "epsilon that add up to it: blocks compose in parallel"
    )
    theorem = Theorem.REWARDS
    kernel = "bernstein"
    statistic = Statistic.PAIRS

    epsilon_share: Probability = 0.1
    beta_share: Probability = 0.1

    @property
    def mean_beta(self) -> float:
        """The chance of failure that the means may use up."""
        return (1 - self.beta_share) * self.beta

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The prices of a block's squares and of its total."""
        return split(self.epsilon, self.epsilon_share)

    @property
    def variance_epsilon(self) -> float:
        """The price of a block's squares."""
        return self.epsilons[0]

    @cached_property
    def noise_radius(self) -> float:
        """The radius that the noises of a window would have without samples."""
        return hoeffding_radius(0, self.blocks_per_test, self.mean_epsilon, self.level)

    def variance_level(self, test: int) -> float:
        """Return the level at which each of three variance bounds may fail at a test.

        The chance of each is a third of beta_share beta 5/((k + 4)(k + 5)) at test k, which adds up to a third of
        beta_share beta.
        """
        place = test + _FAIRNESS
        return math.log(3 * place * (place + 1) / (_FAIRNESS + 1)) - math.log(self.beta_share) - math.log(self.beta)

    def variance_bound(self, sums: Sequence[float], count: int, test: int) -> float:
        """Return the largest variance that a window's releases allow, for samples rescaled to [0, 1].

        Args:
            sums: The released squares and total of the window.
            count: The number of its samples.
            test: The test's number, from 1.
        """
        squares, total = sums
        level, window = self.variance_level(test), self.blocks_per_test
        by_pairs = largest_mean(squares, count / 2, window, self.variance_epsilon, level) / 2
        highest = largest_mean(total, count, window, self.mean_epsilon, level)
        lowest = 1 - largest_mean(count - total, count, window, self.mean_epsilon, level)
        worst = min(max(0.5, lowest), highest)  # of the means in between, the one nearest to 1/2
        return min(by_pairs, worst * (1 - worst))

    def radius_of(self, sums: Sequence[float], count: int, test: int) -> float:
        """Return Bennett's radius of a window's total.

        Args:
            sums: The released squares and total of the window.
            count: The number of its samples.
            test: The test's number, from 1.
        """
        mean = sums[-1] / count + self.grid.floor / self.grid.width
        if self.noise_radius > self.alpha * abs(mean) * count:
            return math.inf  # the noises alone are too much
        variance = self.variance_bound(sums, count, test)
        return bernstein_radius(count, variance, self.blocks_per_test, self.mean_epsilon, self.level)

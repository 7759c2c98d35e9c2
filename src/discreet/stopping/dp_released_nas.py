"""DP-NAS by releases: noisy totals of growing blocks instead of a sparse vector, and one Chernoff bound."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.core.privacy import Theorem
from discreet.core.probability.tails import hoeffding_radius
from discreet.core.registry import register
from discreet.stopping._released import ReleasedRule


@register
@dataclass(kw_only=True)
class DPReleasedNAS(ReleasedRule):
    """Halts when Hoeffding's radius for the last blocks, with their noises, is at most alpha times their mean.

    It makes the promise of DP exponential NAS with fewer samples: the noises of a sparse vector and of a last release
    at half of epsilon each are gone, samples and noises have one Chernoff bound (`hoeffding_radius`), and the level
    does not grow with the number of tests. Like its ancestors it pays for the range and not for the variance:
    `DPBernstein` is for samples that vary less.

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        growth: The factor by which blocks grow, between 1.05 and 10.
        window: The number of blocks that a test adds up; by default 5 to 8, more where noises weigh less.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPReleasedNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1)
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000), noise=SimulatedNoise(seed=1)))
    mean 0.49701, within 10% of the true mean with probability 0.95, from 1,298 samples (epsilon = 0.5, simulated)
    """

    key = "dp-nas-released"
    reason = "each sample enters the noisy total of one block: parallel composition of Laplace mechanisms"
    theorem = Theorem.REWARDS

    def radius_of(self, sums: Sequence[float], count: int, test: int) -> float:
        """Return Hoeffding's radius of a window's total.

        Args:
            sums: The released total of the window, which the radius does not depend on.
            count: The number of its samples.
            test: The test's number, which the radius does not depend on.
        """
        return hoeffding_radius(count, self.blocks_per_test, self.epsilon, self.level)

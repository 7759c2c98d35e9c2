"""DP-NAS by releases: noisy totals of growing blocks instead of a sparse vector, and one Chernoff bound."""

from __future__ import annotations

from discreet.core.noise import Noise
from discreet.core.tails import hoeffding_radius
from discreet.stopping._released import ReleasedRule


class DPReleasedNAS(ReleasedRule):
    """Halts when Hoeffding's radius for the last blocks, with their noises, is at most alpha times their mean.

    It makes the promise of DP exponential NAS with fewer samples: the noises of a sparse vector and of a last release
    at half of epsilon each are gone, samples and noises have one Chernoff bound (`hoeffding_radius`), and the level
    does not grow with the number of tests. Like its ancestors it pays for the range and not for the variance:
    `DPBernstein` is for samples that vary less.

    Parameters: `epsilon`, `alpha`, `beta`; the range as `radius`, or `low` and `high`; `growth` of blocks and the
    `window` of blocks whose noises a test adds up, with good defaults.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPReleasedNAS(epsilon=0.5, alpha=0.1, beta=0.05, low=0, high=1, noise=SimulatedNoise(seed=1))
    >>> print(rule.run(np.tile([0.0, 1.0], 100_000)))
    mean 0.49701, within 10% of the true mean with probability 0.95, from 1,298 samples (epsilon = 0.5, simulated)
    """

    key = "dp-nas-released"
    open_book = True
    privacy_reason = "each sample enters the noisy total of one block: parallel composition of Laplace mechanisms"

    def __init__(
        self,
        *,
        epsilon: float,
        alpha: float,
        beta: float,
        radius: float | None = None,
        low: float | None = None,
        high: float | None = None,
        growth: float = 1.5,
        window: int | None = None,
        max_samples: int | None = None,
        clip: bool = False,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            alpha=alpha,
            beta=beta,
            growth=growth,
            window=window,
            radius=radius,
            low=low,
            high=high,
            max_samples=max_samples,
            clip=clip,
            noise=noise,
        )

    def radius_of(self, total: float, squares: float, count: int, test: int) -> float:
        """Hoeffding's radius of a window's total."""
        return hoeffding_radius(count, self.window, self.mean_epsilon, self.level)

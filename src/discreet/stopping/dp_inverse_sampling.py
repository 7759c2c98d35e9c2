"""DP inverse sampling: a noisy sum against one noisy level, and nothing else is released."""

import math
from dataclasses import dataclass
from functools import cached_property

from discreet.core.errors import ArgumentError
from discreet.core.noise import scale_for
from discreet.core.options import Positive
from discreet.core.privacy import Theorem
from discreet.core.registry import register
from discreet.stopping.inverse_sampling import InverseSampling

_LOUDEST = 400.0  # the largest noise, in coins, that levels are computed for in a short time


@register
@dataclass(kw_only=True)
class DPInverseSampling(InverseSampling):
    """Halts when the noisy sum of the samples reaches a noisy level; the number of samples is all that is released.

    `InverseSampling` with a sparse vector: at test k it asks whether sum + A_k >= level_k + B, where B, A_1, A_2, ...
    are absolute values of discrete Laplace variables of scale 1/epsilon, for samples rounded at random to 0 or `high`.
    The estimate is a public function of the test that halts, so no epsilon is left for a total, and none is needed.
    The noises are part of the computation that levels and estimates come from: at epsilon = 1 and alpha = 0.1 they
    cost about a percent.

    Private because one changed sample changes one coin, which moves all later sums by one and the same step: a
    one-sided sparse vector (docs/proofs/one-sided-nas.md, Claim 1), with nothing else released.

    An (alpha, beta)-stopping rule by docs/proofs/inverse-sampling.md.

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate, at least 0.01.
        beta: The probability that the error is larger.
        radius: Refused, since samples would lie in [-radius, radius]; give `low` and `high`.
        low: The least sample, at least 0.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> rule = DPInverseSampling(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1)
    >>> clicks = np.random.default_rng(1).random(1_000_000) < 0.01
    >>> print(rule.run(clicks, noise=SimulatedNoise(seed=1)))
    mean 0.00970348, within 10% of the true mean with probability 0.95, from 43,261 samples (epsilon = 1, simulated)
    """

    key = "dp-inverse"
    reason = "a one-sided sparse vector over prefix sums of coins, which releases its tests alone"
    theorem = Theorem.REWARDS
    kernel = "inverse"

    epsilon: Positive

    def _start(self) -> None:
        super()._start()
        if self.scale > _LOUDEST / math.log(2 / self.beta):  # what no noise is large or small enough for is refused too
            least = math.log(2 / self.beta) / _LOUDEST
            raise ArgumentError(
                f"epsilon must be larger, {least:.3g} at least for {self.key} at this beta, got {self.epsilon!r}; "
                f"use dp-bernstein"
            )

    @cached_property
    def scale(self) -> float:
        """The scale of the noises, in coins."""
        return scale_for(self.grid.width, self.epsilon) / self.grid.width

    @property
    def _price(self) -> float:
        """The price of a sample for all tests."""
        return self.epsilon

"""AdaP-UCB (Azize and Basu 2022): UCB on the last of doubling episodes, each released once."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._batched import BatchedPolicy
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm


class AdaPUCB(BatchedPolicy):
    """Pulls the arm with the highest mean + sqrt(alpha ln(t)/(2n)) + alpha ln(t)/(epsilon n) until its pulls double.

    The mean is that of the arm's last episode alone, of n rewards and one noise; t is the step at which the episode
    begins. For alpha > 3 the regret is at most the sum over worse arms of 16 alpha ln(T)/min(gap, epsilon) and a
    constant (Azize's thesis, which has ln(t) where the first version has ln(2t)), for all rewards in [0, 1].

    Parameters: `epsilon`; `horizon`, if there is one (it only ends the run); `alpha`, 3.1 in the authors' experiments.
    Among equal indices the arm with the fewest pulls is taken.

    >>> from discreet import SimulatedNoise
    >>> policy = AdaPUCB(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 1, 'B': 1}
    """

    key = "adap-ucb"
    forgets = True

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        alpha: float = 3.1,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(
            arms, epsilon=epsilon, horizon=horizon, ratio=2.0, first_batch=1, low=low, high=high, noise=noise
        )
        self.alpha = checks.positive("alpha", alpha)

    def index(self, number: int, at: int) -> float:
        """The upper confidence bound at a time step."""
        rate = self.alpha * math.log(at) / self._counts[number]
        return self.estimate(number) + math.sqrt(rate / 2) + rate / self.epsilon

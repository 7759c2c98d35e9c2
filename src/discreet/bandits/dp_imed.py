"""DP-IMED (Azize et al. 2025): the arm that could be the best with the least evidence against it, in batches."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._batched import BatchedPolicy
from discreet.core.divergences import private_kl
from discreet.core.noise import Noise
from discreet.core.privacy import Arm


class DPIMED(BatchedPolicy):
    """Pulls the arm with the smallest n d_epsilon(mean, best mean) + ln n, for a whole batch.

    d_epsilon says how well privacy lets two coins be told apart (`discreet.theory.private_divergence`). With batches
    of ratio r the regret is at most r times the lower bound for Bernoulli arms, as T grows. For other rewards in
    [0, 1] it is what it would be for coins of the same means, at most; privacy is the same.

    At a finite horizon it has a weakness: d_epsilon counts one noise, an estimate has one for each batch, and early
    ones weigh much. A best arm whose noises are unlucky looks dead, and may stay so for the whole horizon. The first
    batch of 16/epsilon pulls makes that rare (with a first batch of 1 some per cent of runs are lost, with a ratio of
    1.1 up to a fifth); `DPChernoffIMED` is the same idea with an index that knows its noises.

    Parameters: `epsilon`; `horizon`, if there is one (it only ends the run); `ratio` of batches; `first_batch`, by
    default ceil(16/epsilon).

    >>> from discreet import SimulatedNoise
    >>> policy = DPIMED(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 16, 'B': 16}
    >>> _ = policy.close({"A": 4 * policy.grid.width, "B": 12 * policy.grid.width})
    >>> policy.best_arm, policy.plan().pulls
    ('B', {'B': 16})
    """

    key = "dp-imed"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        ratio: float = 2.0,
        first_batch: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(
            arms,
            epsilon=epsilon,
            horizon=horizon,
            ratio=ratio,
            first_batch=first_batch,
            low=low,
            high=high,
            noise=noise,
        )

    def _default_batch(self) -> int:
        return self.quiet_batch(16)

    def exponent(self, number: int, best: float) -> float:
        """The evidence that an arm is worse than the best mean."""
        return self._counts[number] * private_kl(self.clipped(number), best, self.epsilon)

    def index(self, number: int, at: float) -> float:
        """How much speaks against an arm: evidence that it is worse than the best mean, and pulls."""
        return self.exponent(number, at) + math.log(self._counts[number])

    def _choose(self) -> int:
        best = max(map(self.clipped, range(len(self.arms))))
        return min(range(len(self.arms)), key=lambda number: self.index(number, best))

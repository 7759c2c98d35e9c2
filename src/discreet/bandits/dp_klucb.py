"""DP-KLUCB (Azize et al. 2025): the largest mean that d_epsilon does not rule out, in batches."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._batched import BatchedPolicy
from discreet.core.divergences import private_kl_upper
from discreet.core.noise import Noise
from discreet.core.privacy import Arm


class DPKLUCB(BatchedPolicy):
    """Pulls the arm with the largest mu such that d_epsilon(mean, mu) <= ln(t)/n, for a whole batch.

    d_epsilon says how well privacy lets two coins be told apart (`discreet.theory.private_divergence`). With batches
    of ratio r the regret is at most r times the lower bound for Bernoulli arms, as T grows. For other rewards in
    [0, 1] privacy is the same, and the regret is bounded as for coins of the same means.

    Parameters: `epsilon`; `horizon`, if there is one (it only ends the run); `ratio` of batches; `first_batch`. The
    published schedule's first batch is not known to us; 1 is safe here, since an arm that noise made look bad is
    tried again as ln(t) grows. Among equal indices the arm with the fewest pulls is taken.

    >>> from discreet import SimulatedNoise
    >>> policy = DPKLUCB(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 1, 'B': 1}
    """

    key = "dp-klucb"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        ratio: float = 2.0,
        first_batch: int = 1,
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

    def index(self, number: int, at: int) -> float:
        """The largest mean that is not ruled out at a time step."""
        return private_kl_upper(self.clipped(number), math.log(at) / self._counts[number], self.epsilon)

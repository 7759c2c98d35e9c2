"""DP-KLUCB (Azize et al. 2025): the largest mean that d_epsilon does not rule out, in batches."""

import math
from dataclasses import dataclass

from discreet.bandits._batched import BatchedPolicy
from discreet.core.probability.divergences import private_kl_upper
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPKLUCB(BatchedPolicy):
    """Pulls the arm with the largest mu such that d_epsilon(mean, mu) <= ln(t)/n, for a whole batch.

    d_epsilon says how well privacy lets two Bernoulli variables be told apart (`discreet.theory.private_divergence`).
    With batches of ratio r the regret is at most r times the lower bound for Bernoulli arms, as T grows. For other
    rewards in [0, 1] privacy is the same, and the regret is bounded as for Bernoulli arms of the same means. Among
    equal indices the arm with the fewest pulls is taken.

    Private because each reward enters the total of one batch, which is released once.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end.
        ratio: The factor by which an arm's pulls grow with a batch.
        first_batch: The first batch's pulls of each arm, by default 1. The published schedule's is not known to us; 1
            is safe here, since an arm that noise made look bad is tried again as ln(t) grows.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = DPKLUCB(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 1, 'B': 1}
    """

    key = "dp-klucb"
    kernel = "batched"

    def index(self, arm: int, time: int) -> float:
        """Return the largest mean of an arm that is not ruled out. The arm with the largest one is pulled next.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """
        return private_kl_upper(self.clipped(arm), math.log(time) / self._counts[arm], self.epsilon)

    def choose(self, time: int) -> int:
        """Return the index of the arm whose batch begins at a time step."""
        return self._argmax(lambda arm: self.index(arm, time))

"""DP-IMED (Azize et al. 2025): the arm that could be the best with the least evidence against it, in batches."""

import math
from dataclasses import dataclass

from discreet.bandits._batched import BatchedPolicy
from discreet.core.probability.divergences import private_kl
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPIMED(BatchedPolicy):
    """Pulls the arm with the smallest n d_epsilon(mean, best mean) + ln n, for a whole batch.

    d_epsilon says how well privacy lets two Bernoulli variables be told apart (`discreet.theory.private_divergence`).
    With batches of ratio r the regret is at most r times the lower bound for Bernoulli arms, as T grows. For other
    rewards in [0, 1] it is at most that of Bernoulli arms with the same means; privacy is the same.

    At a finite horizon it has a weakness: d_epsilon counts one noise, an estimate has one for each batch, and early
    ones weigh much. A best arm whose noises are unlucky looks dead, and may stay so for the whole horizon. The first
    batch of 16/epsilon pulls makes that rare (with a first batch of 1 some per cent of runs are lost, with a ratio of
    1.1 up to a fifth). `DPChernoffIMED` is the same idea with an index that knows its noises.

    Private because each reward enters the total of one batch, which is released once.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end.
        ratio: The factor by which an arm's pulls grow with a batch.
        first_batch: The first batch's pulls of each arm, by default ceil(16/epsilon).
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPIMED(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 16, 'B': 16}
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> _ = epochs.close_steps({"A": 4 * policy.grid.width, "B": 12 * policy.grid.width})
    >>> epochs.algorithm.best_arm, epochs.plan().pulls
    ('B', {'B': 16})
    """

    key = "dp-imed"
    kernel = "batched"

    def default_batch(self) -> int:
        """Return the first batch's pulls of each arm, if `first_batch` is not given."""
        return self.quiet_batch(16)

    def evidence(self, arm: int, best: float) -> float:
        """Return the evidence that an arm is worse than the best mean.

        Args:
            arm: The arm's index in `arms`.
            best: The highest released mean, moved into [0, 1].
        """
        return self._counts[arm] * private_kl(self.clipped(arm), best, self.epsilon)

    def choose(self, time: int) -> int:
        """Return the index of the arm whose batch begins at a time step: of the least evidence plus ln n."""
        arms = range(len(self.arms))
        best = max(map(self.clipped, arms))
        return min(arms, key=lambda arm: self.evidence(arm, best) + math.log(self._counts[arm]))

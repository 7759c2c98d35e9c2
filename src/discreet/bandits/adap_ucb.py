"""AdaP-UCB (Azize and Basu 2022): UCB on the last of doubling episodes, each released once."""

import math
from dataclasses import dataclass, field

from discreet.bandits._batched import BatchedPolicy
from discreet.core.options import Positive
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class AdaPUCB(BatchedPolicy):
    """Pulls the arm with the highest mean + sqrt(alpha ln(t)/(2n)) + alpha ln(t)/(epsilon n) until its pulls double.

    The mean is that of the arm's last episode alone, of n rewards and one noise; t is the step at which the episode
    begins. For alpha > 3 the regret is at most the sum over worse arms of 16 alpha ln(T)/min(gap, epsilon) and a
    constant (Azize's thesis, which has ln(t) where the first version has ln(2t)), for all rewards in [0, 1]. Among
    equal indices the arm with the fewest pulls is taken.

    Private because each reward enters the total of one episode, which is released once.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end.
        alpha: The factor of ln(t), 3.1 in the authors' experiments.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = AdaPUCB(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 1, 'B': 1}
    """

    key = "adap-ucb"
    kernel = "batched"
    forgets = True

    ratio: float = field(init=False, repr=False, default=2.0)
    first_batch: int = field(init=False, repr=False, default=1)
    alpha: Positive = 3.1

    def index(self, arm: int, time: int) -> float:
        """Return the upper confidence bound of an arm. The arm with the largest one is pulled next.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """
        rate = self.alpha * math.log(time) / self._counts[arm]
        return self.estimate(arm) + math.sqrt(rate / 2) + rate / self.epsilon

    def choose(self, time: int) -> int:
        """Return the index of the arm whose episode begins at a time step."""
        return self._argmax(lambda arm: self.index(arm, time))

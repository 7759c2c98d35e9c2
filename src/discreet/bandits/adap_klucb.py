"""AdaP-KLUCB (Azize and Basu 2022): AdaP-UCB with the confidence bound of KL-UCB."""

import math
from dataclasses import dataclass

from discreet.bandits.adap_ucb import AdaPUCB
from discreet.core.probability.divergences import kl_upper
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class AdaPKLUCB(AdaPUCB):
    """Pulls the arm with the largest q such that kl(mean + alpha ln(t)/(epsilon n), q) <= alpha ln(t)/n.

    The first argument is moved into [0, 1]. Episodes, means, privacy and promises are AdaP-UCB's, with kl in place of
    Hoeffding's inequality.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end.
        alpha: The factor of ln(t). 1 does much better in simulations than the default, 3.1, and has no theorem.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = AdaPKLUCB(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 1, 'B': 1}
    """

    key = "adap-klucb"
    kernel = "batched"

    def index(self, arm: int, time: int) -> float:
        """Return the upper confidence bound of an arm. The arm with the largest one is pulled next.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """
        rate = self.alpha * math.log(time) / self._counts[arm]
        return kl_upper(min(1.0, max(0.0, self.estimate(arm) + rate / self.epsilon)), rate)

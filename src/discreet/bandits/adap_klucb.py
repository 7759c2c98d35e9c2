"""AdaP-KLUCB (Azize and Basu 2022): AdaP-UCB with the confidence bound of KL-UCB."""

from __future__ import annotations

import math

from discreet.bandits.adap_ucb import AdaPUCB
from discreet.core.divergences import kl_upper


class AdaPKLUCB(AdaPUCB):
    """Pulls the arm with the largest q such that kl(mean + alpha ln(t)/(epsilon n), q) <= alpha ln(t)/n.

    The first argument is moved into [0, 1]. Episodes, means, parameters and promises are AdaP-UCB's, with kl in place
    of Hoeffding's inequality. (alpha = 1 does much better in simulations, and has no theorem.)

    >>> from discreet import SimulatedNoise
    >>> policy = AdaPKLUCB(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 1, 'B': 1}
    """

    key = "adap-klucb"

    def index(self, number: int, at: int) -> float:
        """The upper confidence bound at a time step."""
        rate = self.alpha * math.log(at) / self._counts[number]
        return kl_upper(min(1.0, max(0.0, self.estimate(number) + rate / self.epsilon)), rate)

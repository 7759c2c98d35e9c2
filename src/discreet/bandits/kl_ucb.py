"""KL-UCB (Garivier and Cappe 2011): UCB with the divergence of Bernoulli variables; DP-KLUCB without privacy."""

import math
from dataclasses import dataclass

from discreet.bandits._step_wise import StepWisePolicy
from discreet.core.options import NotNegative
from discreet.core.probability.divergences import kl_upper
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class KLUCB(StepWisePolicy):
    """Pulls the arm with the largest q such that n kl(mean, q) <= ln t + c ln ln t, n being its pulls so far.

    For Bernoulli rewards the regret grows as slowly as Lai and Robbins allow: the sum over worse arms of
    gap ln(T)/kl(mean, best mean). For other rewards in [0, 1] that sum, with the divergence of Bernoulli variables, is
    still an upper bound. The paper proves both with c = 3 and recommends c = 0, which is usual.

    Among equal indices (an index of 1 is common at first) the arm with the fewest pulls is taken, and of these the
    first. Needs no horizon. Not private: means are exact.

    Args:
        arms: The names of the arms.
        c: The factor of ln ln t. With less than ln t it would explore too little, so it is not negative.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import Bandit
    >>> bandit = Bandit(KLUCB(["A", "B"]))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 0.75 if ticket.arm == "B" else 0.25)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 10, 'B': 990})
    """

    key = "kl-ucb"
    kernel = "kl_race"

    c: NotNegative = 0.0

    def exploration(self, time: int) -> float:
        """Return the evidence that rules a mean out, at a time step from 3 on."""
        return math.log(time) + self.c * math.log(math.log(time))

    def index(self, arm: int, time: int) -> float:
        """Return the largest mean of an arm that is not ruled out at a time step.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 3 on.
        """
        return kl_upper(self.mean(arm), self.exploration(time) / self.pulls[arm])

    def choose(self, time: int) -> int:
        """Return the index of the arm to pull at a time step."""
        return self._argmax(lambda arm: self.index(arm, time))

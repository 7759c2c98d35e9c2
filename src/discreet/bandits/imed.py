"""IMED (Honda and Takemura 2015): the arm with the least evidence against it; DP-IMED without privacy."""

import math
from dataclasses import dataclass

from discreet.bandits._step_wise import StepWisePolicy
from discreet.core.probability.divergences import kl
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class IMED(StepWisePolicy):
    """Pulls the arm with the smallest n kl(mean, best mean) + ln n, n being its pulls so far.

    For Bernoulli rewards the regret grows as slowly as Lai and Robbins allow: the sum over worse arms of
    gap ln(T)/kl(mean, best mean). The paper's divergence for other rewards in [0, 1] depends on their whole
    distribution. It is at least that of Bernoulli variables with the same means, which is used here for them too: it is
    simpler, and explores more.

    Among equal indices the first arm is taken. The time step is in no formula, so there is nothing to know about the
    horizon. Not private: means are exact.

    Args:
        arms: The names of the arms.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import Bandit
    >>> bandit = Bandit(IMED(["A", "B"]))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 0.75 if ticket.arm == "B" else 0.25)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 9, 'B': 991})
    """

    key = "imed"
    kernel = "kl_race"

    def choose(self, time: int) -> int:
        """Return the index of the arm to pull at a time step: of the least evidence plus ln n."""
        means = [self.mean(arm) for arm in range(len(self.arms))]
        best = max(means)
        indices = [pulls * kl(means[arm], best) + math.log(pulls) for arm, pulls in enumerate(self.pulls)]
        return indices.index(min(indices))

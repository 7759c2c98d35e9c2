"""IMED (Honda and Takemura 2015): the arm with the least evidence against it, the non-private ancestor of DP-IMED."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._plain import PlainPolicy
from discreet.core.divergences import kl
from discreet.core.privacy import Arm


class IMED(PlainPolicy):
    """Pulls the arm with the smallest n kl(mean, best mean) + ln n, n being its pulls so far.

    For Bernoulli rewards the regret grows as slowly as Lai and Robbins allow: the sum over worse arms of
    gap ln(T)/kl(mean, best mean). The paper's divergence for other rewards in [0, 1] looks at their whole law, and is
    at least that of coins with the same means, which is used here for them too: it is simpler, and explores more.

    Each arm is pulled once first. Among equal indices the first arm is taken. The step number is in no formula, so
    there is nothing to know about the horizon. Not private: means are exact.

    >>> from discreet import Bandit
    >>> bandit = Bandit(IMED(["A", "B"]))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 0.75 if ticket.arm == "B" else 0.25)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 9, 'B': 991})
    """

    key = "imed"

    def __init__(self, arms: Iterable[Arm], *, horizon: int | None = None, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(arms, horizon=horizon, low=low, high=high)

    def index(self, number: int, best: float) -> float:
        """How much speaks against an arm: evidence that it is worse than the best mean, and pulls."""
        pulls = self._pulls[number]
        return pulls * kl(self.mean(number), best) + math.log(pulls)

    def _choose(self) -> int:
        if self.time < len(self.arms):
            return self.time
        best = max(map(self.mean, range(len(self.arms))))
        return min(range(len(self.arms)), key=lambda number: self.index(number, best))

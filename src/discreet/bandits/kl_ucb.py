"""KL-UCB (Garivier and Cappe 2011): UCB with the divergence of coins, the non-private ancestor of DP-KLUCB."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._plain import PlainPolicy
from discreet.core import checks
from discreet.core.divergences import kl_upper
from discreet.core.errors import ArgumentError
from discreet.core.privacy import Arm


class KLUCB(PlainPolicy):
    """Pulls the arm with the largest q such that n kl(mean, q) <= ln t + c ln ln t, n being its pulls so far.

    For Bernoulli rewards the regret grows as slowly as Lai and Robbins allow: the sum over worse arms of
    gap ln(T)/kl(mean, best mean). For other rewards in [0, 1] that sum, with the coins' divergence, is still an upper
    bound. The paper proves both with c = 3 and recommends c = 0, which is the default here and usual.

    Each arm is pulled once first. Among equal indices (an index of 1 is common at first) the arm with the fewest pulls
    is taken, and of these the first. Needs no horizon. Not private: means are exact.

    >>> from discreet import Bandit
    >>> bandit = Bandit(KLUCB(["A", "B"]))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 0.75 if ticket.arm == "B" else 0.25)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 10, 'B': 990})
    """

    key = "kl-ucb"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        c: float = 0.0,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(arms, horizon=horizon, low=low, high=high)
        self.c = checks.real("c", c)
        if self.c < 0:
            raise ArgumentError(f"c must be at least 0, since less than ln t explores too little, got {c!r}")

    def index(self, number: int, time: int) -> float:
        """The largest mean that is not ruled out at a time step."""
        return kl_upper(self.mean(number), self.exploration(time) / self._pulls[number])

    def exploration(self, time: int) -> float:
        """How much evidence rules a mean out, at a time step from 3 on."""
        return math.log(time) + self.c * math.log(math.log(time))

    def _choose(self) -> int:
        if self.time < len(self.arms):
            return self.time
        time = self.time + 1
        return max(range(len(self.arms)), key=lambda number: (self.index(number, time), -self._pulls[number]))

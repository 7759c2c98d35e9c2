"""UCB, with the index that the paper uses: the non-private ancestor of DP-UCB."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._plain import PlainPolicy
from discreet.core.privacy import Arm


class UCB(PlainPolicy):
    """Pulls the arm with the highest mean + sqrt(2 ln t / n), n being its pulls so far (Auer et al. 2002).

    Needs no horizon. Not private: means are exact.

    >>> from discreet import Bandit
    >>> bandit = Bandit(UCB(["A", "B"]))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 1.0 if ticket.arm == "B" else 0.0)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 12, 'B': 988})
    """

    key = "ucb"

    def __init__(self, arms: Iterable[Arm], *, horizon: int | None = None, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(arms, horizon=horizon, low=low, high=high)

    def index(self, number: int, time: int) -> float:
        """The upper confidence bound B of the paper's section 2."""
        return self.mean(number) + math.sqrt(2 * math.log(time) / self._pulls[number])

    def _choose(self) -> int:
        if self.time < len(self.arms):
            return self.time
        step = self.time + 1
        return max(range(len(self.arms)), key=lambda number: self.index(number, step))

"""UCB, with the index that the paper uses: the non-private ancestor of DP-UCB."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from discreet.bandits.index import IndexPolicy
from discreet.privacy import Arm


class UCB(IndexPolicy):
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
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self._sums = [0] * len(self.arms)

    def index(self, number: int, time: int) -> float:
        """The upper confidence bound B of the paper's section 2."""
        return self.mean(number) + math.sqrt(2 * math.log(time) / self._pulls[number])

    def mean(self, number: int) -> float:
        """The exact mean."""
        return self._sums[number] / (self._pulls[number] * self.grid.width)

    def _close(self, totals: dict[int, int]) -> None:
        for number, total in totals.items():
            self._sums[number] += total

    def _progress(self) -> dict[str, Any]:
        return {"sums": list(self._sums)}

    def _restore(self, progress: dict[str, Any]) -> None:
        self._sums = [int(total) for total in progress["sums"]]

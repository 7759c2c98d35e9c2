"""Successive Elimination (Even-Dar, Mannor, Mansour 2002): the non-private ancestor of DP-SE."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from discreet.bandits._elimination import EliminationPolicy, confidence
from discreet.core.privacy import Arm


class SuccessiveElimination(EliminationPolicy):
    """Pulls every viable arm once a round and drops an arm as soon as its interval lies below another's.

    After t rounds each mean has the Hoeffding radius sqrt(ln(4 K t^2/beta)/(2t)), which holds for all arms
    and rounds at once with probability 1 - beta (the sum of 1/(2 t^2) stays below 1).

    An epoch is as many rounds as are sure to drop nobody but in the last: in a round the best and the worst total
    move apart by one reward's range at most, and the difference that drops an arm only grows.

    Not private: means are exact.

    >>> from discreet import Bandit
    >>> bandit = Bandit(SuccessiveElimination(["A", "B"], horizon=1000), seed=0)
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 1.0 if ticket.arm == "B" else 0.0)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 32, 'B': 968})
    """

    key = "se"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        horizon: int | None = None,
        beta: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self.beta = confidence(beta, self.horizon)
        self._sums = [0] * len(self.arms)

    def radius(self, rounds: int) -> float:
        """The Hoeffding radius of each viable mean after this many rounds."""
        return math.sqrt((math.log(4 * len(self.arms) * rounds**2) - math.log(self.beta)) / (2 * rounds))

    def difference(self, rounds: int) -> float:
        """The difference between totals, in grid units, that drops an arm after this many rounds."""
        return 2 * self.radius(rounds) * rounds * self.grid.width

    def _rounds(self) -> int:
        rounds = self._pulls[self._viable[0]]
        if rounds == 0:
            return 1
        sums = [self._sums[number] for number in self._viable]
        missing = self.difference(rounds) - (max(sums) - min(sums))
        return int(missing / self.grid.width) + 1

    def _close(self, totals: dict[int, int]) -> None:
        for number, total in totals.items():
            self._sums[number] += total
        viable = {number: self._sums[number] for number in self._viable}
        self._drop(viable, self.difference(self._pulls[self._viable[0]]))

    def _progress(self) -> dict[str, Any]:
        return {**super()._progress(), "sums": list(self._sums)}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._sums = [int(total) for total in progress["sums"]]

"""What DP-UCB and its horizon-free sibling share: one private running total for each arm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from discreet.bandits._index import IndexPolicy
from discreet.core.privacy import Arm
from discreet.mechanisms.counters import Counter


class CountedPolicy(IndexPolicy):
    """An index policy that reads every mean from a continual counter."""

    def __init__(self, arms: Iterable[Arm], *, low: float, high: float, horizon: int | None) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self._counters: Sequence[Counter] = ()

    def mean(self, number: int) -> float:
        """The released mean: noisy running total over pulls. It may lie outside [0, 1]."""
        return self._counters[number].total / (self._pulls[number] * self.grid.width)

    def _close(self, totals: dict[int, int]) -> None:
        for number, total in totals.items():
            node = self._counters[number].add(total)
            count = node.last - node.first + 1
            self._record("tree node", [number], count=count, units=node.units, scale=node.scale, epsilon=node.epsilon)

    def _progress(self) -> dict[str, Any]:
        return {"counters": [counter._state() for counter in self._counters]}

    def _restore(self, progress: dict[str, Any]) -> None:
        for counter, saved in zip(self._counters, progress["counters"], strict=True):
            counter._restore(saved)

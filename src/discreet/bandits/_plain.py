"""What the non-private step-wise policies share: exact sums, and epochs of one pull."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from discreet.bandits._policy import Policy
from discreet.core.privacy import Arm


class PlainPolicy(Policy):
    """At each step the arm that `_choose` names, by the exact mean of each arm. Not private."""

    def __init__(self, arms: Iterable[Arm], *, horizon: int | None, low: float, high: float) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self._sums = [0] * len(self.arms)

    @abstractmethod
    def _choose(self) -> int:
        """The arm of the next pull."""

    def total(self, number: int) -> float:
        """The sum of an arm's rewards, each rescaled to [0, 1]: for coins, how many came up."""
        return self._sums[number] / self.grid.width

    def mean(self, number: int) -> float:
        """The exact mean of an arm that was pulled, with rewards rescaled to [0, 1]."""
        return self._sums[number] / (self._pulls[number] * self.grid.width)

    @property
    def best_arm(self) -> Arm:
        """The arm with the highest mean; None until each arm was pulled."""
        return self.arms[max(range(len(self.arms)), key=self.mean)] if all(self._pulls) else None

    def _plan(self) -> tuple[dict[int, int], bool]:
        return ({}, False) if self.remaining == 0 else ({self._choose(): 1}, True)

    def _close(self, totals: dict[int, int]) -> None:
        for number, total in totals.items():
            self._sums[number] += total

    def _progress(self) -> dict[str, Any]:
        return {"sums": list(self._sums)}

    def _restore(self, progress: dict[str, Any]) -> None:
        self._sums = [int(total) for total in progress["sums"]]

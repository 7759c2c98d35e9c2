"""What all index policies share: epochs of one pull, always of the arm with the highest index."""

from __future__ import annotations

from abc import abstractmethod

from discreet.bandits._policy import Policy
from discreet.core.privacy import Arm


class IndexPolicy(Policy):
    """Pulls each arm once, then at each time step the arm with the highest index (ties: the first)."""

    @abstractmethod
    def index(self, number: int, time: int) -> float:
        """The index of an arm at a time step, with rewards rescaled to [0, 1]."""

    @abstractmethod
    def mean(self, number: int) -> float:
        """The (released) mean of an arm that was pulled, with rewards rescaled to [0, 1]."""

    @property
    def best_arm(self) -> Arm:
        """The arm with the highest mean by what was released; None until each arm was pulled."""
        if self.time < len(self.arms):
            return None
        return self.arms[max(range(len(self.arms)), key=self.mean)]

    def _plan(self) -> tuple[dict[int, int], bool]:
        if self.remaining == 0:
            return {}, False
        if self.time < len(self.arms):
            return {self.time: 1}, True
        step = self.time + 1
        return {max(range(len(self.arms)), key=lambda number: self.index(number, step)): 1}, True

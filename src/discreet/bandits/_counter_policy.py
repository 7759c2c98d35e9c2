"""The base class of policies that read running totals from continual counters."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.bandits._step_wise import StepWisePolicy
from discreet.core.options import Positive
from discreet.core.releases import Release


@dataclass(kw_only=True)
class CounterPolicy(StepWisePolicy):
    """Pulls the arm of the highest index, by noisy running totals that it adds up from the released nodes of trees.

    A subclass writes `index`, and `_query` as a cached property.
    """

    keeps_secrets = True

    epsilon: Positive
    _nodes: list[list[int]] = field(init=False, repr=False, default_factory=list)  # in the total: by arm, then level

    def _start(self) -> None:
        super()._start()
        self._nodes = [[] for _ in self.arms]

    @abstractmethod
    def index(self, arm: int, time: int) -> float:
        """Return the index of an arm at a time step. The arm with the largest index is pulled next.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """

    def choose(self, time: int) -> int:
        """Return the index of the arm to pull at a time step: of the largest index, and among equals the first."""
        indices = [self.index(arm, time) for arm in range(len(self.arms))]
        return indices.index(max(indices))

    def _decide(self, releases: Sequence[Release]) -> None:
        for release in releases:
            arm = self._index[release.spans[0][0]]
            self._totals[arm] = self._running_total(arm, release)

    def _level(self, node: Release) -> int:
        """Return the level of a node: it covers 2^level items of its arm's tree."""
        return node.rewards.bit_length() - 1

    def _running_total(self, arm: int, node: Release) -> int:
        """Return the total with one more node, which takes the place of all lower ones."""
        level, nodes = self._level(node), self._nodes[arm]
        nodes += [0] * (level + 1 - len(nodes))
        total: int = self._totals[arm] - sum(nodes[:level]) + node.steps
        nodes[: level + 1] = [0] * level + [node.steps]
        return total

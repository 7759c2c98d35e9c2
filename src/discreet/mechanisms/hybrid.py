"""The hybrid counter: a running total when the number of items is not known (Chan, Shi, Song 2010)."""

from __future__ import annotations

from typing import Any

from discreet.core.noise import Noise, Reserve, scale_for
from discreet.mechanisms.binary_tree import BinaryTreeCounter
from discreet.mechanisms.counters import Counter, Node


class HybridCounter(Counter):
    """Publishes a noisy total after each item, for ever.

    At items 1, 2, 4, 8, ... the *logarithmic* part releases the sum of the items since the last power of
    two, at epsilon/2. In between, a fresh binary tree counts the items since that power, at epsilon/2.

    Private because an item lies in one block of the logarithmic part and in one tree: epsilon/2 + epsilon/2.
    (Public code gives epsilon to each part, which spends 2 epsilon.)

    >>> from discreet.core.noise import SimulatedNoise
    >>> counter = HybridCounter(sensitivity=1, epsilon=1.0, noise=SimulatedNoise(seed=4))
    >>> for _ in range(600):
    ...     node = counter.add(1)
    >>> counter.total, round(counter.radius(beta=0.05), 1)
    (605, 153.5)
    """

    __slots__ = ("_block", "_released", "_reserve", "_tree")

    def __init__(self, sensitivity: int, epsilon: float, noise: Noise | None = None) -> None:
        super().__init__(sensitivity, epsilon, noise)
        self._reserve = Reserve(self.noise, scale_for(2 * self.sensitivity, self.epsilon))
        self._block = 0  # exact sum since the last power of two
        self._released = 0  # noisy total up to it
        self._tree: BinaryTreeCounter | None = None

    def _add(self, item: int) -> Node:
        self.count += 1
        self._block += item
        if self.count & (self.count - 1):
            assert self._tree is not None
            node = self._tree.add(item)
            self._total = self._released + self._tree.total
            start = self.count - self._tree.count
            return Node(start + node.first, start + node.last, node.units, node.scale, node.epsilon)
        units = self._block + self._reserve.take()
        self._reserve.prepare(1)
        self._released += units
        self._total = self._released
        self._block = 0
        self._tree = self._new_tree()
        return Node(self.count // 2 + 1, self.count, units, self._reserve.scale, self.epsilon / 2)

    def _new_tree(self) -> BinaryTreeCounter | None:
        # From 2^k to the item before 2^(k+1) there are 2^k - 1 items.
        if self.count < 2:
            return None
        return BinaryTreeCounter(self.count - 1, self.sensitivity, self.epsilon / 2, self.noise)

    def noise_scales(self) -> list[float]:
        """One noise for each power of two reached, and the open tree's."""
        tree = self._tree.noise_scales() if self._tree else []
        return [self._reserve.scale] * self.count.bit_length() + tree

    def _state(self) -> dict[str, Any]:
        """Both parts; the open block is an exact sum."""
        return {
            "count": self.count,
            "block": self._block,
            "released": self._released,
            "ready": self._reserve.state(),
            "tree": self._tree._state() if self._tree else None,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        saved = int(state["count"])
        self.count = 1 << (saved.bit_length() - 1) if saved else 0
        self._tree = self._new_tree()
        if self._tree:
            self._tree._restore(state["tree"])
        self.count = saved
        self._block = int(state["block"])
        self._released = int(state["released"])
        self._total = self._released + (self._tree.total if self._tree else 0)
        self._reserve.restore(state["ready"])

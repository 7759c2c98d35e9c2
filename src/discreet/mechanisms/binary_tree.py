"""The binary-tree counter: a running total over a known horizon (Dwork et al. 2010; Chan, Shi, Song 2010)."""

from __future__ import annotations

from typing import Any

from discreet.core import checks
from discreet.core.errors import FinishedError
from discreet.core.noise import Noise, Reserve, scale_for
from discreet.mechanisms.counters import Counter, Node


class BinaryTreeCounter(Counter):
    """Publishes a noisy total after each of at most `horizon` items.

    Item t completes the tree's node of level i, the number of trailing zero bits of t, which covers the
    items t - 2^i + 1 to t. The published total adds up one node for each set bit of t.

    Private because an item lies in at most one node of each level, and levels 0 to floor(log2 horizon)
    exist: floor(log2 horizon) + 1 nodes, each released once at epsilon divided by that number. (The natural
    logarithm, found in public code, would spend 1.44 times epsilon.)

    Work: completing a node of level i takes i additions, which is O(1) per item on average.

    >>> from discreet.core.noise import SimulatedNoise
    >>> counter = BinaryTreeCounter(horizon=1000, sensitivity=1, epsilon=1.0, noise=SimulatedNoise(seed=2))
    >>> counter.levels, counter.scale
    (10, 10.0)
    >>> for _ in range(600):
    ...     node = counter.add(1)
    >>> counter.total, round(counter.radius(beta=0.05), 1)
    (596, 94.6)
    """

    __slots__ = ("_exact", "_noisy", "_reserve", "horizon", "levels")

    def __init__(self, horizon: int, sensitivity: int, epsilon: float, noise: Noise | None = None) -> None:
        super().__init__(sensitivity, epsilon, noise)
        self.horizon = checks.whole("horizon", horizon)
        self.levels = self.horizon.bit_length()  # floor(log2 horizon) + 1
        self._reserve = Reserve(self.noise, scale_for(self.sensitivity * self.levels, self.epsilon))
        self._exact = [0] * self.levels
        self._noisy = [0] * self.levels

    @property
    def scale(self) -> float:
        """The scale of each node's noise."""
        return self._reserve.scale

    def _add(self, item: int) -> Node:
        if self.count == self.horizon:
            raise FinishedError(f"this counter was made for {self.horizon} items and has them all")
        self.count += 1
        level = trailing_zeros(self.count)
        for lower in range(level):
            item += self._exact[lower]
            self._total -= self._noisy[lower]
            self._exact[lower] = self._noisy[lower] = 0
        self._exact[level] = item
        self._noisy[level] = item + self._reserve.take()
        self._reserve.prepare(1)
        self._total += self._noisy[level]
        return Node(
            first=self.count - (1 << level) + 1,
            last=self.count,
            units=self._noisy[level],
            scale=self.scale,
            epsilon=self.epsilon / self.levels,
        )

    def noise_scales(self) -> list[float]:
        """One node's noise for each set bit of the number of items."""
        return [self.scale] * self.count.bit_count()

    def _state(self) -> dict[str, Any]:
        """The open nodes, exact and noisy, and the next node's noise."""
        return {
            "count": self.count,
            "exact": list(self._exact),
            "noisy": list(self._noisy),
            "ready": self._reserve.state(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.count = int(state["count"])
        self._exact = [int(node) for node in state["exact"]]
        self._noisy = [int(node) for node in state["noisy"]]
        self._total = sum(self._noisy)
        self._reserve.restore(state["ready"])


def trailing_zeros(number: int) -> int:
    """How often 2 divides a positive number.

    >>> [trailing_zeros(n) for n in (1, 2, 12)]
    [0, 1, 2]
    """
    return (number & -number).bit_length() - 1

"""What the two continual counters share: an item in, a noisy running total out."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.core.noise import Noise, checked_noise
from discreet.mechanisms._secret import Guarded


@dataclass(frozen=True, slots=True)
class Node:
    """What a counter released for its newest item: a noisy sum over the items `first` to `last`."""

    first: int
    last: int
    units: int
    scale: float
    epsilon: float


class Counter(Guarded):
    """A noisy running total of integers between 0 and `sensitivity`, published after every item."""

    __slots__ = ("_total", "count", "epsilon", "noise", "sensitivity")

    def __init__(self, sensitivity: int, epsilon: float, noise: Noise | None = None) -> None:
        self.sensitivity = checks.whole("sensitivity", sensitivity)
        self.epsilon = checks.positive("epsilon", epsilon)
        self.noise: Noise = checked_noise(noise)
        self.count = 0
        self._total = 0
        self._guard()

    @property
    def total(self) -> int:
        """The released (noisy) total of all items so far."""
        return self._total

    def add(self, item: int) -> Node:
        """Take one item; the released total is in `total`, the node that it adds is returned."""
        self._same_process()
        return self._add(checks.secret("item", item, 0, self.sensitivity))

    def radius(self, beta: float) -> float:
        """A bound that the present total's error exceeds with probability at most beta."""
        return laplace_sum_radius(self.noise_scales(), beta)

    @abstractmethod
    def noise_scales(self) -> list[float]:
        """The scale of each noise inside the present total."""

    @abstractmethod
    def _add(self, item: int) -> Node: ...

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What a saved state keeps. It holds exact partial sums, and is as sensitive as the data."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""


def laplace_sum_radius(scales: list[float], beta: float) -> float:
    """X such that a sum of independent Laplace variables of these scales has Pr[|sum| > x] <= beta.

    Chernoff: the logarithm of the moment generating function of Lap(b) at lam is -ln(1 - b^2 lam^2), which
    is at most 1.5 b^2 lam^2 while b lam <= 1/sqrt(2). So Pr[sum > x] <= exp(-lam x + 1.5 lam^2 V) with
    V the sum of the b^2, for every lam <= 1/(sqrt(2) max b); equate to beta/2 and pick the best lam. It
    holds for discrete Laplace noise too, whose moment generating function is smaller at the same scale.

    >>> round(laplace_sum_radius([1.0], beta=0.05), 2)
    6.28
    """
    log = math.log(2 / checks.fraction("beta", beta))
    if not scales:
        return 0.0
    variance = sum(scale * scale for scale in scales)
    lam = min(math.sqrt(log / (1.5 * variance)), 1 / (math.sqrt(2) * max(scales)))
    return log / lam + 1.5 * lam * variance

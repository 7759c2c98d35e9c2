"""Releases: what has left the private side.

How they may evolve: a new kind of release is a new member of `Kind`; a field is added last, with a default that means
what its absence meant; no kind and no field changes its meaning. Whoever meets a kind that it does not know refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from discreet._display import page_of
from discreet.core.plans import Arm


class Kind(StrEnum):
    """The kind of a release."""

    TOTAL = "total"
    """The noisy sum of the rewards."""
    SQUARES = "squares"
    """The noisy sum of squared differences of pairs, divided by the range."""
    TESTS = "tests"
    """How many tests a sparse vector has answered, and whether the last one halted."""
    NODE = "node"
    """The noisy sum of the rewards of one node of a tree."""
    SAMPLES = "samples"
    """The rewards themselves, of an algorithm that is not private."""


class Release(NamedTuple):
    """One number or answer that has left the private side: about which rewards, at what price.

    Attributes:
        epoch: The epoch in which it was released.
        kind: What it says.
        spans: The rewards that it covers: arm, first and last, counted from 1 for each arm. The last one lies before
            the first where it covers none.
        steps: The released integer in grid steps; None for tests, an array for samples.
        scale: The scale of its noise, in grid steps.
        epsilon: What it costs each of its rewards.
        simulated: True if the noise came from a seed, so that it protects nobody.
        tests: For tests, how many the sparse vector has answered so far.
        above: For tests, whether the last one halted.
    """

    epoch: int
    kind: str
    spans: tuple[tuple[Arm, int, int], ...]
    steps: Any
    scale: float
    epsilon: float
    simulated: bool
    tests: int = 0
    above: bool = False

    @property
    def arm(self) -> Arm:
        """The first arm that it covers."""
        return self.spans[0][0]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that it covers."""
        return tuple(arm for arm, _, _ in self.spans)

    @property
    def rewards(self) -> int:
        """The number of rewards of its first arm."""
        _, first, last = self.spans[0]
        return last - first + 1

    @property
    def size(self) -> int:
        """The number of rewards of all its arms."""
        return sum(last - first + 1 for _, first, last in self.spans)

    def _repr_html_(self) -> str:
        return page_of(self, "epoch", "kind", "arms", "size", "steps", "scale", "epsilon", "simulated").html()

    def since(self, starts: Mapping[Arm, int]) -> Release:
        """Return the release with rewards counted from later starts.

        Args:
            starts: The number of rewards of each arm before the new first one.
        """
        spans = tuple((arm, first - starts[arm], last - starts[arm]) for arm, first, last in self.spans)
        return self._replace(spans=spans)

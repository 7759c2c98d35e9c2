"""Tickets: pulls that were handed out, what became of their rewards, and the order in which arms are dealt."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from discreet.core.privacy import Arm

_BLOCKS = 256  # permuted blocks that are dealt at a time


class Ticket(NamedTuple):
    """One pull that was handed out. `id` names it in a message, and `tell` takes it too."""

    arm: Arm
    number: int
    epoch: int
    owner: str

    @property
    def id(self) -> str:
        """A name for this ticket that can travel."""
        return f"{self.owner}-{self.number}"


class Told(StrEnum):
    """What became of a reward."""

    COUNTED = "counted"
    DUPLICATE = "duplicate"
    """Told or expired before; what came first stands."""
    LATE = "late"
    """Its epoch has closed: the first reward told for it, or the default, was used."""
    UNUSED = "unused"
    """This pull does not decide anything, so its reward is not kept."""


class Dealer:
    """Deals an epoch's pulls in randomly permuted blocks: one pull of every arm that has some left.

    So the order reveals nothing, and traffic stays balanced at every moment of the epoch. The generator is
    no secret.

    >>> dealer = Dealer([3, 3], np.random.default_rng(0))
    >>> [dealer.deal() for _ in range(7)]
    [1, 0, 1, 0, 1, 0, None]
    """

    def __init__(self, planned: list[int], generator: np.random.Generator) -> None:
        self.planned = planned
        self.dealt = [0] * len(planned)
        self._generator = generator
        self._queue: list[int] = []

    def deal(self) -> int | None:
        """The number of the next arm; None when all pulls are dealt."""
        if not self._queue and not self._refill():
            return None
        arm = self._queue.pop()
        self.dealt[arm] += 1
        return arm

    @property
    def empty(self) -> bool:
        """Whether all pulls are dealt."""
        return not self._queue and not self._refill()

    def _refill(self) -> bool:
        left = [planned - dealt for planned, dealt in zip(self.planned, self.dealt, strict=True)]
        arms = [arm for arm, rest in enumerate(left) if rest]
        if not arms:
            return False
        ahead = max(self.dealt)
        behind = [arm for arm in arms if self.dealt[arm] < ahead]
        if behind:  # the rest of a block that was begun before a reload, or arms with fewer pulls than others
            self._queue = self._generator.permutation(behind).tolist()
        else:
            blocks = min(_BLOCKS, min(left[arm] for arm in arms))  # noqa: PLW3301
            self._queue = self._generator.permuted(np.tile(arms, (blocks, 1)), axis=1).ravel().tolist()
        return True

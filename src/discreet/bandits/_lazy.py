"""What the lazy policies share: blocks of 1, 2, 4, ... rewards of each arm, each released once and alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from discreet.bandits._policy import Policy
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.mechanisms.laplace import LaplaceMechanism


class LazyPolicy(Policy):
    """Every arm once, then at each step the arm that `_ahead` says; an arm's mean is that of its last whole block.

    An arm whose last block has n rewards fills one of 2n. When it is full, its total is released with one Laplace
    noise of scale 1/epsilon, takes the old one's place, and the next block begins. Arms are chosen anew at each step,
    so a block may fill with many pauses; but between two releases nothing else is learnt, so a plan has all pulls up
    to the next one, of several arms if need be, in whatever order. It ends the block of one arm: the others' stay open.

    Private because each reward enters the total of one block, and what is pulled follows from what was released. A
    block that the horizon cuts short is never released. The exact totals of open blocks are kept between epochs, so
    a saved state is as sensitive as the rewards at all times.
    """

    privacy_reason = (
        "each reward enters the noisy total of one block: parallel composition of Laplace mechanisms, and the rest "
        "follows from what they released"
    )

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None,
        low: float,
        high: float,
        noise: Noise | None,
    ) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self.epsilon = checks.positive("epsilon", epsilon)
        self._laplace = LaplaceMechanism(self.grid.width, self.epsilon, noise)
        self.noise = self._laplace.noise
        self._totals = [0] * len(self.arms)  # of the last whole blocks: released, in grid units
        self._counts = [0] * len(self.arms)  # the rewards in them
        self._partial = [0] * len(self.arms)  # of the open blocks: exact and secret

    # ------------------------------------------------------------------ what a policy writes

    @abstractmethod
    def _ahead(self, step: int, most: int) -> dict[int, int]:
        """Pulls by arm number from a step on: until a block is full, `most` at most, or fewer if it likes."""

    # ------------------------------------------------------------------ what was released, and what was not

    def estimate(self, number: int) -> float:
        """The released mean of an arm's last whole block, with rewards rescaled to [0, 1]; noise may carry it out."""
        return self._totals[number] / (self._counts[number] * self.grid.width)

    @property
    def best_arm(self) -> Arm:
        """The arm with the highest released mean; None before the first release."""
        if not self._counts[0]:
            return None
        return self.arms[max(range(len(self.arms)), key=self.estimate)]

    @property
    def unreleased(self) -> dict[Arm, int]:
        """How many rewards of each arm lie in its open block: public, since they were planned."""
        released = (max(0, 2 * count - 1) for count in self._counts)
        return {arm: pulls - past for arm, pulls, past in zip(self.arms, self._pulls, released, strict=True)}

    def _missing(self, number: int) -> int:
        """Rewards that an arm's open block still needs: blocks of 1, 2, ..., n, 2n have 4n - 1 in all."""
        return max(1, 4 * self._counts[number] - 1) - self._pulls[number]

    # ------------------------------------------------------------------ the blocks

    def _plan(self) -> tuple[dict[int, int], bool]:
        if self.remaining == 0:
            return {}, False
        if not self._counts[0]:
            pulls = dict.fromkeys(range(len(self.arms)), 1)
        else:
            longest = sum(map(self._missing, range(len(self.arms))))
            pulls = self._ahead(self.time + 1, longest if self.remaining is None else min(longest, self.remaining))
        full = sum(count == self._missing(number) for number, count in pulls.items())
        if not full and sum(pulls.values()) == self.remaining:
            self._partial = [0] * len(self.arms)  # nothing will be released any more
            return pulls, False
        self._laplace.prepare(full)
        return pulls, True

    def _close(self, totals: dict[int, int]) -> None:
        for number, total in totals.items():
            self._partial[number] += total
            if not self._missing(number):
                self._release(number)
        if self.remaining == 0:
            self._partial = [0] * len(self.arms)  # nothing will be released any more

    def _release(self, number: int) -> None:
        """Release the block that is full, and begin the next."""
        count = max(1, 2 * self._counts[number])
        units, scale = self._laplace.release(self._partial[number]), self._laplace.scale
        self._record("block total", [number], count=count, units=units, scale=scale, epsilon=self.epsilon)
        self._totals[number], self._counts[number], self._partial[number] = units, count, 0

    def _progress(self) -> dict[str, Any]:
        return {
            "totals": list(self._totals),
            "counts": list(self._counts),
            "partial": list(self._partial),
            "laplace": self._laplace._state(),
        }

    def _restore(self, progress: dict[str, Any]) -> None:
        for name in ("totals", "counts", "partial"):
            setattr(self, f"_{name}", [int(value) for value in progress[name]])
        self._laplace._restore(progress["laplace"])

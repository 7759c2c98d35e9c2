"""What the batched index policies share: one arm at a time, in batches that grow, each released once."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from discreet.bandits._policy import Policy, cut_short
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.mechanisms.laplace import LaplaceMechanism

_UNKNOWN_HORIZON = 2.0**20


class BatchedPolicy(Policy):
    """A first batch of every arm, then whole batches of the arm that `_choose` names, `ratio` times as long each time.

    When an arm has n pulls, its next batch has (ratio - 1) n. At the end of a batch its total is released with one
    Laplace noise of scale 1/epsilon, so in T pulls an arm has about log(T)/log(ratio) releases. An estimate is made
    of all batches of an arm, with as many noises, or where `forgets` is True of the last one alone.

    Private because each reward enters the total of one batch, and what is pulled next follows from what was released.
    A batch that the horizon cuts short releases nothing.
    """

    privacy_reason = (
        "each reward enters the noisy total of one batch: parallel composition of Laplace mechanisms, and the rest "
        "follows from what they released"
    )
    forgets = False
    open_book = True

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None,
        ratio: float,
        first_batch: int | None,
        low: float,
        high: float,
        noise: Noise | None,
    ) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self.epsilon = checks.positive("epsilon", epsilon)
        self.ratio = checks.real("ratio", ratio)
        if self.ratio <= 1:
            raise ArgumentError(f"ratio must be above 1, since batches must grow, got {ratio!r}")
        self.first_batch = self._default_batch() if first_batch is None else checks.whole("first_batch", first_batch)
        self._laplace = LaplaceMechanism(self.grid.width, self.epsilon, noise)
        self.noise = self._laplace.noise
        self._totals = [0] * len(self.arms)  # released, in grid units
        self._counts = [0] * len(self.arms)  # the pulls behind them
        self._batches = [0] * len(self.arms)  # and the noises in them
        self._seen = [0] * len(self.arms)  # pulls before the open epoch

    # ------------------------------------------------------------------ what a policy writes

    def _next_pulls(self) -> dict[int, int]:
        """The pulls of the next epoch, by arm number."""
        number = self._choose()
        return {number: self.batch_size(self._pulls[number])}

    @abstractmethod
    def index(self, number: int, at: Any) -> float:
        """What speaks for an arm at a time step; the IMED policies have what speaks against it, at a best mean."""

    def _choose(self) -> int:
        """The arm whose batch comes next: the one with the largest index, and among equals with the fewest pulls."""
        time = self.time + 1
        return max(range(len(self.arms)), key=lambda number: (self.index(number, time), -self._pulls[number]))

    def _default_batch(self) -> int:
        """The first batch of each arm, if nothing else is said."""
        return 1

    def quiet_batch(self, scales: float) -> int:
        """So many pulls that one noise moves their mean by about 1/scales."""
        return max(1, math.ceil(scales / self.epsilon))

    def cautious_batch(self) -> int:
        """2 ln(T)/epsilon pulls (without a horizon, for 2^20 pulls), but in all no more than a fifth of the horizon."""
        if self.horizon is None:
            return self.quiet_batch(2 * math.log(_UNKNOWN_HORIZON))
        most = max(1, self.horizon // (5 * len(self.arms)))
        return min(most, self.quiet_batch(2 * math.log(self.horizon)))

    def batch_size(self, pulls: int) -> int:
        """The next batch of an arm that was pulled so often."""
        return max(1, math.ceil((self.ratio - 1) * pulls))

    # ------------------------------------------------------------------ what was released

    def estimate(self, number: int) -> float:
        """The released mean of an arm, with rewards rescaled to [0, 1]; noise may carry it outside."""
        return self._totals[number] / (self._counts[number] * self.grid.width)

    def clipped(self, number: int) -> float:
        """The same, moved into [0, 1]."""
        return min(1.0, max(0.0, self.estimate(number)))

    @property
    def best_arm(self) -> Arm:
        """The arm with the highest released mean; None before the first release."""
        if not self._batches[0]:
            return None
        return self.arms[max(range(len(self.arms)), key=self.estimate)]

    # ------------------------------------------------------------------ the batches

    def _plan(self) -> tuple[dict[int, int], bool]:
        self._seen = list(self._pulls)
        if self.remaining == 0:
            return {}, False
        pulls = self._next_pulls() if self._batches[0] else dict.fromkeys(range(len(self.arms)), self.first_batch)
        if self.remaining is not None and sum(pulls.values()) > self.remaining:
            return cut_short(pulls, self.remaining), False
        self._laplace.prepare(len(pulls))
        return pulls, True

    def _close(self, totals: dict[int, int]) -> None:
        for number, total in totals.items():
            count = self._pulls[number] - self._seen[number]
            units, scale = self._laplace.release(total), self._laplace.scale
            self._record("batch total", [number], count=count, units=units, scale=scale, epsilon=self.epsilon)
            if self.forgets:
                self._totals[number], self._counts[number], self._batches[number] = 0, 0, 0
            self._totals[number] += units
            self._counts[number] += count
            self._batches[number] += 1

    def _progress(self) -> dict[str, Any]:
        return {
            "totals": list(self._totals),
            "counts": list(self._counts),
            "batches": list(self._batches),
            "seen": list(self._seen),
            "laplace": self._laplace._state(),
        }

    def _restore(self, progress: dict[str, Any]) -> None:
        for name in ("totals", "counts", "batches", "seen"):
            setattr(self, f"_{name}", [int(value) for value in progress[name]])
        self._laplace._restore(progress["laplace"])

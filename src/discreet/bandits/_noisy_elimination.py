"""What the private eliminations share: an epoch's totals are each released once, with Laplace noise drawn before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.bandits._elimination import EliminationPolicy, confidence
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.mechanisms.laplace import LaplaceMechanism


class NoisyElimination(EliminationPolicy):
    """Releases each viable arm's total of an epoch with noise of scale 1/epsilon, in rewards.

    A subclass says what it then decides, and may say in `epoch_epsilon` what an epoch costs one of its rewards.
    """

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        beta: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self.epsilon = checks.positive("epsilon", epsilon)
        self.beta = confidence(beta, self.horizon)
        self.noise = noise
        self._laplace = self._mechanism(1)
        self.noise = self._laplace.noise

    def epoch_epsilon(self, epoch: int) -> float:
        """What the totals of an epoch cost one of its rewards."""
        return self.epsilon

    def _mechanism(self, epoch: int) -> LaplaceMechanism:
        """What adds noise to the totals of an epoch."""
        return LaplaceMechanism(self.grid.width, self.epoch_epsilon(epoch), self.noise)

    def _draw_ahead(self) -> None:
        self._laplace.prepare(len(self._viable))

    def _release(self, totals: dict[int, int], count: int) -> dict[int, int]:
        """The totals with noise, each of so many rewards; also in the ledger."""
        released = {number: self._laplace.release(total) for number, total in totals.items()}
        scale, epsilon = self._laplace.scale, self._laplace.epsilon
        for number, units in released.items():
            self._record("epoch total", [number], count=count, units=units, scale=scale, epsilon=epsilon)
        return released

    def _progress(self) -> dict[str, Any]:
        return {**super()._progress(), "laplace": self._laplace._state()}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._laplace._restore(progress["laplace"])

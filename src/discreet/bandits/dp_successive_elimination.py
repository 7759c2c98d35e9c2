"""DP Successive Elimination: Algorithm 3 of Sajed and Sheffet (2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from discreet import checks
from discreet.bandits.elimination import EliminationPolicy
from discreet.errors import ArgumentError
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.noise import Noise
from discreet.privacy import Arm


class DPSuccessiveElimination(EliminationPolicy):
    """Epochs of growing length; at the end of each, one noisy mean per viable arm decides who goes.

    Epoch e has the target gap Delta_e = 2^-e and |S| viable arms at its start. Each is pulled
    ceil(R_e) times, its mean starts from nothing and is released once with noise Lap(1/(epsilon r)), and
    an arm goes if its noisy mean lies more than 2 h_e + 2 c_e below the best one. The optimal arm
    survives, and every arm whose gap is at least Delta_e is gone after epoch e, with probability 1 - beta
    over all epochs (Lemma 4.2; its event is the intersection over epochs, printed there as a union).

    Private because each reward enters one mean of one epoch: epochs and arms compose in parallel, and one
    mean of r rewards in [0, 1] has sensitivity 1/r. The lengths R_e depend on |S|, e, beta and epsilon only.
    An epoch that the horizon cuts short releases nothing. Here the noise is added to the integer total
    (scale width/epsilon in grid units), which is the same release.

    Rewards in `[low, high]` are rescaled to [0, 1], where the gaps and formulas live. Two best arms that
    are equally good are pulled in turn until the horizon.

    Parameters: `epsilon` > 0; `horizon` T, the number of pulls in all; `beta`, the probability of failure,
    by default 1/T as in the paper. Without a horizon give `beta`.

    >>> from discreet import Bandit, SimulatedNoise
    >>> policy = DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 1535, 'B': 1535}
    >>> policy.close({"A": policy.grid.width * 300, "B": policy.grid.width * 900})[1].mean
    0.5895824171432843
    >>> policy.best_arm, policy.plan().pulls
    ('B', {'B': 6930})
    """

    key = "dp-se"
    open_book = True
    privacy_reason = (
        "each reward enters the noisy total of one arm in one epoch: parallel composition of Laplace mechanisms"
    )

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
        self._laplace = LaplaceMechanism(self.grid.width, self.epsilon, noise)
        self.noise = self._laplace.noise

    # ------------------------------------------------------------------ the formulas of Algorithm 3

    def target_gap(self, epoch: int) -> float:
        """Delta_e, line 7."""
        return 2.0**-epoch

    def epoch_length(self, epoch: int, viable: int) -> float:
        """R_e, line 8: a real number, of which the rounds are the ceiling."""
        statistical = 32 * self._log(8, epoch, viable) / self.target_gap(epoch) ** 2
        private = 8 * self._log(4, epoch, viable) / (self.epsilon * self.target_gap(epoch))
        return max(statistical, private) + 1

    def hoeffding_radius(self, epoch: int, viable: int) -> float:
        """h_e, line 15: what sampling can move a mean."""
        return math.sqrt(self._log(8, epoch, viable) / (2 * self.epoch_length(epoch, viable)))

    def laplace_radius(self, epoch: int, viable: int) -> float:
        """c_e, line 16: what the noise can move a mean."""
        return self._log(4, epoch, viable) / (self.epoch_length(epoch, viable) * self.epsilon)

    def threshold(self, epoch: int, viable: int) -> float:
        """How far behind the best noisy mean an arm may lie, line 20."""
        return 2 * self.hoeffding_radius(epoch, viable) + 2 * self.laplace_radius(epoch, viable)

    def _log(self, factor: int, epoch: int, viable: int) -> float:
        return math.log(factor * viable * epoch**2) - math.log(self.beta)

    # ------------------------------------------------------------------ the epochs

    def _rounds(self) -> int:
        self._laplace.prepare(len(self._viable))
        return math.ceil(self.epoch_length(self.epoch + 1, len(self._viable)))

    def _close(self, totals: dict[int, int]) -> None:
        epoch, viable = self.epoch, len(self._viable)
        rounds = math.ceil(self.epoch_length(epoch, viable))
        released = {number: self._laplace.release(total) for number, total in totals.items()}
        for number, units in released.items():
            scale, epsilon = self._laplace.scale, self.epsilon
            self._record("epoch total", [number], count=rounds, units=units, scale=scale, epsilon=epsilon)
        self._drop(released, self.threshold(epoch, viable) * rounds * self.grid.width)

    def _progress(self) -> dict[str, Any]:
        return {**super()._progress(), "laplace": self._laplace._state()}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._laplace._restore(progress["laplace"])


def confidence(beta: float | None, horizon: int | None) -> float:
    """The probability of failure: as given, or the paper's 1/T."""
    if beta is not None:
        return checks.fraction("beta", beta)
    if horizon is None:
        raise ArgumentError("give a horizon (then beta is 1/horizon), or beta; got neither")
    return 1 / horizon

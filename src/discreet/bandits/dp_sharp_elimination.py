"""Private successive elimination with sharp constants: one Chernoff bound for rewards and noises together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from discreet.bandits._noisy_elimination import NoisyElimination
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.core.tails import clearly_behind
from discreet.theory.sharp_elimination import GROWTH, WINDOW, SharpSchedule


class DPSharpElimination(NoisyElimination):
    """DP Successive Elimination that throws little away: it takes a fraction of its pulls for the same promise.

    Epochs grow by the factor `growth`, and each viable arm's total of an epoch is released once with noise of scale
    1/epsilon. A test then adds up the last `window` totals of each arm, with as many noises, instead of starting from
    nothing; and an arm goes when the best one's lead has a Chernoff bound below what the test may spend of `beta`, for
    rewards and noises together and with the variance that the arm's own total allows. DP-SE bounds the rewards and the
    noise of each arm apart, adds up four such bounds, and takes every variance for the largest one.

    A best arm stays, and every arm is gone after `schedule.pulls_for(gap)` pulls, with probability 1 - beta over all
    epochs, for independent rewards in [0, 1]: docs/proofs/sharp-elimination.md.

    Private because each reward enters one total of one epoch: epochs and arms compose in parallel, and the tests
    see only what was released. The lengths of epochs are fixed in advance. An epoch that the horizon cuts short
    releases nothing.

    Parameters: `epsilon` > 0; `horizon` T, the number of pulls in all; `beta`, the probability of failure, by default
    1/T. Without a horizon give `beta`. Rewards in `[low, high]` are rescaled to [0, 1], where gaps live.

    >>> from discreet import SimulatedNoise
    >>> policy = DPSharpElimination(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 65, 'B': 65}
    >>> policy.close({"A": policy.grid.width * 10, "B": policy.grid.width * 50})[1].mean
    0.8462924663837139
    >>> policy.best_arm, policy.plan().pulls
    ('B', {'B': 9870})
    """

    key = "dp-se-sharp"
    open_book = True
    privacy_reason = (
        "each reward enters the noisy total of one arm in one epoch: parallel composition of Laplace mechanisms, and "
        "the tests follow from what they released"
    )

    schedule_kind: ClassVar[type[SharpSchedule]] = SharpSchedule

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        beta: float | None = None,
        growth: float = GROWTH,
        window: int = WINDOW,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(arms, epsilon=epsilon, horizon=horizon, beta=beta, low=low, high=high, noise=noise)
        self.growth = checks.real("growth", growth)
        if not 1 < self.growth <= 100:
            raise ArgumentError(f"growth must be above 1, since epochs must grow, and at most 100, got {growth!r}")
        self.window = checks.whole("window", window)
        self.schedule = self.schedule_kind(len(self.arms), self.epsilon, self.beta, self.growth, self.window)
        self._recent: list[list[int]] = [[] for _ in self.arms]  # the last released totals, in grid units

    # ------------------------------------------------------------------ the test

    def is_behind(self, epoch: int, lead: float, total: float) -> bool:
        """Whether an arm goes after epoch k, by the best arm's lead over it and its total in the window."""
        to = self.schedule
        pulls, noises, epsilon = to.tested(epoch), to.noises(epoch), self.epoch_epsilon(epoch)
        return clearly_behind(lead, total, pulls, noises, epsilon, to.level(epoch), to.doubt(epoch))

    # ------------------------------------------------------------------ the epochs

    def epoch_length(self, epoch: int) -> int:
        """The pulls of each viable arm in epoch k."""
        return self.schedule.pulls_by(epoch) - self.schedule.pulls_by(epoch - 1)

    def _rounds(self) -> int:
        return self.epoch_length(self.epoch + 1)

    def _close(self, totals: dict[int, int]) -> None:
        for number, units in self._release(totals, self.epoch_length(self.epoch)).items():
            self._recent[number] = [*self._recent[number], units][-self.window :]
        self._judge({number: sum(self._recent[number]) for number in self._viable})

    def _judge(self, totals: dict[int, int]) -> None:
        """Keep the arms that are not clearly behind the best one."""
        width, best = self.grid.width, max(totals.values())
        self._leader = max(totals, key=totals.__getitem__)
        self._viable = [
            number
            for number, total in totals.items()
            if not self.is_behind(self.epoch, (best - total) / width, total / width)
        ]

    def _progress(self) -> dict[str, Any]:
        return {**super()._progress(), "recent": [list(units) for units in self._recent]}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._recent = [[int(units) for units in of_arm] for of_arm in progress["recent"]]

"""The two older forms of DP-SE in the paper's withdrawn text: sparse-vector elimination and "modified DP-SE"."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from discreet.bandits._elimination import EliminationPolicy, confidence
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.mechanisms.above_threshold import AboveThreshold
from discreet.mechanisms.laplace import LaplaceMechanism


class DPSparseVectorElimination(EliminationPolicy):
    """An epoch lasts until a sparse vector says that some pair of viable arms differs; then the means decide.

    In an epoch all viable arms are pulled in rounds; after r = 2, 4, 8, ... rounds (test number l = 1, 2,
    3, ...) AboveThreshold is asked whether the largest difference of means exceeds
    10 h_r + (A_r + B + c_r)/r. At the first yes each mean is released with Lap(2/(epsilon r)), arms more
    than 2 h_r + 4 ln(4K|S|/beta)/(epsilon r) behind the best go, and a new epoch starts from nothing.

    Private because each reward enters one epoch. There the largest difference of sums has sensitivity 1
    and is tested at epsilon/2 (both noises of scale 3 * 1/(epsilon/2) = 6/epsilon), and the totals are
    released at epsilon/2.

    This is not Algorithm 3, only its forerunner: kept for comparison.

    >>> from discreet import SimulatedNoise
    >>> policy = DPSparseVectorElimination(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> while len(policy.viable) == 2:  # A always pays, B never does
    ...     pulls = policy.plan().pulls
    ...     _ = policy.close({"A": pulls["A"] * policy.grid.width, "B": 0})
    >>> policy.best_arm, policy.pulls
    ('A', {'A': 2048, 'B': 2048})
    >>> [entry.what for entry in policy.ledger]
    ['above threshold: 11 tests, halted', 'epoch total', 'epoch total']
    """

    key = "dp-se-svt"
    privacy_reason = (
        "each reward enters one epoch, which spends epsilon/2 on its sparse vector and epsilon/2 on its totals"
    )
    halting_factor: ClassVar[int] = 10
    release_factor: ClassVar[int] = 16

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
        self._laplace = LaplaceMechanism(self.grid.width, self.epsilon / 2, noise)
        self.noise = self._laplace.noise
        self._sparse: AboveThreshold | None = None  # a new one for each epoch, made when it is planned
        self._sums: dict[int, int] = {}
        self._round = 0

    # ------------------------------------------------------------------ the formulas

    def hoeffding_radius(self, rounds: int, viable: int, test: int) -> float:
        """h_r."""
        return math.sqrt(self._log(16 * len(self.arms) * viable * test**2) / (2 * rounds))

    def noise_margin(self, viable: int, test: int) -> float:
        """c_r, for the two noises of the test and those of the release."""
        arms = len(self.arms)
        tested = 6 * self._log(4 * arms) + 6 * self._log(8 * arms * test**2)
        return (tested + self.release_factor * self._log(4 * arms * viable)) / self.epsilon

    def halting_threshold(self, rounds: int, viable: int, test: int) -> float:
        """What the largest difference of *sums* must exceed, apart from the noise."""
        radius = self.hoeffding_radius(rounds, viable, test)
        return self.halting_factor * radius * rounds + self.noise_margin(viable, test)

    def drop_threshold(self, rounds: int, viable: int, test: int) -> float:
        """How far behind the best noisy *sum* an arm may lie."""
        margin = 4 * self._log(4 * len(self.arms) * viable) / self.epsilon
        return 2 * self.hoeffding_radius(rounds, viable, test) * rounds + margin

    def _log(self, number: float) -> float:
        return math.log(number) - math.log(self.beta)

    # ------------------------------------------------------------------ the epochs

    def _open_epoch(self) -> AboveThreshold:
        self._laplace.prepare(len(self._viable))
        self._sums = dict.fromkeys(self._viable, 0)
        self._round = 0
        return AboveThreshold(self.grid.width, self.epsilon / 2, self.noise)

    def _rounds(self) -> int:
        if self._sparse is None:
            self._sparse = self._open_epoch()
        return (2 << self._sparse.tests) - self._round

    def _close(self, totals: dict[int, int]) -> None:
        sparse = self._sparse
        assert sparse is not None
        for number, total in totals.items():
            self._sums[number] += total
        viable, width, test = len(self._viable), self.grid.width, sparse.tests + 1
        rounds = self._round = 2**test
        spread = max(self._sums.values()) - min(self._sums.values())
        strict = math.floor(self.halting_threshold(rounds, viable, test) * width) + 1
        above = sparse.test(spread, strict)
        self._record_test(sparse, rounds, above)
        if above:
            released = {number: self._laplace.release(total) for number, total in self._sums.items()}
            scale, epsilon = self._laplace.scale, self.epsilon / 2
            for number, units in released.items():
                self._record("epoch total", [number], count=rounds, units=units, scale=scale, epsilon=epsilon)
            self._drop(released, self.drop_threshold(rounds, viable, test) * width)
            self._sparse, self._sums = None, {}

    def _record_test(self, sparse: AboveThreshold, rounds: int, above: bool) -> None:
        """One entry a sparse vector: it grows with every test, and costs epsilon/2 once."""
        what = f"above threshold: {sparse.tests} tests, {'halted' if above else 'not halted'}"
        self._record(what, self._viable, count=rounds, scale=sparse.scale, epsilon=self.epsilon / 2)

    def _progress(self) -> dict[str, Any]:
        return {
            **super()._progress(),
            "laplace": self._laplace._state(),
            "sparse": self._sparse._state() if self._sparse else None,
            "sums": [[number, total] for number, total in self._sums.items()],
            "round": self._round,
        }

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        if progress["sparse"] is not None:
            self._sparse = self._open_epoch()
            self._sparse._restore(progress["sparse"])
        self._laplace._restore(progress["laplace"])
        self._sums = {int(number): int(total) for number, total in progress["sums"]}
        self._round = int(progress["round"])


class ModifiedDPSuccessiveElimination(DPSparseVectorElimination):
    """The withdrawn "modified DP-SE": halts as soon as the worst arm can go, not all arms of a similar gap.

    Same algorithm with 2 h_r for 10 h_r in the halting test and 4 for 16 in c_r; same privacy.

    >>> from discreet import SimulatedNoise
    >>> policy = ModifiedDPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> while len(policy.viable) == 2:  # A always pays, B never does
    ...     pulls = policy.plan().pulls
    ...     _ = policy.close({"A": pulls["A"] * policy.grid.width, "B": 0})
    >>> policy.best_arm, policy.pulls
    ('A', {'A': 512, 'B': 512})
    """

    key = "dp-se-modified"
    halting_factor = 2
    release_factor = 4

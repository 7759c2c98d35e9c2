"""A private index policy for traffic that drifts: arms are compared only with what was shown at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import permutations
from typing import Any

from discreet.bandits._batched import BatchedPolicy
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.core.tails import paired_exponent

_ENOUGH = 1.0  # evidence to change the leader: with none, many close arms would take turns at leading


class DPPairedIMED(BatchedPolicy):
    """Explores by epochs in which the leader and one other arm take turns, and compares them by these epochs alone.

    A batch of one arm confounds the arm with the time: if rewards rise on Monday, the arm that was pulled then looks
    better. Here the first epoch has all arms in turn, and every later one that learns has the leader and a challenger
    in turn, equally often. With n such pairs in m epochs and the released difference D of their totals, exp(-E) bounds
    the chance of D if the challenger is at least as good as the leader at all times, however both drift
    (`paired_exponent`). The challenger with the smallest E + ln n is tried next, if that is below ln N for the N pulls
    of the leader; else the leader is pulled alone, and those rewards need not even be collected. The leader changes
    when there is some evidence (E > 1) that a challenger is better, and not at every chance lead.

    Private because each reward enters the total of one arm in one epoch, which is released once. The exponent is
    Hoeffding's for differences, so its regret is larger than that of `DPChernoffIMED` where nothing drifts: some 3
    times for means around 1/2, and far more for rare rewards, whose small variance it does not use.

    Parameters: `epsilon`; `horizon`, if there is one: it ends the run and sets the default first batch of
    2 ln(T)/epsilon pulls of each arm; `ratio` of batches; `first_batch`.

    >>> from discreet import SimulatedNoise
    >>> policy = DPPairedIMED(["A", "B", "C"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 19, 'B': 19, 'C': 19}
    >>> _ = policy.close({arm: wins * policy.grid.width for arm, wins in zip("ABC", (4, 14, 12))})
    >>> policy.best_arm, policy.plan().pulls
    ('B', {'B': 10})
    """

    key = "dp-paired-imed"
    open_book = False  # it plans epochs in the middle of which nothing is learned

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        ratio: float = 1.5,
        first_batch: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(
            arms,
            epsilon=epsilon,
            horizon=horizon,
            ratio=ratio,
            first_batch=first_batch,
            low=low,
            high=high,
            noise=noise,
        )
        size = len(self.arms)
        self._leader = 0
        self._lead = [[0] * size for _ in range(size)]  # by how much one arm is ahead of another, in shared epochs
        self._pairs = [[0] * size for _ in range(size)]  # pulls of each in shared epochs
        self._shared = [[0] * size for _ in range(size)]  # shared epochs

    def _default_batch(self) -> int:
        return self.cautious_batch()

    @property
    def best_arm(self) -> Arm:
        """The leader; None before the first release."""
        return self.arms[self._leader] if self._batches[0] else None

    def evidence(self, one: int, other: int) -> float:
        """E: how unlikely one arm's lead over another is if the other is as good."""
        lead = self._lead[one][other] / self.grid.width
        return paired_exponent(lead, self._pairs[one][other], 2 * self._shared[one][other], self.epsilon)

    def index(self, number: int, at: int) -> float:
        """How much speaks against a challenger: evidence that it is worse than the leader, `at`, and pairs."""
        return self.evidence(at, number) + math.log(self._pairs[at][number])

    def _choose(self) -> int:
        against = {n: self.index(n, self._leader) for n in range(len(self.arms)) if n != self._leader}
        challenger = min(against, key=against.__getitem__)
        return challenger if against[challenger] < math.log(self._pulls[self._leader]) else self._leader

    def _next_pulls(self) -> dict[int, int]:
        number = self._choose()
        if number == self._leader:
            return {number: self.batch_size(self._pulls[number])}
        return dict.fromkeys((self._leader, number), self.batch_size(self._pairs[self._leader][number]))

    def _plan(self) -> tuple[dict[int, int], bool]:
        pulls, learns = super()._plan()
        alone = len(pulls) == 1 and self._leader in pulls  # nothing to compare with
        return pulls, learns and not alone

    def _close(self, totals: dict[int, int]) -> None:
        first = not self._batches[0]
        before = {number: self._totals[number] for number in totals}
        super()._close(totals)
        released = {number: self._totals[number] - before[number] for number in totals}
        for one, other in permutations(totals, 2):
            self._lead[one][other] += released[one] - released[other]
            self._pairs[one][other] += self._pulls[one] - self._seen[one]
            self._shared[one][other] += 1
        if first:
            self._leader = max(totals, key=released.__getitem__)
            return
        for challenger in totals:
            if self.evidence(challenger, self._leader) > _ENOUGH:
                self._leader = challenger

    def _progress(self) -> dict[str, Any]:
        return {
            **super()._progress(),
            "leader": self._leader,
            "lead": [list(row) for row in self._lead],
            "pairs": [list(row) for row in self._pairs],
            "shared": [list(row) for row in self._shared],
        }

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._leader = int(progress["leader"])
        for name in ("lead", "pairs", "shared"):
            setattr(self, f"_{name}", [[int(value) for value in row] for row in progress[name]])

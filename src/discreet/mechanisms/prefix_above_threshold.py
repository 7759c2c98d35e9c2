"""AboveThreshold for the running sum of a stream: one-sided tests, with noise a third as large."""

from __future__ import annotations

import math
from typing import Any

from discreet.core import checks
from discreet.core.errors import FinishedError
from discreet.core.noise import Noise, Reserve, checked_noise, scale_for
from discreet.mechanisms._secret import Guarded


class PrefixSumAboveThreshold(Guarded):
    """Answers "is the sum so far at least this threshold?" until the first yes, for one epsilon in all.

    The sum is of items between 0 and `sensitivity`, and neighbouring streams differ in one item. The answer is yes
    iff sum + N >= threshold + B, where B is drawn once and N for each test. Both are absolute values of discrete
    Laplace variables of scale sensitivity/epsilon: three times less than AboveThreshold needs, and never negative.

    Private because a changed item moves *all* later sums by one and the same d, and none before it. Say that a run on
    one stream halts at some test, and that this test is after the change (if not, nothing differs).

    - The neighbour's sums are higher by d: add d to B. Tests after the change compare as before, and those before it
      say no all the more. The larger B has at least exp(-d/scale) times the probability.
    - They are lower by d: keep B. The tests that said no do so all the more. Add d to the N of the test that said
      yes, which costs exp(d/scale) again.

    One of the two happens and never both, so the price is exp(epsilon) and not exp(epsilon/3 + 2 epsilon/3); a run
    that never halts pays in the first case only. B and N are only ever *added* to, and Pr[|X| = n + d] is at least
    exp(-d/scale) Pr[|X| = n], so the negative halves of both noises can be folded up.

    This holds for sums of one stream that are tested from one side. It fails for |sum|, which may rise at one test and
    fall at another, and for other queries. So the mechanism takes items and keeps the sum itself. It also fails for
    neighbours that lack an item, since every later item then moves into another prefix. `docs/proofs/one-sided-nas.md`
    has the proof in full.

    >>> from discreet.core.noise import SimulatedNoise
    >>> sparse = PrefixSumAboveThreshold(sensitivity=1, epsilon=1.0, noise=SimulatedNoise(seed=3))
    >>> for total in (3, 4, 50):
    ...     sparse.add(total, count=60)
    ...     print(sparse.test(threshold=30))
    False
    False
    True
    """

    __slots__ = ("_query_noise", "_sum", "_threshold_noise", "epsilon", "halted", "noise", "sensitivity", "tests")

    def __init__(self, sensitivity: int, epsilon: float, noise: Noise | None = None) -> None:
        self.sensitivity = checks.whole("sensitivity", sensitivity)
        self.epsilon = checks.positive("epsilon", epsilon)
        self.noise: Noise = checked_noise(noise)
        self.halted = False
        self.tests = 0
        self._sum = 0
        scale = scale_for(self.sensitivity, self.epsilon)
        self._threshold_noise = abs(int(self.noise.draws(scale, 1)[0]))
        self._query_noise = Reserve(self.noise, scale)
        self._guard()

    @property
    def scale(self) -> float:
        """The scale of both noises, in the items' unit."""
        return self._query_noise.scale

    def add(self, total: int, count: int = 1) -> None:
        """Take the next `count` items by their total."""
        self._open()
        most = checks.whole("count", count) * self.sensitivity
        self._sum += checks.secret("total", total, 0, most)

    def test(self, threshold: float) -> bool:
        """Whether sum + N >= threshold + B; True at most once. A fractional threshold is rounded up."""
        self._open()
        limit = threshold if type(threshold) is int else math.ceil(checks.real("threshold", threshold))
        self.tests += 1
        if self._sum + abs(int(self._query_noise.take())) >= limit + self._threshold_noise:
            self._halt()
        else:
            self._query_noise.prepare(1)
        return self.halted

    def _take_sum(self) -> int:
        """The exact sum, for a release with noise of its own; it is forgotten here."""
        exact, self._sum = self._sum, 0
        return exact

    def _state(self) -> dict[str, Any]:
        """What a saved state keeps: the sum, and both noises, so that none is ever drawn again."""
        return {
            "sum": self._sum,
            "threshold_noise": self._threshold_noise,
            "query_noise": self._query_noise.state(),
            "halted": self.halted,
            "tests": self.tests,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._sum = int(state["sum"])
        self._threshold_noise = int(state["threshold_noise"])
        self._query_noise.restore(state["query_noise"])
        self.halted = bool(state["halted"])
        self.tests = int(state["tests"])

    def _open(self) -> None:
        self._same_process()
        if self.halted:
            raise FinishedError("this PrefixSumAboveThreshold has halted; a new one costs a new epsilon")

    def _halt(self) -> None:
        self.halted = True
        self._threshold_noise = 0
        self._query_noise.clear()

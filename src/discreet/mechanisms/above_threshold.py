"""AboveThreshold, the sparse vector technique that halts once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import FinishedError
from discreet.core.noise import Noise, Reserve, checked_noise, scale_for
from discreet.mechanisms._secret import Guarded


class AboveThreshold(Guarded):
    """Answers "is this query at least its threshold?" until the first yes, for one epsilon in all.

    The paper's split: the threshold's noise B (drawn once) and each query's noise A (fresh each time) both
    have scale 3d/epsilon, where d is the queries' sensitivity. The answer is yes iff
    query >= threshold + B + A. After the first yes the noise is erased and every further test is refused.

    Private because, moving B by d and the halting query's A by 2d, every run on one input becomes the same
    run on its neighbour, at the price of exp(d/s_B + 2d/s_A) = exp(epsilon/3 + 2 epsilon/3). Queries and
    noise are integers and thresholds are public, so the argument holds to the last bit. `ahead` query noises
    are kept drawn before the queries come.

    >>> from discreet.core.noise import SimulatedNoise
    >>> sparse = AboveThreshold(sensitivity=1, epsilon=1.0, noise=SimulatedNoise(seed=3))
    >>> [sparse.test(query, threshold=50) for query in (0, 10, 90)]
    [False, False, True]
    >>> sparse.test(0, threshold=50)
    Traceback (most recent call last):
        ...
    discreet.core.errors.FinishedError: this AboveThreshold has halted; a new one costs a new epsilon
    """

    __slots__ = ("_ahead", "_query_noise", "_threshold_noise", "epsilon", "halted", "noise", "sensitivity", "tests")

    def __init__(self, sensitivity: int, epsilon: float, noise: Noise | None = None, ahead: int = 1) -> None:
        self.sensitivity = checks.whole("sensitivity", sensitivity)
        self.epsilon = checks.positive("epsilon", epsilon)
        self.noise: Noise = checked_noise(noise)
        self.halted = False
        self.tests = 0
        scale = scale_for(3 * self.sensitivity, self.epsilon)
        self._threshold_noise = int(self.noise.draws(scale, 1)[0])
        self._query_noise = Reserve(self.noise, scale)
        self._ahead = checks.whole("ahead", ahead)
        self._query_noise.prepare(self._ahead)
        self._guard()

    @property
    def scale(self) -> float:
        """The scale of both noises, in the queries' unit."""
        return self._query_noise.scale

    def test(self, query: int, threshold: float) -> bool:
        """Whether query >= threshold + B + A; True at most once."""
        self._open()
        margin = checks.secret("query", query) - math.ceil(checks.real("threshold", threshold))
        self.tests += 1
        if margin >= self._threshold_noise + self._query_noise.take():
            self._halt()
        else:
            self._query_noise.prepare(self._ahead)
        return self.halted

    def first_above(self, margins: NDArray[np.int64]) -> int | None:
        """The index of the first of many tests that says yes, as if `test` had been called on each.

        A margin is a query minus its threshold rounded up.
        """
        self._open()
        if not margins.size:
            return None
        above = margins >= self._threshold_noise + self._query_noise.take_many(margins.size)
        first = int(above.argmax())
        if not above[first]:
            self.tests += margins.size
            self._query_noise.prepare(self._ahead)
            return None
        self.tests += first + 1
        self._halt()
        return first

    def _state(self) -> dict[str, Any]:
        """What a saved state keeps: both noises, so that none is ever drawn again."""
        return {
            "threshold_noise": self._threshold_noise,
            "query_noise": self._query_noise.state(),
            "halted": self.halted,
            "tests": self.tests,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._threshold_noise = int(state["threshold_noise"])
        self._query_noise.restore(state["query_noise"])
        self.halted = bool(state["halted"])
        self.tests = int(state["tests"])

    def _open(self) -> None:
        self._same_process()
        if self.halted:
            raise FinishedError("this AboveThreshold has halted; a new one costs a new epsilon")

    def _halt(self) -> None:
        self.halted = True
        self._threshold_noise = 0
        self._query_noise.clear()

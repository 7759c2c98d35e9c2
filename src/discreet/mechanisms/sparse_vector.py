"""The sparse vector: many tests of running totals for one epsilon, until the first that halts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import ArgumentError, FinishedError, StateError
from discreet.core.grid import Grid
from discreet.core.noise import Noise, scale_for
from discreet.core.plans import Arm, Measure, Plan, Query, ThresholdQuery, VectorsQuery
from discreet.core.releases import Kind, Release
from discreet.mechanisms._mechanism import Mechanism

_BLOCK = 256  # tests at a time: noise drawn for tests after the halting one is thrown away
_EXACT = 2.0**62  # 64-bit sums stay below this; beyond it, Python's integers are used
OF_ARMS = (Measure.SPREAD, Measure.LAG)
"""The measures of several arms."""


class SparseVector(Mechanism):
    """Answers whether a measure reaches a public limit until the first yes, and then may release each arm's total.

    The answer is yes if measure >= limit + B + A, where B is drawn once a series and A for each test. B is the only
    noise that is kept between releases. It is secret, and erased at the first yes.

    *Two-sided* (`DISTANCE`, `SPREAD`, `LAG`; measures of sensitivity d, which may move up at one test and down at
    another): both noises have scale 3d/epsilon, as in the paper. Private because moving B up by d and the halting
    test's A down by 2d turns a run on one input into the same run on its neighbour, at a price of
    exp(epsilon/3 + 2 epsilon/3).

    *One-sided* (`ONE_SIDED`; a changed reward moves all later sums by one and the same amount, and none before it): B
    is |X| and A is -|X'|, with X and X' of scale d/epsilon: a third of the noise, and folded up. Private because where
    the neighbour's sums are higher by d, B + d answers all tests as before; where they are lower, B stays and the
    halting test's |X'| grows by d. One of the two happens, never both, and either costs exp(d/scale).
    `docs/proofs/one-sided-nas.md` has the proof. It fails for |sum|, and for neighbours that lack a reward.

    The totals at the end cost `release_epsilon` more, as `NoisyTotals` does. Where it is None nothing is released but
    the answers, and a reward pays the tests' epsilon alone. Either way all that is secret is erased at the yes.

    *Copies.* If somebody goes on from m copies of one saved sparse vector, these share B. Every reward of the series
    then loses at most m epsilon, as if the copies were independent, also a reward that was told to one copy only.

    Args:
        query: The first query of the series.
        arms: All arms of the run.
        grid: The grid that rewards are rounded to.
        noise: The source of noise; None without a promise.
    """

    def __init__(self, query: Query, arms: tuple[Arm, ...], grid: Grid, noise: Noise | None) -> None:
        super().__init__(query, arms, grid, noise)
        assert isinstance(query, ThresholdQuery | VectorsQuery)
        self._one_sided = query.measure is Measure.ONE_SIDED
        factor = 1 if self._one_sided else 3
        self.scale = 0.0 if noise is None else scale_for(factor * self.width, query.epsilon)
        if query.release_epsilon is not None:
            self._check_scale(self.width, query.release_epsilon)
        self._sums: dict[Arm, int] = {}  # exact, of each arm in the series
        self._count = 0  # rewards of each arm in the sums
        self._tests = 0
        self._halted = False
        self._threshold_noise: int | None = None  # B, drawn at the first test

    def answer(self, plan: Plan, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]) -> tuple[Release, ...]:
        """Answer tests, and at the one that halts release what the query asks for.

        Args:
            plan: A plan of this series.
            totals: Each planned arm's exact statistic.
            taken: The number of rewards of each arm before this plan.
        """
        query, before = plan.query, self._count
        assert isinstance(query, ThresholdQuery)
        self._check_arms(plan, totals)
        if self._halted:
            raise FinishedError("this sparse vector has halted; a new series costs a new epsilon")
        self._check_plan(plan, query)
        many = len(query.counts) > 1
        increments = self._check_increments(plan, query, totals) if many else None
        exact = {} if many else {arm: self._check_one(arm, totals[arm], count) for arm, count in plan.pulls.items()}
        if self._threshold_noise is None:
            (drawn,) = self._test_noise(1).tolist()
            self._threshold_noise = abs(drawn) if self._one_sided else drawn
        if increments is not None:
            self._test_many(query, next(iter(plan.pulls)), increments)
        else:
            self._test_once(query, exact)
        spans = tuple([(arm, taken[arm] - before + 1, taken[arm] - before + self._count) for arm in self._sums])
        tests = Release(
            plan.epoch, Kind.TESTS, spans, None, self.scale, query.epsilon, self.simulated, self._tests, self._halted
        )
        return (tests, *self._finish(plan.epoch, query, spans)) if self._halted else (tests,)

    # ------------------------------------------------------------------ checks

    def _check_plan(self, plan: Plan, query: ThresholdQuery) -> None:
        """Refuse a plan that does not go on where the series is, or whose arms do not fit the measure."""
        counts = set(plan.pulls.values())
        if counts != {query.counts[-1] - self._count} or (self._sums and self._sums.keys() != plan.pulls.keys()):
            raise StateError("the plan does not go on where the sparse vector is")
        if query.measure not in OF_ARMS and len(plan.pulls) != 1:
            raise ArgumentError(f"the measure {query.measure!r} is of one arm, got a plan of {len(plan.pulls)}")
        if len(query.limits) != len(query.counts):
            raise ArgumentError(f"a test has one limit, got {len(query.limits)} for {len(query.counts)} tests")

    def _check_one(self, arm: Arm, total: Any, count: int) -> int:
        """Return the total of one arm before the plan's only test, given as an integer or as an array of one."""
        if isinstance(total, np.ndarray):
            if total.shape != (1,) or total.dtype.kind not in "iu":
                raise ArgumentError(f"arm {arm!r} needs one total, as an integer or an array of one")
            total = int(total[0])
        return self._check_total(arm, total, count * self.width)

    def _check_increments(self, plan: Plan, query: ThresholdQuery, totals: Mapping[Arm, Any]) -> NDArray[Any]:
        """Return the totals of one arm between tests as an array."""
        if query.measure in OF_ARMS:
            raise ArgumentError(f"the {query.measure} of arms is tested once a plan")
        ((arm, given),) = totals.items()
        increments, counts = np.asarray(given), query.counts
        if increments.shape != (len(counts),) or increments.dtype.kind not in "iu":
            raise ArgumentError(f"arm {arm!r} needs {len(counts)} totals between tests, as an array of integers")
        increments = increments.astype(np.int64)
        if isinstance(counts, range) and counts.start - counts.step == self._count:
            gaps: Any = counts.step
        else:
            gaps = np.diff(_as_array(counts), prepend=self._count)
        if increments.min() < 0 or (increments - gaps * self.width).max() > 0:
            raise ArgumentError(f"a total of arm {arm!r} between tests is not one of rewards on the grid")
        return increments

    # ------------------------------------------------------------------ tests

    def _test_once(self, query: ThresholdQuery, exact: dict[Arm, int]) -> None:
        for arm, total in exact.items():
            self._sums[arm] = self._sums.get(arm, 0) + total
        self._count = query.counts[0]
        self._tests += 1
        margin = self._measured(query.measure) - int(query.limits[0])
        self._halted = bool(self.is_above(margin, self._threshold_noise, int(self._test_noise(1)[0])))

    def _measured(self, measure: Measure) -> int:
        if measure in OF_ARMS:
            return measure_of_arms(measure, list(self._sums.values()))
        (total,) = self._sums.values()
        total += self._count * self.grid.floor
        return total if self._one_sided else abs(total)

    def _test_many(self, query: ThresholdQuery, arm: Arm, increments: NDArray[Any]) -> None:
        """Answer many tests of one arm, whose totals between tests come as an array."""
        floor, counts = self.grid.floor, query.counts
        limits = np.asarray(query.limits)
        large = float(counts[-1]) * (abs(floor) + self.width) >= _EXACT or not _fits(limits)
        if large:
            limits = np.array([int(limit) for limit in limits], dtype=object)
        sums = (increments.astype(object) if large else increments).cumsum() + self._sums.get(arm, 0)
        measured = sums + _as_array(counts).astype(sums.dtype) * floor if floor else sums
        margins = (measured if self._one_sided else np.abs(measured)) - limits
        size = margins.size if self.noise is None else _BLOCK
        for start in range(0, margins.size, size):
            block = margins[start : start + size]
            noises = self._test_noise(block.size)
            above = np.asarray(self.is_above(block, self._threshold_noise, noises), dtype=bool)
            first = int(above.argmax())
            self._halted = bool(above[first])
            last = start + (first if self._halted else block.size - 1)
            if self._halted:
                break
        self._tests += last + 1
        self._sums[arm], self._count = int(sums[last]), query.counts[last]

    def is_above(self, margin: Any, threshold_noise: Any, test_noise: Any) -> Any:
        """Return whether measure - limit >= B + A, for one test or for an array of them.

        Args:
            margin: The measure minus the limit.
            threshold_noise: B.
            test_noise: A, of each test.
        """
        return margin >= threshold_noise + test_noise

    def _test_noise(self, count: int) -> NDArray[np.int64]:
        """Return fresh noise for `count` tests."""
        if self.noise is None:
            return np.zeros(count, np.int64)
        drawn = np.array(self.noise.draws(self.scale, count), dtype=np.int64)
        return -np.abs(drawn) if self._one_sided else drawn

    def _finish(self, epoch: int, query: ThresholdQuery, spans: tuple[Any, ...]) -> list[Release]:
        """Erase what is secret, and return each arm's noisy total if the query pays for it."""
        sums, epsilon = self._sums, query.release_epsilon
        self._sums, self._threshold_noise = {}, None
        if epsilon is None:
            return []
        noises, scale = self._draw(self.width, epsilon, len(sums))
        noisy = [total + noise for total, noise in zip(sums.values(), noises, strict=True)]
        return [
            Release(epoch, Kind.TOTAL, (span,), steps, scale, epsilon, self.simulated)
            for span, steps in zip(spans, noisy, strict=True)
        ]

    # ------------------------------------------------------------------ saving

    def state(self) -> dict[str, Any]:
        """Return the exact sums and the threshold's noise."""
        if self._threshold_noise is None:
            return {}
        return {
            "sums": [[arm, total] for arm, total in self._sums.items()],
            "count": self._count,
            "tests": self._tests,
            "threshold_noise": self._threshold_noise,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._sums = {arm: int(total) for arm, total in state["sums"]}
        self._count, self._tests = int(state["count"]), int(state["tests"])
        self._threshold_noise = int(state["threshold_noise"])


def measure_of_arms(measure: Measure, totals: list[int]) -> int:
    """Return the spread of totals, or the lag of the first one.

    One changed reward moves either by at most the width: all totals but one stay, and where the largest moves along
    with the one that is taken off, it moves the same way.

    Args:
        measure: `SPREAD` or `LAG`.
        totals: The exact total of each arm.
    """
    return max(totals) - (min(totals) if measure is Measure.SPREAD else totals[0])


def _fits(limits: NDArray[Any]) -> bool:
    """Return True if a 64-bit sum minus any of the limits is a 64-bit integer: a margin must not wrap around."""
    return limits.dtype == np.int64 and -int(_EXACT) <= limits.min() and limits.max() <= int(_EXACT)


def _as_array(counts: range | tuple[int, ...]) -> NDArray[np.int64]:
    """Return counts as an array; numpy alone would read a range number by number."""
    return np.arange(counts.start, counts.stop, counts.step) if isinstance(counts, range) else np.array(counts)

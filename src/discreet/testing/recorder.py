"""Recorded releases, handed out again on changed totals, and what the change costs.

A sparse vector shows that tests 1, ..., k - 1 said no, and that test k said yes. Let d_i be the move of the measure of
test i, and b the scale of both noises. All answers stay if the threshold's noise B moves up by s, where s >= d_i for
all i < k, and the halting test's noise A by d_k - s. The cost is (|s| + |d_k - s|)/b for the cheapest s; without a yes
it is |s|/b. Of a one-sided vector B is never negative and A never positive, so that s >= 0 and s >= d_k too. Where
several vectors share rewards, each costs this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import DiscreetError
from discreet.core.grid import Grid
from discreet.core.noise import Integers, Noise, checked_noise
from discreet.core.plans import Measure, Plan, ThresholdQuery, Vector, VectorsQuery
from discreet.core.privacy import Privacy
from discreet.core.releases import Release
from discreet.mechanisms.curator import Curator

_FAR = 2**60  # grid steps: noise that decides a test whatever is measured


def comparable(plan: Plan | None) -> object:
    """Return a plan as a value that also differs in the order of its arms."""
    return plan and (plan.epoch, tuple(plan.pulls.items()), plan.query, plan.statistic)


class Diverged(DiscreetError):
    """A run on changed rewards does not ask for the releases that were recorded."""


class _Answers(NamedTuple):
    """The tests of a plan that were answered, in order: of which vector, what was measured, and whether it said yes."""

    vectors: list[Any]
    measured: NDArray[np.int64]
    said: list[bool]
    began: int  # vectors whose first test is among them


_NONE = _Answers([], np.zeros(0, np.int64), [], 0)


class _Entry(NamedTuple):
    """A question to a curator, and its answer."""

    asked: Any
    releases: tuple[Release, ...]
    draws: list[tuple[float, Integers]]
    tests: _Answers


class Recorder:
    """Records the releases of all curators of the process, and has them handed out again on changed rewards.

    It is for whatever makes curators: drivers, the simulator, a service in this process. A run is done within
    `recording`, and then as often as you like within `replaying`.

    >>> from discreet.core.plans import TotalsQuery
    >>> from discreet.core.privacy import Unit
    >>> def run(total):
    ...     curator = Curator(Grid(0.0, 1.0), Privacy(0.5, Unit.REWARD, "an example"), taken={"A": 0})
    ...     return curator.release(Plan(1, {"A": 10}, TotalsQuery((0.5,))), {"A": total})
    >>> recorder = Recorder()
    >>> with recorder.recording():
    ...     released = run(3 * 2**20)
    >>> with recorder.replaying() as replay:
    ...     again = run(4 * 2**20)
    >>> again == released, replay.loss
    (True, 0.5)
    """

    def __init__(self) -> None:
        self.entries: list[_Entry] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what curators release."""
        with _tapped(_Recording(self.entries)):
            yield

    @contextmanager
    def replaying(self) -> Iterator[Replay]:
        """Hand out the recorded releases, whatever the totals are, and measure what the totals' change costs."""
        replay = Replay(self.entries)
        with _tapped(replay):
            yield replay


@contextmanager
def _tapped(tap: _Recording | Replay) -> Iterator[None]:
    """Put a tap into all curators that are made meanwhile."""
    begin, release = Curator.__init__, Curator.release

    def tapped_begin(self: Curator, grid: Grid, privacy: Privacy, noise: Noise | None = None, **rest: Any) -> None:
        source = checked_noise(noise)
        tapped: Any = SimpleNamespace(simulated=source.simulated, draws=partial(tap.draws, source))
        begin(self, grid, privacy, tapped, **rest)

    def tapped_release(self: Curator, plan: Plan, totals: Any = None) -> tuple[Release, ...]:
        return tap.release(self.grid, plan, totals, lambda: release(self, plan, totals))

    with patch.object(Curator, "__init__", tapped_begin), patch.object(Curator, "release", tapped_release):
        yield


class _Tests:
    """The measures of sparse vectors, computed apart from them."""

    def __init__(self) -> None:
        self.series: Any = None
        self._sums: NDArray[np.int64] = np.zeros(0, np.int64)
        self._by_arm: dict[Any, int] = {}  # sums of vectors that share rewards
        self._begun: set[Any] = set()
        self._answered = 0

    def measure(self, grid: Grid, plan: Plan, totals: Any, releases: Sequence[Release]) -> _Answers:
        """Return what each test of a plan has measured, up to the last one that was answered."""
        query = plan.query
        if isinstance(query, VectorsQuery):
            return self._measure_shared(query, totals, releases)
        if not isinstance(query, ThresholdQuery):
            return _NONE
        new = self.series != (plan.epoch, query.series)
        if self.series != (plan.epoch, query.series):
            self.series, self._answered = (plan.epoch, query.series), 0
            self._sums = np.zeros((len(plan.pulls), 1), np.int64)
        count = releases[0].tests - self._answered
        self._answered += count
        rows = [np.cumsum(np.atleast_1d(np.asarray(totals[arm], dtype=np.int64))) for arm in plan.pulls]
        sums = (self._sums + np.array(rows))[:, :count]
        self._sums = sums[:, -1:]
        measured: NDArray[np.int64] = sums[0] + np.asarray(query.counts, dtype=np.int64)[:count] * grid.floor
        if query.measure in (Measure.SPREAD, Measure.LAG):
            measured = sums.max(axis=0) - (sums.min(axis=0) if query.measure is Measure.SPREAD else sums[0])
        if query.measure is Measure.DISTANCE:
            measured = np.abs(measured)
        return _Answers([None] * count, measured, [False] * (count - 1) + [releases[0].above], int(new))

    def _measure_shared(self, query: VectorsQuery, totals: Any, releases: Sequence[Release]) -> _Answers:
        """Return what one test of each vector has measured."""
        if self.series != (None, query.series):
            self.series, self._by_arm, self._begun = (None, query.series), {}, set()
        for arm, total in totals.items():
            self._by_arm[arm] = self._by_arm.get(arm, 0) + int(total)
        rows = [[self._by_arm[arm] for arm in vector.arms] for vector in query.vectors]
        lag = query.measure is Measure.LAG
        measured = np.array([max(row) - (row[0] if lag else min(row)) for row in rows], np.int64)
        names, halted = [vector.name for vector in query.vectors], Vector.halted(query.vectors, releases[1:])
        began = set(names) - self._begun
        self._begun |= began
        return _Answers(names, measured, [vector in halted for vector in query.vectors], len(began))


class _Recording:
    """Writes down what curators are asked, draw and answer."""

    def __init__(self, entries: list[_Entry]) -> None:
        self._entries, self._tests = entries, _Tests()
        self._drawn: list[tuple[float, Integers]] = []

    def draws(self, source: Noise, scale: float, count: int) -> Integers:
        drawn = source.draws(scale, count)
        self._drawn.append((scale, drawn.copy()))
        return drawn

    def release(
        self, grid: Grid, plan: Plan, totals: Any, answer: Callable[[], tuple[Release, ...]]
    ) -> tuple[Release, ...]:
        self._drawn = []
        releases = answer()
        tests = self._tests.measure(grid, plan, totals, releases)
        self._entries.append(_Entry(comparable(plan), releases, self._drawn, tests))
        return releases


class Replay:
    """Hands out recorded releases, and adds up what changed totals would have cost.

    The curator itself answers too, with the recorded noise, so that a changed answer is the change of its exact
    statistic. Tests get noise that makes them answer as recorded.

    Args:
        entries: What was recorded.
    """

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._entries, self._tests = entries, _Tests()
        self._draws: list[tuple[float, Integers]] = []
        self._losses: list[float] = []
        self._raised: dict[Any, tuple[float, float]] = {}  # of open sparse vectors: the largest move, and the scale
        self.position = 0
        """The number of recorded answers that were handed out."""
        self.moved = 0
        """The number of released statistics that were moved."""

    @property
    def loss(self) -> float:
        """The cost of the change in all releases together."""
        return math.fsum((*self._losses, self._cost_without_yes()))

    @property
    def complete(self) -> bool:
        """True if all that was recorded was asked for again."""
        return self.position == len(self._entries)

    def draws(self, source: Noise, scale: float, count: int) -> Integers:
        """Return recorded noise.

        Args:
            source: The curator's own source, which is not used.
            scale: The scale that the curator asks for.
            count: The number of draws.

        Raises:
            Diverged: Other noise was drawn when the run was recorded.
        """
        recorded, values = self._draws.pop(0) if self._draws else (0.0, np.zeros(0, np.int64))
        if (recorded, values.size) != (scale, count):
            raise Diverged(f"{count} noises of scale {scale!r} are drawn, where {values.size} of {recorded!r} were")
        return values

    def release(
        self, grid: Grid, plan: Plan, totals: Any, answer: Callable[[], tuple[Release, ...]]
    ) -> tuple[Release, ...]:
        """Return the recorded releases of a plan.

        Args:
            grid: The curator's grid.
            plan: The plan that is closed.
            totals: Its exact totals.
            answer: Has the curator answer.

        Raises:
            Diverged: Another plan was closed when the run was recorded, or other rewards were released.
        """
        if self.complete:
            raise Diverged(f"epoch {plan.epoch} is closed, where the recorded run had ended")
        entry = self._entries[self.position]
        if comparable(plan) != entry.asked:
            raise Diverged(f"the plan {comparable(plan)!r} is closed, where {entry.asked!r} was")
        self.position += 1
        before = self._tests.series
        tests = self._tests.measure(grid, plan, totals, entry.releases)
        if self._tests.series != before or not tests.vectors:
            self._losses.append(self._cost_without_yes())
            self._raised = {}
        self._draws = _deciding(entry) if tests.vectors else list(entry.draws)
        self._compare(entry, answer())
        if tests.vectors:
            one_sided = plan.query.measure is Measure.ONE_SIDED  # type: ignore[union-attr]
            self._charge_tests(entry, tests.measured - entry.tests.measured, one_sided)
        return entry.releases

    def _compare(self, entry: _Entry, answered: Sequence[Release]) -> None:
        """Charge the changes of released numbers."""
        scales = {scale for scale, _ in entry.draws}
        for recorded, changed in zip_longest(entry.releases, answered):
            if recorded is None or changed is None or _said(changed) != _said(recorded):
                raise Diverged(f"{changed} is released, where {recorded} was")
            if recorded.steps is None or changed.steps == recorded.steps:
                continue
            self.moved += 1
            scale = recorded.scale if recorded.scale in scales else 0.0  # else no such noise was drawn
            self._losses.append(_loss(abs(changed.steps - recorded.steps), scale))

    def _charge_tests(self, entry: _Entry, moves: NDArray[np.int64], one_sided: bool) -> None:
        """Charge the moves of sparse vectors' measures."""
        scale = entry.releases[0].scale
        for vector, move, said in zip(entry.tests.vectors, moves.tolist(), entry.tests.said, strict=True):
            raised, _ = self._raised.pop(vector, (-math.inf, 0.0))
            if not said:
                self._raised[vector] = max(raised, move), scale
                continue
            shift = max(0.0, raised, move) if one_sided else max(raised, min(0.0, move))
            cost = abs(shift) + abs(move - shift)
            self.moved += cost > 0
            self._losses.append(_loss(cost, scale))

    def _cost_without_yes(self) -> float:
        """Return what the tests of sparse vectors have cost that have not halted."""
        return math.fsum(_loss(max(0.0, raised), scale) for raised, scale in self._raised.values())


def _deciding(entry: _Entry) -> list[tuple[float, Integers]]:
    """Return an entry's noises, with those of its tests such that they answer as recorded."""
    sizes = [values.size for _, values in entry.draws]
    noises = np.concatenate([values for _, values in entry.draws])
    start = entry.tests.began  # the noises of thresholds come before those of tests
    noises[:start] = _FAR
    noises[start : start + len(entry.tests.said)] = np.where(entry.tests.said, -2 * _FAR, 0)
    parts = np.split(noises, np.cumsum(sizes)[:-1])
    return [(scale, part) for (scale, _), part in zip(entry.draws, parts, strict=True)]


def _said(release: Release) -> tuple[object, ...]:
    """Return what a release says beside its number."""
    return release[:3] + release[4:]


def _loss(move: float, scale: float) -> float:
    """Return what it costs to move a noise of this scale; without noise no move can be paid for."""
    if not move:
        return 0.0
    return move / scale if scale else math.inf

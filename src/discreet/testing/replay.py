"""Replay: freeze the releases of a run, change what one unit of privacy has paid, and run again.

Whatever an algorithm, a driver or a service shows must follow from releases alone. So, with the same releases, every
plan, stop, receipt and decision has to be the same on a neighbouring input. And the noises that would have led to the
same releases must be hardly less likely there: with the released number s = x + N and noise N of a scale b, an exact
statistic that moves from x to x' costs |x' - x|/b. The costs of all releases add up to at most epsilon. Together this
is the proof of privacy, carried out on one run and one change, at full size and without chance.

A sparse vector shows that tests 1, ..., k - 1 said no, and that test k said yes. Let d_i be the move of the measure of
test i, and b the scale of both noises. All answers stay if the threshold's noise B moves up by s, where s >= d_i for
all i < k, and the halting test's noise A by d_k - s. The cost is (|s| + |d_k - s|)/b for the cheapest s; without a yes
it is |s|/b. Of a one-sided vector B is never negative and A never positive, so that s >= 0 and s >= d_k too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import DiscreetError, FinishedError, WaitingError
from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.noise import Integers, Noise, checked_noise
from discreet.core.plans import Arm, Measure, Plan, ThresholdQuery
from discreet.core.privacy import Privacy
from discreet.core.releases import Release
from discreet.core.statistics import Statistic
from discreet.drivers import Bandit, Stream, Totals
from discreet.mechanisms.curator import Curator

Rewards = Mapping[Arm, NDArray[np.float64]]
"""What each arm pays at each of its pulls. A stopping rule has one arm, None."""
Facts = Iterable[object]
"""All that a run has shown, in order."""

_FAR = 2**60  # grid steps: noise that decides a test whatever is measured
_ROUNDING = 1 + 1e-9  # epsilon/K, added up K times, may exceed epsilon by a rounding
_BATCH, _CHUNK = 100, 10_000  # tickets and samples at a time


class Change(NamedTuple):
    """Another reward.

    Attributes:
        arm: The arm that pays it; None for a sample of a stopping rule.
        pull: The index of the pull among those of the arm, from 0.
        reward: What it pays instead.
    """

    arm: Arm
    pull: int
    reward: float


class Diverged(DiscreetError):
    """A run on changed rewards does not ask for the releases that were recorded."""


@dataclass(frozen=True)
class ReplayReport:
    """The result of one replay.

    Args:
        epsilon: What is promised.
        loss: What the change has cost in all releases together.
        releases: The number of times that a curator was asked for releases.
        moved: The number of released statistics that the change has moved; a sparse vector counts once.
        differences: What was shown differently; empty if all was the same.
    """

    epsilon: float
    loss: float
    releases: int
    moved: int
    differences: tuple[str, ...]

    @property
    def private(self) -> bool:
        """True if nothing was shown differently, and the change has cost at most epsilon."""
        return not self.differences and self.loss <= self.epsilon * _ROUNDING

    def __str__(self) -> str:
        said = f"; {self.differences[0]}" if self.differences else ""
        verdict = "private" if self.private else "NOT PRIVATE"
        return f"{verdict}: {self.loss:.6g} of epsilon = {self.epsilon:g} in {self.moved} moved statistics{said}"


# ---------------------------------------------------------------------- recording curators


class _Entry(NamedTuple):
    """A question to a curator, and its answer."""

    asked: Any
    releases: tuple[Release, ...]
    draws: list[tuple[float, Integers]]
    measured: NDArray[np.int64]


class _Tap(Protocol):
    """The layer between curators, their callers and their noise."""

    def release(
        self, grid: Grid, plan: Plan, totals: Any, answer: Callable[[], tuple[Release, ...]]
    ) -> tuple[Release, ...]: ...

    def draws(self, source: Noise, scale: float, count: int) -> Integers: ...


class _TappedNoise:
    """The noise of a curator, drawn through a tap."""

    def __init__(self, source: Noise, tap: _Tap) -> None:
        self.simulated = source.simulated
        self._source, self._tap = source, tap

    def draws(self, scale: float, count: int) -> Integers:
        return self._tap.draws(self._source, scale, count)


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
def _tapped(tap: _Tap) -> Iterator[None]:
    """Put a tap into all curators that are made meanwhile."""
    begin, release = Curator.__init__, Curator.release

    def tapped_begin(self: Curator, grid: Grid, privacy: Privacy, noise: Noise | None = None, **rest: Any) -> None:
        begin(self, grid, privacy, _TappedNoise(checked_noise(noise), tap), **rest)

    def tapped_release(self: Curator, plan: Plan, totals: Any = None) -> tuple[Release, ...]:
        return tap.release(self.grid, plan, totals, lambda: release(self, plan, totals))

    methods: dict[str, Any] = {"__init__": begin, "release": release}
    tapped: dict[str, Any] = {"__init__": tapped_begin, "release": tapped_release}
    try:
        for name, method in tapped.items():
            setattr(Curator, name, method)
        yield
    finally:
        for name, method in methods.items():
            setattr(Curator, name, method)


class _Tests:
    """The measures of sparse vectors, computed apart from them."""

    def __init__(self) -> None:
        self.series: Any = None
        self._sums: NDArray[np.int64] = np.zeros(0, np.int64)
        self._answered = 0

    def measure(self, grid: Grid, plan: Plan, totals: Any, releases: Sequence[Release]) -> NDArray[np.int64]:
        """Return what each test of a plan has measured, up to the last one that was answered."""
        query = plan.query
        if not isinstance(query, ThresholdQuery):
            return np.zeros(0, np.int64)
        if self.series != (plan.epoch, query.series):
            self.series, self._answered = (plan.epoch, query.series), 0
            self._sums = np.zeros((len(plan.pulls), 1), np.int64)
        count = releases[0].tests - self._answered
        self._answered += count
        rows = [np.cumsum(np.atleast_1d(np.asarray(totals[arm], dtype=np.int64))) for arm in plan.pulls]
        sums = (self._sums + np.array(rows))[:, :count]
        self._sums = sums[:, -1:]
        measured: NDArray[np.int64] = sums[0] + np.asarray(query.counts, dtype=np.int64)[:count] * grid.floor
        if query.measure is Measure.SPREAD:
            measured = np.ptp(sums, axis=0)
        return np.abs(measured) if query.measure is Measure.DISTANCE else measured


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
        measured = self._tests.measure(grid, plan, totals, releases)
        self._entries.append(_Entry(comparable(plan), releases, self._drawn, measured))
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
        self._raised: tuple[float, float] | None = None  # of an open sparse vector: the largest move, and the scale
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
        measured = self._tests.measure(grid, plan, totals, entry.releases)
        new = self._tests.series != before
        if new or not measured.size:
            self._losses.append(self._cost_without_yes())
            self._raised = None
        self._draws = _deciding(entry, measured.size, first=new) if measured.size else list(entry.draws)
        self._compare(entry, answer())
        if measured.size:
            one_sided = plan.query.measure is Measure.ONE_SIDED  # type: ignore[union-attr]
            self._charge_tests(measured - entry.measured, entry.releases[0], one_sided)
        return entry.releases

    def _compare(self, entry: _Entry, answered: Sequence[Release]) -> None:
        """Charge the changes of released numbers."""
        scales = {scale for scale, _ in entry.draws}
        for recorded, changed in zip_longest(entry.releases, answered):
            if recorded is None or changed is None or changed._replace(steps=recorded.steps) != recorded:
                raise Diverged(f"{changed} is released, where {recorded} was")
            if recorded.steps is None or changed.steps == recorded.steps:
                continue
            self.moved += 1
            scale = recorded.scale if recorded.scale in scales else 0.0  # else no such noise was drawn
            self._losses.append(_loss(abs(changed.steps - recorded.steps), scale))

    def _charge_tests(self, moves: NDArray[np.int64], tests: Release, one_sided: bool) -> None:
        """Charge the moves of a sparse vector's measures."""
        noes = moves[:-1] if tests.above else moves
        raised = max([self._raised[0] if self._raised else -math.inf, *(float(move) for move in noes)])
        self._raised = raised, tests.scale
        if not tests.above:
            return
        last = float(moves[-1])
        shift = max(0.0, raised, last) if one_sided else max(raised, min(0.0, last))
        cost = abs(shift) + abs(last - shift)
        self.moved += cost > 0
        self._losses.append(_loss(cost, tests.scale))
        self._raised = None

    def _cost_without_yes(self) -> float:
        """Return what the tests of a sparse vector have cost that has not halted."""
        return 0.0 if self._raised is None else _loss(max(0.0, self._raised[0]), self._raised[1])


def _deciding(entry: _Entry, count: int, first: bool) -> list[tuple[float, Integers]]:
    """Return an entry's noises, with those of its tests such that they answer as recorded."""
    sizes = [values.size for _, values in entry.draws]
    noises = np.concatenate([values for _, values in entry.draws])
    start = int(first)  # the threshold's noise comes before the first test's
    noises[:start] = _FAR
    noises[start : start + count] = 0
    if entry.releases[0].above:
        noises[start + count - 1] = -2 * _FAR
    parts = np.split(noises, np.cumsum(sizes)[:-1])
    return [(scale, part) for (scale, _), part in zip(entry.draws, parts, strict=True)]


def _loss(move: float, scale: float) -> float:
    """Return what it costs to move a noise of this scale; without noise no move can be paid for."""
    if not move:
        return 0.0
    return move / scale if scale else math.inf


def comparable(plan: Plan | None) -> object:
    """Return a plan as a value that also differs in the order of its arms."""
    return plan and (plan.epoch, tuple(plan.pulls.items()), plan.query, plan.statistic)


# ---------------------------------------------------------------------- playing drivers


def by_totals(driver: Totals, rewards: Rewards) -> Facts:
    """Close epoch after epoch with exact totals, and yield all that is shown.

    Args:
        driver: The driver.
        rewards: What each arm pays at each of its pulls. The run ends when they do.
    """
    grid = driver.algorithm.grid
    taken = dict.fromkeys(rewards, 0)
    while (plan := driver.plan()) is not None:
        yield comparable(plan)
        paid = {arm: rewards[arm][taken[arm] : taken[arm] + count] for arm, count in plan.pulls.items()}
        for arm, count in plan.pulls.items():
            taken[arm] += count
        if any(paid[arm].size < count for arm, count in plan.pulls.items()):
            break
        exact = {arm: _statistic(plan, grid, values) for arm, values in paid.items()}
        yield driver.close(exact if plan.learns else None)
    yield from _standing(driver)


def _statistic(plan: Plan, grid: Grid, values: NDArray[np.float64]) -> Any:
    """Return the exact statistic of an arm's rewards."""
    if plan.statistic is Statistic.TOTAL:
        return grid.encode(float(values[0])) if values.size == 1 else grid.total(values)
    sums = plan.statistic.accumulator(grid.width)
    sums.add(grid.encode_checked(grid.check_array(values)))
    return sums.values


def by_stream(driver: Stream, rewards: Rewards) -> Facts:
    """Feed a stream, and yield all that is shown.

    Args:
        driver: The driver.
        rewards: The samples of the arm None.
    """
    (samples,) = rewards.values()
    for start in range(0, samples.size, _CHUNK):
        if driver.finished:
            break
        yield driver.feed(samples[start : start + _CHUNK]), driver.samples, str(driver.result)
    yield from _standing(driver)


def by_tickets(driver: Bandit, rewards: Rewards) -> Facts:
    """Ask and tell in batches, late and twice, and yield all that is shown but the tickets' random names.

    Args:
        driver: The driver, with a seed.
        rewards: What each arm pays at each of its pulls. The run ends when they do.
    """
    taken = dict.fromkeys(rewards, 0)
    while not driver.finished:
        try:
            tickets = driver.ask(_BATCH)
        except (FinishedError, WaitingError) as error:
            yield str(error)
            break
        yield [(ticket.arm, ticket.number, ticket.epoch) for ticket in tickets]
        paid = []
        for ticket in tickets:
            if taken[ticket.arm] == rewards[ticket.arm].size:
                yield from _standing(driver)
                return
            paid.append(float(rewards[ticket.arm][taken[ticket.arm]]))
            taken[ticket.arm] += 1
        yield driver.tell(tickets[-1], paid[-1]), driver.outstanding
        yield driver.tell(tickets, paid), driver.tell(tickets[0], paid[0]), driver.outstanding, driver.pulls
        yield driver.best_arm, len(driver.open_tickets), repr(driver)
    yield from _standing(driver)


def _standing(driver: Any) -> Facts:
    """Yield what a driver shows at the end."""
    algorithm = driver.algorithm
    yield comparable(algorithm.plan())
    yield algorithm.snapshot()
    yield list(driver.ledger)
    yield driver.finished, driver.privacy, repr(driver)


_PLAYS: dict[type[Any], Callable[[Any, Rewards], Facts]] = {Totals: by_totals, Stream: by_stream, Bandit: by_tickets}


class Recording:
    """A recorded run, to be replayed on changed rewards.

    Args:
        make_driver: Makes the driver. Whatever is random besides noise must come from one seed.
        rewards: What each arm pays at each of its pulls; a stopping rule's samples are those of the arm None.
        play: Runs the driver on rewards, and yields all that it shows; by default by the kind of the driver.
    """

    def __init__(
        self,
        make_driver: Callable[[], Any],
        rewards: Mapping[Arm, Any],
        play: Callable[[Any, Rewards], Facts] | None = None,
    ) -> None:
        self._make, self._play = make_driver, play
        self._rewards = {arm: np.asarray(paid, dtype=np.float64) for arm, paid in rewards.items()}
        self._recorder = Recorder()
        with self._recorder.recording():
            driver, facts = self._start(self._rewards)
            self._facts = list(facts)
        self.privacy: Privacy = driver.privacy
        """What the driver promises."""
        self.ledger: Ledger = driver.ledger
        """What was released."""

    def _start(self, rewards: Rewards) -> tuple[Any, Facts]:
        driver = self._make()
        return driver, (self._play or _PLAYS[type(driver)])(driver, rewards)

    def replay(self, changes: Iterable[Change]) -> ReplayReport:
        """Run again on changed rewards, with the same releases.

        Args:
            changes: The rewards of one unit of privacy: one reward; one of each arm for a row; for a person, at most
                one in each epoch.
        """
        rewards = {arm: paid.copy() for arm, paid in self._rewards.items()}
        for arm, pull, reward in changes:
            rewards[arm][pull] = reward
        differences = []
        with self._recorder.replaying() as replay:
            try:
                for fact, (recorded, shown) in enumerate(zip_longest(self._facts, self._start(rewards)[1])):
                    if shown != recorded:
                        differences.append(f"fact {fact}: {_short(shown)} is shown, where {_short(recorded)} was")
                        break
            except Diverged as error:
                differences.append(str(error))
        if not differences and not replay.complete:
            differences.append(f"the run ended after {replay.position} of {len(self._recorder.entries)} answers")
        return ReplayReport(self.privacy.epsilon, replay.loss, replay.position, replay.moved, tuple(differences))


def replay_check(
    make_driver: Callable[[], Any],
    rewards: Mapping[Arm, Any],
    changes: Iterable[Change],
    play: Callable[[Any, Rewards], Facts] | None = None,
) -> ReplayReport:
    """Record a run, replay it on changed rewards, and say whether it is private. See `Recording` for many changes.

    Args:
        make_driver: Makes the driver. Whatever is random besides noise must come from one seed.
        rewards: What each arm pays at each of its pulls; a stopping rule's samples are those of the arm None.
        changes: The rewards of one unit of privacy.
        play: Runs the driver on rewards, and yields all that it shows; by default by the kind of the driver.

    >>> import discreet
    >>> rule = discreet.DPExponentialNAS(epsilon=1.0, alpha=0.5, beta=0.1, low=0, high=1)
    >>> samples = {None: np.full(1000, 0.75)}
    >>> report = replay_check(lambda: discreet.Stream(rule, discreet.SimulatedNoise(1)), samples, [Change(None, 3, 0)])
    >>> report.private, report.loss <= 1.0
    (True, True)
    """
    return Recording(make_driver, rewards, play).replay(changes)


def _short(fact: object) -> str:
    text = repr(fact)
    return text if len(text) <= 200 else f"{text[:200]}..."

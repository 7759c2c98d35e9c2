"""Replay: freeze the releases of a run, change what one unit of privacy has paid, and run again.

Whatever an algorithm, a driver or a service shows must follow from releases alone. So, with the same releases, every
plan, stop, receipt and decision has to be the same on a neighbouring input. And the noises that would have led to the
same releases must be hardly less likely there: with the released number s = x + N and noise N of a scale b, an exact
statistic that moves from x to x' costs |x' - x|/b. The costs of all releases add up to at most epsilon. Together this
is the proof of privacy, carried out on one run and one change, at full size and without chance.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import counted
from discreet.core.errors import FinishedError, WaitingError
from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.plans import Arm, Plan
from discreet.core.privacy import Privacy
from discreet.core.statistics import Statistic
from discreet.drivers import Bandit, Stream, Totals
from discreet.testing.recorder import Diverged, Recorder, comparable

Rewards = Mapping[Arm, NDArray[np.float64]]
"""What each arm pays at each of its pulls. A stopping rule has one arm, None."""
Facts = Iterable[object]
"""All that a run has shown, in order."""
_BATCH, _CHUNK = 100, 10_000  # tickets and samples at a time
_ROUNDING = 1 + 1e-9  # epsilon/K, added up K times, may exceed epsilon by a rounding


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
        return driver, (self._play or PLAYS[type(driver)])(driver, rewards)

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


# ---------------------------------------------------------------------- runs of drivers, and all that they show


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
        yield driver.close_steps(exact if plan.learns else None)
    yield from _standing(driver)


def _statistic(plan: Plan, grid: Grid, values: NDArray[np.float64]) -> Any:
    """Return the exact statistic of an arm's rewards."""
    if plan.statistic is Statistic.TOTAL:
        return grid.encode(float(values[0])) if values.size == 1 else grid.total(values)
    sums = plan.statistic.accumulator(grid.width)
    sums.add(counted(plan.statistic, grid.encode_checked(grid.check_array(values)), grid.width))
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


PLAYS: dict[type[Any], Callable[[Any, Rewards], Facts]] = {Totals: by_totals, Stream: by_stream, Bandit: by_tickets}
"""How each driver is run."""

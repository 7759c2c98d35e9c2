"""A random walk through saves, loads, copies, crashes and full disks, with noise whose every draw carries a label.

Rewards are 0 or 1, so exact sums are multiples of 2^20 grid steps. A labelled draw is such a multiple plus its label, a
number that no other draw has. So the label of the noise in any number, released or saved, is its remainder. Where
samples become coins, which have one grid step, noises count 2^20 for a step, and tests are made in that unit. After
each step the walk checks:

1. No draw masks two releases that anybody can see, and none is used in two tests. The noise of a sparse vector's
   threshold stays within copies of one series.
2. What a driver shows is in its file; a driver that was refused by its disk is as it was before.
3. In every file and every driver, nobody has paid more than epsilon.
4. A file has no noise but that of an open threshold, and nothing secret when its algorithm has finished.
"""

import gc
import itertools
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import numpy as np

from discreet.core.errors import ArgumentError, DiscreetError, FinishedError, PrivacyError, StateError, WaitingError
from discreet.core.ledger import Ledger, spent, spent_by_person
from discreet.core.noise import Integers, Noise
from discreet.core.plans import Arm, Plan
from discreet.core.privacy import Privacy, Unit
from discreet.core.releases import Kind, Release
from discreet.core.statistics import Statistic
from discreet.drivers.ask_tell import Bandit
from discreet.drivers.files import StateFile
from discreet.drivers.stream import Stream
from discreet.drivers.totals import Totals
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.testing.faulty_disk import Crash, Fault, FaultyDisk

STEP = 2**20
_FIRST, _LAST = 2**18, 2**19  # of labels: counts are smaller, and the remainder of -x is told from no other label's
_MANY = 10**6
_STEPS = {"fill": 12, "save": 1, "save_elsewhere": 1, "load": 2, "copy": 1, "detach": 0.3, "begin": 0.2}
_WRITING = ("fill", "save", "save_elsewhere", "detach")
_ROUNDING = 1 + 1e-12


class Violation(AssertionError):
    """The walk has found something that must never be."""


@dataclass
class Report:
    """The counts of a walk, all of whose checks held. Reports can be added up.

    Args:
        steps: Steps of the walk.
        saves: Saves, and saves elsewhere.
        loads: Files that were loaded.
        copies: Pairs of files that were copied.
        crashes: Crashes of a process in the middle of a write.
        refusals: Writes that were refused by a full disk, or interrupted.
        releases: Noisy numbers that somebody can see.
        tests: Draws that were used in tests.
        thresholds: Thresholds' noises that were used.
        shared_thresholds: Those of them that copies had in common.
    """

    steps: int = 0
    saves: int = 0
    loads: int = 0
    copies: int = 0
    crashes: int = 0
    refusals: int = 0
    releases: int = 0
    tests: int = 0
    thresholds: int = 0
    shared_thresholds: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def walk(make_driver: Callable[[Noise], Any], seed: int, steps: int = 60) -> Report:
    """Take a random walk, and check after each step that nothing was released that must not be.

    Args:
        make_driver: Returns a new `Bandit`, `Stream` or `Totals` with the given source of noise. Its rewards lie in
            [0, 1].
        seed: The seed of the walk.
        steps: The number of steps.

    Returns:
        What has happened on the way.

    Raises:
        ArgumentError: Rewards lie in another range.
        Violation: A check has failed.

    >>> import discreet
    >>> policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=4.0, horizon=20_000, beta=0.5)
    >>> walk(lambda noise: discreet.Totals(policy, noise), seed=1, steps=20).steps
    20
    """
    with tempfile.TemporaryDirectory() as folder:
        found = _Walk(make_driver, seed, Path(folder))
        if (found.width, found.first.algorithm.grid.high) not in ((STEP, 1.0), (1, 1.0)):
            raise ArgumentError(f"the walk needs rewards in [0, 1], got {found.first.algorithm.grid!r}")
        return found.run(steps)


# ---------------------------------------------------------------------- noise with labels


class LabelledNoise:
    """Laplace noise on multiples of 2^20, plus a label that no other draw has. It passes for private noise.

    Args:
        seed: The seed of the draws.
        unit: What a grid step counts: 2^20 where rewards have one step only.
    """

    simulated = False

    def __init__(self, seed: int, unit: int = 1) -> None:
        self._rng, self._next, self._unit = np.random.default_rng(seed), _FIRST, unit

    def uniforms(self, count: int) -> Any:
        """Return random numbers in [0, 1).

        Args:
            count: The number of draws.
        """
        return self._rng.random(count)

    def draws(self, scale: float, count: int) -> Integers:
        """Return labelled draws.

        Args:
            scale: The scale, in grid steps.
            count: The number of draws.
        """
        labels = np.arange(self._next, self._next + count)
        self._next += count
        if self._next > _LAST:
            raise ArgumentError(f"a walk has at most {_LAST - _FIRST} draws: make it shorter")
        return np.rint(self._rng.laplace(0, scale * self._unit, count) / STEP).astype(np.int64) * STEP + labels


def label_of(number: int) -> int | None:
    """Return the label of the noise in a number; None if there is none. A number and its negative have the same one."""
    rest = min(number % STEP, -number % STEP)
    return rest if _FIRST <= rest < _LAST else None


# ---------------------------------------------------------------------- the walk


@dataclass
class _Living:
    """A driver that is being used.

    Args:
        driver: The driver; None when its process has ended.
        origin: The number of the run that it belongs to: copies of a run have the same one.
        path: Its file.
        behind: True if a write has failed at its last step, so that the file may have what nobody was shown.
    """

    driver: Any
    origin: int
    path: Path | None = None
    behind: bool = False


@dataclass
class _Uses:
    """The labels of noises, and what they were used for.

    Args:
        masks: The release of each label, with its origin.
        tests: Labels of noises of tests.
        thresholds: The series of each threshold's label: its origin and its first rewards.
        answers: The tests that were answered with each threshold.
        shared: Labels of thresholds with which copies have answered the same test.
        now: Labels of thresholds that were used in this step.
    """

    masks: dict[int, tuple[int, Release]] = field(default_factory=dict)
    tests: set[int] = field(default_factory=set)
    thresholds: dict[int, tuple[int, Any]] = field(default_factory=dict)
    answers: set[tuple[int, int]] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    now: set[int] = field(default_factory=set)


class _Walk:
    """Some files, at most two living drivers, and one step after another."""

    def __init__(self, make_driver: Callable[[Noise], Any], seed: int, folder: Path) -> None:
        self.make = make_driver
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.first = make_driver(LabelledNoise(seed))  # shows what others are like, and does nothing
        self.width = self.first.algorithm.grid.width
        self.unit = STEP // self.width
        self.noise = LabelledNoise(seed, self.unit)
        self.arms, self.spread = list(self.first.algorithm.taken), self.random.choice([0.1, 0.9])
        self.folder, self.disk = folder, FaultyDisk(folder)
        self.files: dict[Path, int] = {}
        self.living: list[_Living] = []
        self.uses = _Uses()
        self.report = Report()
        self.numbers = itertools.count()

    def run(self, steps: int) -> Report:
        with patch.object(StateFile, "disk", self.disk), self._watch_tests(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a file could not be put back is known
            for _ in range(steps):
                self.report.steps += 1
                if not self.living:
                    self.begin()
                name = self.random.choices(list(_STEPS), list(_STEPS.values()))[0]
                if name in _WRITING and self.random.random() < 0.5:
                    place, when = self.random.randrange(8), self.random.choice(["before", "in", "after"])
                    error = self.random.choices([OSError, Crash, KeyboardInterrupt], [3, 3, 1])[0]
                    self.disk.fault = Fault(place, when, error)
                getattr(self, name)()
                self.disk.recover()
            self.living.clear()
            for path in self.files:
                self._check_file(path)
        self.report.releases, self.report.tests = len(self.uses.masks), len(self.uses.tests)
        self.report.thresholds, self.report.shared_thresholds = len(self.uses.thresholds), len(self.uses.shared)
        return self.report

    # ------------------------------------------------------------------ steps

    def begin(self) -> None:
        if len(self.living) < 2:
            self.living.append(_Living(self.make(self.noise), next(self.numbers)))

    def fill(self) -> None:
        one = self.random.choice(self.living)
        if one.driver.algorithm.plan() is None:
            self._end(one)
        elif isinstance(one.driver, Bandit):
            self._attempt(one, lambda: self._ask(one.driver))
            if one.driver is not None:
                self._attempt(one, lambda: self._tell(one.driver))
        elif isinstance(one.driver, Stream):
            count = self.random.choice([1, 1, 2, 5, 30, 300])
            samples = self._rewards(None, count)
            self._attempt(one, lambda: one.driver.feed(samples if count > 1 else samples[0]))
        else:
            totals = self._totals(one.driver)
            self._attempt(one, lambda: one.driver.close_steps(totals))

    def _ask(self, bandit: Bandit) -> None:
        many = _MANY
        if bandit.waiting == "serve":  # it would hand out all of them: as many as there are to learn from, and a few
            plan = bandit.policy.plan()
            many = 20 + (plan.size if plan is not None else 0)
        with suppress(WaitingError, FinishedError):
            bandit.ask(self.random.choice([3, many, many, many]))

    def _tell(self, bandit: Bandit) -> None:
        tickets = bandit.open_tickets
        count = self.random.choice([len(tickets)] * 3 + [max(0, len(tickets) - 1), min(3, len(tickets))])
        tickets = self.random.sample(tickets, count)
        bandit.tell(tickets, [self._rewards(ticket.arm, 1)[0] for ticket in tickets])

    def _totals(self, driver: Totals) -> dict[Arm, Any] | None:
        plan = driver.plan()
        if plan is None or plan.query is None:
            return None
        return {arm: self._statistic(plan, arm, count) for arm, count in plan.pulls.items()}

    def _statistic(self, plan: Plan, arm: Arm, count: int) -> Any:
        if plan.statistic is Statistic.TOTAL and not plan.many_tests:  # epochs may be very long
            return int(self.rng.binomial(count, self._chance(arm))) * self.width
        steps = (self._rewards(arm, count) * self.width).astype(np.int64)
        sums = plan.statistic.accumulator(self.width)
        sums.add(steps)
        return plan.between_tests(steps) if plan.many_tests else sums.values

    def _rewards(self, arm: Arm, count: int) -> Any:
        """Return rewards of 0 and 1."""
        return (self.rng.random(count) < self._chance(arm)).astype(np.float64)

    def _chance(self, arm: Arm) -> float:
        """Return the mean reward of an arm: in some walks one arm is much better than others, in some hardly."""
        return 0.7 if arm is None else 0.5 + self.spread * (self.arms.index(arm) / (len(self.arms) - 1) - 0.5)

    def save(self) -> None:
        one = self.random.choice(self.living)
        self._save(one, self._new_path() if one.path is None else one.path)

    def save_elsewhere(self) -> None:
        self._save(self.random.choice(self.living), self._new_path())

    def _save(self, one: _Living, path: Path) -> None:
        self.report.saves += 1
        self._attempt(one, lambda: one.driver.save(path), path)

    def detach(self) -> None:
        one = self.random.choice(self.living)
        if one.path is not None and self._attempt(one, one.driver.detach):
            self._end(one)

    def copy(self) -> None:
        if self.files:
            source, target = self.random.choice(list(self.files)), self._new_path()
            shutil.copy(source, target)
            shutil.copy(f"{source}.ledger", f"{target}.ledger")
            self.files[target] = self.files[source]
            self.report.copies += 1

    def load(self) -> None:
        if not self.files:
            return
        if len(self.living) == 2 or (self.living and self.random.random() < 0.7):
            self._end(self.random.choice(self.living))
        path = self.random.choice(list(self.files)[-4:])
        owner = next((one for one in self.living if one.path == path), None)
        try:
            driver = type(self.first).load(path, self.noise)
        except PrivacyError:
            _check(owner is not None, "a file that nobody has cannot be loaded", path)
            return
        except StateError as error:
            raise Violation(f"a file cannot be loaded: {error}") from error
        if owner is not None:  # it had done nothing since its file was written, and is done now
            self._end(owner)
        again = self.first.algorithm.replay(driver.ledger.by_epoch())
        _check(again == driver.algorithm, "replay leads to another algorithm", driver)
        self.living.append(_Living(driver, self.files[path], path))
        self.report.loads += 1

    def _new_path(self) -> Path:
        return self.folder.resolve() / f"state {next(self.numbers)}"

    # ------------------------------------------------------------------ what a step leaves

    def _attempt(self, one: _Living, act: Callable[[], object], target: Path | None = None) -> bool:
        """Do something that may write, and check what is left. Return True if it has succeeded."""
        before, self.uses.now = _shown(one.driver), set()
        crashed = done = False
        try:
            act()
            done = True
        except Crash:
            crashed = True
        except (OSError, KeyboardInterrupt):
            self.report.refusals += 1
            _check(_shown(one.driver) == before, "a refused driver is not as it was before")
        except DiscreetError as error:
            raise Violation(f"a driver cannot go on: {error}") from error
        if crashed:
            self.report.crashes += 1
            self.disk.recover()
            self._end(one)
        if target is not None and target.exists():
            self.files[target] = one.origin
        if one.driver is not None and one.driver.path != one.path:
            one.path, one.behind = one.driver.path, False
        shown = list(one.driver.ledger) if one.driver is not None else before[0]
        if one.path is not None:
            entries = self._check_file(one.path)
            _check(
                all(any(_covers(later, entry) for later in entries) for entry in shown), "shown, but not in the file"
            )
            _check(not done or one.behind or entries == shown, "in the file, but not shown")
            one.behind = entries != shown
        self._check_releases(one.origin, shown, before[1].privacy)
        if done:
            self._check_threshold(one, shown)
        return done

    def _check_file(self, path: Path) -> list[Release]:
        """Check what anybody finds in a file, and return the entries of its ledger."""
        try:
            head, closes = StateFile(path).read()
        except StateError as error:
            raise Violation(f"a file cannot be read: {error}") from error
        algorithm = self.first.algorithm
        ledger = Ledger(list(algorithm.taken))
        for releases in closes:
            ledger.close_epoch(releases)
        entries = list(ledger)
        self._check_releases(self.files[path], entries, algorithm.privacy)
        noise = [name for name, label in _labels(head["secret"]) if label is not None]
        _check(set(noise) <= {"threshold_noise"}, "noise is stored in a file", noise)
        if head["secret"]:
            _check(algorithm.replay(ledger.by_epoch()).plan() is not None, "a finished algorithm has secrets", path)
        return entries

    def _check_releases(self, origin: int, entries: Sequence[Release], privacy: Privacy) -> None:
        """Check the noise of all that can be seen, and what everybody has paid."""
        for release in entries:
            if release.kind != Kind.TESTS:
                label = label_of(release.steps)
                _check(label is not None, "a release has no noise", release)
                first = self.uses.masks.setdefault(label or 0, (origin, release))
                _check(first == (origin, release), "one draw masks two releases", first, (origin, release))
        paid = spent_by_person(entries) if privacy.unit is Unit.PERSON else spent(entries)
        if privacy.unit is Unit.ROW:
            paid *= len({arm for release in entries for arm in release.arms})
        _check(paid <= privacy.epsilon * _ROUNDING, "somebody has paid more than epsilon", paid)

    def _check_threshold(self, one: _Living, shown: Sequence[Release]) -> None:
        """Check that the thresholds of a step belong to one series: the last one that was tested."""
        for label in self.uses.now:
            tests = next(release for release in reversed(shown) if release.kind == Kind.TESTS)
            series = one.origin, tuple((arm, first) for arm, first, _ in tests.spans)
            first = self.uses.thresholds.setdefault(label, series)
            _check(first == series, "a threshold's noise is in two series", first, series)
            if (label, tests.tests) in self.uses.answers:
                self.uses.shared.add(label)
            self.uses.answers.add((label, tests.tests))

    @contextmanager
    def _watch_tests(self) -> Iterator[None]:
        """Look at each noise that is used in a test."""
        honest, uses = SparseVector.is_above, self.uses

        def is_above(vector: SparseVector, margin: Any, threshold_noise: Any, test_noise: Any) -> Any:
            labels = [label_of(int(noise)) for noise in np.atleast_1d(test_noise)]
            _check(None not in labels and len(set(labels)) == len(labels), "tests share a noise, or have none")
            _check(uses.tests.isdisjoint(labels), "one draw is used in two tests")
            uses.tests.update(label for label in labels if label)
            uses.now.add(label_of(int(threshold_noise)) or 0)
            return honest(vector, margin * self.unit, threshold_noise, test_noise)

        with patch.object(SparseVector, "is_above", is_above):
            yield

    def _end(self, one: _Living) -> None:
        """End a driver's process: its memory and its lock are gone."""
        self.living.remove(one)
        one.driver = None
        if one.path is not None and Path(f"{one.path}.lock").exists():
            gc.collect()


def _check(holds: bool, message: str, *details: object) -> None:
    if not holds:
        raise Violation(f"{message}: {', '.join(map(repr, details))}" if details else message)


def _shown(driver: Any) -> tuple[Any, ...]:
    """Return all that anybody can see of a driver."""
    rest = (driver.open_tickets, driver.pulls) if isinstance(driver, Bandit) else getattr(driver, "samples", None)
    return list(driver.ledger), driver.algorithm, rest


def _covers(later: Release, entry: Release) -> bool:
    """Return True if an entry is another one, or tests that have grown from it."""
    both = later.kind == entry.kind == Kind.TESTS and later.tests >= entry.tests
    return later == entry or (both and [span[:2] for span in later.spans] == [span[:2] for span in entry.spans])


def _labels(value: Any, name: str = "") -> Iterator[tuple[str, int | None]]:
    """Yield the label of each whole number in a JSON value, with the name of the nearest object's entry."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _labels(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from _labels(part, name)
    elif type(value) is int:
        yield name, label_of(value)

"""The ledger: all releases of a run, in order."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, overload

from discreet._display import ROWS, Page, Shown, Table
from discreet._pictures import draw
from discreet._wording import plural
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.history import mean_of, picture
from discreet.core.plans import Arm
from discreet.core.privacy import Unit
from discreet.core.releases import Kind, Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WAITING = 256  # closes that wait to be entered in rows: short runs never pay for it
_LARGEST = 2**63
_TESTS, _SAMPLES = Kind.TESTS, Kind.SAMPLES  # looked up once: it takes longer than a comparison
_WIDTH = 6  # numbers in a row


class _Rows:
    """Releases of one number each, in rows of 48 bytes."""

    def __init__(self) -> None:
        self.numbers = array("q")  # of each row: epoch, arm, first, last, kind, steps
        self.kinds: list[tuple[str, float, float, bool]] = []  # kind, scale, epsilon, simulated: few differ
        self.kind_numbers: dict[tuple[str, float, float, bool], int] = {}  # the place of each in `kinds`
        self.others: dict[int, Release] = {}  # by row: tests, and numbers that need more than 64 bits

    def cut(self, length: int) -> _Rows:
        """Return a copy of the first rows, also while another thread adds some."""
        twin = _Rows()
        twin.numbers = self.numbers[: length * _WIDTH]
        twin.kinds = list(self.kinds)
        twin.kind_numbers = {kind: number for number, kind in enumerate(twin.kinds)}
        twin.others = {index: release for index, release in list(self.others.items()) if index < length}
        return twin


class Ledger(Shown, Sequence[Release]):
    """All releases of a run, in order, in 48 bytes each.

    The tests of one sparse vector are one entry: the entry of more tests takes the place of the one that it has grown
    from. Samples of an algorithm that is not private are not kept. Epochs without releases are counted.

    Args:
        arms: The names of the arms.
        grid: The grid that their rewards are rounded to, by which releases are shown as means; None shows their steps.
        fixed_blocks: True if it was fixed before the first reward where each release of an arm ends, if it comes.
    """

    def __init__(self, arms: Sequence[Arm], grid: Grid | None = None, *, fixed_blocks: bool = False) -> None:
        self._arms = tuple(arms)
        self.grid = grid
        self.fixed_blocks = fixed_blocks
        self._rows = _Rows()
        self._owns = True  # False while the rows are another ledger's, which may add to them
        self._length = 0  # rows that belong to this ledger
        self._epochs = 0
        self._tests: Release | None = None  # the last entry, while it is of tests that may grow
        self._waiting: list[Sequence[Release]] = []

    def close_epoch(self, releases: Sequence[Release]) -> None:
        """Enter what closing a plan has released. Tests that have not halted leave the epoch open.

        Args:
            releases: The releases, in order; none for a plan that releases nothing.
        """
        self._waiting.append(releases)
        if len(self._waiting) >= _WAITING:
            self._settle()

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The names of the arms."""
        return self._arms

    @property
    def epochs(self) -> int:
        """The number of epochs that have closed, with or without releases."""
        self._settle()
        return self._epochs

    def by_epoch(self) -> Iterator[tuple[Release, ...]]:
        """Yield the releases of one epoch after another, as an algorithm learns them; none where nothing was released.

        Tests that have not halted are yielded by themselves, before what closed their epoch, if it has closed.
        """
        entries = iter(self)
        entry = next(entries, None)
        for epoch in range(1, self.epochs + 2):
            found: list[Release] = []
            while entry is not None and entry.epoch == epoch:
                found.append(entry)
                if _may_grow(entry):
                    yield tuple(found)
                    found = []
                entry = next(entries, None)
            if epoch <= self._epochs:
                yield tuple(found)

    def copy(self) -> Ledger:
        """Return an equal ledger that grows apart from this one. Its rows are copied when it grows."""
        twin = object.__new__(Ledger)
        twin.__dict__.update({**self.__dict__, "_owns": False, "_waiting": list(self._waiting)})
        return twin

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return {**self.__dict__, "_rows": self._rows.cut(self._length), "_owns": True}

    # ------------------------------------------------------------------ as a sequence

    def __len__(self) -> int:
        self._settle()
        return self._length + (self._tests is not None)

    @overload
    def __getitem__(self, position: int) -> Release: ...
    @overload
    def __getitem__(self, position: slice) -> list[Release]: ...
    def __getitem__(self, position: Any) -> Any:
        indices = range(len(self))[position]
        return [self._entry(index) for index in indices] if isinstance(position, slice) else self._entry(indices)

    def __iter__(self) -> Iterator[Release]:
        return map(self._entry, range(len(self)))

    def _entry(self, index: int) -> Release:
        if index == self._length and self._tests is not None:
            return self._tests
        rows = self._rows
        if index in rows.others:
            return rows.others[index]
        epoch, arm, first, last, number, steps = rows.numbers[index * _WIDTH : (index + 1) * _WIDTH]
        kind, scale, epsilon, simulated = rows.kinds[number]
        return Release(epoch, kind, ((self._arms[arm], first, last),), steps, scale, epsilon, simulated)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Ledger of {plural(len(self), 'release')} in {plural(self._epochs, 'epoch')}>"

    def plot(self, ax: Axes | None = None, *, viable: Sequence[Arm] | None = None) -> Figure:
        """Plot the released means of each arm over the epochs, with radii of 95 %, and return the figure.

        Args:
            ax: Where to draw; by default in a new figure.
            viable: The arms that have not gone; by default those that the last releases are about.

        Raises:
            ArgumentError: The ledger was made without a grid.
        """
        if self.grid is None:
            raise ArgumentError("grid must be given to plot means: Ledger(arms, grid), got None")
        return draw(picture(self, self.grid, self.epochs, viable), ax)

    def _page(self) -> Page:
        shown = [*self] if len(self) <= ROWS else [*self[: ROWS // 2], *self[-ROWS // 2 :]]
        some = "" if len(shown) == len(self) else f"the first and the last {ROWS // 2} of {len(self):,}"
        table = Table(("epoch", "arm", "kind", "rewards", "mean", "+-", "epsilon"), [*map(self._row, shown)], some)
        return Page(
            f"ledger: {plural(len(self), 'release')} in {plural(self.epochs, 'epoch')}",
            {"paid by one reward": spent(self), "simulated": any(one.simulated for one in self)},
            [table] if shown else [],
        )

    def _row(self, one: Release) -> tuple[object, ...]:
        known = self.grid is not None and one.kind not in (_TESTS, Kind.SQUARES)
        found = mean_of([one], self.grid) if known and self.grid is not None else None
        said: tuple[object, object] = (None, None) if found is None else (found.mean, found.radius)
        if one.kind == _TESTS:
            said = f"{one.tests:,} tests, {'halted' if one.above else 'none halted'}", None
        names = ["-" if arm is None else str(arm) for arm in one.arms]
        return one.epoch, ", ".join(names), one.kind, one.rewards, *said, one.epsilon

    # ------------------------------------------------------------------ entering

    def _settle(self) -> None:
        """Enter the closes that wait."""
        waiting, self._waiting = self._waiting, []
        for releases in waiting:
            for release in releases:
                kind = release.kind
                if kind == _TESTS or (self._tests is not None and kind != _SAMPLES):
                    self._enter_tests(release)
                elif kind != _SAMPLES:
                    self._add_row(release)
            self._epochs += not (releases and self._tests is releases[-1])

    def _enter_tests(self, release: Release) -> None:
        """Enter tests, or what follows tests that had not halted."""
        before, tests = self._tests, release.kind == _TESTS
        if before is not None and not (tests and _starts(before) == _starts(release)):  # it has not grown
            self._add_row(before)
        self._tests = release if _may_grow(release) else None
        if self._tests is None:
            self._add_row(release)

    @cached_property
    def _index(self) -> dict[Arm, int]:
        return {arm: index for index, arm in enumerate(self._arms)}

    def _add_row(self, release: Release) -> None:
        if not self._owns:
            self._rows, self._owns = self._rows.cut(self._length), True
        rows = self._rows
        epoch, name, spans, steps, scale, epsilon, simulated, _, _ = release
        if name == _TESTS or not -_LARGEST <= steps < _LARGEST:
            rows.others[self._length] = release
            rows.numbers.fromlist([epoch, 0, 0, 0, 0, 0])
        else:
            kind = name, scale, epsilon, simulated
            number = rows.kind_numbers.get(kind)
            if number is None:
                number = rows.kind_numbers[kind] = len(rows.kinds)
                rows.kinds.append(kind)
            ((arm, first, last),) = spans
            rows.numbers.fromlist([epoch, self._index[arm], first, last, number, steps])
        self._length += 1


def _may_grow(release: Release) -> bool:
    """Return True for tests that have not halted: their epoch is open."""
    return release.kind == _TESTS and not release.above


def _starts(release: Release) -> list[tuple[Arm, int]]:
    return [(arm, first) for arm, first, _ in release.spans]


def spent(releases: Iterable[Release]) -> float:
    """Return what releases cost the reward that pays most. Releases of different rewards compose in parallel.

    >>> one = Release(1, "total", ((None, 1, 100),), 35, 1.0, 0.5, False)
    >>> two = Release(1, "total", ((None, 101, 300),), 95, 1.0, 0.5, False)
    >>> spent([one, two]), spent([one, one, two]), spent([])
    (0.5, 1.0, 0.0)
    """
    changes: defaultdict[Arm, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for release in releases:
        for arm, first, last in release.spans:
            changes[arm][first] += release.epsilon
            changes[arm][last + 1] -= release.epsilon
    return max((max(accumulate(at[place] for place in sorted(at))) for at in changes.values()), default=0.0)


def spent_by_person(releases: Iterable[Release]) -> float:
    """Return what releases cost a person who had the dearest reward of every epoch: epochs add up.

    It is for algorithms whose epochs release nothing but their own rewards, and for people with at most one reward in
    each epoch. The sum is exact but for one rounding at its end, so it is at most epsilon if the exact one is.

    >>> one = Release(1, "total", (("A", 1, 100),), 35, 1.0, 0.5, False)
    >>> two = Release(1, "total", (("B", 1, 100),), 95, 1.0, 0.5, False)
    >>> three = Release(2, "total", (("B", 101, 300),), 95, 1.0, 0.25, False)
    >>> spent_by_person([one, two, three]), spent([one, two, three])
    (0.75, 0.5)
    """
    epochs: defaultdict[int, list[Release]] = defaultdict(list)
    for release in releases:
        epochs[release.epoch].append(release)
    return math.fsum(map(spent, epochs.values()))


def paid(ledger: Ledger, unit: Unit) -> float:
    """Return what a ledger costs the dearest unit.

    Args:
        ledger: The ledger of one run.
        unit: Whom the promise of the run protects.

    >>> ledger = Ledger(["A", "B"])
    >>> ledger.close_epoch([Release(1, "total", ((arm, 1, 100),), 35, 2.0, 0.25, False) for arm in "AB"])
    >>> paid(ledger, Unit.REWARD), paid(ledger, Unit.ROW)
    (0.25, 0.5)
    """
    if unit is Unit.PERSON:
        return spent_by_person(ledger)
    return spent(ledger) * (len(ledger.arms) if unit is Unit.ROW else 1)

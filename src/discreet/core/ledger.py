"""The ledger: all releases of a run, in order."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, overload

from discreet.core.plans import Arm
from discreet.core.releases import Kind, Release

_WAITING = 256  # closes that wait to be entered in columns: short runs never pay for it
_LARGEST = 2**63


class _Columns:
    """Releases of one number each, in columns of 48 bytes a release. Copies of a ledger share them."""

    def __init__(self) -> None:
        self.epoch, self.first, self.last, self.steps = (array("q") for _ in range(4))
        self.arm, self.kind = array("l"), array("l")
        self.kinds: list[tuple[str, float, float, bool]] = []  # kind, scale, epsilon, simulated: few differ
        self.others: dict[int, Release] = {}  # by position: tests, and numbers that need more than 64 bits

    def cut(self, length: int) -> _Columns:
        """Return a copy of the first entries."""
        twin = _Columns()
        for name in ("epoch", "first", "last", "steps", "arm", "kind"):
            setattr(twin, name, getattr(self, name)[:length])
        twin.kinds = list(self.kinds)
        twin.others = {position: release for position, release in self.others.items() if position < length}
        return twin


class Ledger(Sequence[Release]):
    """All releases of a run, in order, in columns.

    The tests of one sparse vector are one entry: the entry of more tests takes the place of the one that it has grown
    from. Samples of an algorithm that is not private are not kept. Epochs without releases are counted.

    Args:
        arms: The names of the arms.
    """

    def __init__(self, arms: Sequence[Arm]) -> None:
        self._arms = tuple(arms)
        self._columns = _Columns()
        self._length = 0  # entries of the columns that belong to this ledger
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
    def epochs(self) -> int:
        """The number of epochs that have closed, with or without releases."""
        self._settle()
        return self._epochs

    def by_epoch(self) -> Iterator[tuple[Release, ...]]:
        """Yield what each epoch released, as `learn` takes it, and last the tests of an open one.

        It is empty where nothing was released. An epoch that closed after tests, of which none halted, is yielded as
        its tests and an empty tuple.
        """
        position, length = 0, len(self)
        epochs = self._columns.epoch
        for epoch in range(1, self._epochs + 2):
            start = position
            while position < self._length and epochs[position] == epoch:
                position += 1
            found = tuple(self[start:position])
            if position == self._length < length and self._tests is not None and self._tests.epoch == epoch:
                found, position = (*found, self._tests), length
            if found or epoch <= self._epochs:
                yield found
            if found and found[-1].kind == Kind.TESTS and epoch <= self._epochs:
                yield ()

    def copy(self) -> Ledger:
        """Return an equal ledger that grows apart from this one."""
        twin = object.__new__(Ledger)
        twin.__dict__.update({**self.__dict__, "_waiting": list(self._waiting)})
        return twin

    # ------------------------------------------------------------------ as a sequence

    def __len__(self) -> int:
        self._settle()
        return self._length + (self._tests is not None)

    @overload
    def __getitem__(self, position: int) -> Release: ...
    @overload
    def __getitem__(self, position: slice) -> list[Release]: ...
    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [self[index] for index in range(*position.indices(len(self)))]
        index = range(len(self))[position]
        if index == self._length and self._tests is not None:
            return self._tests
        columns = self._columns
        if index in columns.others:
            return columns.others[index]
        kind, scale, epsilon, simulated = columns.kinds[columns.kind[index]]
        span = self._arms[columns.arm[index]], columns.first[index], columns.last[index]
        return Release(columns.epoch[index], kind, (span,), columns.steps[index], scale, epsilon, simulated)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Ledger of {len(self)} releases in {self._epochs} epochs>"

    # ------------------------------------------------------------------ entering

    def _settle(self) -> None:
        """Enter the closes that wait."""
        waiting, self._waiting = self._waiting, []
        for releases in waiting:
            kind: str | None = None
            for release in releases:
                kind = release.kind
                if kind != Kind.SAMPLES:
                    self._enter(release)
            self._epochs += kind != Kind.TESTS

    def _enter(self, release: Release) -> None:
        if release.kind == Kind.TESTS:
            if self._tests is not None and _starts(self._tests) != _starts(release):
                self._add_row(self._tests)
            self._tests = release
            return
        if self._tests is not None:
            self._add_row(self._tests)
            self._tests = None
        self._add_row(release)

    def _add_row(self, release: Release) -> None:
        columns = self._columns
        if len(columns.epoch) != self._length:  # a copy has grown beyond this ledger
            columns = self._columns = columns.cut(self._length)
        if release.kind == Kind.TESTS or not -_LARGEST <= release.steps < _LARGEST:
            columns.others[self._length] = release
            row = (release.epoch, 0, 0, 0, 0, 0)
        else:
            ((arm, first, last),) = release.spans
            kind = release.kind, release.scale, release.epsilon, release.simulated
            if kind not in columns.kinds:
                columns.kinds.append(kind)
            row = (release.epoch, first, last, release.steps, self._arms.index(arm), columns.kinds.index(kind))
        targets = columns.epoch, columns.first, columns.last, columns.steps, columns.arm, columns.kind
        for column, value in zip(targets, row, strict=True):
            column.append(value)
        self._length += 1


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

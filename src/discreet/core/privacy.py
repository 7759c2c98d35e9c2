"""Privacy as a value: what a rule or policy promises, and what it has released so far."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

Arm = str | int | float | bool | None


class Unit(StrEnum):
    """What one unit of privacy is."""

    REWARD = "one reward (event level)"
    PERSON = "one person, with at most one reward in each epoch"
    NONE = "nothing"


class Neighbours(StrEnum):
    """Which inputs must be hard to tell apart."""

    ONE_REWARD = "streams that differ in the reward of one time step"
    ONE_ROW = "tables of potential rewards that differ in the row of one time step"
    ONE_PERSON = "streams with the same participants that differ in any rewards of one person, one in each epoch"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Privacy:
    """A promise of pure differential privacy.

    For all neighbouring inputs S and S' and every set O of outputs,
    Pr[M(S) in O] <= exp(epsilon) Pr[M(S') in O]. The output is everything that was released: decisions,
    stopping times and noisy totals. `simulated` is True when the noise came from a seed: then the numbers
    have the law of a private run, but are not private themselves.
    """

    epsilon: float
    unit: Unit
    neighbours: Neighbours
    reason: str
    simulated: bool = False


def not_private(reason: str = "no noise is added") -> Privacy:
    """The statement of a non-private algorithm.

    >>> not_private().epsilon
    inf
    """
    return Privacy(math.inf, Unit.NONE, Neighbours.NONE, reason)


@dataclass(frozen=True, slots=True)
class Release:
    """One entry of the ledger: something computed from rewards left the private side.

    It covers the rewards number `first` to `last` of an arm for each (arm, first, last) in `spans` (a
    stopping rule's one stream has the name None), costs `epsilon` for each of these rewards, and carries
    noise of scale `scale`. `value` and `scale` are in the rewards' own unit; `value` is None where only a
    decision was released, and `units` is the integer that was released.
    """

    epoch: int
    what: str
    spans: tuple[tuple[Arm, int, int], ...]
    value: float | None
    units: int | None
    scale: float
    epsilon: float
    simulated: bool

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms whose rewards are in it."""
        return tuple(arm for arm, _, _ in self.spans)

    @property
    def count(self) -> int:
        """How many rewards are in it."""
        return sum(last - first + 1 for _, first, last in self.spans)

    @property
    def mean(self) -> float | None:
        """The released total divided by the number of rewards in it."""
        return None if self.value is None else self.value / self.count


def split(epsilon: float, share: float) -> tuple[float, float]:
    """Two parts of epsilon, about share : 1 - share, that add up to it exactly: the larger is at least a half.

    >>> sum(split(0.1, 0.3)) == 0.1
    True
    """
    larger = epsilon * max(share, 1 - share)
    smaller = epsilon - larger
    return (larger, smaller) if share >= 0.5 else (smaller, larger)


def spent(ledger: Iterable[Release]) -> float:
    """What the ledger's releases cost the reward that pays most: releases of different rewards compose in parallel.

    >>> one = Release(1, "block total", ((None, 1, 100),), 3.5, 35, 1.0, 0.5, False)
    >>> two = Release(1, "block total", ((None, 101, 300),), 9.5, 95, 1.0, 0.5, False)
    >>> spent([one, two]), spent([one, one, two]), spent([])
    (0.5, 1.0, 0.0)
    """
    changes: defaultdict[Arm, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for entry in ledger:
        for arm, first, last in entry.spans:
            changes[arm][first] += entry.epsilon
            changes[arm][last + 1] -= entry.epsilon
    return max((max(accumulate(at[place] for place in sorted(at))) for at in changes.values()), default=0.0)


def spent_by_person(ledger: Iterable[Release]) -> float:
    """What the ledger costs a person who had the dearest reward of every epoch: epochs add up.

    It is for policies whose epochs release nothing but their own rewards, such as elimination, and for people with
    at most one reward in each epoch. The sum is exact but for one rounding at its end, so that it is at most epsilon
    if the exact one is.

    >>> one = Release(1, "epoch total", (("A", 1, 100),), 3.5, 35, 1.0, 0.5, False)
    >>> two = Release(1, "epoch total", (("B", 1, 100),), 9.5, 95, 1.0, 0.5, False)
    >>> three = Release(2, "epoch total", (("B", 101, 300),), 9.5, 95, 1.0, 0.25, False)
    >>> spent_by_person([one, two, three]), spent([one, two, three])
    (0.75, 0.5)
    """
    epochs: defaultdict[int, list[Release]] = defaultdict(list)
    for entry in ledger:
        epochs[entry.epoch].append(entry)
    return math.fsum(map(spent, epochs.values()))


def release_state(entry: Release) -> dict[str, Any]:
    """A ledger entry as JSON."""
    return {name: getattr(entry, name) for name in Release.__slots__}


def restore_release(state: dict[str, Any]) -> Release:
    """The ledger entry that `release_state` wrote."""
    return Release(**{**state, "spans": tuple((arm, int(first), int(last)) for arm, first, last in state["spans"])})

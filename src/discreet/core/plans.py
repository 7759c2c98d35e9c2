"""Plans and queries: what to sample in the next epoch, and how it is released. Both are public.

A query's type chooses the mechanism that answers it. How they may evolve: a new way of releasing is a new query type;
a field is added last, with a default that means what its absence meant; no field changes its meaning. A price that is
None asks for nothing, and costs nothing. Whoever meets a type or a value that it does not know refuses it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._display import Page, Table
from discreet.core.statistics import Statistic

Arm = str | int | float | bool | None
"""The name of an arm. A stopping rule has one arm, None."""
Series = tuple[int, ...]
"""The name of a run of queries that one mechanism answers. A later series ends an earlier one for ever."""


class TotalsQuery(NamedTuple):
    """Release each planned arm's statistic once, with noise.

    Attributes:
        epsilons: What a reward pays for each part of the statistic.
        held: Arms that are not released yet. Their rewards wait for a later query of the same series.
        series: The run of queries that this one belongs to.
    """

    epsilons: tuple[float, ...]
    held: frozenset[Arm] = frozenset()
    series: Series = (0,)

    @property
    def prices(self) -> tuple[float, ...]:
        """The prices that one reward pays. The sum is its whole price."""
        return self.epsilons

    @property
    def terms(self) -> tuple[object, ...]:
        """The terms that may not change within a series."""
        return ()


class Measure(StrEnum):
    """The measure that a threshold query compares with its limits."""

    DISTANCE = "distance"
    """The absolute value of one arm's total."""
    SPREAD = "spread"
    """The largest total of an arm minus the smallest."""
    ONE_SIDED = "one-sided"
    """One arm's total, of rewards that are never negative."""
    LAG = "lag"
    """The largest total of an arm minus that of the first one."""


class ThresholdQuery(NamedTuple):
    """Test a measure of a series's running totals against public limits until one is reached: a sparse vector.

    Attributes:
        counts: The number of rewards of each arm at each test, counted from the start of the series.
        limits: The limit of each test in grid steps, rounded against halting.
        epsilon: What a reward pays for all tests of the series together.
        release_epsilon: What a reward pays for the totals that are released at the test that halts; None to release
            nothing but the answers of tests.
        measure: What is compared.
        series: The sparse vector that the tests belong to.
    """

    counts: range | tuple[int, ...]
    limits: NDArray[np.int64] | tuple[int, ...]
    epsilon: float
    release_epsilon: float | None
    measure: Measure = Measure.DISTANCE
    series: Series = (0,)

    @property
    def prices(self) -> tuple[float, ...]:
        """The prices that one reward pays. The sum is its whole price."""
        return (self.epsilon,) if self.release_epsilon is None else (self.epsilon, self.release_epsilon)

    @property
    def terms(self) -> tuple[object, ...]:
        """The terms that may not change within a series."""
        return self.epsilon, self.release_epsilon, self.measure

    def __eq__(self, other: object) -> bool:
        """Return True if all fields are equal; limits may be arrays."""
        if not isinstance(other, ThresholdQuery):
            return NotImplemented
        same = self.terms == other.terms and self.series == other.series
        return same and np.array_equal(self.counts, other.counts) and np.array_equal(self.limits, other.limits)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.terms, self.series))


class Vector(NamedTuple):
    """One of several sparse vectors over the same rewards.

    Attributes:
        name: Its name. A later one begins with a larger name.
        arms: The arms whose totals it measures; of a lag, the arm that lies behind comes first.
    """

    name: tuple[int, ...]
    arms: tuple[Arm, ...]

    @staticmethod
    def halted(vectors: Sequence[Vector], totals: Sequence[Any]) -> dict[Vector, Sequence[Any]]:
        """Return the totals that were released of each vector that has halted, which come in the vectors' order.

        Args:
            vectors: The vectors that were tested.
            totals: The releases of totals, each with its `arm`.
        """
        found: dict[Vector, Sequence[Any]] = {}
        place = 0
        for vector in vectors if totals else ():
            own = totals[place : place + len(vector.arms)]
            if tuple(total.arm for total in own) == vector.arms:
                found[vector] = own
                place += len(own)
        return found


class VectorsQuery(NamedTuple):
    """Test several sparse vectors over the same running totals once each: every one has noises of its own.

    The totals go on when a vector halts. A vector that is left out of a query has ended.

    Attributes:
        rewards: The number of rewards of each planned arm at the test, counted from the start of the series.
        limit: The limit of all tests in grid steps, rounded against halting.
        epsilon: What a reward pays for all tests of one vector.
        release_epsilon: What a reward pays for the totals that are released where one vector halts.
        vectors: The vectors that are tested.
        most: The most vectors of the series that an arm may enter. A reward pays for so many.
        measure: What is compared.
        series: The series that the vectors belong to.
    """

    rewards: int
    limit: int
    epsilon: float
    release_epsilon: float
    vectors: tuple[Vector, ...]
    most: int
    measure: Measure = Measure.SPREAD
    series: Series = (0,)

    @property
    def prices(self) -> tuple[float, ...]:
        """The prices that one reward pays. The sum is its whole price."""
        return (self.epsilon, self.release_epsilon) * self.most

    @property
    def terms(self) -> tuple[object, ...]:
        """The terms that may not change within a series."""
        return self.epsilon, self.release_epsilon, self.most, self.measure


class CounterQuery(NamedTuple):
    """Add rewards to each planned arm's continual counter, and release the node that they complete.

    Attributes:
        epsilon: What a reward pays for all nodes that it lies in.
        horizon: The number of rewards that an arm may have; None for a hybrid counter, which never ends.
        series: The counters that the rewards are added to.
    """

    epsilon: float
    horizon: int | None
    series: Series = (0,)

    @property
    def prices(self) -> tuple[float, ...]:
        """The prices that one reward pays. The sum is its whole price."""
        return (self.epsilon,)

    @property
    def terms(self) -> tuple[object, ...]:
        """The terms that may not change within a series."""
        return self.epsilon, self.horizon


class StepsQuery(NamedTuple):
    """Add one time step to every arm's tree, and release the node that it completes of each arm.

    The planned arm's tree takes its reward, and the tree of every other arm takes nothing: a 0. So all trees have as
    many items, and the noise of an arm is drawn anew while others are pulled.

    Attributes:
        epsilon: What a reward pays for all nodes that it lies in.
        horizon: The number of time steps.
        series: The trees that the steps are added to.
    """

    epsilon: float
    horizon: int
    series: Series = (0,)

    @property
    def prices(self) -> tuple[float, ...]:
        """The prices that one reward pays. The sum is its whole price."""
        return (self.epsilon,)

    @property
    def terms(self) -> tuple[object, ...]:
        """The terms that may not change within a series."""
        return self.epsilon, self.horizon


class SamplesQuery(NamedTuple):
    """Hand over samples as they are, for algorithms that are not private.

    Attributes:
        series: The run of queries that this one belongs to.
    """

    series: Series = (0,)

    @property
    def prices(self) -> tuple[float, ...]:
        """The price that one reward pays: no finite epsilon is enough."""
        return (float("inf"),)

    @property
    def terms(self) -> tuple[object, ...]:
        """The terms that may not change within a series."""
        return ()


Query = TotalsQuery | ThresholdQuery | VectorsQuery | CounterQuery | StepsQuery | SamplesQuery


class Plan(NamedTuple):
    """The next epoch: the rewards to sample, and how they are released.

    Attributes:
        epoch: The epoch's number, from 1.
        pulls: The number of rewards to take of each arm.
        query: How they are released; None where rewards decide nothing and need not be collected.
        statistic: What is added up of them.
    """

    epoch: int
    pulls: Mapping[Arm, int]
    query: Query | None = None
    statistic: Statistic = Statistic.TOTAL

    def _page(self) -> Page:
        """Return what it says about itself; a named tuple inherits nothing."""
        query = self.query
        how = "nothing is released: these rewards decide nothing" if query is None else type(query).__name__
        facts: dict[str, object] = {"rewards": self.size, "released by": how}
        if query is not None:
            facts["price of a reward"] = "exact: not private" if math.isinf(sum(query.prices)) else sum(query.prices)
        rows = [("-" if arm is None else str(arm), count) for arm, count in self.pulls.items()]
        return Page(f"plan of epoch {self.epoch}", facts, [Table(("arm", "rewards"), rows)])

    def __str__(self) -> str:
        return self._page().text()

    def _repr_html_(self) -> str:
        return self._page().html()

    @property
    def size(self) -> int:
        """The number of rewards of all arms together."""
        return sum(self.pulls.values())

    @property
    def learns(self) -> bool:
        """True if rewards must be collected; False if they decide nothing."""
        return self.query is not None

    @property
    def releases(self) -> bool:
        """True if closing it releases something: not without a query, nor where every arm is held."""
        query = self.query
        return query is not None and not (isinstance(query, TotalsQuery) and len(query.held) == len(self.pulls))

    @property
    def many_tests(self) -> bool:
        """True if a driver may close it after a part of its rewards, with `until`."""
        query = self.query
        return isinstance(query, SamplesQuery) or (isinstance(query, ThresholdQuery) and len(query.counts) > 1)

    @property
    def spaced(self) -> bool:
        """True if it has many tests, and not simply one after each reward: totals between tests are all it needs."""
        query = self.query
        return isinstance(query, ThresholdQuery) and len(query.counts) > 1 and not isinstance(query.counts, range)

    def tests_within(self, count: int) -> int:
        """Return how many tests of a plan of many take place within its first rewards.

        Args:
            count: The number of rewards.
        """
        if not isinstance(self.query, ThresholdQuery):
            return min(count, self.size)
        counts = self.query.counts
        return bisect_right(counts, counts[-1] - self.size + count)

    def between_tests(self, steps: NDArray[Any], before: int = 0) -> NDArray[np.int64]:
        """Return what a curator takes of rewards for a plan of many tests: their totals between tests.

        Args:
            steps: The rewards in grid steps, all but the first ones. Booleans are the fastest.
            before: The number of rewards before them, fewer than the first test needs.
        """
        if not isinstance(self.query, ThresholdQuery) or self.size == len(self.query.counts):
            return steps.astype(np.int64)
        ends = np.array(self.query.counts) - (self.query.counts[-1] - self.size + before)
        if steps.dtype == np.bool_:
            cuts = [0, *ends.tolist()]
            return np.array([np.count_nonzero(steps[start:end]) for start, end in pairwise(cuts)], np.int64)
        sums: NDArray[np.int64] = np.add.reduceat(steps, np.append(0, ends[:-1]), dtype=np.int64)
        return sums

    def until(self, count: int) -> Plan:
        """Return the plan with its first tests only.

        Args:
            count: The number of tests to keep, at least 1; for a samples query, the number of samples.

        Raises:
            TypeError: The query is neither of tests nor of samples.
        """
        query = self.query
        if isinstance(query, SamplesQuery):
            return Plan(self.epoch, dict.fromkeys(self.pulls, count), query, self.statistic)
        if not isinstance(query, ThresholdQuery):
            raise TypeError(f"only plans of tests or samples can be cut, got {query!r}")
        if count == len(query.counts):
            return self
        before = query.counts[-1] - next(iter(self.pulls.values()))
        counts, limits = query.counts[:count], query.limits[:count]
        cut = ThresholdQuery(counts, limits, *query[2:])
        return Plan(self.epoch, dict.fromkeys(self.pulls, counts[-1] - before), cut, self.statistic)

    def within(self, phase: int, epoch: int) -> Plan:
        """Return the plan as another epoch's, in a phase of its own, which ends all earlier ones.

        Args:
            phase: The phase's number, which goes before those of the query's series.
            epoch: The other epoch's number.
        """
        query = self.query
        inner = None if query is None else query._replace(series=(phase, *query.series))
        return self._replace(epoch=epoch, query=inner)

"""Several sparse vectors over the same running totals: a reward pays for each one that it enters."""

from collections.abc import Mapping
from typing import Any

from discreet.core.errors import ArgumentError, PrivacyError, StateError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.plans import Arm, Plan, Query, Vector, VectorsQuery
from discreet.core.releases import Kind, Release
from discreet.mechanisms.sparse_vector import OF_ARMS, SparseVector, measure_of_arms


class SharedVectors(SparseVector):
    """Tests several sparse vectors once a plan, and releases the totals of each one that halts.

    A vector has a threshold noise B of its own, which is kept until it halts or is left out of a query, and each of its
    tests an A of its own. The totals go on, so that other vectors, also later ones, measure the same rewards.

    Private because each vector is a sparse vector (`SparseVector`), which costs each of its rewards epsilon and
    release_epsilon, and a reward is in at most `most` of them, which is what the query's price says: basic composition.
    An arm that would enter one more is refused. A vector never comes back, so that its noises are not met twice.

    Args:
        query: The first query of the series.
        arms: All arms of the run.
        grid: The grid that rewards are rounded to.
        noise: The source of noise; None without a promise.
    """

    def __init__(self, query: Query, arms: tuple[Arm, ...], grid: Grid, noise: Noise | None) -> None:
        super().__init__(query, arms, grid, noise)
        self._counts: dict[Arm, int] = {}  # rewards in each arm's sum
        self._since: dict[Arm, int] = {}  # of these, the rewards at the last yes
        self._entered: dict[Arm, int] = {}  # vectors that each arm has entered
        self._thresholds: dict[tuple[int, ...], int] = {}  # B of each open vector
        self._newest: tuple[int, ...] = ()  # the largest name so far

    def answer(self, plan: Plan, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]) -> tuple[Release, ...]:
        """Answer a test of each vector, and release the totals of those that halt.

        Args:
            plan: A plan of this series.
            totals: Each planned arm's exact total.
            taken: The number of rewards of each arm before this plan.
        """
        query = plan.query
        assert isinstance(query, VectorsQuery)
        self._check_arms(plan, totals)
        self._check_goes_on(plan, query)
        exact = {arm: self._check_one(arm, totals[arm], count) for arm, count in plan.pulls.items()}
        entered = self._check_vectors(plan, query)
        starts = {arm: taken[arm] - self._counts.get(arm, 0) for arm in {**self._counts, **plan.pulls}}
        began = [vector.name for vector in query.vectors if vector.name not in self._thresholds]
        begun = self._thresholds | dict(zip(began, self._test_noise(len(began)).tolist(), strict=True))
        noises = self._test_noise(len(query.vectors)).tolist()
        for arm, total in exact.items():
            self._sums[arm] = self._sums.get(arm, 0) + total
            self._counts[arm] = query.rewards
        self._entered, self._newest, self._tests = entered, max([self._newest, *began]), self._tests + 1
        self._thresholds = {vector.name: begun[vector.name] for vector in query.vectors}
        halting = [one for one, noise in zip(query.vectors, noises, strict=True) if self._halts(query, one, noise)]
        spans = [(arm, starts[arm] + self._since.get(arm, 0) + 1, starts[arm] + query.rewards) for arm in plan.pulls]
        price = query.most * query.epsilon
        tests = Release(
            plan.epoch, Kind.TESTS, tuple(spans), None, self.scale, price, self.simulated, self._tests, bool(halting)
        )
        if halting:
            self._since = dict(self._counts)
        return tests, *(one for vector in halting for one in self._end(plan.epoch, query, vector, starts))

    def _check_goes_on(self, plan: Plan, query: VectorsQuery) -> None:
        """Refuse a plan that does not go on where the series is."""
        known = not self._counts or self._counts.keys() >= plan.pulls.keys()
        if not known or any(self._counts.get(arm, 0) + count != query.rewards for arm, count in plan.pulls.items()):
            raise StateError("the plan does not go on where the sparse vectors are")
        if query.measure not in OF_ARMS:
            raise ArgumentError(f"the measure of vectors that share rewards is of several arms, got {query.measure!r}")

    def _check_vectors(self, plan: Plan, query: VectorsQuery) -> dict[Arm, int]:
        """Return how many vectors each arm has entered; refuse one more than its rewards pay for."""
        entered, names, arms = dict(self._entered), set(), plan.pulls.keys() | self._counts.keys()
        for name, members in query.vectors:
            if name in names or (name not in self._thresholds and name <= self._newest):
                raise PrivacyError(f"vector {name} has begun before: its noises are not met twice")
            if len(set(members)) != len(members) or not arms >= set(members):
                raise ArgumentError(f"vector {name} must have arms of its series, each once, got {members!r}")
            names.add(name)
            for arm in members if name not in self._thresholds else ():
                entered[arm] = entered.get(arm, 0) + 1
        if max(entered.values(), default=0) > query.most:
            more = max(entered.values())
            raise PrivacyError(f"a reward pays for {query.most} vectors, and an arm would enter {more}")
        return entered

    def _halts(self, query: VectorsQuery, vector: Vector, noise: int) -> bool:
        margin = measure_of_arms(query.measure, [self._sums[arm] for arm in vector.arms]) - query.limit
        return bool(self.is_above(margin, self._thresholds[vector.name], noise))

    def _end(self, epoch: int, query: VectorsQuery, vector: Vector, starts: Mapping[Arm, int]) -> list[Release]:
        """Release the totals of a vector's arms, and erase its threshold noise."""
        del self._thresholds[vector.name]
        epsilon = query.release_epsilon
        noises, scale = self._draw(self.width, epsilon, len(vector.arms))
        return [
            Release(
                epoch, Kind.TOTAL, ((arm, starts[arm] + 1, starts[arm] + self._counts[arm]),),
                self._sums[arm] + noise, scale, epsilon, self.simulated,
            )
            for arm, noise in zip(vector.arms, noises, strict=True)
        ]  # fmt: skip

    # ------------------------------------------------------------------ saving

    def state(self) -> dict[str, Any]:
        """Return the exact sums and the open vectors' threshold noises."""
        if not self._counts:
            return {}
        arms = [
            [arm, total, self._counts[arm], self._since.get(arm, 0), self._entered.get(arm, 0)]
            for arm, total in self._sums.items()
        ]
        thresholds = [[list(name), noise] for name, noise in self._thresholds.items()]
        return {"sums": arms, "tests": self._tests, "newest": list(self._newest), "threshold_noise": thresholds}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for arm, total, count, since, entered in state["sums"]:
            self._sums[arm], self._counts[arm] = int(total), int(count)
            self._since[arm], self._entered[arm] = int(since), int(entered)
        self._tests, self._newest = int(state["tests"]), tuple(state["newest"])
        self._thresholds = {tuple(name): int(noise) for name, noise in state["threshold_noise"]}

"""The base class of batched policies: one arm at a time, in batches that grow, each released once."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from discreet.bandits._policy import Policy
from discreet.core.errors import ArgumentError
from discreet.core.options import Count, Positive, Real
from discreet.core.plans import Arm, Plan, Query, TotalsQuery
from discreet.core.privacy import Theorem
from discreet.core.releases import Release

_UNKNOWN_HORIZON = 2.0**20


@dataclass(kw_only=True)
class BatchedPolicy(Policy):
    """Pulls a first batch of every arm, then whole batches of the arm that `choose` returns.

    When an arm has n pulls, its next batch has (ratio - 1) n. At the end of a batch its total is released with one
    Laplace noise of scale 1/epsilon, so in T pulls an arm has about log(T)/log(ratio) releases. An estimate is made of
    all batches of an arm, with as many noises, or where `forgets` is True of the last one alone.

    Private because each reward enters the total of one batch, and what is pulled next follows from what was released.
    A batch that the horizon cuts short releases nothing.

    Attributes:
        forgets: True if an estimate is made of the last batch alone.
    """

    reason = (
        "each reward enters the noisy total of one batch: parallel composition of Laplace mechanisms, and the rest "
        "follows from what they released"
    )
    theorem = Theorem.REWARDS
    fixed_blocks = True
    forgets: ClassVar[bool] = False

    epsilon: Positive
    ratio: Real = 2.0
    first_batch: Count | None = None
    _totals: list[int] = field(init=False, repr=False, default_factory=list)
    _counts: list[int] = field(init=False, repr=False, default_factory=list)  # the pulls behind them
    _batches: list[int] = field(init=False, repr=False, default_factory=list)  # the noises in them

    def _start(self) -> None:
        super()._start()
        if self.ratio <= 1:
            raise ArgumentError(f"ratio must be above 1, since batches must grow, got {self.ratio!r}")
        self._totals, self._counts, self._batches = ([0] * len(self.arms) for _ in range(3))

    # ------------------------------------------------------------------ what a policy writes

    @abstractmethod
    def choose(self, time: int) -> int:
        """Return the index of the arm whose batch begins at a time step, from 1."""

    def default_batch(self) -> int:
        """Return the first batch's pulls of each arm, if `first_batch` is not given."""
        return 1

    def quiet_batch(self, scales: float) -> int:
        """Return the number of pulls whose mean one noise moves by about 1/scales."""
        return max(1, math.ceil(scales / self.epsilon))

    def cautious_batch(self) -> int:
        """Return 2 ln(T)/epsilon pulls (without a horizon, for 2^20 pulls), in all at most a fifth of the horizon."""
        if self.horizon is None:
            return self.quiet_batch(2 * math.log(_UNKNOWN_HORIZON))
        most = max(1, self.horizon // (5 * len(self.arms)))
        return min(most, self.quiet_batch(2 * math.log(self.horizon)))

    def batch_size(self, pulls: int) -> int:
        """Return the next batch of an arm with this number of pulls."""
        if not pulls:
            return self.default_batch() if self.first_batch is None else self.first_batch
        return max(1, math.ceil((self.ratio - 1) * pulls))

    # ------------------------------------------------------------------ what was released

    def estimate(self, arm: int) -> float:
        """Return an arm's released mean, rescaled to [0, 1], outside of which noise may move it; `arm` is its index."""
        return self._totals[arm] / (self._counts[arm] * self.grid.width)

    def clipped(self, arm: int) -> float:
        """Return an arm's released mean, moved into [0, 1]; `arm` is its index."""
        return min(1.0, max(0.0, self.estimate(arm)))

    @property
    def best_arm(self) -> Arm:
        """The arm of the highest released mean; None before the first release."""
        return self.arms[max(range(len(self.arms)), key=self.estimate)] if self._batches[0] else None

    # ------------------------------------------------------------------ the batches

    @cached_property
    def _query(self) -> Query:
        return TotalsQuery((self.epsilon,))

    def _plan(self) -> Plan | None:
        if self.remaining == 0:
            return None
        if not self._batches[0]:
            return self._plan_for(dict.fromkeys(range(len(self.arms)), self.batch_size(0)), self._query)
        return self._next_plan()

    def _next_plan(self) -> Plan | None:
        """Return the plan of a batch after the first."""
        arm = self.choose(self.time + 1)
        return self._plan_for({arm: self.batch_size(self.pulls[arm])}, self._query)

    def _decide(self, releases: Sequence[Release]) -> None:
        for release in releases:
            arm = self._index[release.arm]
            if self.forgets:
                self._totals[arm], self._counts[arm], self._batches[arm] = 0, 0, 0
            self._totals[arm] += release.steps
            self._counts[arm] += release.rewards
            self._batches[arm] += 1

"""The base class of bandit policies."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.history import latest_means
from discreet.core.options import Arms, Count, Real
from discreet.core.plans import Arm, Plan, Query
from discreet.core.releases import Kind, Release

_Key = TypeVar("_Key")
_TESTS = Kind.TESTS  # looked up once: it takes longer than a comparison


@dataclass(kw_only=True)
class Policy(Algorithm):
    """A bandit policy: arms, a range of rewards, perhaps a horizon.

    A subclass writes `_plan`, `_decide` and its formulas. Arms are named outside and indexed inside.

    Args:
        arms: The names of the arms.
        horizon: The number of pulls in all; None if it is not known.
        low: The least reward.
        high: The largest reward.

    Attributes:
        time: The number of pulls in epochs that have closed.
        pulls: The number of pulls of each arm, by its index.
    """

    family = "policy"

    arms: Arms = field(kw_only=False)
    horizon: Count | None = None
    low: Real = 0.0
    high: Real = 1.0
    time: int = field(init=False, repr=False, default=0)
    pulls: list[int] = field(init=False, repr=False, default_factory=list)

    def _start(self) -> None:
        self.low, self.high = self.grid.low, self.grid.high
        if self.horizon is not None and self.horizon < len(self.arms):
            raise ArgumentError(f"horizon must allow one pull of each of the {len(self.arms)} arms, got {self.horizon}")
        self.pulls = [0] * len(self.arms)

    # ------------------------------------------------------------------ what anybody may read

    @cached_property
    def grid(self) -> Grid:
        """The grid that rewards are rounded to."""
        return Grid(self.low, self.high)

    @property
    def taken(self) -> dict[Arm, int]:
        """The number of pulls of each arm in epochs that have closed. It is public, since it was planned."""
        return dict(zip(self.arms, self.pulls, strict=True))

    @property
    def remaining(self) -> int | None:
        """The number of pulls before the horizon; None without a horizon."""
        return None if self.horizon is None else self.horizon - self.time

    @property
    @abstractmethod
    def best_arm(self) -> Arm:
        """The arm to prefer by what was released; None before the first release."""

    @property
    def viable(self) -> tuple[Arm, ...]:
        """The arms that may still be the best one."""
        return tuple(self.arms)

    def threshold(self, epoch: int, viable: int) -> float | None:
        """Return how far behind the best noisy mean an arm may lie at an epoch's end; None if no such rule decides.

        Args:
            epoch: The epoch's number, from 1.
            viable: The number of viable arms.
        """
        return None

    def epoch_epsilon(self, epoch: int) -> float:
        """Return what an epoch's releases cost one of its rewards; infinite for what is not private."""
        return self.privacy.epsilon

    def _standing(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        viable, best = set(self.viable), self.best_arm
        said = {one.arm: one for one in latest_means(self.ledger, self.grid)}
        rows = []
        for arm, pulls in self.taken.items():
            mean = said.get(arm)
            state = ("" if arm in viable else "gone") if best is None or arm != best else "best so far"
            rows.append((str(arm), pulls, *((mean.mean, mean.radius) if mean else (None, None)), state))
        return ("arm", "pulls", "last released mean", "+-", ""), rows

    # ------------------------------------------------------------------ for policies

    @cached_property
    def _index(self) -> dict[Arm, int]:
        return {arm: index for index, arm in enumerate(self.arms)}

    def _argmax(self, score: Callable[[int], float]) -> int:
        """Return the index of the arm of the largest score; among equals of the fewest pulls, then the first."""
        pulls = self.pulls
        return max(range(len(pulls)), key=lambda arm: (score(arm), -pulls[arm]))

    def _plan_for(self, pulls: Mapping[int, int], query: Query | None) -> Plan | None:
        """Return a plan by arm index: without a query where the horizon cuts it short, None where nothing is left."""
        size, remaining = sum(pulls.values()), self.remaining
        if not size or remaining == 0:
            return None
        if remaining is not None and size > remaining:
            pulls, query = cut_short(pulls, remaining), None
        return Plan(self.epoch + 1, {self.arms[index]: count for index, count in pulls.items()}, query)

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        pulls, index = self.pulls, self._index
        if releases and releases[0].kind == _TESTS:  # in a ledger, one entry stands for all tests of a series
            for arm, _, last in releases[0].spans:
                pulls[index[arm]] = last
        else:
            for arm, count in plan.pulls.items():
                pulls[index[arm]] += count
        self.time = sum(pulls)
        if releases:
            self._decide(releases)

    @abstractmethod
    def _decide(self, releases: Sequence[Release]) -> None:
        """Go on from an epoch's releases. `epoch`, `pulls` and `time` are those at its end."""


def cut_short(pulls: Mapping[_Key, int], budget: int) -> dict[_Key, int]:
    """Return the pulls that fit into a budget when arms take turns.

    Args:
        pulls: The number of pulls of each arm.
        budget: The number of pulls in all.

    >>> cut_short({0: 10, 1: 10, 2: 1}, 8)
    {0: 4, 1: 3, 2: 1}
    """
    taken = dict.fromkeys(pulls, 0)
    open_arms = [arm for arm, count in pulls.items() if count]
    budget = min(budget, sum(pulls.values()))
    while budget:
        room = min(pulls[arm] - taken[arm] for arm in open_arms)
        share = max(1, min(budget // len(open_arms), room))
        for arm in open_arms[: budget if budget < len(open_arms) else None]:
            taken[arm] += share
            budget -= share
        open_arms = [arm for arm in open_arms if taken[arm] < pulls[arm]]
    return {arm: count for arm, count in taken.items() if count}

"""The base class of lazy policies: blocks of 1, 2, 4, ... rewards of each arm, each released once and alone."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.bandits._policy import Policy
from discreet.core.options import Positive
from discreet.core.plans import Arm, Plan, TotalsQuery
from discreet.core.privacy import Theorem
from discreet.core.releases import Release


@dataclass(kw_only=True)
class LazyPolicy(Policy):
    """Pulls every arm once, then the arms that `_ahead` returns, by the mean of each arm's last whole block.

    An arm whose last block has n rewards fills one of 2n. When it is full, its total is released with one Laplace
    noise of scale 1/epsilon, takes the old one's place, and the next block begins. Arms are chosen anew at each step,
    so a block may fill with many pauses. Between two releases nothing else is learned, so a plan has all pulls up to
    the next one, of several arms if need be, in any order. It ends the block of one arm; the others' stay open.

    Private because each reward enters the total of one block, and what is pulled follows from what was released. A
    block that the horizon cuts short is never released. The curator holds the exact totals of open blocks between
    epochs, so a saved state is as sensitive as the rewards at all times.
    """

    reason = (
        "each reward enters the noisy total of one block: parallel composition of Laplace mechanisms, and the rest "
        "follows from what they released"
    )
    theorem = Theorem.REWARDS
    keeps_secrets = True
    fixed_blocks = True

    epsilon: Positive
    _totals: list[int] = field(init=False, repr=False, default_factory=list)  # of the last whole blocks
    _counts: list[int] = field(init=False, repr=False, default_factory=list)  # the rewards in them

    def _start(self) -> None:
        super()._start()
        self._totals, self._counts = [0] * len(self.arms), [0] * len(self.arms)

    @abstractmethod
    def _ahead(self, time: int, most: int) -> dict[int, int]:
        """Return pulls by arm index from a time step on, until a block is full: `most` at most, or fewer.

        Args:
            time: The first time step, from 1.
            most: The largest number of pulls.
        """

    def estimate(self, arm: int) -> float:
        """Return the released mean of an arm's last whole block, rescaled to [0, 1]; `arm` is its index."""
        return self._totals[arm] / (self._counts[arm] * self.grid.width)

    @property
    def best_arm(self) -> Arm:
        """The arm of the highest released mean; None before the first release."""
        return self.arms[max(range(len(self.arms)), key=self.estimate)] if self._counts[0] else None

    @property
    def unreleased(self) -> dict[Arm, int]:
        """The number of rewards of each arm in its open block. It is public, since they were planned."""
        released = (max(0, 2 * count - 1) for count in self._counts)
        return {arm: pulls - past for arm, pulls, past in zip(self.arms, self.pulls, released, strict=True)}

    def _missing(self, arm: int) -> int:
        """Return the number of rewards that an arm's open block still needs: blocks of 1, 2, ..., 2n have 4n - 1."""
        return max(1, 4 * self._counts[arm] - 1) - self.pulls[arm]

    def _plan(self) -> Plan | None:
        arms, remaining = range(len(self.arms)), self.remaining
        if remaining == 0:
            return None
        if self._counts[0]:
            longest = sum(map(self._missing, arms))
            pulls = self._ahead(self.time + 1, longest if remaining is None else min(longest, remaining))
        else:
            pulls = dict.fromkeys(arms, 1)
        held = frozenset(self.arms[arm] for arm, count in pulls.items() if count < self._missing(arm))
        if len(held) == len(pulls) and sum(pulls.values()) == remaining:  # nothing will be released any more
            return self._plan_for(pulls, None)
        return self._plan_for(pulls, TotalsQuery((self.epsilon,), held))

    def _decide(self, releases: Sequence[Release]) -> None:
        for release in releases:
            arm = self._index[release.arm]
            self._totals[arm], self._counts[arm] = release.steps, release.rewards

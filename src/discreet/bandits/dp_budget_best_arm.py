"""Private best-arm identification with a fixed budget of pulls, in rounds that fewer and fewer arms take part in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from discreet.bandits._policy import Policy
from discreet.core.options import Count, Positive
from discreet.core.plans import Arm, Plan, TotalsQuery
from discreet.core.privacy import Theorem
from discreet.core.probability.lead_evidence import lead_evidence
from discreet.core.registry import register
from discreet.core.releases import Release

QUIET, LOUD = (0.55, 0.6), (0.75, 0.25)
"""The share of the pulls that are left that a round takes, and the largest share of its arms that stay: where the noise
is small, and where it is not."""
SMALL = 0.003
"""Noise is small if in an equal share of what is left its variance is this for each reward, or less."""
MANY, COST = 9, 1 / 2000
"""With fewer arms than MANY, k of them, another round pays if that variance is COST (k - 2)^2 or less."""
DEVIATIONS = 2.0
"""How far behind the leader an arm stays, in standard deviations of their difference."""
_LEAST = 0.01  # of a released mean and of 1 minus it, there


@register
@dataclass(kw_only=True)
class DPBudgetBestArm(Policy):
    """Names the best arm after exactly `horizon` pulls, and says how far that can be trusted; epsilon-private.

    All arms that are left take turns in about half of the pulls that are left. Those stay whose released mean is within
    two standard deviations of the highest, three fifths of them at most and two at least; and again. A round has a
    noise of its own. So with two arms, or few arms and few pulls, all arms have equal shares of all pulls and are
    released once; and where many arms meet much noise a round takes three quarters, and a quarter stays. The answer is
    the arm of the highest mean of those in the last round. It is wrong no more often than that of equal shares, and
    with nine arms or more about half as often, or less (measured: docs/proofs/evidence-best-arm.md).

    Before the run nothing is promised but epsilon. `doubt` is what the releases say afterwards: an answer that is wrong
    has a doubt of q or less with probability q at most, for every q, for independent rewards of steady means.

    Private because each reward enters the total of one round, which is released once. Who is in a round, and how long
    it is, follows from what was released before.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPBudgetBestArm(["A", "B", "C", "D"], epsilon=1.0, horizon=10_000)
    >>> epochs, width = Totals(policy, noise=SimulatedNoise(seed=1)), policy.grid.width
    >>> while (plan := epochs.plan()):
    ...     print(plan.pulls)
    ...     means = {"A": 0.5, "B": 0.54, "C": 0.4, "D": 0.3}
    ...     _ = epochs.close_steps({arm: int(means[arm] * n * width) for arm, n in plan.pulls.items()})
    {'A': 1375, 'B': 1375, 'C': 1375, 'D': 1375}
    {'A': 2250, 'B': 2250}
    >>> found = epochs.algorithm
    >>> found.time, found.best_arm, round(found.doubt, 4)
    (10000, 'B', 0.0414)
    """

    key = "dp-bai-budget"
    reason = (
        "each reward enters the noisy total of one round: parallel composition of Laplace mechanisms, and the rest "
        "follows from what they released"
    )
    theorem = Theorem.REWARDS

    horizon: Count = field()
    epsilon: Positive = field()
    _totals: list[int] = field(init=False, repr=False, default_factory=list)
    _noises: list[int] = field(init=False, repr=False, default_factory=list)
    _left: list[int] = field(init=False, repr=False, default_factory=list)  # indices of arms, in the order of `arms`

    def _start(self) -> None:
        super()._start()
        self._totals, self._noises = ([0] * len(self.arms) for _ in range(2))
        self._left = list(range(len(self.arms)))

    @property
    def best_arm(self) -> Arm:
        """The arm of the highest released mean of those in the last round; None before the first release."""
        return self.arms[self._leader] if self.time else None

    @property
    def viable(self) -> tuple[Arm, ...]:
        """The arms of the round that is open, or was the last."""
        return tuple(self.arms[index] for index in self._left)

    @property
    def doubt(self) -> float:
        """The chance of being wrong that the releases leave; 1 before the first."""
        if not self.time:
            return 1.0
        rivals = [self.evidence(self._leader, arm) for arm in range(len(self.arms)) if arm != self._leader]
        return min(1.0, len(rivals) * math.exp(-min(rivals)))

    def estimate(self, arm: int) -> float:
        """Return an arm's released mean, rescaled to [0, 1], outside of which noise may move it; `arm` is its index."""
        return self._totals[arm] / (self.pulls[arm] * self.grid.width)

    def evidence(self, arm: int, other: int) -> float:
        """Return the logarithm of the evidence that an arm's mean is above another's.

        Args:
            arm: The index of the one arm.
            other: The index of the other.
        """
        (total, own), (below, others) = (
            (self._totals[index] / self.grid.width, (float(self.pulls[index]), self._noises[index]))
            for index in (arm, other)
        )
        return lead_evidence(total, *own, below, *others, self.epsilon)

    def deviation(self, arm: int) -> float:
        """Return about the standard deviation of an arm's released mean, by its luck and its noises."""
        pulls, chance = self.pulls[arm], min(max(self.estimate(arm), _LEAST), 1 - _LEAST)
        return math.sqrt(chance * (1 - chance) / pulls + 2 * self._noises[arm] / (pulls * self.epsilon) ** 2)

    def shares(self, left: int) -> tuple[float, float] | None:
        """Return the share of the pulls that a round takes, and the largest one of its arms that stay; None at the end.

        Args:
            left: The pulls that are left before the round.
        """
        arms = len(self._left)
        noise = 2 * arms / (left * self.epsilon * self.epsilon)
        if arms <= 2 or (arms < MANY and noise > COST * (arms - 2) ** 2):
            return None
        return QUIET if noise <= SMALL else LOUD

    @property
    def _leader(self) -> int:
        return max(self._left, key=self.estimate)

    @cached_property
    def _query(self) -> TotalsQuery:
        return TotalsQuery((self.epsilon,))

    def _plan(self) -> Plan | None:
        arms, left = self._left, self.horizon - self.time
        shares = self.shares(left) if left else None
        if shares and (pulls := math.floor(shares[0] * left / len(arms))):
            return self._plan_for(dict.fromkeys(arms, pulls), self._query)
        each, more = divmod(left, len(arms))
        return self._plan_for({arm: each + (place < more) for place, arm in enumerate(arms)}, self._query)

    def _decide(self, releases: Sequence[Release]) -> None:
        for release in releases:
            arm = self._index[release.arm]
            self._totals[arm] += release.steps
            self._noises[arm] += 1
        before = self.horizon - self.time + sum(release.rewards for release in releases)
        shares = self.shares(before)
        if self.remaining and shares:
            self._left = self._staying(shares[1])

    def _staying(self, share: float) -> list[int]:
        """Return the arms that stay after a round: those near the leader, a share at most and two at least."""
        ranked = sorted(self._left, key=self.estimate, reverse=True)
        lead, own = self.estimate(ranked[0]), self.deviation(ranked[0])
        near = sum(lead - self.estimate(arm) <= DEVIATIONS * math.hypot(own, self.deviation(arm)) for arm in ranked)
        return sorted(ranked[: max(2, min(near, math.ceil(share * len(ranked))))])

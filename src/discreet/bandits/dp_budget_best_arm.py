"""Private best-arm identification with a fixed budget of pulls, in one round or two."""

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

FIRST, KEPT = 3 / 4, 1 / 4
"""The share of the budget that all arms take turns in, and the share of the arms that take turns in the rest."""
MANY = 9
"""From this number of arms on, a second round pays however large the noise is."""
QUIET = 1 / 2000
"""With fewer, the noise of an equal share may have a variance of QUIET (K - 2)^2 for each of its rewards."""


@register
@dataclass(kw_only=True)
class DPBudgetBestArm(Policy):
    """Names the best arm after exactly `horizon` pulls, and says how far that can be trusted; epsilon-private.

    All arms take turns in three quarters of the pulls. The best quarter of the arms, two at least, take turns in the
    rest, and of these the one with the highest released mean is `best_arm`. A second round has a noise of its own, so
    with two arms, or with three to eight and few pulls, it would cost more than it brings: then all arms have equal
    shares of all pulls. The answer is wrong no more often than that of equal shares, and with nine arms or more about
    half as often (measured: docs/proofs/evidence-best-arm.md).

    Before the run nothing is promised but epsilon. `doubt` is what the releases say afterwards: an answer that is wrong
    has a doubt of q or less with probability q at most, for every q, for independent rewards of steady means.

    Private because each reward enters the total of one round, which is released once. Who is in the second round
    follows from what the first released; how many pulls an arm has in either is fixed before the run.

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
    {'A': 1875, 'B': 1875, 'C': 1875, 'D': 1875}
    {'A': 1250, 'B': 1250}
    >>> found = epochs.algorithm
    >>> found.time, found.best_arm, round(found.doubt, 4)
    (10000, 'B', 0.0827)
    """

    key = "dp-bai-budget"
    reason = (
        "each reward enters the noisy total of one round: parallel composition of Laplace mechanisms, and the rest "
        "follows from what they released"
    )
    theorem = Theorem.REWARDS
    fixed_blocks = True

    horizon: Count = field()
    epsilon: Positive = field()
    _totals: list[int] = field(init=False, repr=False, default_factory=list)
    _noises: list[int] = field(init=False, repr=False, default_factory=list)
    _left: list[int] = field(init=False, repr=False, default_factory=list)  # indices of arms, in the order of `arms`

    def _start(self) -> None:
        super()._start()
        self._totals, self._noises = ([0] * len(self.arms) for _ in range(2))
        self._left = list(range(len(self.arms)))

    @cached_property
    def kept(self) -> int:
        """The number of arms in the second round; 0 if there is one round alone."""
        arms, kept = len(self.arms), max(2, math.ceil(KEPT * len(self.arms)))
        noise = 2 * arms / (self.horizon * self.epsilon * self.epsilon)
        quiet = arms >= MANY or noise <= QUIET * (arms - 2) ** 2
        return kept if quiet and (1 - FIRST) * self.horizon >= kept else 0

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

    @property
    def _leader(self) -> int:
        return max(self._left, key=self.estimate)

    def _plan(self) -> Plan | None:
        arms, left = len(self.arms), self._left
        later = int((1 - FIRST) * self.horizon / self.kept) if self.kept else 0  # pulls of each arm that is kept
        if self.time:
            return self._plan_for(dict.fromkeys(left, later), self._query)
        share, more = divmod(self.horizon - self.kept * later, arms)
        return self._plan_for({arm: share + (arm < more) for arm in left}, self._query)

    @cached_property
    def _query(self) -> TotalsQuery:
        return TotalsQuery((self.epsilon,))

    def _decide(self, releases: Sequence[Release]) -> None:
        for release in releases:
            arm = self._index[release.arm]
            self._totals[arm] += release.steps
            self._noises[arm] += 1
        if self.kept and self.remaining:
            self._left = sorted(sorted(self._left, key=self.estimate, reverse=True)[: self.kept])

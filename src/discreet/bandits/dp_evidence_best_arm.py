"""Private best-arm identification with fixed confidence by evidence at any time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.bandits._batched import BatchedPolicy
from discreet.core.errors import ArgumentError
from discreet.core.options import Count, Probability, Real
from discreet.core.plans import Arm, Plan
from discreet.core.probability.lead_evidence import lead_evidence
from discreet.core.registry import register
from discreet.core.releases import Release

GROWTH = 1.2
"""The least factor by which an arm's pulls grow with a batch."""
FIRST = 36.0
"""A first batch has this many pulls, over epsilon."""
QUIET = 6.0
"""Pulls double until there are QUIET/(epsilon^2 p(1-p)): then a batch's rewards vary more than its noise."""
_LEAST = 0.01  # of a released mean and of 1 minus it, there


@register
@dataclass(kw_only=True)
class DPEvidenceBestArm(BatchedPolicy):
    """Finds the arm with the highest mean: wrong with probability at most `beta`, epsilon-private, in the fewest pulls.

    It pulls the leader or its closest challenger, whichever has fewer pulls. The leader has the highest released mean;
    the challenger has the least E_a + ln(n_a)/2, for evidence exp(E_a) that the leader's mean is above arm a's, and n_a
    pulls: without the logarithm two arms that are equally bad could take turns for ever, while a good one whose first
    batch had no luck is not looked at. The evidence is joint: one bound for the rewards and noises of both, valid at
    every look, with no share of `beta` set aside for looks that never come. An arm is dropped when the logarithm of the
    evidence that the leader is better reaches ln((K - 1)/beta); the search ends when one is left (`settled`). Two best
    arms that are equally good can never be told apart: `max_pulls` then ends the search, with `settled` False and
    `best_arm` a guess.

    The best arm is dropped with probability `beta` at most, for independent rewards in [0, 1] of steady means:
    docs/proofs/evidence-best-arm.md. Pulls are of one arm at a time, so rewards that drift together may mislead it.

    Private because each reward enters the total of one batch, which is released once. How long a batch is follows from
    what was released before.

    Attributes:
        doubt: The chance of being wrong that the evidence leaves: an answer that is wrong has a doubt of q or less with
            probability q at most, for every q and at all looks together.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        beta: The probability of failure.
        max_pulls: The largest number of pulls in all: no batch that goes beyond it is begun.
        ratio: The least factor by which an arm's pulls grow with a batch; while noise outweighs luck, they double.
        first_batch: The first batch's pulls of each arm, by default ceil(36/epsilon).
        low: The least reward. Gaps and formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> epochs = Totals(DPEvidenceBestArm(["A", "B"], epsilon=1.0, beta=0.05), noise=SimulatedNoise(seed=1))
    >>> width = epochs.algorithm.grid.width
    >>> while (plan := epochs.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     _ = epochs.close_steps({arm: int(means[arm] * n * width) for arm, n in plan.pulls.items()})
    >>> found = epochs.algorithm
    >>> found.settled, found.best_arm, found.time
    (True, 'B', 1486)
    """

    key = "dp-bai-evidence"
    kernel = "evidence_search"
    fixed_blocks = False

    horizon: None = field(init=False, repr=False, default=None)
    beta: Probability = field()
    max_pulls: Count | None = None
    ratio: Real = GROWTH
    _against: list[float] = field(init=False, repr=False, default_factory=list)  # the most evidence, for each arm
    _leader: int = field(init=False, repr=False, default=0)
    _challenger: int = field(init=False, repr=False, default=0)

    def _start(self) -> None:
        super()._start()
        if self.max_pulls is not None and self.max_pulls < len(self.arms):
            raise ArgumentError(f"max_pulls must allow one pull of each arm, got {self.max_pulls}")
        self._against = [0.0] * len(self.arms)

    @property
    def settled(self) -> bool:
        """True when one arm is left."""
        return len(self._left()) == 1

    @property
    def best_arm(self) -> Arm:
        """The arm of the highest released mean of those that are viable; None before the first release."""
        return self.arms[self._leader] if self._batches[0] else None

    @property
    def viable(self) -> tuple[Arm, ...]:
        """The arms that may still be the best one."""
        return tuple(self.arms[index] for index in self._left())

    @property
    def doubt(self) -> float:
        """The chance of being wrong that the evidence leaves."""
        rivals = [evidence for arm, evidence in enumerate(self._against) if arm != self._leader]
        return min(1.0, len(rivals) * math.exp(-min(rivals)))

    def drop_level(self) -> float:
        """Return the logarithm of the evidence that drops an arm for good: ln((K - 1)/beta)."""
        return math.log(len(self.arms) - 1) - math.log(self.beta)

    def evidence(self, arm: int, other: int) -> float:
        """Return the logarithm of the evidence that an arm's mean is above another's.

        Args:
            arm: The index of the one arm.
            other: The index of the other.
        """
        total, below = self._totals[arm] / self.grid.width, self._totals[other] / self.grid.width
        own, others = (float(self._counts[arm]), self._batches[arm]), (float(self._counts[other]), self._batches[other])
        return lead_evidence(total, *own, below, *others, self.epsilon)

    def default_batch(self) -> int:
        """Return the first batch's pulls of each arm, if `first_batch` is not given."""
        return self.quiet_batch(FIRST)

    def next_batch(self, arm: int) -> int:
        """Return the pulls of an arm's next batch; `arm` is its index."""
        pulls, chance = self.pulls[arm], min(max(self.estimate(arm), _LEAST), 1 - _LEAST)
        quiet = QUIET / (self.epsilon * self.epsilon * chance * (1 - chance))
        return math.ceil(max(pulls * (self.ratio - 1), min(float(pulls), quiet)))

    def choose(self, time: int) -> int:
        """Return the index of the arm whose batch begins at a time step: the leader's, or its challenger's."""
        leader, challenger = self._leader, self._challenger
        return leader if self.pulls[leader] <= self.pulls[challenger] else challenger

    def _plan(self) -> Plan | None:
        plan = None if self.settled else super()._plan()
        if plan is None or (self.max_pulls is not None and self.time + plan.size > self.max_pulls):
            return None
        return plan

    def _next_plan(self) -> Plan | None:
        arm = self.choose(self.time + 1)
        return self._plan_for({arm: self.next_batch(arm)}, self._query)

    def _left(self) -> list[int]:
        level = self.drop_level()
        return [arm for arm, evidence in enumerate(self._against) if evidence < level]

    def _decide(self, releases: Sequence[Release]) -> None:
        super()._decide(releases)
        left, least = self._left(), math.inf
        self._leader = max(left, key=self.estimate)
        for arm in left:
            if arm != self._leader:
                evidence = self.evidence(self._leader, arm)
                self._against[arm] = max(self._against[arm], evidence)
                cost = evidence + math.log(self._counts[arm]) / 2
                if cost < least and self._against[arm] < self.drop_level():
                    self._challenger, least = arm, cost

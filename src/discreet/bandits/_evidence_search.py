"""The base class of searches for the best arm that compare a leader with its closest challenger."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.bandits._batched import BatchedPolicy
from discreet.core.options import Real
from discreet.core.plans import Arm
from discreet.core.probability.lead_evidence import lead_evidence
from discreet.core.releases import Release

GROWTH = 1.2
"""The least factor by which an arm's pulls grow with a batch."""
FIRST = 36.0
"""A first batch has this many pulls, over epsilon."""
QUIET = 6.0
"""Pulls double until there are QUIET/(epsilon^2 p(1-p)): then a batch's rewards vary more than its noise."""
_LEAST = 0.01  # of a released mean and of 1 minus it, there


@dataclass(kw_only=True)
class EvidenceSearch(BatchedPolicy):
    """Pulls the leader or its closest challenger, whichever has fewer pulls, and adds up evidence that it leads.

    After every release, E_a is the logarithm of the evidence that the leader's mean is above arm a's
    (`lead_evidence`). The leader has the highest released mean. The challenger has the least E_a + ln(n_a)/2 for its
    n_a pulls: without the logarithm two arms that are equally bad could take turns for ever, while a good one whose
    first batch had no luck is not looked at.

    Attributes:
        doubt: The chance of being wrong that the evidence leaves: an answer that is wrong has a doubt of q or less with
            probability q at most, for every q and at all looks together.
    """

    fixed_blocks = False

    ratio: Real = GROWTH
    _against: list[float] = field(init=False, repr=False, default_factory=list)  # the most evidence, for each arm
    _leader: int = field(init=False, repr=False, default=0)
    _challenger: int = field(init=False, repr=False, default=0)

    def _start(self) -> None:
        super()._start()
        self._against = [0.0] * len(self.arms)

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
        """Return the logarithm of the evidence that drops an arm for good; infinite if none is ever dropped."""
        return math.inf

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

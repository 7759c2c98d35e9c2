"""Private best-arm identification with fixed confidence by evidence at any time."""

import math
from dataclasses import dataclass, field

from discreet.bandits._evidence_search import EvidenceSearch
from discreet.core.errors import ArgumentError
from discreet.core.options import Count, Probability
from discreet.core.plans import Plan
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPEvidenceBestArm(EvidenceSearch):
    """Finds the arm with the highest mean: wrong with probability at most `beta`, epsilon-private, in the fewest pulls.

    It compares the leader with its closest challenger. Their evidence is joint: one bound for the rewards and noises of
    both, valid at every look, with no share of `beta` set aside for looks that never come. An arm is dropped when the
    logarithm of the evidence that the leader is better reaches ln((K - 1)/beta); the search ends when one is left
    (`settled`). Two best arms that are equally good can never be told apart: `max_pulls` then ends the search, with
    `settled` False and `best_arm` a guess.

    The best arm is dropped with probability `beta` at most, for independent rewards in [0, 1] of steady means:
    docs/proofs/evidence-best-arm.md. Pulls are of one arm at a time, so rewards that drift together may mislead it.

    Private because each reward enters the total of one batch, which is released once. How long a batch is follows from
    what was released before.

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

    horizon: None = field(init=False, repr=False, default=None)
    beta: Probability = field()
    max_pulls: Count | None = None

    def _start(self) -> None:
        super()._start()
        if self.max_pulls is not None and self.max_pulls < len(self.arms):
            raise ArgumentError(f"max_pulls must allow one pull of each arm, got {self.max_pulls}")

    @property
    def settled(self) -> bool:
        """True when one arm is left."""
        return len(self._left()) == 1

    def drop_level(self) -> float:
        """Return the logarithm of the evidence that drops an arm for good: ln((K - 1)/beta)."""
        return math.log(len(self.arms) - 1) - math.log(self.beta)

    def _plan(self) -> Plan | None:
        plan = None if self.settled else super()._plan()
        if plan is None or (self.max_pulls is not None and self.time + plan.size > self.max_pulls):
            return None
        return plan

    def _next_plan(self) -> Plan | None:
        arm = self.choose(self.time + 1)
        return self._plan_for({arm: self.next_batch(arm)}, self._query)

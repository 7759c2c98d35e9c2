"""Private best-arm identification with a fixed budget of pulls."""

from dataclasses import dataclass, field

from discreet.bandits._evidence_search import EvidenceSearch
from discreet.core.options import Count
from discreet.core.plans import Plan
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPBudgetBestArm(EvidenceSearch):
    """Names the best arm after exactly `horizon` pulls, and says how far that can be trusted; epsilon-private.

    It pulls what `DPEvidenceBestArm` pulls, the leader or its closest challenger, drops nothing, and stops when the
    pulls are spent. Then `best_arm` is the answer, and `doubt` what its own releases say of it: an answer that is wrong
    has a doubt of q or less with probability q at most, for every q, for independent rewards of steady means
    (docs/proofs/evidence-best-arm.md). Before the run nothing is promised but epsilon: with a small budget, or two arms
    that are nearly equal, the doubt is large. Every batch has a noise of its own, which is what looking early costs:
    with two arms alone, equal shares that are released once are wrong a little less often.

    Private because each reward enters the total of one batch, which is released once. How long a batch is follows from
    what was released before.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all.
        ratio: The least factor by which an arm's pulls grow with a batch; while noise outweighs luck, they double.
        first_batch: The first batch's pulls of each arm, by default ceil(36/epsilon), in all at most half the horizon.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> epochs = Totals(DPBudgetBestArm(["A", "B"], epsilon=1.0, horizon=1000), noise=SimulatedNoise(seed=1))
    >>> width = epochs.algorithm.grid.width
    >>> while (plan := epochs.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     _ = epochs.close_steps({arm: int(means[arm] * n * width) for arm, n in plan.pulls.items()})
    >>> found = epochs.algorithm
    >>> found.time, found.best_arm, round(found.doubt, 4)
    (1000, 'B', 0.2954)
    """

    key = "dp-bai-budget"
    kernel = "evidence_search"

    horizon: Count = field()

    def default_batch(self) -> int:
        """Return the first batch's pulls of each arm, if `first_batch` is not given."""
        return min(super().default_batch(), max(1, self.horizon // (2 * len(self.arms))))

    def _next_plan(self) -> Plan | None:
        arm, left = self.choose(self.time + 1), self.horizon - self.time
        size = self.next_batch(arm)
        return self._plan_for({arm: left if 2 * size > left else size}, self._query)

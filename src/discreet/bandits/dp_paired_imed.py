"""A private index policy for rewards that drift: arms are compared only with what was shown at the same time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations

from discreet.bandits._batched import BatchedPolicy
from discreet.core.options import Real
from discreet.core.plans import Arm, Plan
from discreet.core.probability.tails import paired_exponent
from discreet.core.registry import register
from discreet.core.releases import Release

ENOUGH = 1.0
"""The evidence that changes the leader: with none, many close arms would take turns at leading."""


@register
@dataclass(kw_only=True)
class DPPairedIMED(BatchedPolicy):
    """Explores by epochs in which the leader and one other arm take turns, and compares them by these epochs alone.

    A batch of one arm confounds the arm with the time: if rewards rise on Monday, the arm that was pulled then looks
    better. Here the first epoch has all arms in turn, and every later one that learns has the leader and a challenger
    in turn, equally often. With n such pairs in m epochs and the released difference D of their totals, exp(-E) bounds
    the probability of D if the challenger is at least as good as the leader at all times, however both drift
    (`paired_exponent`). The challenger with the smallest E + ln n is tried next, if that is below ln N for the N pulls
    of the leader; else the leader is pulled alone, and those rewards need not even be collected. The leader changes
    when there is some evidence (E > 1) that a challenger is better, and not at every chance lead.

    Private because each reward enters the total of one arm in one epoch, which is released once.

    The exponent is Hoeffding's for differences, so its regret is larger than that of `DPChernoffIMED` where nothing
    drifts: some 3 times for means around 1/2, and far more for rare rewards, whose small variance it does not use.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end. It also sets the default first batch.
        ratio: The factor by which pairs grow with an epoch.
        first_batch: The first epoch's pulls of each arm, by default ceil(2 ln(T)/epsilon), in all at most a fifth of
            the horizon.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPPairedIMED(["A", "B", "C"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 19, 'B': 19, 'C': 19}
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> _ = epochs.close_steps({arm: wins * policy.grid.width for arm, wins in zip("ABC", (4, 14, 12))})
    >>> epochs.algorithm.best_arm, epochs.plan().pulls
    ('B', {'B': 10})
    """

    key = "dp-paired-imed"
    fixed_blocks = False
    kernel = "paired"

    ratio: Real = 1.5
    _leader: int = field(init=False, repr=False, default=0)
    _lead: list[list[int]] = field(init=False, repr=False, default_factory=list)  # of one arm over another, in steps
    _pairs: list[list[int]] = field(init=False, repr=False, default_factory=list)  # pulls of each in shared epochs
    _shared: list[list[int]] = field(init=False, repr=False, default_factory=list)  # epochs that both were in

    def _start(self) -> None:
        super()._start()
        size = len(self.arms)
        self._lead, self._pairs, self._shared = ([[0] * size for _ in range(size)] for _ in range(3))

    def default_batch(self) -> int:
        """Return the first epoch's pulls of each arm, if `first_batch` is not given."""
        return self.cautious_batch()

    @property
    def best_arm(self) -> Arm:
        """The leader; None before the first release."""
        return self.arms[self._leader] if self._batches[0] else None

    def evidence(self, one: int, other: int) -> float:
        """Return E: Chernoff's exponent of one arm's lead over another that is as good.

        Args:
            one: The index of the arm that leads.
            other: The index of the arm behind.
        """
        lead = self._lead[one][other] / self.grid.width
        return paired_exponent(lead, self._pairs[one][other], 2 * self._shared[one][other], self.epsilon)

    def choose(self, time: int) -> int:
        """Return the index of the challenger whose epoch begins at a time step, or that of the leader."""
        leader = self._leader
        costs = {
            arm: self.evidence(leader, arm) + math.log(self._pairs[leader][arm])
            for arm in range(len(self.arms))
            if arm != leader
        }
        challenger = min(costs, key=costs.__getitem__)
        return challenger if costs[challenger] < math.log(self.pulls[leader]) else leader

    def _next_plan(self) -> Plan | None:
        leader, arm = self._leader, self.choose(self.time + 1)
        if arm == leader:  # there is nothing to compare with
            return self._plan_for({arm: self.batch_size(self.pulls[arm])}, None)
        return self._plan_for(dict.fromkeys((leader, arm), self.batch_size(self._pairs[leader][arm])), self._query)

    def _decide(self, releases: Sequence[Release]) -> None:
        first = not self._batches[0]
        super()._decide(releases)
        released = {self._index[release.arm]: release for release in releases}
        for one, other in permutations(released, 2):
            self._lead[one][other] += released[one].steps - released[other].steps
            self._pairs[one][other] += released[one].rewards
            self._shared[one][other] += 1
        if first:
            self._leader = max(released, key=lambda arm: released[arm].steps)
            return
        for challenger in released:
            if self.evidence(challenger, self._leader) > ENOUGH:
                self._leader = challenger

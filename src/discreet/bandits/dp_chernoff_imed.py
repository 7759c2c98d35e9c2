"""DP-IMED with an index that knows its noises: near the lower bound, and never stuck. The one we recommend."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from discreet.bandits.dp_imed import DPIMED
from discreet.core.options import NotNegative, Real
from discreet.core.probability.tails import tail_exponent
from discreet.core.registry import register
from discreet.core.releases import Release

_FEW_ARMS = 5  # up to this number of arms no caution is needed


@register
@dataclass(kw_only=True)
class DPChernoffIMED(DPIMED):
    """Pulls the arm of least max(0, E - c) + ln n, where exp(-E) bounds the probability of its total for the best mean.

    E is Chernoff's exponent for what was really released: the total of n rewards plus one Laplace noise for each of
    its m batches (`tail_exponent`). DP-IMED's n d_epsilon is this exponent for one noise, in the limit of long
    batches; so both have the same asymptotic regret, the ratio of batches times the lower bound for Bernoulli arms.

    *Why it cannot stay with a wrong arm.* Let the best arm have mean mu and n pulls in m batches. The exponent only
    grows with the mean it is tested against, so while the leader's mean is at most mu, E > x has a probability of at
    most exp(-x), whatever the noises. The leader has E = 0; so the best arm is pulled again as soon as the leader has
    n exp(E - c) pulls (and no other arm comes first). To wait until T takes E >= c + ln(T/n): at most exp(-c) n/T for
    each of the few batch ends. A leader whose mean is too high is pulled until it is not, with one more noise and half
    as many more rewards each time. This holds for all rewards in [0, 1], since the exponent does.

    *Why c grows with the arms.* More arms leave each fewer pulls and often a smaller gap, so that n/T is no longer
    small; and the leader is the luckiest of all. c = ln(K/5) pays for that with c/ln(T) more regret, 8 % for 20 arms at
    T = 5e7. With up to 5 arms it is 0.

    *Why the first batch costs nothing.* It has ceil(2 ln(T)/epsilon) pulls. No private policy that works on all
    instances can pull an arm with a gap of 1/2 or less fewer times, for d_epsilon <= epsilon gap.

    Private because each reward enters the total of one batch, which is released once.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end. It also sets the default first batch (without one, that
            of 2^20 pulls).
        ratio: The factor by which an arm's pulls grow with a batch. 1.5 is a compromise between many noises and long
            batches.
        first_batch: The first batch's pulls of each arm, by default ceil(2 ln(T)/epsilon), in all at most a fifth of
            the horizon.
        caution: c, evidence that is set aside; by default ln(K/5), at least 0.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = DPChernoffIMED(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> policy.plan().pulls
    {'A': 19, 'B': 19}
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> _ = epochs.close_steps({"A": 4 * policy.grid.width, "B": 14 * policy.grid.width})
    >>> epochs.algorithm.best_arm, epochs.plan().pulls
    ('B', {'B': 10})
    """

    key = "dp-chernoff-imed"
    kernel = "batched"

    ratio: Real = 1.5
    caution: NotNegative | None = None
    _known: list[list[float]] = field(init=False, repr=False, compare=False, default_factory=list)

    def _start(self) -> None:
        super()._start()
        self._known = [[] for _ in self.arms]  # a best mean and an arm's evidence against it, until either changes

    @cached_property
    def effective_caution(self) -> float:
        """`caution` as given, or ln(K/5) if that is above 0."""
        return math.log(max(1.0, len(self.arms) / _FEW_ARMS)) if self.caution is None else self.caution

    def default_batch(self) -> int:
        """Return the first batch's pulls of each arm, if `first_batch` is not given."""
        return self.cautious_batch()

    def evidence(self, arm: int, best: float) -> float:
        """Return Chernoff's exponent of the arm's released total if its mean is the best one, less the caution.

        Args:
            arm: The arm's index in `arms`.
            best: The highest released mean, moved into [0, 1].
        """
        known = self._known[arm]
        if not known or known[0] != best:
            total = self._totals[arm] / self.grid.width
            exponent = tail_exponent(total, self._counts[arm], self._batches[arm], best, self.epsilon)
            known = self._known[arm] = [best, max(0.0, exponent - self.effective_caution)]
        return known[1]

    def _decide(self, releases: Sequence[Release]) -> None:
        super()._decide(releases)
        for release in releases:
            self._known[self._index[release.arm]] = []

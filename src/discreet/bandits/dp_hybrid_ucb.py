"""DP-UCB without a horizon, on hybrid counters (after Tossou and Dimitrakakis 2016)."""

import math
from dataclasses import dataclass, field
from functools import cached_property

from discreet.bandits._counter_policy import CounterPolicy
from discreet.core.plans import CounterQuery, Query
from discreet.core.privacy import Theorem
from discreet.core.probability.tails import laplace_sum_radius
from discreet.core.registry import register
from discreet.core.releases import Kind, Release

_TOTAL = Kind.TOTAL  # looked up once: it takes longer than a comparison


@register
@dataclass(kw_only=True)
class DPHybridUCB(CounterPolicy):
    """Pulls the arm with the highest noisy mean + sqrt(2 ln t / n) + nu / n, without an end.

    nu is a bound on the counter's error that fails with probability at most t^-4, like the bound on the sampling error
    beside it. It is computed from the noises inside the present total, not taken from the asymptotic formula of Tossou
    and Dimitrakakis, whose counter spends 2 epsilon in their code.

    Private because a reward enters the counter of its own arm only: one sum between powers of two at epsilon/2, and one
    tree at epsilon/2.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> policy = DPHybridUCB(["A", "B"], epsilon=1.0)
    >>> policy.plan().pulls
    {'A': 1}
    """

    key = "dp-ucb-hybrid"
    reason = "a reward touches one hybrid counter: epsilon/2 in its logarithmic part, epsilon/2 in one tree"
    theorem = Theorem.HYBRIDS
    kernel = "dp_ucb"

    _base: list[int] = field(init=False, repr=False, default_factory=list)  # totals up to the last power of two

    def _start(self) -> None:
        super()._start()
        self._base = [0] * len(self.arms)

    def noise_scales(self, pulls: int) -> list[float]:
        """Return the scale of each noise inside the total of a number of pulls, in rewards rescaled to [0, 1]."""
        powers, start = pulls.bit_length(), 1 << (pulls.bit_length() - 1)
        tree = 2 * (start - 1).bit_length() / self.epsilon
        return [2 / self.epsilon] * powers + [tree] * (pulls - start).bit_count()

    def index(self, arm: int, time: int) -> float:
        """Return noisy mean, exploration and the counter's error bound, added up.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """
        pulls = self.pulls[arm]
        error = laplace_sum_radius(self.noise_scales(pulls), time**-4.0)
        return self.mean(arm) + math.sqrt(2 * math.log(time) / pulls) + error / pulls

    @cached_property
    def _query(self) -> Query:
        return CounterQuery(self.epsilon, None)

    def _running_total(self, arm: int, node: Release) -> int:
        if node.kind != _TOTAL:
            return super()._running_total(arm, node)
        self._base[arm] += node.steps
        self._nodes[arm] = []
        return self._base[arm]

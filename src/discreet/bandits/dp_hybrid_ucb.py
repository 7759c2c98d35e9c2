"""DP-UCB without a horizon, on hybrid counters (after Tossou and Dimitrakakis 2016)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.bandits._counted import CountedPolicy
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.mechanisms.hybrid import HybridCounter


class DPHybridUCB(CountedPolicy):
    """Pulls the arm with the highest noisy mean + sqrt(2 ln t / n) + nu / n, for ever.

    nu is a bound on the counter's error that fails with probability at most t^-4, like the bound on the
    sampling error beside it. It is computed from the very noises inside the present total, not taken from
    the asymptotic formula of Tossou and Dimitrakakis, whose counter spends 2 epsilon in their code.

    Private because a reward enters the counter of its own arm only, and that counter is private by itself.

    >>> from discreet import SimulatedNoise
    >>> policy = DPHybridUCB(["A", "B"], epsilon=1.0, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 1}
    """

    key = "dp-ucb-hybrid"
    privacy_reason = "a reward touches one hybrid counter: epsilon/2 in its logarithmic part, epsilon/2 in one tree"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(arms, low=low, high=high, horizon=horizon)
        self.epsilon = checks.positive("epsilon", epsilon)
        self._counters = [HybridCounter(self.grid.width, self.epsilon, noise) for _ in self.arms]
        self.noise = self._counters[0].noise

    def index(self, number: int, time: int) -> float:
        """Noisy mean, exploration and the counter's own error bound."""
        pulls = self._pulls[number]
        error = self._counters[number].radius(time**-4.0) / self.grid.width
        return self.mean(number) + math.sqrt(2 * math.log(time) / pulls) + error / pulls

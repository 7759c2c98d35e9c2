"""DP-IMED with an index that knows its noises: near the lower bound, and never stuck. The one we recommend."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from discreet.bandits.dp_imed import DPIMED
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.core.tails import tail_exponent

_FEW_ARMS = 5  # up to so many need no caution


class DPChernoffIMED(DPIMED):
    """Pulls the arm of least max(0, E - c) + ln n, where exp(-E) bounds the chance of its total under the best mean.

    E is Chernoff's exponent for what was really released: the total of n rewards plus one Laplace noise for each of
    its m batches (`tail_exponent`). DP-IMED's n d_epsilon is this exponent for one noise, in the limit of long
    batches; so both have the same asymptotic regret, the ratio of batches times the lower bound for Bernoulli arms.

    *Why it cannot stay locked on to a wrong arm.* Let the best arm have mean mu and n pulls in m batches. The exponent
    only grows with the mean it is tested against, so while the leader's mean is at most mu, E > x has a probability
    of at most exp(-x), whatever the noises. The leader has E = 0; so the best arm is pulled again as soon as the
    leader has n exp(E - c) pulls (and no other arm comes first). To wait until T takes E >= c + ln(T/n): at most
    exp(-c) n/T for each of the few batch ends. A leader whose mean is too high is pulled until it is not, with one
    more noise and half as many more rewards each time.
    This holds for all rewards in [0, 1], since the exponent does.

    *Why c grows with the arms.* More arms leave each fewer pulls and often a smaller gap, so that n/T is no longer
    small; and the leader is the luckiest of all. c = ln(K/5) pays for that with c/ln(T) more regret, 8 % for 20 arms at
    T = 5e7. With up to 5 arms it is 0.

    *Why the first batch costs nothing.* It has ceil(2 ln(T)/epsilon) pulls. No private policy that works on all
    instances can pull an arm with a gap of 1/2 or less fewer times, for d_epsilon <= epsilon gap.

    Parameters: `epsilon`; `horizon`, if there is one: it ends the run and sets the default first batch (without one,
    that of 2^20 pulls); `ratio` of batches, whose default of 1.5 is a compromise between many noises and long batches;
    `first_batch`; `caution`, which is c.

    >>> from discreet import SimulatedNoise
    >>> policy = DPChernoffIMED(["A", "B"], epsilon=1.0, horizon=10_000, noise=SimulatedNoise(seed=1))
    >>> policy.plan().pulls
    {'A': 19, 'B': 19}
    >>> _ = policy.close({"A": 4 * policy.grid.width, "B": 14 * policy.grid.width})
    >>> policy.best_arm, policy.plan().pulls
    ('B', {'B': 10})
    """

    key = "dp-chernoff-imed"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        ratio: float = 1.5,
        first_batch: int | None = None,
        caution: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(
            arms,
            epsilon=epsilon,
            horizon=horizon,
            ratio=ratio,
            first_batch=first_batch,
            low=low,
            high=high,
            noise=noise,
        )
        few = math.log(max(1.0, len(self.arms) / _FEW_ARMS))
        self.caution = few if caution is None else checks.real("caution", caution)
        if self.caution < 0:
            raise ArgumentError(f"caution must be 0 or more, since it is evidence set aside, got {caution!r}")
        self._exponents: list[tuple[float, float]] = [(-1.0, 0.0)] * len(self.arms)  # best mean, exponent: for speed

    def _default_batch(self) -> int:
        return self.cautious_batch()

    def exponent(self, number: int, best: float) -> float:
        """How unlikely the arm's released total is if its mean is the best one, less the caution."""
        known, value = self._exponents[number]
        if known != best:
            total, noises = self._totals[number] / self.grid.width, self._batches[number]
            value = max(0.0, tail_exponent(total, self._counts[number], noises, best, self.epsilon) - self.caution)
            self._exponents[number] = best, value
        return value

    def _close(self, totals: dict[int, int]) -> None:
        super()._close(totals)
        for number in totals:
            self._exponents[number] = -1.0, 0.0

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._exponents = [(-1.0, 0.0)] * len(self.arms)

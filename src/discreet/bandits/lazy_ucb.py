"""Anytime-Lazy-UCB (Hu, Huang and Mehta 2021): UCB on the last of doubling blocks, chosen anew at every step."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from functools import partial

from discreet.bandits._lazy import LazyPolicy
from discreet.core.noise import Noise
from discreet.core.privacy import Arm


class AnytimeLazyUCB(LazyPolicy):
    """Pulls the arm with the highest mean + sqrt(3 ln(t)/n) + 3 ln(t)/(epsilon n), by its last block of n rewards.

    AdaP-UCB commits itself to an arm until its pulls have doubled; this one looks at every step, and goes to another
    arm as soon as the growing logarithm says so. The paper's abstract promises a regret of the order of the sum over
    worse arms of ln(T)/min(gap, epsilon), without knowing T. The index is written here from memory: the paper's own
    text could not be read, and its constants may differ.

    Between two releases an index grows with ln(t) alone, and faster for smaller n. So the lead passes to arms with
    fewer rewards, at most once to each, and the step at which it does is found by bisection.

    Parameters: `epsilon`; `horizon`, if there is one (it only ends the run). Among equal indices the first arm leads.

    >>> from discreet import SimulatedNoise
    >>> policy = AnytimeLazyUCB(["A", "B"], epsilon=10.0, noise=SimulatedNoise(seed=1))
    >>> for _ in range(18):  # every reward of A is 0.25, and of B 0.75
    ...     pulls = policy.plan().pulls
    ...     totals = {arm: count * policy.grid.width // 4 * {"A": 1, "B": 3}[arm] for arm, count in pulls.items()}
    ...     released = policy.close(totals)
    >>> pulls, policy.unreleased, policy.best_arm
    ({'B': 1246, 'A': 128}, {'A': 0, 'B': 1246}, 'B')
    >>> released[0].spans
    (('A', 128, 255),)
    """

    key = "lazy-ucb"

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
        super().__init__(arms, epsilon=epsilon, horizon=horizon, low=low, high=high, noise=noise)

    def index(self, number: int, time: int) -> float:
        """The upper confidence bound at a time step."""
        rate = 3 * math.log(time) / self._counts[number]
        return self.estimate(number) + math.sqrt(rate) + rate / self.epsilon

    def _leader(self, time: int) -> int:
        return max(range(len(self.arms)), key=lambda number: self.index(number, time))

    def _overtaken(self, number: int, time: int) -> bool:
        return self._leader(time) != number

    def _ahead(self, step: int, most: int) -> dict[int, int]:
        pulls: dict[int, int] = {}
        end = step + most
        while step < end:
            number = self._leader(step)
            missing = self._missing(number) - pulls.get(number, 0)
            steps = range(step, min(step + missing, end))
            if self._leader(steps[-1]) == number:
                count = len(steps)
            else:  # overtaken on the way
                count = bisect_left(steps, True, key=partial(self._overtaken, number))
            pulls[number] = pulls.get(number, 0) + count
            step += count
            if count == missing:
                break
        return pulls

"""Anytime-Lazy-UCB (Hu, Huang and Mehta 2021): UCB on the last of doubling blocks, chosen anew at every step."""

import math
from bisect import bisect_left
from dataclasses import dataclass

from discreet.bandits._lazy import LazyPolicy
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class AnytimeLazyUCB(LazyPolicy):
    """Pulls the arm with the highest mean + sqrt(3 ln(t)/n) + 3 ln(t)/(epsilon n), by its last block of n rewards.

    AdaP-UCB commits itself to an arm until its pulls have doubled; this one looks at every step, and goes to another
    arm as soon as the growing logarithm says so. The paper's abstract promises a regret of the order of the sum over
    worse arms of ln(T)/min(gap, epsilon), without knowing T. The index is written here from memory: the paper's own
    text could not be read, and its constants may differ.

    Between two releases an index grows with ln(t) alone, and faster for smaller n. So the lead passes to arms with
    fewer rewards, at most once to each, and the step at which it does is found by bisection. Among equal indices the
    first arm leads.

    Private because each reward enters the total of one block, which is released once.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = AnytimeLazyUCB(["A", "B"], epsilon=10.0)
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> for _ in range(18):  # every reward of A is 0.25, and of B 0.75
    ...     pulls = epochs.plan().pulls
    ...     totals = {arm: count * policy.grid.width // 4 * {"A": 1, "B": 3}[arm] for arm, count in pulls.items()}
    ...     released = epochs.close_steps(totals)
    >>> pulls, epochs.algorithm.unreleased, epochs.algorithm.best_arm
    ({'B': 1246, 'A': 128}, {'A': 0, 'B': 1246}, 'B')
    >>> released[0].spans
    (('A', 128, 255),)
    """

    key = "lazy-ucb"
    kernel = "lazy_ucb"
    experimental = "its paper's text could not be read: the index is written from notes, and constants may differ"

    def index(self, arm: int, time: int) -> float:
        """Return the upper confidence bound of an arm. The arm with the largest one is pulled next.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """
        rate = 3 * math.log(time) / self._counts[arm]
        return self.estimate(arm) + math.sqrt(rate) + rate / self.epsilon

    def leader(self, time: int) -> int:
        """Return the index of the arm to pull at a time step, if nothing is released before."""
        return max(range(len(self.arms)), key=lambda arm: self.index(arm, time))

    def _ahead(self, time: int, most: int) -> dict[int, int]:
        pulls: dict[int, int] = {}
        end = time + most
        while time < end:
            leader = self.leader(time)
            missing = self._missing(leader) - pulls.get(leader, 0)
            steps = range(time, min(time + missing, end))
            count = len(steps) if self.leader(steps[-1]) == leader else self._until_overtaken(leader, steps)
            pulls[leader] = pulls.get(leader, 0) + count
            time += count
            if count == missing:
                break
        return pulls

    def _until_overtaken(self, leader: int, steps: range) -> int:
        """Return the number of steps before another arm leads."""
        return bisect_left(steps, True, key=lambda time: self.leader(time) != leader)

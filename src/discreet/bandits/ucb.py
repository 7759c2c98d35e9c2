"""UCB, with the index that the paper uses: DP-UCB without privacy."""

import math
from dataclasses import dataclass

from discreet.bandits._step_wise import StepWisePolicy
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class UCB(StepWisePolicy):
    """Pulls the arm with the highest mean + sqrt(2 ln t / n), n being its pulls so far (Auer et al. 2002).

    Needs no horizon. Not private: means are exact.

    Args:
        arms: The names of the arms.
        horizon: The number of pulls in all, if there is an end.
        low: The least reward. The index is that of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import Bandit
    >>> bandit = Bandit(UCB(["A", "B"]))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 1.0 if ticket.arm == "B" else 0.0)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 12, 'B': 988})
    """

    key = "ucb"
    kernel = "ucb"

    def index(self, arm: int, time: int) -> float:
        """Return the upper confidence bound B of the paper's section 2.

        Args:
            arm: The arm's index in `arms`.
            time: The time step, from 1.
        """
        return self.indices(time)[arm]

    def indices(self, time: int) -> list[float]:
        """Return the bound B of each arm at a time step."""
        log, width, sqrt, totals = 2 * math.log(time), self.grid.width, math.sqrt, self._totals
        return [totals[arm] / (pulls * width) + sqrt(log / pulls) for arm, pulls in enumerate(self.pulls)]

    def choose(self, time: int) -> int:
        """Return the index of the arm to pull at a time step: of the largest bound, and among equals the first."""
        bounds = self.indices(time)
        return bounds.index(max(bounds))

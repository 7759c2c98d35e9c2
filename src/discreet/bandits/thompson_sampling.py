"""Thompson sampling (Thompson 1933): an arm is pulled as often as it is believed to be the best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet.bandits._plain import PlainPolicy
from discreet.core import checks
from discreet.core.privacy import Arm


class ThompsonSampling(PlainPolicy):
    """Pulls the arm with the largest draw of Beta(S + 1, n - S + 1), S being the sum of its n rewards so far.

    That is the posterior of a coin whose mean could be anything at first. For Bernoulli rewards the regret grows as
    slowly as Lai and Robbins allow: the sum over worse arms of gap ln(T)/kl(mean, best mean) (Kaufmann et al. 2012,
    Agrawal and Goyal 2013). Other rewards in [0, 1] count as a fraction of a success and a fraction of a failure. We
    know of no promise for that; where one is needed, throw a coin of chance r for a reward r, and tell what comes up:
    the regret is then that of the coins (Agrawal and Goyal).

    Parameters: `horizon`, if there is one (it only ends the run); `seed` of the draws, by default from the operating
    system. Where the draws stand is part of a saved state. Not private: sums are exact.

    >>> from discreet import Bandit
    >>> bandit = Bandit(ThompsonSampling(["A", "B"], seed=1))
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 0.75 if ticket.arm == "B" else 0.25)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 6, 'B': 994})
    """

    key = "ts"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        horizon: int | None = None,
        seed: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(arms, horizon=horizon, low=low, high=high)
        self.seed = None if seed is None else checks.whole("seed", seed, at_least=0)
        self._random = np.random.Generator(np.random.PCG64(self.seed))

    def draw(self, number: int) -> float:
        """A draw from what is believed about an arm's mean."""
        total, pulls = self.total(number), self._pulls[number]
        return float(self._random.beta(total + 1, pulls - total + 1))

    def _choose(self) -> int:
        return max(range(len(self.arms)), key=self.draw)

    def _progress(self) -> dict[str, Any]:
        return {**super()._progress(), "random": self._random.bit_generator.state}

    def _restore(self, progress: dict[str, Any]) -> None:
        super()._restore(progress)
        self._random.bit_generator.state = progress["random"]

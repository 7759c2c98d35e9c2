"""Private best-arm identification with fixed confidence and sharp constants."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.bandits.dp_sharp_elimination import DPSharpElimination
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.theory.sharp_elimination import GROWTH, WINDOW


class DPSharpBestArm(DPSharpElimination):
    """Finds the arm with the highest mean: wrong with probability at most `beta`, epsilon-private, in few pulls.

    Runs `DPSharpElimination` without a horizon and finishes when one arm is left (`settled`). An arm takes at most
    `schedule.pulls_for(gap)` pulls, with probability 1 - beta for all of them together. Two best arms that are equally
    good can never be told apart: `max_pulls` then ends the search, with `settled` False and `best_arm` a guess.

    Private for the same reason as DP Successive Elimination.

    >>> from discreet import SimulatedNoise
    >>> search = DPSharpBestArm(["A", "B"], epsilon=1.0, beta=0.05, noise=SimulatedNoise(seed=1))
    >>> while (plan := search.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     totals = {arm: int(means[arm] * n * search.grid.width) for arm, n in plan.pulls.items()}
    ...     _ = search.close(totals)
    >>> search.settled, search.best_arm, search.time
    (True, 'B', 2672)
    """

    key = "dp-bai-sharp"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        beta: float,
        max_pulls: int | None = None,
        growth: float = GROWTH,
        window: int = WINDOW,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(
            arms, epsilon=epsilon, beta=beta, growth=growth, window=window, low=low, high=high, noise=noise
        )
        self.max_pulls = None if max_pulls is None else checks.whole("max_pulls", max_pulls, at_least=len(self.arms))

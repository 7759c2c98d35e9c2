"""Private best-arm identification with fixed confidence: DP Successive Elimination until one arm is left."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.bandits.dp_successive_elimination import DPSuccessiveElimination
from discreet.core import checks
from discreet.core.noise import Noise
from discreet.core.privacy import Arm


class DPBestArm(DPSuccessiveElimination):
    """Finds the arm with the highest mean: wrong with probability at most `beta`, epsilon-private.

    Runs Algorithm 3 without a horizon and finishes when one arm is left (`settled`). Arm i takes
    O((1/gap_i^2 + 1/(epsilon gap_i)) log(K/beta)) pulls. Two best arms that are equally good can never be
    told apart: `max_pulls` then ends the search, with `settled` False and `best_arm` a guess.

    Private for the same reason as DP Successive Elimination.

    >>> from discreet import SimulatedNoise
    >>> search = DPBestArm(["A", "B"], epsilon=1.0, beta=0.05, noise=SimulatedNoise(seed=1))
    >>> while (plan := search.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     totals = {arm: int(means[arm] * n * search.grid.width) for arm, n in plan.pulls.items()}
    ...     _ = search.close(totals)
    >>> search.settled, search.best_arm, search.time
    (True, 'B', 8810)
    """

    key = "dp-bai"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        beta: float,
        max_pulls: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(arms, epsilon=epsilon, horizon=None, beta=beta, low=low, high=high, noise=noise)
        self.max_pulls = None if max_pulls is None else checks.whole("max_pulls", max_pulls, at_least=len(self.arms))

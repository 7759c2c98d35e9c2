"""Private best-arm identification with fixed confidence: DP Successive Elimination until one arm is left."""

from dataclasses import dataclass, field

from discreet.bandits.dp_successive_elimination import DPSuccessiveElimination
from discreet.core.options import Count, Probability
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class DPBestArm(DPSuccessiveElimination):
    """Finds the arm with the highest mean: wrong with probability at most `beta`, epsilon-private.

    Runs Algorithm 3 without a horizon and finishes when one arm is left (`settled`). Arm i takes
    O((1/gap_i^2 + 1/(epsilon gap_i)) log(K/beta)) pulls. Two best arms that are equally good can never be told apart:
    `max_pulls` then ends the search, with `settled` False and `best_arm` a guess.

    Private for the same reason as DP Successive Elimination.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        beta: The probability of failure.
        max_pulls: The largest number of pulls in all: no epoch that goes beyond it is begun.
        low: The least reward. Gaps and formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> epochs = Totals(DPBestArm(["A", "B"], epsilon=1.0, beta=0.05), noise=SimulatedNoise(seed=1))
    >>> width = epochs.algorithm.grid.width
    >>> while (plan := epochs.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     _ = epochs.close_steps({arm: int(means[arm] * n * width) for arm, n in plan.pulls.items()})
    >>> found = epochs.algorithm
    >>> found.settled, found.best_arm, found.time
    (True, 'B', 8810)
    """

    key = "dp-bai"

    horizon: None = field(init=False, repr=False, default=None)
    beta: Probability = field()
    max_pulls: Count | None = None

"""Private elimination with sharp constants for people instead of rewards."""

from dataclasses import dataclass, field
from functools import cached_property

from discreet.bandits._elimination import PERSON_REASON
from discreet.bandits.dp_sharp_elimination import DPSharpElimination
from discreet.core.options import Real
from discreet.core.privacy import Theorem, Unit
from discreet.core.registry import register
from discreet.theory.person_level import PERSON_GROWTH, THIRD, PersonSchedule, epoch_epsilon


@register
@dataclass(kw_only=True)
class DPSharpPersonElimination(DPSharpElimination):
    """Elimination with sharp constants that protects all rewards of a person together.

    Each epoch spends a third of what is left of epsilon. A person may take part in every epoch, with at most one reward
    in each. All of their rewards together are then covered by epsilon, and any single one by epsilon/3.
    `DPPersonElimination` says why that is private.

    A test looks at the totals of the last epoch alone: a window over several epochs would add up rewards of the same
    people, which need not be independent. So epochs grow fourfold, by default. The noise grows by 3/2 from one epoch to
    the next and what sampling moves a total by grows by 2, so that privacy matters less and less as gaps get small.

    A best arm stays, and every arm is gone after `schedule.pulls_for(gap)` pulls, with probability 1 - beta over all
    epochs, for rewards that are independent: docs/proofs/person-level.md, which also says what is left of this when a
    person's rewards of different epochs are not.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one person, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        growth: The factor by which an arm's pulls grow with an epoch, above 1.
        low: The least reward. Gaps and formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals, spent_by_person
    >>> epochs = Totals(DPSharpPersonElimination(["A", "B"], epsilon=1.0, beta=0.05), noise=SimulatedNoise(seed=1))
    >>> width = epochs.algorithm.grid.width
    >>> while (plan := epochs.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     _ = epochs.close_steps({arm: int(means[arm] * n * width) for arm, n in plan.pulls.items()})
    >>> found = epochs.algorithm
    >>> found.settled, found.best_arm, found.time, round(spent_by_person(found.ledger), 4)
    (True, 'B', 6670, 0.7037)
    """

    key = "dp-se-sharp-person"
    reason = PERSON_REASON
    theorem = Theorem.PERSONS
    unit = Unit.PERSON

    growth: Real = PERSON_GROWTH
    window: int = field(init=False, repr=False, default=1)

    @cached_property
    def schedule(self) -> PersonSchedule:
        """The ends of epochs, and the levels of their tests."""
        return PersonSchedule(len(self.arms), self.epsilon, self.failure, self.growth, self.window)

    def epoch_epsilon(self, epoch: int) -> float:
        """Return a third of what the epochs before have left."""
        return epoch_epsilon(self.epsilon, epoch, THIRD)

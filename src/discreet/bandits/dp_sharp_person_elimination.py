"""Private elimination with sharp constants for people instead of rewards."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.bandits._person_level import PersonLevel
from discreet.bandits.dp_sharp_elimination import DPSharpElimination
from discreet.core.noise import Noise
from discreet.core.privacy import Arm
from discreet.theory.person_level import PERSON_GROWTH, THIRD, PersonSchedule, epoch_epsilon


class DPSharpPersonElimination(PersonLevel, DPSharpElimination):
    """The elimination with sharp constants, with a third of what is left of epsilon in each epoch.

    A person may take part in every epoch, with at most one reward in each. All of her rewards together are then
    covered by epsilon, and any single one by epsilon/3.

    A test looks at the totals of the last epoch alone: a window over several epochs would add up rewards of the same
    people, which need not be independent. So epochs grow fourfold, by default. The noise grows by 3/2 from one epoch to
    the next and what sampling moves a total by grows by 2, so that privacy matters less and less as gaps get small.

    A best arm stays, and every arm is gone after `schedule.pulls_for(gap)` pulls, with probability 1 - beta over all
    epochs, for rewards that are independent: docs/proofs/person-level.md, which also says what is left of this when a
    person's rewards of different epochs are not.

    Parameters: as for `DPSharpElimination`. Without a horizon it is a search for the best arm.

    >>> from discreet import SimulatedNoise
    >>> from discreet.core.privacy import spent_by_person
    >>> search = DPSharpPersonElimination(["A", "B"], epsilon=1.0, beta=0.05, noise=SimulatedNoise(seed=1))
    >>> while (plan := search.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     totals = {arm: int(means[arm] * n * search.grid.width) for arm, n in plan.pulls.items()}
    ...     _ = search.close(totals)
    >>> search.settled, search.best_arm, search.time, round(spent_by_person(search.ledger), 4)
    (True, 'B', 6670, 0.7037)
    """

    key = "dp-se-sharp-person"
    schedule_kind = PersonSchedule

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        epsilon: float,
        horizon: int | None = None,
        beta: float | None = None,
        growth: float = PERSON_GROWTH,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
    ) -> None:
        super().__init__(
            arms,
            epsilon=epsilon,
            horizon=horizon,
            beta=beta,
            growth=growth,
            window=1,
            low=low,
            high=high,
            noise=noise,
        )

    def epoch_epsilon(self, epoch: int) -> float:
        """A third of what the epochs before have left."""
        return epoch_epsilon(self.epsilon, epoch, THIRD)

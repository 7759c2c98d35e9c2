"""DP Successive Elimination for people instead of rewards: Algorithm 3 with half of what is left in each epoch."""

from __future__ import annotations

from discreet.bandits._person_level import PersonLevel
from discreet.bandits.dp_successive_elimination import DPSuccessiveElimination
from discreet.theory.person_level import epoch_epsilon


class DPPersonElimination(PersonLevel, DPSuccessiveElimination):
    """Algorithm 3 with epsilon/2 in the first epoch, epsilon/4 in the second, and so on: private for a person.

    A person may take part in every epoch, with at most one reward in each. All of her rewards together are then
    covered by epsilon, and any single one by epsilon/2. Epochs that each spent all of epsilon would cost a person
    epsilon for every epoch that she is in.

    It hardly costs any pulls, because noise may grow as fast as gaps shrink: an epoch's length is the larger one of
    32 ln(8 |S| e^2/beta) 4^e and 8 ln(4 |S| e^2/beta) 4^e/epsilon, plus 1. So for epsilon >= 1/4 privacy does not make
    epochs longer at all. The promises are those of DP-SE: a best arm survives, and every arm whose gap is at least
    2^-e is gone after epoch e, with probability 1 - beta over all epochs (docs/proofs/person-level.md).

    Parameters: `epsilon` > 0; `horizon` T, the number of pulls in all; `beta`, the probability of failure, by default
    1/T. Without a horizon give `beta`: it is then a search for the best arm, which ends when one is left.

    >>> from discreet import SimulatedNoise
    >>> from discreet.core.privacy import spent_by_person
    >>> search = DPPersonElimination(["A", "B"], epsilon=1.0, beta=0.05, noise=SimulatedNoise(seed=1))
    >>> while (plan := search.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     totals = {arm: int(means[arm] * n * search.grid.width) for arm, n in plan.pulls.items()}
    ...     _ = search.close(totals)
    >>> search.settled, search.best_arm, search.time
    (True, 'B', 8810)
    >>> [entry.epsilon for entry in search.ledger], spent_by_person(search.ledger)
    ([0.5, 0.5, 0.25, 0.25], 0.75)
    """

    key = "dp-se-person"

    def epoch_epsilon(self, epoch: int) -> float:
        """Half of what the epochs before have left: epsilon 2^-e."""
        return epoch_epsilon(self.epsilon, epoch)

"""DP Successive Elimination for people instead of rewards: Algorithm 3 with half of what is left in each epoch."""

from dataclasses import dataclass

from discreet.bandits._elimination import PERSON_REASON
from discreet.bandits.dp_successive_elimination import DPSuccessiveElimination
from discreet.core.privacy import Theorem, Unit
from discreet.core.registry import register
from discreet.theory.person_level import epoch_epsilon


@register
@dataclass(kw_only=True)
class DPPersonElimination(DPSuccessiveElimination):
    """Algorithm 3 with epsilon/2 in the first epoch, epsilon/4 in the second, and so on: private for a person.

    A person may take part in every epoch, with at most one reward in each. All of their rewards together are then
    covered by epsilon, and any single one by epsilon/2. Epochs that each spent all of epsilon would cost a person
    epsilon for every epoch that they are in.

    It hardly costs any pulls, because noise may grow as fast as gaps shrink: an epoch's length is the larger one of
    32 ln(8 |S| e^2/beta) 4^e and 8 ln(4 |S| e^2/beta) 4^e/epsilon, plus 1. So for epsilon >= 1/4 privacy does not make
    epochs longer at all. The promises are those of DP-SE: a best arm survives, and every arm whose gap is at least
    2^-e is gone after epoch e, with probability 1 - beta over all epochs (docs/proofs/person-level.md).

    Private because a person has at most one reward in an epoch, so each epoch's totals cost them at most that epoch's
    epsilon, whatever was released before; and these add up to less than epsilon. Who takes part in which epoch is not
    hidden. That a person is asked at most once in an epoch is up to the program that asks: `Ticket.epoch` and
    `Plan.epoch` are the number of the open one.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one person, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Gaps and formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals, spent_by_person
    >>> epochs = Totals(DPPersonElimination(["A", "B"], epsilon=1.0, beta=0.05), noise=SimulatedNoise(seed=1))
    >>> width = epochs.algorithm.grid.width
    >>> while (plan := epochs.plan()):
    ...     means = {"A": 0.5, "B": 0.6}
    ...     _ = epochs.close_steps({arm: int(means[arm] * n * width) for arm, n in plan.pulls.items()})
    >>> found = epochs.algorithm
    >>> found.settled, found.best_arm, found.time
    (True, 'B', 8810)
    >>> [release.epsilon for release in found.ledger], spent_by_person(found.ledger)
    ([0.5, 0.5, 0.25, 0.25], 0.75)
    """

    key = "dp-se-person"
    reason = PERSON_REASON
    theorem = Theorem.PERSONS
    unit = Unit.PERSON

    def epoch_epsilon(self, epoch: int) -> float:
        """Return half of what the epochs before have left: epsilon 2^-e."""
        return epoch_epsilon(self.epsilon, epoch)

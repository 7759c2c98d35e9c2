"""Person-level privacy: the share of epsilon that each epoch may spend, and a schedule for it.

A person may take part in every epoch. The proofs are in docs/proofs/person-level.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.theory.sharp_elimination import SharpSchedule

# Shares of the remaining epsilon that an epoch of `dp-se-person` and of `dp-se-sharp-person` spends:
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
PERSON_GROWTH = 4.0
_LAST = 4000  # later epochs' shares are below the smallest float


def epoch_epsilon(epsilon: float, epoch: int, share: Fraction = HALF) -> float:
    """Return the epsilon of one epoch if every epoch spends the same share of the remaining epsilon.

    It is epsilon share (1 - share)^(e - 1), rounded down to a float. So the first m epochs together cost at most
    epsilon (1 - (1 - share)^m), which is less than epsilon for every m.

    Args:
        epsilon: The total privacy parameter of a person.
        epoch: The epoch e = 1, 2, ...
        share: The share of the remaining epsilon that an epoch spends.

    >>> [epoch_epsilon(1.0, epoch) for epoch in (1, 2, 3, 4)]
    [0.5, 0.25, 0.125, 0.0625]
    >>> [round(epoch_epsilon(1.0, epoch, THIRD), 4) for epoch in (1, 2, 3, 4)]
    [0.3333, 0.2222, 0.1481, 0.0988]
    """
    if epoch > _LAST:
        return 0.0
    exact = Fraction(epsilon) * share * (1 - share) ** (epoch - 1)
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


@dataclass(frozen=True, slots=True)
class PersonSchedule(SharpSchedule):
    """Schedule of elimination with sharp constants where every epoch spends a third of the remaining epsilon.

    A test uses the last epoch alone, in which a person has one reward; therefore epochs grow faster.

    Args:
        arms: The number of arms.
        epsilon: The privacy parameter of a person over all epochs.
        beta: The probability of failure.
        growth: The factor by which an arm's pulls grow from epoch to epoch.
        window: The number of released totals in a test.

    >>> schedule = PersonSchedule(arms=4, epsilon=0.5, beta=0.05)
    >>> [schedule.pulls_by(epoch) for epoch in (1, 2, 3)]
    [483, 1929, 7713]
    >>> round(schedule.target_gap(3), 4), schedule.pulls_for(0.05)
    (0.0856, 30850)
    """

    growth: float = PERSON_GROWTH
    window: int = 1
    first_factor: ClassVar[int] = 8  # the first epoch spends the largest part of epsilon: it should decide something

    def epoch_epsilon(self, epoch: int) -> float:
        """Return the epsilon of one epoch: a third of what remains."""
        return epoch_epsilon(self.epsilon, epoch, THIRD)

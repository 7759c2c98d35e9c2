"""Privacy for a person who takes part in every epoch: how epsilon is shared out, and a schedule for it.

The proofs are in docs/proofs/person-level.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.theory.sharp_elimination import SharpSchedule

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
"""What an epoch spends of the epsilon that is left: of `dp-se-person`, and of `dp-se-sharp-person`."""
PERSON_GROWTH = 4.0
_LAST = 4000  # beyond it nothing is left that a float can hold, nor is there anybody who plays so many epochs


def epoch_epsilon(epsilon: float, epoch: int, share: Fraction = HALF) -> float:
    """What epoch e = 1, 2, ... costs one of its rewards, if every epoch spends this share of what is left.

    It is epsilon share (1 - share)^(e - 1), rounded down to a float. So the first m epochs together cost at most
    epsilon (1 - (1 - share)^m), which is less than epsilon for every m.

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
    """The schedule of elimination with sharp constants, where every epoch spends a third of what is left of epsilon.

    A test looks at the last epoch alone, in which a person has one reward; so epochs grow faster.

    >>> schedule = PersonSchedule(arms=4, epsilon=0.5, beta=0.05)
    >>> [schedule.pulls_by(epoch) for epoch in (1, 2, 3)]
    [483, 1929, 7713]
    >>> round(schedule.target_gap(3), 4), schedule.pulls_for(0.05)
    (0.0856, 30850)
    """

    growth: float = PERSON_GROWTH
    window: int = 1
    patience: ClassVar[int] = 8  # the first epoch pays with the largest part of epsilon: it should decide something

    def epoch_epsilon(self, epoch: int) -> float:
        """A third of what is left of epsilon."""
        return epoch_epsilon(self.epsilon, epoch, THIRD)

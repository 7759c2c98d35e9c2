"""Successive Elimination (Even-Dar, Mannor, Mansour 2002): DP-SE without privacy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.bandits._elimination import Elimination
from discreet.core.plans import Query, TotalsQuery
from discreet.core.registry import register
from discreet.core.releases import Release

_QUERY = TotalsQuery((math.inf,))  # one object for all epochs: the curator charges a query that it has not seen before


@register
@dataclass(kw_only=True)
class SuccessiveElimination(Elimination):
    """Pulls every viable arm once a round and drops an arm as soon as its interval lies below another's.

    After t rounds each mean has the Hoeffding radius sqrt(ln(4 K t^2/beta)/(2t)), which holds for all arms and rounds
    at once with probability 1 - beta (the sum of 1/(2 t^2) stays below 1).

    An epoch is as many rounds as are sure to drop nobody but in the last: in a round the best and the worst total move
    apart by one reward's range at most, and the difference that drops an arm only grows.

    Not private: means are exact.

    Args:
        arms: The names of the arms.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Radii are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import Bandit
    >>> bandit = Bandit(SuccessiveElimination(["A", "B"], horizon=1000), seed=0)
    >>> for _ in range(1000):
    ...     ticket = bandit.ask()
    ...     _ = bandit.tell(ticket, 1.0 if ticket.arm == "B" else 0.0)
    >>> bandit.best_arm, bandit.pulls
    ('B', {'A': 32, 'B': 968})
    """

    key = "se"

    _totals: list[int] = field(init=False, repr=False, default_factory=list)

    def _start(self) -> None:
        super()._start()
        self._totals = [0] * len(self.arms)

    def radius(self, rounds: int) -> float:
        """Return the Hoeffding radius of each viable mean after a number of rounds."""
        return math.sqrt(self._log(4 * len(self.arms) * rounds**2) / (2 * rounds))

    def difference(self, rounds: int) -> float:
        """Return the difference between totals, in grid steps, that drops an arm after a number of rounds."""
        return 2 * self.radius(rounds) * rounds * self.grid.width

    def rounds(self, epoch: int, viable: int) -> int:
        """Return the number of rounds of the coming epoch, which depends on the totals so far.

        Args:
            epoch: The epoch's number, from 1.
            viable: The number of viable arms.
        """
        played = self.pulls[self._viable[0]]
        if not played:
            return 1
        totals = [self._totals[arm] for arm in self._viable]
        missing = self.difference(played) - (max(totals) - min(totals))
        return int(missing / self.grid.width) + 1

    def _query(self) -> Query:
        return _QUERY

    def _decide(self, releases: Sequence[Release]) -> None:
        for arm, steps in self._scores(releases).items():
            self._totals[arm] += steps
        allowed = self.difference(self.pulls[self._viable[0]])
        self._keep({arm: self._totals[arm] for arm in self._viable}, lambda lead, _: lead <= allowed)

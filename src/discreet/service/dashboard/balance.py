"""Whether arms were assigned as often as planned: the sample-ratio check, on the public counts of closed epochs.

A split that is not as planned biases a comparison, and it shows in how many were assigned, before any reward is looked
at. The service deals by plan, so the check should never fail; if it does, the database was changed by other hands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.service.messages import EpochView, ExperimentView

ALARM = 0.001  # a customary level: the page is looked at often, and a false alarm costs trust
FEWEST = 5.0  # expected in each arm, below which the chi-squared law is not to be trusted


@dataclass(frozen=True)
class Share:
    """An arm, how often it was assigned, and how often it should have been."""

    arm: str
    assigned: int
    expected: float


@dataclass(frozen=True)
class Balance:
    """The check. Without a p-value there was too little to check."""

    shares: list[Share]
    p_value: float | None

    @property
    def alarming(self) -> bool:
        """Whether chance alone would hardly do this."""
        return self.p_value is not None and self.p_value < ALARM


def balance(view: ExperimentView, epochs: Sequence[EpochView]) -> Balance | None:
    """Of an experiment with several arms that assigns by itself."""
    if len(view.arms) < 2 or view.source != "assignments":
        return None
    shares = [Share(arm.name or "", arm.assigned, _expected(arm.name or "", epochs)) for arm in view.arms]
    total = sum(share.expected for share in shares)
    if total <= 0:
        return None
    # Only the split is checked: what matters is each arm's part of all that were assigned.
    scale = sum(share.assigned for share in shares) / total
    shares = [Share(share.arm, share.assigned, share.expected * scale) for share in shares]
    if min(share.expected for share in shares) < FEWEST:
        return Balance(shares, None)
    statistic = sum((share.assigned - share.expected) ** 2 / share.expected for share in shares)
    return Balance(shares, chi_squared_tail(statistic, len(shares) - 1))


def _expected(arm: str, epochs: Sequence[EpochView]) -> float:
    return sum(epoch.planned.get(arm, 0) for epoch in epochs if epoch.state == "closed")


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """The probability that a chi-squared variable exceeds the statistic: exact, by recursion in steps of two.

    >>> round(chi_squared_tail(3.841, 1), 4), round(chi_squared_tail(7.815, 3), 4), round(chi_squared_tail(9.488, 4), 4)
    (0.05, 0.05, 0.05)
    """
    if statistic <= 0:
        return 1.0
    half = statistic / 2
    odd = freedom % 2
    tail = math.erfc(math.sqrt(half)) if odd else math.exp(-half)
    shape = 0.5 if odd else 1.0
    while shape < freedom / 2:
        tail += math.exp(shape * math.log(half) - half - math.lgamma(shape + 1))
        shape += 1
    return min(1.0, tail)

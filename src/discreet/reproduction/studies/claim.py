"""The paper's two claims about its figures: "at least 5 times", and the shape of the curves."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lab.results import Simulation

CLAIM = 5.0
"""The paper: "in all settings we tested, we outperform DP-UCB by at least 5 times"."""
CONFIDENCE = 0.99


class Verdict(StrEnum):
    """An interval's verdict on the claim in one setting."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "too close to call"


class Ratio(NamedTuple):
    """A quotient of two means, with its interval.

    Attributes:
        value: The quotient.
        low: The lower end of the interval.
        high: The upper end; infinite where a single run says nothing.
    """

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """The verdict: holds or fails if the whole interval lies on one side of the claim, else open."""
        if self.low >= CLAIM:
            return Verdict.HOLDS
        return Verdict.FAILS if self.high < CLAIM else Verdict.OPEN

    def __str__(self) -> str:
        digits = 1 if self.value >= 10 else 2
        return (
            f"{self.value:.{digits}f} ({100 * CONFIDENCE:g} % interval {self.low:.{digits}f} to {self.high:.{digits}f})"
        )


def ratio_of(values: NDArray[np.float64], others: NDArray[np.float64], confidence: float = CONFIDENCE) -> Ratio:
    """Return the quotient of two means of independent runs.

    The interval is Student's for the logarithm of the quotient, with Welch's degrees of freedom.

    Args:
        values: The runs above.
        others: The runs below.
        confidence: The interval's level.

    >>> print(ratio_of(np.array([11.0, 10.0, 9.0]), np.array([2.0, 2.0])))
    5.00 (99 % interval 2.82 to 8.87)
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (it takes a while)

    value = float(values.mean() / others.mean())
    if min(values.size, others.size) < 2:
        return Ratio(value, 0.0, math.inf)
    parts = [float(one.var(ddof=1) / one.size / one.mean() ** 2) for one in (values, others)]
    if not sum(parts):
        return Ratio(value, value, value)
    freedom = sum(parts) ** 2 / sum(part**2 / (one.size - 1) for part, one in zip(parts, (values, others), strict=True))
    factor = math.exp(float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(sum(parts)))
    return Ratio(value, value / factor, value * factor)


# ---------------------------------------------------------------------- the shape of a curve


def regret_by_elimination(one: Simulation, times: Any) -> NDArray[np.float64]:
    """Return the regret of an elimination's runs at some times, by run and time, from when each arm was dropped.

    Viable arms take turns, so between two eliminations the regret grows by their mean gap a pull: a straight line.

    Args:
        one: The runs of a policy that drops arms.
        times: The times.
    """
    gaps, horizon = one.setting.instance.gaps, one.setting.horizon or 0
    ends = np.where(one.dropped < 0, horizon, one.dropped)
    found = np.zeros((len(ends), len(times)))
    for run, dropped in enumerate(ends):
        kinks = np.unique([0, *dropped, horizon])
        viable = dropped[:, None] > kinks[:-1]
        slopes = (gaps @ viable) / viable.sum(axis=0)
        heights = np.concatenate([[0.0], np.cumsum(slopes * np.diff(kinks))])
        found[run] = np.interp(times, kinks, heights)
    return found


def distance_from_lines(one: Simulation) -> float:
    """Return the largest distance of the recorded regrets of an elimination from straight lines between its kinks."""
    lines = regret_by_elimination(one, one.setting.checkpoints)
    return float(np.abs(lines - one.regret).max())


def last_elimination(one: Simulation) -> int:
    """Return the time of the last elimination of all runs; the horizon if some run keeps several arms."""
    settled = (one.dropped < 0).sum(axis=1) == 1
    return int(one.dropped.max()) if settled.all() else int(one.setting.horizon or 0)


def late_share(one: Simulation, part: float = 0.1) -> float:
    """Return the share of a policy's mean regret that falls into the last part of the pulls.

    Args:
        one: The runs of a policy.
        part: The part of the horizon.
    """
    regret = one.regret.mean(axis=0)
    start = np.interp((1 - part) * (one.setting.horizon or 0), one.setting.checkpoints, regret)
    return float(1 - start / regret[-1])


def count_verdicts(ratios: Sequence[Ratio]) -> dict[Verdict, int]:
    """Return how many ratios have each verdict."""
    return {verdict: sum(one.verdict is verdict for one in ratios) for verdict in Verdict}

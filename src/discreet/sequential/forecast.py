"""The people and days that a test takes under each hypothesis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet._display import Page
from discreet._outlooks import Outlooks
from discreet._wording import rounded
from discreet.core import checks


@dataclass(frozen=True)
class Outlook:
    """The people that a test takes under one hypothesis.

    Args:
        hypothesis: What is supposed to be true, in words.
        mean: The number of people on average, of all arms together.
        median: What half of all runs take at most.
        high: What 95 % of all runs take at most.
        at_most: What every run takes at most; None without such a limit.
        shown: The chance that the test shows what it looks for.
        days: The days on average, where people a day were given.
        high_days: The days that 95 % of all runs take at most.
        most_days: The days that every run takes at most.
    """

    hypothesis: str
    mean: float
    median: float
    high: float
    at_most: int | None
    shown: float
    days: float | None = None
    high_days: float | None = None
    most_days: float | None = None


@dataclass(frozen=True)
class TestForecast(Outlooks[Outlook]):
    """The people and days that a test takes: as text, table and JSON. `test.forecast()` makes one.

    Args:
        question: What is tested, in words.
        outlooks: What it takes under each hypothesis.
        per_day: The number of people a day, of all arms together, if it was given.
        notes: What to know about the figures.
    """

    __test__ = False  # not a test of pytest

    question: str
    outlooks: tuple[Outlook, ...]
    per_day: float | None
    notes: tuple[str, ...]

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "if": [row.hypothesis for row in self.outlooks],
            "people, mean": [rounded(row.mean) for row in self.outlooks],
            "median": [rounded(row.median) for row in self.outlooks],
            "95 % of runs": [min(rounded(row.high), row.at_most or math.inf) for row in self.outlooks],
            "at most": [row.at_most for row in self.outlooks],
            "chance to show it": [_percent(row.shown) for row in self.outlooks],
            "days, mean": [_days(row.days) for row in self.outlooks],
            "days, 95 % of runs": [_days(row.high_days) for row in self.outlooks],
            "days, at most": [_days(row.most_days) for row in self.outlooks],
        }

    def _page(self) -> Page:
        return Page(self.question, tables=[self._table()], notes=self.notes)


def outlook(
    hypothesis: str, law: tuple[Any, Any], shown: float, per_day: float | None = None, at_most: int | None = None
) -> Outlook:
    """Return the outlook by the law of the number of people.

    Args:
        hypothesis: What is supposed to be true, in words.
        law: The numbers of people at which it may end, and the chance of each.
        shown: The chance that the test shows what it looks for.
        per_day: The number of people a day; None to leave days out.
        at_most: What every run takes at most; None without such a limit.
    """
    if per_day is not None:
        checks.positive("per_day", per_day)
    ends, weights = np.asarray(law[0], dtype=float), np.asarray(law[1]) / np.sum(law[1])
    order = np.argsort(ends, kind="stable")
    below = np.cumsum(weights[order])
    median, high = (float(ends[order][min(int(np.searchsorted(below, q - 1e-12)), len(ends) - 1)]) for q in (0.5, 0.95))
    mean = float(ends @ weights)
    days = [None if per_day is None or each is None else each / per_day for each in (mean, high, at_most)]
    return Outlook(hypothesis, mean, median, high, at_most, shown, *days)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _days(days: float | None) -> int | None:
    return None if days is None else -int(-days // 1)

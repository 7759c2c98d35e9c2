"""The people and days that a test takes under each hypothesis."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet._display import Page, Shown, Table
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
class TestForecast(Shown):
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

    def __iter__(self) -> Any:
        return iter(self.outlooks)

    def __len__(self) -> int:
        return len(self.outlooks)

    def __getitem__(self, place: int) -> Outlook:
        return self.outlooks[place]

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of a table for people, by their headings."""
        shown: dict[str, list[Any]] = {
            "if": [row.hypothesis for row in self.outlooks],
            "people, mean": [rounded(row.mean) for row in self.outlooks],
            "median": [rounded(row.median) for row in self.outlooks],
            "95 % of runs": [rounded(row.high) for row in self.outlooks],
            "at most": [row.at_most for row in self.outlooks],
            "chance to show it": [_percent(row.shown) for row in self.outlooks],
            "days, mean": [_days(row.days) for row in self.outlooks],
            "days, 95 % of runs": [_days(row.high_days) for row in self.outlooks],
            "days, at most": [_days(row.most_days) for row in self.outlooks],
        }
        return {heading: cells for heading, cells in shown.items() if any(cell is not None for cell in cells)}

    def _page(self) -> Page:
        columns = self.columns()
        table = Table(list(columns), list(zip(*columns.values(), strict=True)))
        return Page(self.question, tables=[table], notes=self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "outlooks": [asdict(row) for row in self.outlooks], "notes": list(self.notes)}

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def to_pandas(self) -> Any:
        """Return a pandas table with a row for each hypothesis."""
        import pandas as pd  # noqa: PLC0415  (half a second: only for those who ask)

        return pd.DataFrame([asdict(row) for row in self.outlooks])


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

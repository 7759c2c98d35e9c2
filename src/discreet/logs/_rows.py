"""The rows of a prepared log, which epochs take one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.plans import Plan
from discreet.core.statistics import Statistic

BLOCK = 1 << 16  # rows of an arm that are fetched at once, for epochs that take few


class Rows:
    """The rewards of a log in steps, arm by arm, each used once.

    Args:
        table: The prepared log: arm, index within the arm, steps. It is kept where it was computed, so that an epoch
            reads its own rows only.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self.available = {row["arm"]: row["rows"] for row in _counted(table)}
        self._used = dict.fromkeys(self.available, 0)
        self._blocks: dict[str, tuple[int, NDArray[np.int64]]] = {}

    @property
    def used(self) -> Mapping[str, int]:
        """The number of rows of each arm that were taken."""
        return dict(self._used)

    def lacking(self, pulls: Mapping[str, int]) -> dict[str, int]:
        """Return the number of rows that each arm lacks for an epoch; it is public.

        Args:
            pulls: The number of rows of each arm that the epoch takes.
        """
        left = {arm: self.available.get(arm, 0) - self._used.get(arm, 0) for arm in pulls}
        return {arm: count - left[arm] for arm, count in pulls.items() if count > left[arm]}

    def take(self, plan: Plan, names: Mapping[Any, str], width: int) -> dict[Any, Any]:
        """Return the exact statistics of an epoch, as a curator takes them. There must be enough rows.

        Args:
            plan: The plan.
            names: The name of each of its arms in the log.
            width: The grid's width.
        """
        if plan.statistic is not Statistic.TOTAL:
            return {arm: self._statistic(plan, names[arm], count, width) for arm, count in plan.pulls.items()}
        many = {names[arm]: count for arm, count in plan.pulls.items() if count > BLOCK}
        sums = self._sums(many) if many else {}
        for arm, count in plan.pulls.items():
            if count <= BLOCK:
                sums[names[arm]] = int(self._next(names[arm], count).sum())
        return {arm: sums[name] for arm, name in names.items() if arm in plan.pulls}

    def next(self, arm: str, count: int) -> NDArray[np.int64]:
        """Return the steps of an arm's next rows; fewer where it has no more.

        Args:
            arm: The arm's name.
            count: The number of rows, at most `BLOCK`.
        """
        left = self.available.get(arm, 0) - self._used.get(arm, 0)
        return self._next(arm, min(count, left)) if left else np.zeros(0, np.int64)

    def blocks(self, arm: str) -> Iterator[NDArray[np.int64]]:
        """Yield the steps of an arm's rows that were not taken yet, block by block.

        Args:
            arm: The arm's name.
        """
        while (left := self.available.get(arm, 0) - self._used.get(arm, 0)) > 0:
            yield self._next(arm, min(left, BLOCK))

    def _statistic(self, plan: Plan, name: str, count: int, width: int) -> tuple[int, ...]:
        sums = plan.statistic.accumulator(width)
        while sums.count < count:
            sums.add(self._next(name, min(BLOCK, count - sums.count)))
        return sums.values

    def _sums(self, pulls: Mapping[str, int]) -> dict[str, int]:
        """Return the exact totals of the next rows of some arms, by one query."""
        table = self._table
        table = table.filter(reduce(or_, [_span(table, arm, self._used[arm], count) for arm, count in pulls.items()]))
        found = table.group_by("arm").aggregate(rows=table.count(), steps=table.steps.sum().cast("int64"))
        sums = {row["arm"]: (int(row["rows"]), int(row["steps"])) for row in found.to_pyarrow().to_pylist()}
        assert {arm: rows for arm, (rows, _) in sums.items()} == dict(pulls)
        for arm, count in pulls.items():
            self._used[arm] += count
        return {arm: steps for arm, (_, steps) in sums.items()}

    def _next(self, arm: str, count: int) -> NDArray[np.int64]:
        """Return the steps of the next few rows of an arm."""
        used = self._used[arm]
        start, block = self._blocks.get(arm, (0, np.zeros(0, np.int64)))
        if not start <= used <= used + count <= start + block.size:
            start, table = used, self._table
            found = table.filter(_span(table, arm, start, BLOCK)).order_by("index").select("steps").to_pyarrow()
            block = found["steps"].to_numpy().astype(np.int64)
            self._blocks[arm] = start, block
        assert used + count <= start + block.size
        self._used[arm] = used + count
        return block[used - start : used - start + count]


def _span(table: Any, arm: str, start: int, count: int) -> Any:
    """Return the condition for an arm's rows from `start` on."""
    return (table.arm == arm) & (table["index"] >= start) & (table["index"] < start + count)


def _counted(table: Any) -> list[dict[str, Any]]:
    return list(table.group_by("arm").aggregate(rows=table.count()).order_by("arm").to_pyarrow().to_pylist())

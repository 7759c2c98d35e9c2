"""The exact totals of one epoch from an event log, for an experiment of the service that is evaluated in batches.

**Contributions.** A contribution is an assignment: all rows of the log with the same assignment id. Its time is that of
its first row, its reward that of the first row that has one, or the default. Of each unit only the first contribution
counts, and of each arm exactly as many as the epoch's plan needs, the first by time (ties: by id). Rewards are clipped
to the range and rounded to the grid as `Grid.encode` does. NaN is no reward.

**Conditions on the log**, without which epsilon does not hold:

1. Every assignment has a row, with or without an event, and its first row's time is when it was assigned. The length of
   a log of clicks alone would reveal the number of clicks.
2. Each contribution is used in one epoch only. Pass the `until` of every epoch to the next call as `after`, and never
   go back. A contribution up to `until` that was not used is not used later either.
3. The log only grows: it keeps all rows of an assignment, so that a late reward is not mistaken for a new assignment.
4. Units are named the same way throughout.

No noise is added here: the totals are as secret as the rewards, and only the service releases them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import ibis

from discreet.core.errors import ArgumentError
from discreet.logs import _cells
from discreet.logs._prepare import numbered, one_of_each
from discreet.logs._sources import Source, opened, readable
from discreet.logs._times import bound, ordering
from discreet.service.messages import Contribution, EpochTotals, PlanView


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of a log's columns.

    Args:
        assignment: The id of the assignment that a row belongs to.
        unit: The unit that was assigned.
        arm: The arm. None if the log has no such column: then all rows belong to the plan's only arm.
        time: The time of the row.
        reward: The reward, or nothing.
    """

    assignment: str = "assignment"
    unit: str = "unit"
    arm: str | None = "arm"
    time: str = "time"
    reward: str = "reward"


@dataclass(frozen=True, slots=True)
class LogTotals:
    """An epoch's exact totals, which are as secret as the rewards and never printed.

    Args:
        epoch: The epoch.
        until: The time of the last contribution that was used. Keep it: it is the next epoch's `after`.
        message: The totals as the service takes them.
    """

    epoch: int
    until: Any
    message: EpochTotals = field(repr=False)


def epoch_totals(
    log: Any,
    plan: PlanView,
    *,
    columns: Columns | None = None,
    after: Any = None,
    before: Any = None,
    default_reward: float | None = None,
    contribution: Contribution | None = "each-epoch",
) -> LogTotals:
    """Return the exact totals of a plan from the contributions in a log.

    Args:
        log: A Parquet or CSV file (or a pattern, or a folder), a table of pandas, Polars, Arrow or Ibis, or a table of
            a database, such as "postgresql://host/shop#events".
        plan: The plan of the epoch.
        columns: The names of the log's columns.
        after: The `until` of the previous epoch; contributions up to it are not used.
        before: The time from which on contributions are too young to be used, because their rewards may still come:
            now minus the experiment's window.
        default_reward: The experiment's default reward.
        contribution: The experiment's limit on a unit's contributions: "each-epoch" if a unit counts once in an epoch,
            "once" if it counts once ever, None if every assignment counts.

    Raises:
        ArgumentError: If an arm has too few contributions (wait for more assignments), `after` is missing for a later
            epoch, or the log cannot be read.
    """
    columns = columns or Columns()
    _check(plan, columns, after, default_reward)
    wanted = [columns.assignment, columns.time, columns.reward]
    wanted += [columns.arm] if columns.arm is not None else []
    wanted += [columns.unit] if contribution is not None else []
    with opened(log, wanted) as source:
        with readable(log, source):
            _check_rewards(source, columns.reward, plan)
            rows, kind = _events(source, columns, contribution, next(iter(plan.pulls)))
            start, end = bound("after", after, kind), bound("before", before, kind)
            used = _used(_contributions(rows), plan, start, end, contribution)
            default = plan.low if default_reward is None else default_reward
            found = _added_up(used, plan, default).to_pyarrow().to_pylist()
        if source.broken:
            raise ArgumentError(f"the log cannot be used as it is: line {source.broken[0]:,} is no row of its heading")
    _check_counts(plan, {row["arm"]: int(row["rows"]) for row in found})
    totals = dict.fromkeys(plan.pulls, 0) | {row["arm"]: int(row["steps"]) for row in found}
    return LogTotals(plan.epoch, max(row["last"] for row in found), EpochTotals(plan.epoch, totals))


# ---------------------------------------------------------------------- expressions


def _events(source: Source, columns: Columns, contribution: Contribution | None, only: str) -> tuple[Any, Any]:
    """Return the rows of a log that belong to an assignment, and the kind of their times."""
    table = source.table
    time = ordering(source, table, columns.time)
    if time.kind == "text":
        raise ArgumentError(f"the time column {columns.time!r} must hold numbers, dates or timestamps, not text")
    arm = ibis.literal(only) if columns.arm is None else _cells.words(table[columns.arm], "arm", columns.arm)
    unit = _cells.words(table[columns.unit], "unit", columns.unit) if contribution is not None else ibis.literal("")
    events = table.select(
        assignment=_cells.words(table[columns.assignment], "assignment", columns.assignment),
        unit=unit,
        arm=arm,
        time=time.column,
        reward=_cells.number(table[columns.reward], columns.reward, local=source.local),
    )
    return events.filter(events.assignment.notnull() & events.time.notnull()), time.kind


def _contributions(events: Any) -> Any:
    """Return one row for each assignment, with the time of its first row and the reward of the first that has one."""
    whole = ibis.window(group_by="assignment")
    answered = events.mutate(rewarded=events.time.min(where=events.reward.notnull()).over(whole))
    return answered.group_by("assignment").aggregate(
        unit=answered.unit.min(),
        arm=answered.arm.min(),
        time=answered.time.min(),
        reward=answered.reward.min(where=answered.time == answered.rewarded),
    )


def _used(rows: Any, plan: PlanView, after: Any, before: Any, contribution: Contribution | None) -> Any:
    """Return the contributions that the epoch uses: of each unit the first, and of each arm as many as planned."""

    def inside(rows: Any) -> Any:
        rows = rows if after is None else rows.filter(rows.time > after)
        return rows if before is None else rows.filter(rows.time < before)

    rows = rows if contribution == "once" else inside(rows)
    if contribution is not None:
        rows = one_of_each(rows.filter(rows.unit.notnull()), "unit", ["time", "assignment"])
    rows = numbered(inside(rows) if contribution == "once" else rows, ["time", "assignment"])
    quotas = [(rows.arm == arm) & (rows["index"] < pulls) for arm, pulls in plan.pulls.items()]
    return rows.filter(reduce(or_, quotas))


def _added_up(rows: Any, plan: PlanView, default: float) -> Any:
    """Return the number of contributions, their exact total and the last time, by arm."""
    value = ibis.coalesce(rows.reward, _cells.real(default))
    rows = rows.mutate(steps=_cells.steps(value, plan))
    return rows.group_by("arm").aggregate(rows=rows.count(), steps=rows.steps.sum().cast("int64"), last=rows.time.max())


# ---------------------------------------------------------------------- checks


def _check(plan: PlanView, columns: Columns, after: Any, default: float | None) -> None:
    if not plan.learns or not any(plan.pulls.values()):
        raise ArgumentError(f"epoch {plan.epoch} needs no rewards: there is nothing to add up")
    if columns.arm is None and len(plan.pulls) > 1:
        raise ArgumentError(f"columns must name an arm column: epoch {plan.epoch} has {len(plan.pulls)} arms")
    if default is not None and not plan.low <= default <= plan.high:
        raise ArgumentError(f"default_reward must lie in [{plan.low}, {plan.high}], got {default!r}")
    if max(plan.pulls.values()) * plan.width >= 2**63:
        raise ArgumentError(f"epoch {plan.epoch} is too long for sums of 64 bits")
    if after is None and plan.epoch > 1:
        raise ArgumentError(
            f"after must be the `until` of epoch {plan.epoch - 1}: "
            "without it, contributions of earlier epochs would be used again"
        )


def _check_rewards(source: Source, name: str, plan: PlanView) -> None:
    """Raise `ArgumentError` if a reward is text that is no number."""
    column = source.table[name]
    if column.type().is_string():
        value = _cells.number(column, name, local=source.local)
        wrong = (
            source.table.filter(_cells.contents(column, value, plan) == _cells.Cell.TEXT).count().to_pyarrow().as_py()
        )
        if wrong:
            raise ArgumentError(f"the reward column {name!r} must hold numbers, or nothing: {wrong:,} rows hold text")


def _check_counts(plan: PlanView, counts: Mapping[str, int]) -> None:
    """Raise `ArgumentError` if an arm has too few contributions. Their number is public, as assignments are."""
    for arm, wanted in plan.pulls.items():
        missing = wanted - counts.get(arm, 0)
        if missing:
            raise ArgumentError(
                f"arm {arm!r} has {wanted - missing:,} of the {wanted:,} contributions that epoch {plan.epoch} needs: "
                f"{missing:,} are missing; wait for more, and close the epoch then"
            )

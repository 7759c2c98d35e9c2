"""The totals of an epoch from a log."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.core.errors import ArgumentError
from discreet.logs.question import ArmTotal, Columns, Question
from discreet.logs.times import from_number, to_number
from discreet.service.messages import Contribution, EpochTotals, PlanView

if TYPE_CHECKING:
    from discreet.logs.duckdb_log import DuckLog


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
        log: A Parquet or CSV file (or a pattern, or a folder), an Arrow table, or a data frame.
        plan: The plan of the epoch.
        columns: The names of the log's columns.
        after: The `until` of the previous epoch; contributions up to it are not used.
        before: The time from which on contributions are too young to be used, because their rewards may still come:
            now minus the experiment's window.
        default_reward: The experiment's default reward.
        contribution: The experiment's limit on a unit's contributions.

    Raises:
        ArgumentError: If an arm has too few contributions (wait for more assignments), `after` is missing for a later
            epoch, or the log cannot be read.
    """
    question = Question(plan, columns or Columns(), None, None, default_reward, contribution)
    question.check_start(after)
    opened = _open(log, question)
    try:
        start, end = to_number("after", after, opened.kind), to_number("before", before, opened.kind)
        found = opened.answer(dataclasses.replace(question, after=start, before=end))
    finally:
        opened.close()
    _check_counts(plan, found)
    until = from_number(max(total.last for total in found), opened.kind)
    steps = {total.arm: total.steps for total in found}
    return LogTotals(plan.epoch, until, EpochTotals(plan.epoch, {arm: steps.get(arm, 0) for arm in plan.pulls}))


def _open(log: Any, question: Question) -> DuckLog:
    try:
        from discreet.logs.duckdb_log import DuckLog  # noqa: PLC0415

        return DuckLog(log, question)
    except ModuleNotFoundError as error:
        if error.name in ("duckdb", "pyarrow"):
            message = f"logs need {error.name}: pip install 'discreet[logs]'"
            raise ModuleNotFoundError(message, name=error.name) from None
        raise


def _check_counts(plan: PlanView, found: Sequence[ArmTotal]) -> None:
    """Raise `ArgumentError` if an arm has too few contributions. Their number is public, as assignments are."""
    counts = {total.arm: total.count for total in found}
    for arm, wanted in plan.pulls.items():
        missing = wanted - counts.get(arm, 0)
        if missing:
            raise ArgumentError(
                f"arm {arm!r} has {wanted - missing:,} of the {wanted:,} contributions that epoch {plan.epoch} needs: "
                f"{missing:,} are missing; wait for more, and close the epoch then"
            )

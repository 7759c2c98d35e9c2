"""From a log to the totals that close an epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.logs.moments import from_number, to_number
from discreet.logs.question import Columns, Engine, Found, Question
from discreet.service.http.messages import Contribution, EpochTotals, PlanView

if TYPE_CHECKING:
    from discreet.logs.duckdb_engine import DuckLog
    from discreet.logs.polars_engine import PolarsLog


@dataclass(frozen=True, slots=True)
class LogTotals:
    """An epoch's exact totals, which are as secret as the rewards: they are not shown.

    `until` is the time of the last contribution that was used: the next epoch's `after`. Keep it.
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
    engine: Engine = "duckdb",
) -> LogTotals:
    """The totals that fill `plan`, from the contributions of `log` after `after` and before `before`.

    `log` is a Parquet or CSV file (or a pattern, or a folder), an Arrow table, or a data frame. `before` keeps young
    assignments out, whose rewards may still come: now, less the experiment's window. `default_reward` and
    `contribution` must be the experiment's. Both engines give the same integers.

    If an arm has too few contributions, nothing is given: try again when there is more traffic.
    """
    question = Question(plan, columns or Columns(), None, None, default_reward, contribution)
    question.check_start(after)
    opened = _open(log, question, engine)
    try:
        start, end = to_number("after", after, opened.kind), to_number("before", before, opened.kind)
        found = opened.answer(dataclasses.replace(question, after=start, before=end))
    finally:
        opened.close()
    _check_counts(plan, found)
    until = from_number(max(one.last for one in found), opened.kind)
    units = {one.arm: one.units for one in found}
    return LogTotals(plan.epoch, until, EpochTotals(plan.epoch, {arm: units.get(arm, 0) for arm in plan.pulls}))


def _open(log: Any, question: Question, engine: Engine) -> DuckLog | PolarsLog:
    checks.choice("engine", engine, ("duckdb", "polars"))
    try:
        if engine == "duckdb":
            from discreet.logs.duckdb_engine import DuckLog  # noqa: PLC0415

            return DuckLog(log, question)
        from discreet.logs.polars_engine import PolarsLog  # noqa: PLC0415

        return PolarsLog(log, question)
    except ModuleNotFoundError as error:
        if error.name in ("duckdb", "polars", "pyarrow"):
            message = f"logs need {error.name}: pip install 'discreet[logs]'"
            raise ModuleNotFoundError(message, name=error.name) from None
        raise


def _check_counts(plan: PlanView, found: Sequence[Found]) -> None:
    """Refuse if an arm has too few contributions. How many there are is public, as assignments are."""
    counts = {one.arm: one.count for one in found}
    for arm, wanted in plan.pulls.items():
        missing = wanted - counts.get(arm, 0)
        if missing:
            raise ArgumentError(
                f"arm {arm!r} has {wanted - missing:,} of the {wanted:,} contributions that epoch {plan.epoch} needs: "
                f"{missing:,} are missing; wait for more, and close the epoch then"
            )

"""The totals of an epoch from a log."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet._install import install
from discreet.core.errors import ArgumentError
from discreet.logs.sql import Columns, Question
from discreet.logs.times import from_number, to_number
from discreet.service.messages import Contribution, EpochTotals, PlanView


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
    with _installed():
        from discreet.logs.duckdb_log import opened  # noqa: PLC0415

        with opened(log, question) as reader:
            start, end = to_number("after", after, reader.kind), to_number("before", before, reader.kind)
            found = reader.answer(dataclasses.replace(question, after=start, before=end))
    _check_counts(plan, {arm: count for arm, (count, _, _) in found.items()})
    until = from_number(max(last for _, _, last in found.values()), reader.kind)
    totals = {arm: found[arm][1] if arm in found else 0 for arm in plan.pulls}
    return LogTotals(plan.epoch, until, EpochTotals(plan.epoch, totals))


@contextlib.contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name in ("duckdb", "pyarrow"):
            message = f"logs need {error.name}: {install('logs')}"
            raise ModuleNotFoundError(message, name=error.name) from None
        raise


def _check_counts(plan: PlanView, counts: Mapping[str, int]) -> None:
    """Raise `ArgumentError` if an arm has too few contributions. Their number is public, as assignments are."""
    for arm, wanted in plan.pulls.items():
        missing = wanted - counts.get(arm, 0)
        if missing:
            raise ArgumentError(
                f"arm {arm!r} has {wanted - missing:,} of the {wanted:,} contributions that epoch {plan.epoch} needs: "
                f"{missing:,} are missing; wait for more, and close the epoch then"
            )

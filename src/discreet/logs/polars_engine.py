"""Logs read by Polars, which is faster than DuckDB while a log fits into memory."""

from __future__ import annotations

from typing import Any

import polars as pl

from discreet.core.errors import ArgumentError
from discreet.logs.question import ArmTotal, Question
from discreet.logs.sources import KINDS, as_arrow, as_file, module_of, require, unreadable, wrong_type
from discreet.logs.times import TimeKind


class PolarsLog:
    """A log that is open for one question.

    Args:
        log: The log, in any of its forms.
        question: The question, whose span may still be unknown.

    Raises:
        ArgumentError: If the log cannot be read, or a column is missing or of the wrong type.
    """

    def __init__(self, log: Any, question: Question) -> None:
        self._question = question
        with unreadable(pl.exceptions.PolarsError, OSError):
            self._frame = self._open(log)
            self._schema = self._frame.collect_schema()
        require(self._schema.names(), question.wanted)
        self.kind = self._check()

    def answer(self, question: Question) -> list[ArmTotal]:
        """Run the query and return one total for each arm."""
        with unreadable(pl.exceptions.PolarsError, OSError):
            rows = self._query(question).collect().rows()
        return [ArmTotal(arm, count, steps, last) for arm, count, steps, last in rows]

    def close(self) -> None:
        """Do nothing: no file is held open."""

    def _open(self, log: Any) -> pl.LazyFrame:
        file = as_file(log)
        if file is not None:
            path, kind = file
            return pl.scan_parquet(path) if kind == "parquet" else self._csv(path)
        if isinstance(log, pl.DataFrame | pl.LazyFrame):
            return log.lazy()
        match module_of(log):
            case "pandas":
                log = as_arrow(log, self._question.wanted)
            case "pyarrow":
                log = log.to_table() if hasattr(log, "to_table") else log
                log = log.read_all() if hasattr(log, "read_all") else log
            case _:
                raise ArgumentError(f"log must be {KINDS}, got a {type(log).__name__}")
        frame = pl.from_arrow(log)
        assert isinstance(frame, pl.DataFrame)
        return frame.lazy()

    def _csv(self, path: str) -> pl.LazyFrame:
        columns = self._question.columns
        kinds: dict[str, Any] = {columns.assignment: pl.String, columns.unit: pl.String, columns.reward: pl.Float64}
        if columns.arm is not None:
            kinds[columns.arm] = pl.String
        present = pl.scan_csv(path, infer_schema=False).collect_schema().names()
        require(present, self._question.wanted)
        overrides = {column: kind for column, kind in kinds.items() if column in present}
        return pl.scan_csv(path, schema_overrides=overrides, try_parse_dates=True, infer_schema_length=10_000)

    def _check(self) -> TimeKind:
        columns, schema = self._question.columns, self._schema
        for role, column in (("assignment", columns.assignment), ("unit", columns.unit), ("arm", columns.arm)):
            if column in self._question.wanted and column is not None:
                kind = schema[column]
                if not kind.is_integer() and kind not in (pl.String, pl.Categorical, pl.Enum):
                    raise wrong_type(role, column, kind, "text or whole numbers")
        kind = schema[columns.reward]
        if not kind.is_numeric() and kind != pl.Boolean:
            raise wrong_type("reward", columns.reward, kind, "numbers")
        kind = schema[columns.time]
        if kind.is_integer():
            return "integer"
        if kind.is_float():
            return "real"
        if isinstance(kind, pl.Datetime):
            return "local" if kind.time_zone is None else "zoned"
        if kind == pl.Date:
            return "local"
        raise wrong_type("time", columns.time, kind, "numbers, dates or timestamps")

    def _query(self, question: Question) -> pl.LazyFrame:
        plan, by_time = question.plan, ["time", "assignment"]
        span = pl.lit(True)
        if question.after is not None:
            span &= pl.col("time") > question.after
        if question.before is not None:
            span &= pl.col("time") < question.before
        rewarded = pl.when(pl.col("reward").is_not_null()).then(pl.col("time")).min().over("assignment")
        contributions = (
            self._rows(question)
            .with_columns(reward=pl.when(pl.col("time") == rewarded).then(pl.col("reward")))
            .group_by("assignment")
            .agg(pl.col("unit", "arm", "time", "reward").min())
        )
        visits = contributions if question.contribution == "once" else contributions.filter(span)
        if question.contribution is not None:
            visits = (
                visits.filter(pl.col("unit").is_not_null())
                .sort(by_time)
                .unique("unit", keep="first", maintain_order=True)
            )
        quota = pl.col("arm").replace_strict(plan.pulls, default=0, return_dtype=pl.Int64)
        steps = pl.col("reward").fill_null(question.default).clip(plan.low, plan.high) / plan.step
        return (
            visits.filter(span & pl.col("arm").is_in(list(plan.pulls)))
            .sort(by_time)
            .with_columns(place=pl.int_range(pl.len()).over("arm"))
            .filter(pl.col("place") < quota)
            .group_by("arm")
            .agg(
                pl.len().cast(pl.Int64).alias("contributions"),
                (steps.round(0, mode="half_to_even").cast(pl.Int64) - plan.floor).sum().alias("steps"),
                pl.col("time").max().alias("until"),
            )
        )

    @staticmethod
    def _microseconds(time: pl.Expr, kind: pl.DataType) -> pl.Expr:
        if isinstance(kind, pl.Datetime) and kind.time_unit == "ns":
            return time.to_physical() // 1000
        return time.cast(pl.Datetime("us", getattr(kind, "time_zone", None))).to_physical()

    def _rows(self, question: Question) -> pl.LazyFrame:
        """Return the rows with plain types: ids as text, times as numbers, NaNs as nulls."""
        columns = question.columns
        time = pl.col(columns.time)
        if self.kind in ("local", "zoned"):
            time = self._microseconds(time, self._schema[columns.time])
        elif self.kind == "integer":
            time = time.cast(pl.Int64)
        else:
            time = time.cast(pl.Float64)
        arm = pl.lit(question.only_arm) if columns.arm is None else pl.col(columns.arm).cast(pl.String)
        unit = pl.lit(None, pl.String) if question.contribution is None else pl.col(columns.unit).cast(pl.String)
        rows = self._frame.select(
            assignment=pl.col(columns.assignment).cast(pl.String),
            unit=unit,
            arm=arm,
            time=time,
            reward=pl.col(columns.reward).cast(pl.Float64).fill_nan(None),
        ).filter(pl.col("assignment").is_not_null() & pl.col("time").is_not_null())
        return rows.filter(pl.col("time").is_finite()) if self.kind == "real" else rows

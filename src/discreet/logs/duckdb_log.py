"""Logs read by DuckDB: files, Arrow tables, and frames of pandas and Polars. It spills to disk beyond memory."""

import tempfile
from contextlib import ExitStack
from typing import Any

import duckdb

from discreet.core.errors import ArgumentError
from discreet.logs.question import ArmTotal, Question
from discreet.logs.sources import KINDS, as_arrow, as_file, module_of, require, unreadable, wrong_type
from discreet.logs.sql import identifier, question_query, text
from discreet.logs.times import TimeKind

WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
NAMES = {"VARCHAR", "UUID"} | WHOLE | WIDE


class DuckLog:
    """A log that is open for one question.

    Args:
        log: The log, in any of its forms.
        question: The question, whose span may still be unknown.

    Raises:
        ArgumentError: If the log cannot be read, or a column is missing or of the wrong type.
    """

    def __init__(self, log: Any, question: Question) -> None:
        self._question = question
        with ExitStack() as held, unreadable(duckdb.Error):
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="discreet-"))
            settings: dict[str, Any] = {
                "temp_directory": folder,  # for data that does not fit into memory; only this user can read it
                "autoinstall_known_extensions": "false",
            }
            self._connection = held.enter_context(duckdb.connect(":memory:", config=settings))
            # Parquet's statistics leave NaN out, and DuckDB concludes that no time is NaN (its issue 25521).
            self._connection.execute("SET disabled_optimizers = 'statistics_propagation'")
            self._source = self._open(log)
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {self._source}").fetchall()
            self._types = {row[0]: str(row[1]).upper() for row in described}
            require(list(self._types), question.wanted)
            self.kind = self._check()
            self._held = held.pop_all()

    def answer(self, question: Question) -> list[ArmTotal]:
        """Run the query and return one total for each arm."""
        with unreadable(duckdb.Error):
            rows = self._connection.execute(question_query(self._table(), question)).fetchall()
        return [ArmTotal(str(arm), int(count), int(steps), last) for arm, count, steps, last in rows]

    def close(self) -> None:
        """Close the log."""
        self._held.close()

    def _open(self, log: Any) -> str:
        file = as_file(log)
        if file is not None:
            path, kind = file
            return f"read_parquet({text(path)})" if kind == "parquet" else self._csv(path)
        match module_of(log):
            case "pandas":
                log = as_arrow(log, self._question.wanted)
            case "polars":
                log = (log.collect() if hasattr(log, "collect") else log).to_arrow()
            case "pyarrow":
                pass
            case _:
                raise ArgumentError(f"log must be {KINDS}, got a {type(log).__name__}")
        self._connection.register("log", log)
        return "log"

    def _csv(self, path: str) -> str:
        columns = self._question.columns
        present = [row[0] for row in self._connection.execute(
            f"DESCRIBE SELECT * FROM read_csv({text(path)}, all_varchar = true)").fetchall()]  # fmt: skip
        require(present, self._question.wanted)
        kinds = {columns.assignment: "VARCHAR", columns.reward: "DOUBLE"}
        for column in (columns.unit, columns.arm):
            if column is not None and column in present:
                kinds[column] = "VARCHAR"
        types = ", ".join(f"{text(column)}: {text(kind)}" for column, kind in kinds.items())
        return f"read_csv({text(path)}, types = {{{types}}})"

    def _check(self) -> TimeKind:
        columns, types = self._question.columns, self._types
        for role, column in (("assignment", columns.assignment), ("unit", columns.unit), ("arm", columns.arm)):
            if column in self._question.wanted and column is not None:
                kind = types[column]
                if kind not in NAMES and not kind.startswith("ENUM"):
                    raise wrong_type(role, column, kind, "text or whole numbers")
        kind = types[columns.reward]
        if kind not in WHOLE | WIDE | {"FLOAT", "DOUBLE", "BOOLEAN"} and not kind.startswith("DECIMAL"):
            raise wrong_type("reward", columns.reward, kind, "numbers")
        kind = types[columns.time]
        if kind in WHOLE:
            return "integer"
        if kind in ("FLOAT", "DOUBLE"):
            return "real"
        if kind == "TIMESTAMP WITH TIME ZONE":
            return "zoned"
        if kind.startswith("TIMESTAMP") or kind == "DATE":
            return "local"
        raise wrong_type("time", columns.time, kind, "numbers, dates or timestamps")

    def _table(self) -> str:
        """Return a subselect of the log with its times as numbers."""
        columns = self._question.columns
        time = identifier(columns.time)
        if self._types[columns.time] == "TIMESTAMP_NS":
            ticks = f"epoch_ns({time})"
            time = f"({ticks} // 1000 - CASE WHEN {ticks} % 1000 < 0 THEN 1 ELSE 0 END)"  # the floor
        elif self.kind == "local":
            time = f"epoch_us(CAST({time} AS TIMESTAMP))"
        elif self.kind == "zoned":
            time = f"epoch_us({time})"
        elif self.kind == "integer":
            time = f"CAST({time} AS BIGINT)"
        else:
            time = f"CASE WHEN isfinite({time}) THEN CAST({time} AS DOUBLE) END"
        return f"(SELECT * REPLACE ({time} AS {identifier(columns.time)}) FROM {self._source}) AS log"

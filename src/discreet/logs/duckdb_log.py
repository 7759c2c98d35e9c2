"""Logs read by DuckDB: Parquet or CSV files, Arrow tables, frames of pandas and Polars.

DuckDB spills to disk beyond memory. Errors never repeat a cell's value, which may be a reward.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from discreet.core.errors import ArgumentError
from discreet.logs.sql import Question, identifier, question_query, text
from discreet.logs.times import TimeKind

KINDS = "a .parquet or .csv file, an Arrow table, or a data frame of pandas or Polars"
WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
REAL = {"FLOAT", "DOUBLE"}
NAMES = {"VARCHAR", "UUID"} | WHOLE | WIDE
TIMES: dict[str, TimeKind] = {"TIMESTAMP WITH TIME ZONE": "zoned", "DATE": "local"}
TIMES.update((kind, "integer") for kind in WHOLE)
TIMES.update((kind, "real") for kind in REAL)


@contextlib.contextmanager
def opened(log: Any, question: Question) -> Iterator[DuckLog]:
    """Open a log for one question.

    Args:
        log: The log, in any of its forms.
        question: The question, whose span may still be unknown.

    Raises:
        ArgumentError: If the log cannot be read, or a column is missing or of the wrong type.
    """
    with unreadable(duckdb.Error), tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        settings: dict[str, Any] = {
            "temp_directory": folder,  # for data that does not fit into memory; only this user can read it
            "autoinstall_known_extensions": "false",
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            # Parquet's statistics leave NaN out, and DuckDB concludes that no time is NaN (its issue 25521).
            connection.execute("SET disabled_optimizers = 'statistics_propagation'")
            yield DuckLog(connection, log, question)


class DuckLog:
    """A log that is open for one question.

    Args:
        connection: A connection of DuckDB.
        log: The log, in any of its forms.
        question: The question, whose span may still be unknown.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, log: Any, question: Question) -> None:
        self._connection, self._question = connection, question
        self._source = self._open(log)
        self._types = self._columns(self._source)
        self.kind = self._check()

    def answer(self, question: Question) -> dict[str, tuple[int, int, Any]]:
        """Return the number of contributions, the exact total in grid steps and the last time, by arm."""
        rows = self._connection.execute(question_query(self._table(), question)).fetchall()
        return {str(arm): (int(count), int(steps), last) for arm, count, steps, last in rows}

    def _open(self, log: Any) -> str:
        """Return what to select from. A file may be a folder or a pattern (logs/*.parquet) too."""
        if isinstance(log, str | Path):
            return self._file(str(log))
        match type(log).__module__.partition(".")[0]:
            case "pandas":
                log = _as_arrow(log, self._question.wanted)
            case "polars":
                log = (log.collect() if hasattr(log, "collect") else log).to_arrow()
            case "pyarrow":
                pass
            case _:
                raise ArgumentError(f"log must be {KINDS}, got a {type(log).__name__}")
        self._connection.register("log", log)
        return "log"

    def _file(self, path: str) -> str:
        if Path(path).is_dir():
            return f"read_parquet({text(path.rstrip('/') + '/**/*.parquet')})"
        if path.lower().endswith((".parquet", ".pq")):
            return f"read_parquet({text(path)})"
        if path.lower().endswith((".csv", ".csv.gz")):
            return self._csv(path)
        raise ArgumentError(f"log must be {KINDS}, got {path!r}")

    def _csv(self, path: str) -> str:
        columns = self._question.columns
        present = self._columns(f"read_csv({text(path)}, all_varchar = true)")
        kinds = {columns.assignment: "VARCHAR", columns.reward: "DOUBLE"}
        kinds |= {
            column: "VARCHAR" for column in (columns.unit, columns.arm) if column is not None and column in present
        }
        types = ", ".join(f"{text(column)}: {text(kind)}" for column, kind in kinds.items())
        return f"read_csv({text(path)}, types = {{{types}}})"

    def _columns(self, source: str) -> dict[str, str]:
        """Return the type of each column, of which the question needs some."""
        rows = self._connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        types = {row[0]: str(row[1]).upper() for row in rows}
        _require(list(types), self._question.wanted)
        return types

    def _check(self) -> TimeKind:
        columns, types = self._question.columns, self._types
        for role, column in (("assignment", columns.assignment), ("unit", columns.unit), ("arm", columns.arm)):
            if column in self._question.wanted and column is not None:
                kind = types[column]
                if kind not in NAMES and not kind.startswith("ENUM"):
                    raise _wrong_type(role, column, kind, "text or whole numbers")
        kind = types[columns.reward]
        if kind not in WHOLE | WIDE | REAL | {"BOOLEAN"} and not kind.startswith("DECIMAL"):
            raise _wrong_type("reward", columns.reward, kind, "numbers")
        kind = types[columns.time]
        if kind not in TIMES and not kind.startswith("TIMESTAMP"):
            raise _wrong_type("time", columns.time, kind, "numbers, dates or timestamps")
        return TIMES.get(kind, "local")

    def _table(self) -> str:
        """Return a subselect of the log with its times as numbers."""
        time = identifier(self._question.columns.time)
        ticks = f"epoch_ns({time})"
        number = {
            "integer": f"CAST({time} AS BIGINT)",
            "real": f"CASE WHEN isfinite({time}) THEN CAST({time} AS DOUBLE) END",
            "local": f"epoch_us(CAST({time} AS TIMESTAMP))",
            "zoned": f"epoch_us({time})",
        }[self.kind]
        if self._types[self._question.columns.time] == "TIMESTAMP_NS":
            number = f"({ticks} // 1000 - CASE WHEN {ticks} % 1000 < 0 THEN 1 ELSE 0 END)"  # the floor
        return f"(SELECT * REPLACE ({number} AS {time}) FROM {self._source}) AS log"


@contextlib.contextmanager
def unreadable(*errors: type[Exception]) -> Iterator[None]:
    """Replace an engine's errors, which quote a cell that may be a reward, by `ArgumentError` without it."""
    try:
        yield
    except errors as error:
        raise ArgumentError(
            f"the log cannot be read ({type(error).__name__}): is it {KINDS}, with numbers as rewards?"
        ) from None


def _as_arrow(frame: Any, wanted: Sequence[str]) -> Any:
    """Return a pandas data frame as an Arrow table, whose types are known."""
    import pyarrow  # type: ignore[import-untyped]  # noqa: PLC0415

    _require(list(map(str, frame.columns)), wanted)
    with unreadable(pyarrow.ArrowException):
        return pyarrow.Table.from_pandas(frame[list(dict.fromkeys(wanted))], preserve_index=False)


def _require(present: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [column for column in wanted if column not in present]
    if missing:
        raise ArgumentError(
            f"the log has no column {missing[0]!r}; it has {', '.join(map(repr, present))}; see Columns"
        )


def _wrong_type(role: str, column: str, kind: object, right: str) -> ArgumentError:
    return ArgumentError(f"the {role} column {column!r} must hold {right}, not {kind}")

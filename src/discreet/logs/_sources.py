"""Logs of any form as tables of Ibis.

Files and frames are read by DuckDB, in this process, in the order of their rows. A table of a database stays where it
is: the same expressions run there.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import duckdb
import ibis

from discreet.core.errors import ArgumentError
from discreet.logs import _csv

KINDS = (
    "a .csv or .parquet file, a folder or a pattern of them, a table of pandas, Polars, Arrow or Ibis, or a table of a "
    "database such as postgresql://host/shop#events"
)
ROW = "discreet row"
"""The name of the column with a row's number, from 1, in the log; tables of databases have none."""
_PARQUET = (".parquet", ".pq")
_UNREADABLE = (duckdb.InvalidInputException, duckdb.IOException, duckdb.ConversionException, duckdb.DataError)
_MEGABYTES, _OF_A_THREAD = 1500, 250  # of memory; beyond it DuckDB uses the disk


@dataclass(frozen=True, slots=True)
class Source:
    """An open log.

    Args:
        table: The log as a table of Ibis.
        local: True if DuckDB reads it here. Then it has the column `ROW`.
        csv: How it is read, if it is CSV.
        connection: The connection that it was opened with.
    """

    table: Any
    local: bool
    connection: Any
    csv: _csv.Table | None = None

    @property
    def names(self) -> list[str]:
        """The names of the log's own columns."""
        return [name for name in self.table.columns if name != ROW]

    @property
    def broken(self) -> list[int]:
        """The lines that were no rows of the heading's cells, after the log was read."""
        if self.csv is None:
            return []
        query = "SELECT DISTINCT line FROM reject_errors ORDER BY line"
        return [int(line) for (line,) in self.connection.con.execute(query).fetchall()]

    def places(self, rows: Sequence[int]) -> str:
        """Return in words where some rows are.

        Args:
            rows: The numbers of the rows, rising.
        """
        single = self.csv is not None and len(self.csv.paths) == 1
        numbers = self.csv.lines(rows) if self.csv is not None and single else list(rows)
        return (
            f"{'line' if single else 'row'}{'' if len(numbers) == 1 else 's'} {', '.join(map('{:,}'.format, numbers))}"
        )


@contextlib.contextmanager
def opened(log: Any, wanted: Sequence[str] = (), *, heading: bool | None = None) -> Iterator[Source]:
    """Open a log.

    Args:
        log: The log, in any of its forms.
        wanted: The names of the columns that are needed.
        heading: True if a CSV file begins with a heading; None if it does unless its first line is one number.

    Raises:
        ArgumentError: The log cannot be read, or lacks a column.
    """
    if isinstance(log, ibis.expr.types.Table):
        source = Source(log, False, None)
        _require(source.names, wanted)
        yield source
        return
    if isinstance(log, str) and "://" in log:
        source = _of_database(log, wanted)
        try:
            yield source
        finally:
            source.connection.disconnect()
        return
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        memory = max(_MEGABYTES, _OF_A_THREAD * (os.cpu_count() or 1))
        connection = ibis.duckdb.connect(
            temp_directory=folder,  # for data that does not fit into memory; only this user can read it
            memory_limit=f"{memory}MB",
            autoinstall_known_extensions="false",
        )
        try:
            # Parquet's statistics leave NaN out, and DuckDB concludes that there is none (its issue 25521).
            connection.con.execute("SET disabled_optimizers = 'statistics_propagation'")
            with contextlib.suppress(duckdb.InvalidInputException):  # in a notebook that cannot show one anyway
                connection.con.execute("SET enable_progress_bar = false")  # it would be written to stdout
            with readable(log):
                source = _of_file(connection, log, wanted, heading) or _of_frame(connection, log, wanted)
            yield source
        finally:
            connection.disconnect()


@contextlib.contextmanager
def readable(log: Any, source: Source | None = None) -> Iterator[None]:
    """Replace DuckDB's errors about data, which may quote a cell, by `ArgumentError` without it.

    Args:
        log: The log.
        source: The open log, which may say more about what is wrong.
    """
    try:
        yield
    except _UNREADABLE as error:
        shown = repr(str(log)) if isinstance(log, str | Path) else f"a {type(log).__name__}"
        fault = None if source is None or source.csv is None else source.csv.fault()
        reason = f"it must be {KINDS}" if fault is None else f"{fault}; mend that line"
        raise ArgumentError(f"the log {shown} cannot be read ({type(error).__name__}): {reason}") from None


def _of_database(url: str, wanted: Sequence[str]) -> Source:
    address, name = urldefrag(url)
    if not name:
        raise ArgumentError(f"log must name a table after its database, such as {address}#events, got {url!r}")
    connection = ibis.connect(address)
    *schema, table = name.split(".")
    source = Source(connection.table(table, database=".".join(schema) or None), False, connection)
    _require(source.names, wanted)
    return source


def _of_file(connection: Any, log: Any, wanted: Sequence[str], heading: bool | None) -> Source | None:
    """Return a file, a folder or a pattern of files as a source; None for what is no path."""
    if not isinstance(log, str | os.PathLike):
        return None
    paths = _paths(os.fspath(log))
    csv = None
    if all(path.lower().endswith(_PARQUET) for path in paths):
        query = f"read_parquet([{', '.join(map(_csv.quoted, paths))}])"
    else:
        csv = _csv.table_of(paths, wanted, heading)
        _require(csv.names, wanted)
        query = csv.query
    connection.con.execute(f'CREATE VIEW log AS SELECT *, row_number() OVER () AS "{ROW}" FROM {query}')
    source = Source(connection.table("log"), True, connection, csv)
    _require(source.names, wanted)
    return source


def _paths(path: str) -> list[str]:
    """Return the files of a path, a folder or a pattern, all of one kind."""
    if os.path.isdir(path):
        found = [
            str(one) for one in sorted(Path(path).rglob("*")) if str(one).lower().endswith((*_PARQUET, *_csv.SUFFIXES))
        ]
    else:
        found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) and not os.path.exists(path) else [path]
    if not found:
        raise ArgumentError(f"log must be {KINDS}, but there is no such file in {path!r}")
    for one in found:
        if not os.path.exists(one):
            raise FileNotFoundError(2, "there is no such file", one)
    kinds = {one.lower().endswith(_PARQUET) for one in found}
    if len(kinds) > 1 or not all(one.lower().endswith((*_PARQUET, *_csv.SUFFIXES)) for one in found):
        raise ArgumentError(f"log must be {KINDS}, got {path!r}")
    return found


def _of_frame(connection: Any, log: Any, wanted: Sequence[str]) -> Source:
    match type(log).__module__.partition(".")[0]:
        case "pandas":
            log = _as_arrow(log, wanted)
        case "polars":
            log = (log.collect() if hasattr(log, "collect") else log).to_arrow()
        case "pyarrow":
            log = log if hasattr(log, "num_rows") else log.read_all()
        case _:
            raise ArgumentError(f"log must be {KINDS}, got a {type(log).__name__}")
    connection.con.register("frame", log)
    connection.con.execute(f'CREATE VIEW log AS SELECT *, row_number() OVER () AS "{ROW}" FROM frame')
    source = Source(connection.table("log"), True, connection)
    _require(source.names, wanted)
    return source


def _as_arrow(frame: Any, wanted: Sequence[str]) -> Any:
    """Return the wanted columns of a pandas data frame as an Arrow table; a column of mixed objects becomes text."""
    import pyarrow  # type: ignore[import-untyped]  # noqa: PLC0415

    _require(list(map(str, frame.columns)), wanted)
    frame = frame.rename(columns=str)
    columns = {}
    for name in wanted or frame.columns:
        try:
            columns[name] = pyarrow.Array.from_pandas(frame[name])
        except (pyarrow.ArrowException, TypeError, ValueError):
            texts = [None if _is_missing(cell) else str(cell) for cell in frame[name].tolist()]
            columns[name] = pyarrow.array(texts, pyarrow.string())
    return pyarrow.table(columns)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _require(present: Sequence[str], wanted: Sequence[str]) -> None:
    for column in wanted:
        if column not in present:
            listed = ", ".join(map(repr, present)) or "none"
            raise ArgumentError(f"the log has no column {column!r}; it has {listed}: name one of these")

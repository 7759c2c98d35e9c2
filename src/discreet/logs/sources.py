"""Where a log can lie: files of Parquet or CSV, Arrow tables, data frames. Errors never repeat what a cell holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.core.errors import ArgumentError

KINDS = "a .parquet or .csv file, an Arrow table, or a data frame of pandas or Polars"


def as_file(log: Any) -> tuple[str, str] | None:
    """The path and the format of a log that is a file (a folder or a pattern such as logs/*.parquet is one too)."""
    if not isinstance(log, str | Path):
        return None
    place = str(log)
    if Path(place).is_dir():
        return f"{place.rstrip('/')}/**/*.parquet", "parquet"
    suffix = Path(place).suffix.lower()
    if suffix in (".parquet", ".pq"):
        return place, "parquet"
    if suffix in (".csv", ".gz") and place.lower().endswith((".csv", ".csv.gz")):
        return place, "csv"
    raise ArgumentError(f"log must be {KINDS}, got {place!r}")


def as_arrow(frame: Any, wanted: Sequence[str]) -> Any:
    """A pandas table as an Arrow one, so that both engines see the same types."""
    import pyarrow  # type: ignore[import-untyped]  # noqa: PLC0415

    require(list(map(str, frame.columns)), wanted)
    with unreadable(pyarrow.ArrowException):
        return pyarrow.Table.from_pandas(frame[list(dict.fromkeys(wanted))], preserve_index=False)


def module_of(log: Any) -> str:
    """The package that a table's class comes from."""
    return type(log).__module__.partition(".")[0]


def require(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a log without the columns that are needed."""
    missing = [column for column in wanted if column not in present]
    if missing:
        raise ArgumentError(
            f"the log has no column {missing[0]!r}; it has {', '.join(map(repr, present))}; see Columns"
        )


def wrong_type(role: str, column: str, kind: object, right: str) -> ArgumentError:
    """A column holds something else than it must."""
    return ArgumentError(f"the {role} column {column!r} must hold {right}, not {kind}")


@contextlib.contextmanager
def unreadable(*errors: type[Exception]) -> Iterator[None]:
    """An engine's own words quote the cell that it stumbled over, which may be a reward: say it without."""
    try:
        yield
    except errors as error:
        raise ArgumentError(
            f"the log cannot be read ({type(error).__name__}): is it {KINDS}, with numbers as rewards?"
        ) from None

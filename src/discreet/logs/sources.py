"""The forms of a log: Parquet or CSV files, Arrow tables, data frames. Errors never repeat a cell's value."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.core.errors import ArgumentError

KINDS = "a .parquet or .csv file, an Arrow table, or a data frame of pandas or Polars"


def as_file(log: Any) -> tuple[str, str] | None:
    """Return the path and format of a log that is a file, a folder or a pattern (logs/*.parquet); else None."""
    if not isinstance(log, str | Path):
        return None
    path = str(log)
    if Path(path).is_dir():
        return f"{path.rstrip('/')}/**/*.parquet", "parquet"
    suffix = Path(path).suffix.lower()
    if suffix in (".parquet", ".pq"):
        return path, "parquet"
    if suffix in (".csv", ".gz") and path.lower().endswith((".csv", ".csv.gz")):
        return path, "csv"
    raise ArgumentError(f"log must be {KINDS}, got {path!r}")


def as_arrow(frame: Any, wanted: Sequence[str]) -> Any:
    """Return a pandas data frame as an Arrow table, whose types are known.

    Args:
        frame: The data frame.
        wanted: The columns to keep.

    Raises:
        ArgumentError: If a column is missing or cannot be converted.
    """
    import pyarrow  # type: ignore[import-untyped]  # noqa: PLC0415

    require(list(map(str, frame.columns)), wanted)
    with unreadable(pyarrow.ArrowException):
        return pyarrow.Table.from_pandas(frame[list(dict.fromkeys(wanted))], preserve_index=False)


def module_of(log: Any) -> str:
    """Return the name of the package that a table's class comes from."""
    return type(log).__module__.partition(".")[0]


def require(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Check that a log has all columns that are needed.

    Args:
        present: The log's columns.
        wanted: The columns that are needed.

    Raises:
        ArgumentError: If a column is missing.
    """
    missing = [column for column in wanted if column not in present]
    if missing:
        raise ArgumentError(
            f"the log has no column {missing[0]!r}; it has {', '.join(map(repr, present))}; see Columns"
        )


def wrong_type(role: str, column: str, kind: object, right: str) -> ArgumentError:
    """Return the error for a column of the wrong type.

    Args:
        role: The meaning of the column, such as "reward".
        column: Its name.
        kind: Its type.
        right: The types that would be right.
    """
    return ArgumentError(f"the {role} column {column!r} must hold {right}, not {kind}")


@contextlib.contextmanager
def unreadable(*errors: type[Exception]) -> Iterator[None]:
    """Replace an engine's errors, which quote a cell that may be a reward, by `ArgumentError` without it."""
    try:
        yield
    except errors as error:
        raise ArgumentError(
            f"the log cannot be read ({type(error).__name__}): is it {KINDS}, with numbers as rewards?"
        ) from None

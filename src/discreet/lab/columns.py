"""A column of numbers from a CSV file."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Iterator

from discreet.core.errors import ArgumentError


def read_column(path: str | os.PathLike[str], column: str, *, limit: float) -> list[float]:
    """Return the numbers in one column of a CSV file whose first row names the columns.

    Args:
        path: The file.
        column: The name of the column.
        limit: The largest size of a number.

    Raises:
        ArgumentError: If there is no such file or column, or if a cell holds no number of that size.
    """
    name = os.fspath(path)
    try:
        with open(name, newline="", encoding="utf-8-sig") as file:  # Excel puts a mark in front, the "sig"
            values = list(_numbers(csv.reader(file), name, column, limit))
    except FileNotFoundError as error:
        raise ArgumentError(f"path must name a CSV file, but there is no file {name!r}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"path must name a readable CSV file, got {name!r}: {error}") from error
    if not values:
        raise ArgumentError(f"the CSV file {name!r} must have a row of numbers below its header, but has none")
    return values


def _numbers(rows: Iterator[list[str]], path: str, column: str, limit: float) -> Iterable[float]:
    """Yield the numbers below the heading `column`. Empty lines are passed over."""
    header = [heading.strip() for heading in next(rows, [])]
    if header.count(column) != 1:
        problem = "has more than one" if column in header else f"has {', '.join(map(repr, header)) or 'none'}"
        raise ArgumentError(f"column must name one column of {path!r}, got {column!r}; it {problem}")
    index = header.index(column)
    for number, row in enumerate(filter(None, rows), start=1):
        cell = row[index] if index < len(row) else ""
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not abs(value) <= limit:
            raise ArgumentError(
                f"column {column!r} of {path!r} must hold finite numbers, got {cell!r} in row {number} below the header"
            )
        yield value

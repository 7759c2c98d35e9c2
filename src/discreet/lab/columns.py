"""Numbers from a file or a pipe: one column, read as it arrives, and never far beyond what is asked for.

No row is ever skipped. The rules are private for streams that differ in the sample of one time step; if what a row
says decided whether it counts, changing it would move every later sample to another step, and the argument does not
cover that. So a cell without a number in range is an error that names its line. The numbers before it come first: a
rule that halts on them never meets it.
"""

import csv
import os
import sys
import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from discreet._install import needs
from discreet.core.errors import ArgumentError

STANDARD_INPUT = "-"
BLOCK = 1 << 14  # bytes of text in one read: some thousand numbers
BATCH = 4096  # rows of a Parquet file at a time
LONGEST_LINE = 1 << 20  # bytes; what has longer ones is no table
LARGEST = sys.float_info.max
WORDS = {"true": 1.0, "false": 0.0}
SEPARATORS = (";", "\t", "|")  # of other kinds of tables
MISSING = ("", "na", "n/a", "null", "none")  # what must not pass for a heading
PARQUET_SUFFIXES, PARQUET_MAGIC = (".parquet", ".pq"), b"PAR1"

Floats = NDArray[np.float64]


def read_numbers(
    source: str, column: str | None = None, low: float = -LARGEST, high: float = LARGEST, *, header: bool | None = None
) -> Generator[Floats]:
    """Yield the numbers in a column of a CSV, text or Parquet file, or of standard input, in arrays.

    An array holds what has arrived: a block of a file, and of a slow pipe no more than the lines that are there.

    Args:
        source: The file's path, or `-` for standard input.
        column: The column's name; None if there is only one.
        low: The smallest number that is accepted.
        high: The largest number that is accepted.
        header: True if text begins with a heading; None takes a first line that is no number as one.
    """
    wanted = _Column("standard input" if source == STANDARD_INPUT else repr(source), column, low, high, header)
    with _open_source(source) as stream:
        if Path(source).suffix.lower() in PARQUET_SUFFIXES or stream.peek(4).startswith(PARQUET_MAGIC):
            yield from _parquet_numbers(stream, wanted)
        else:
            lines = _Lines(stream, wanted.source)
            yield from _as_they_arrive(_text_numbers(lines, wanted), lines)


def read_column(path: str | os.PathLike[str], column: str, *, limit: float) -> list[float]:
    """Return all numbers in one column of a file whose first row names the columns.

    Args:
        path: A CSV or Parquet file.
        column: The name of the column.
        limit: The largest size of a number.

    Raises:
        ArgumentError: If there is no such file or column, or if a cell holds no number of that size.
    """
    name = os.fspath(path)
    try:
        arrays = list(read_numbers(name, column, -limit, limit, header=True))
    except FileNotFoundError as error:
        raise ArgumentError(f"path must name a CSV file, but there is no file {name!r}") from error
    except OSError as error:
        raise ArgumentError(f"path must name a readable CSV file, got {name!r}: {error}") from error
    values: list[float] = np.concatenate([np.zeros(0), *arrays]).tolist()
    if not values:
        raise ArgumentError(f"the file {name!r} must have a row of numbers below its header, but has none")
    return values


def _open_source(source: str) -> AbstractContextManager[BufferedReader]:
    """Open a file, or return standard input, which stays open."""
    if source != STANDARD_INPUT:
        return open(source, "rb")
    if sys.stdin is None:
        raise ArgumentError("there is no standard input to read; give a file's name instead of '-'")
    return nullcontext(cast(BufferedReader, sys.stdin.buffer))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column to read: its source, its name (None if it is the only one) and the range of its numbers."""

    source: str
    name: str | None
    low: float
    high: float
    header: bool | None = None

    def index(self, names: Sequence[str]) -> int:
        """Return the column's index among all."""
        listed = ", ".join(map(repr, names))
        if self.name is None:
            if len(names) != 1:
                raise ArgumentError(f"column must name one of the {len(names)} columns of {self.source}: {listed}")
            if any(mark in names[0] for mark in SEPARATORS):
                raise ArgumentError(f"{self.source} must separate its columns by commas, got a first line {names[0]!r}")
            return 0
        if names.count(self.name) != 1:
            problem = "has more than one" if self.name in names else f"has {listed or 'none'}"
            if len(names) == 1 and any(mark in names[0] for mark in SEPARATORS):
                problem += ", and columns must be separated by commas"
            raise ArgumentError(f"column must name one column of {self.source}, got {self.name!r}; it {problem}")
        return names.index(self.name)

    def refusal(self, where: str, number: float | None, shown: object) -> ArgumentError:
        """Return an error on a cell that cannot be a sample.

        Args:
            where: The cell's line or row.
            number: The number in it; None if it holds none.
            shown: The cell as it is.
        """
        if number is not None and abs(number) <= LARGEST:
            return ArgumentError(
                f"{where} of {self.source} must lie in [{self.low:.15g}, {self.high:.15g}], got {shown!r}; "
                f"declare a range that holds whatever the data are, or clip them"
            )
        return ArgumentError(
            f"{where} of {self.source} must hold a finite number, or true or false, got {shown!r}; give it a value "
            f"that does not depend on the data, such as the middle of the range: a row left out would shift all "
            f"later samples, which the privacy does not cover"
        )


# ---------------------------------------------------------------------- text


class _Lines:
    """The lines of a stream. While some are `ready`, the next one comes without waiting for more bytes."""

    def __init__(self, stream: BufferedReader, source: str) -> None:
        self._stream, self._source = stream, source
        self._ready: deque[bytes] = deque()
        self._rest = b""
        self._number = 0

    @property
    def ready(self) -> bool:
        """True if the next line has been read already."""
        return bool(self._ready)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        while not self._ready:
            self._read()
        self._number += 1
        try:
            return self._ready.popleft().decode("utf-8-sig" if self._number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ArgumentError(f"line {self._number} of {self._source} must be text in UTF-8: {error}") from error

    def _read(self) -> None:
        """Read the bytes that have arrived; wait only if there are none."""
        block = self._stream.read1(BLOCK)
        if not block and not self._rest:
            raise StopIteration
        *whole, self._rest = (self._rest + (block or b"\n")).split(b"\n")
        self._ready.extend(line + b"\n" for line in whole)
        if len(self._rest) > LONGEST_LINE:
            raise ArgumentError(f"{self._source} must be a table of text or a Parquet file, got a line without an end")


def _text_numbers(lines: _Lines, wanted: _Column) -> Iterator[float | None]:
    """Yield the numbers of a CSV file, or of a file with one number in a line; None for a blank line."""
    reader = csv.reader(lines, skipinitialspace=True)
    try:
        first = next(reader, None)
        if first is None:
            return
        headed = wanted.header
        if headed is None:
            headed = wanted.name is not None or len(first) > 1 or _is_heading(first)
        index = wanted.index([cell.strip() for cell in first]) if headed else 0
        if headed and wanted.header is None and wanted.name is None and not first[0].strip().isalpha():
            warnings.warn(
                f"{first[0]!r}, the first line of {wanted.source}, is taken as its heading; see --no-header",
                stacklevel=2,
            )
        width = max(1, len(first))
        rows: Iterator[list[str]] = reader if headed else chain([first], reader)
        blank = 0  # the first of the blank lines before this one, which only the end may follow
        for row in rows:
            if not row:
                blank = blank or reader.line_num
                yield None
                continue
            if blank:
                raise wanted.refusal(f"line {blank}", None, "")
            number = _read_cell(row[index]) if len(row) == width else None
            if number is None or not wanted.low <= number <= wanted.high:
                where = f"line {reader.line_num}"
                if len(row) == width:
                    raise wanted.refusal(where, number, row[index])
                raise ArgumentError(
                    f"{where} of {wanted.source} must have as many cells as the first line, {width}, got {len(row)}"
                )
            yield number
    except csv.Error as error:
        raise ArgumentError(f"line {reader.line_num} of {wanted.source} must be a row of CSV: {error}") from error


def _is_heading(row: Sequence[str]) -> bool:
    """Return True if a line with one cell is a name, and neither a number nor a missing one."""
    return bool(row) and row[0].strip().lower() not in MISSING and _read_cell(row[0]) is None


def _read_cell(text: str) -> float | None:
    """Return the number in a cell, or None.

    >>> _read_cell(" 0.25"), _read_cell("True"), _read_cell("x")
    (0.25, 1.0, None)
    """
    try:
        return float(text)
    except ValueError:
        return WORDS.get(text.strip().lower())


def _as_they_arrive(numbers: Iterator[float | None], lines: _Lines) -> Iterator[Floats]:
    """Yield the numbers in arrays: each is passed on before the next one must be waited for, or turns out bad."""
    group: list[float] = []
    try:
        for number in numbers:
            if number is not None:
                group.append(number)
            if not lines.ready:
                yield np.array(group)
                group.clear()
    except ArgumentError:
        yield np.array(group)
        raise


# ---------------------------------------------------------------------- Parquet


def _parquet_numbers(stream: BufferedReader, wanted: _Column) -> Iterator[Floats]:
    """Yield the numbers in a column of a Parquet file, a batch at a time."""
    with needs("Parquet", "lab"):
        import pyarrow  # type: ignore[import-untyped]  # noqa: PLC0415  (only Parquet needs it)
        from pyarrow import parquet, types  # noqa: PLC0415

    if not stream.seekable():
        raise ArgumentError(f"a Parquet file must be given by its name, got it through a pipe: {wanted.source}")
    try:
        with parquet.ParquetFile(stream, buffer_size=BLOCK) as file:
            names = file.schema_arrow.names
            name = names[wanted.index(names)]
            kind = file.schema_arrow.field(name).type
            if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)):
                raise ArgumentError(f"column {name!r} of {wanted.source} must hold numbers or booleans, not {kind}")
            before = 0
            for batch in file.iter_batches(BATCH, columns=[name]):
                cells = batch.column(name)
                numbers = cells.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
                good = (numbers >= wanted.low) & (numbers <= wanted.high)
                count = numbers.size if good.all() else int(good.argmin())
                yield numbers[:count]
                if count < numbers.size:
                    raise wanted.refusal(f"row {before + count + 1}", numbers[count], cells[count].as_py())
                before += count
    except (pyarrow.ArrowException, OSError) as error:
        raise ArgumentError(f"{wanted.source} must be a Parquet file: {error}") from error

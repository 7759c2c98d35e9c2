"""CSV files: their heading, how DuckDB reads them, and the lines that are no rows.

Nothing is guessed from the data. The heading says how cells are separated; each cell is read as text, and a line that
does not have as many cells as the heading is reported, never repaired.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

from discreet.core.errors import ArgumentError

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".txt")
SEPARATORS = (",", ";", "\t", "|")
ONLY = "value"
"""The name of the only column of a file without a heading."""
_LONGEST = 1 << 20  # bytes of a line; what has longer ones is no table
_WORDS = ("", "na", "n/a", "null", "none", "true", "false")  # what must not pass for a heading


class Table(NamedTuple):
    """The way CSV files are read.

    Attributes:
        paths: The files, of one heading.
        names: The names of the columns.
        separator: What separates cells.
        heading: True if the first line is a heading.
    """

    paths: tuple[str, ...]
    names: tuple[str, ...]
    separator: str
    heading: bool

    @property
    def query(self) -> str:
        """The DuckDB function that reads all cells as text, and keeps the lines that it cannot read apart."""
        columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in self.names)
        return (
            f"read_csv([{', '.join(map(quoted, self.paths))}], auto_detect = false, header = {self.heading}, "
            f"delim = {quoted(self.separator)}, quote = '\"', escape = '\"', strict_mode = true, "
            f"null_padding = false, columns = {{{columns}}}, store_rejects = true, max_line_size = {_LONGEST})"
        )

    def lines(self, rows: Sequence[int]) -> list[int]:
        """Return the line of each row of the only file, in rising order. Rows are counted from 1.

        Args:
            rows: The numbers of the rows, rising.
        """
        found, wanted = [], iter(rows)
        following = next(wanted, None)
        with _opened(self.paths[0]) as file:
            reader = csv.reader(_text(file), delimiter=self.separator)
            row = -1 if self.heading else 0
            for cells in reader:
                row += bool(cells) or len(self.names) == 1
                while following is not None and row == following:
                    found.append(reader.line_num)
                    following = next(wanted, None)
                if following is None:
                    break
        return found

    def fault(self) -> str:
        """Return what is wrong with the first line that is no row, as the end of a sentence."""
        for path in self.paths:
            with _opened(path) as file:
                reader = csv.reader(_text(file), delimiter=self.separator, strict=True)
                try:
                    for cells in reader:
                        if cells and len(cells) != len(self.names):
                            return f"line {reader.line_num} of {path!r} has {len(cells)} cells, not {len(self.names)}"
                except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
                    return f"line {reader.line_num + 1} of {path!r}: {_reason(error)}"
        return "its lines end in different ways, or a quotation mark is missing"


def table_of(paths: Sequence[str], wanted: Sequence[str], heading: bool | None) -> Table:
    """Return how CSV files of one heading are read.

    Args:
        paths: The files.
        wanted: The names of the columns that are needed; none if the file has only one column.
        heading: True if the first line is a heading; None if it is one unless it is the only cell and a number.

    Raises:
        ArgumentError: The files have no heading, or different ones.
    """
    first = _first_line(paths[0])
    separator = _separator(first, wanted)
    names = _cells(first, separator)
    if heading is None:
        heading = bool(wanted) or len(names) > 1 or _is_heading(names[0])
    if not heading:
        names = [ONLY] if len(names) == 1 else [f"{ONLY}{index}" for index in range(1, len(names) + 1)]
    for path in paths[1:]:
        if heading and _cells(_first_line(path), separator) != names:
            raise ArgumentError(f"all files of a log must have one heading, got another one in {path!r}")
    for name in wanted:
        if names.count(name) > 1:
            raise ArgumentError(f"the heading of {paths[0]!r} must have one column {name!r}, got several")
    return Table(tuple(paths), tuple(_distinct(names)), separator, heading)


def quoted(text: str) -> str:
    """Return a string as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _opened(path: str) -> BinaryIO:
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _text(file: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(file):
        yield line.decode("utf-8-sig" if number == 0 else "utf-8")


def _first_line(path: str) -> str:
    try:
        with _opened(path) as file:
            line = file.readline(_LONGEST)
        text = line.decode("utf-8-sig")
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise ArgumentError(f"line 1 of {path!r} must be the names of columns in UTF-8: {_reason(error)}") from None
    if not text.strip():
        raise ArgumentError(f"line 1 of {path!r} must be the names of its columns, got an empty one")
    return text.splitlines()[0]


def _cells(line: str, separator: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    except csv.Error as error:
        raise ArgumentError(f"line 1 must be the names of columns, in CSV: {error}") from None


def _separator(line: str, wanted: Sequence[str]) -> str:
    """Return what separates cells: what finds all wanted columns in the heading, or else most of them."""
    return max(SEPARATORS, key=lambda mark: sum(name in _cells(line, mark) for name in wanted))


def _is_heading(cell: str) -> bool:
    if cell.lower() in _WORDS:
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """Yield names of which no two are the same to DuckDB, which does not tell capitals; wanted ones stay first."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        new = name if name and name.lower() not in seen else f"{name} (column {index + 1})"
        seen.add(new.lower())
        yield new


def _reason(error: Any) -> str:
    return "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)

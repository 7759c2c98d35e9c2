"""Output of the command line: results on stdout; progress, hints and errors on stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from discreet.core.errors import ArgumentError
from discreet.reproduction.reproduce import counter

WIDE, UNLIMITED = 200, 10_000  # columns of what is not a terminal, and to measure a table that is not squeezed
PICTURES = (".png", ".pdf", ".svg")
Column = tuple[str, Sequence[Any]]


def console() -> Console:
    """Return the console for results. A file or a pipe is wide: tables are not squeezed into 80 columns there."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)


def show(text: str, style: str = "", *, wrap: bool = False) -> None:
    """Print a line for a person.

    Args:
        text: The line.
        style: A style of rich.
        wrap: Break the line between words. That is for sentences, not for paths, which should be easy to copy.
    """
    console().print(Text(text, style), soft_wrap=not wrap)


def show_json(document: Any) -> None:
    """Print a JSON document, the only one on stdout."""
    print(json.dumps(document, allow_nan=False))


def complain(message: str, what: str = "error: ") -> None:
    """Print an error on stderr.

    Args:
        message: The error.
        what: The word before it.
    """
    _remark(what, "bold red", message)


def hint(message: str) -> None:
    """Print a hint on stderr."""
    _remark("hint: ", "bold yellow", message)


def _remark(what: str, style: str, message: str) -> None:
    # In a terminal rich breaks lines between words; elsewhere a message is one line, which can be searched.
    Console(stderr=True, highlight=False).print(
        Text.assemble((what, style), message), soft_wrap=not sys.stderr.isatty()
    )


@contextmanager
def stages(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar with the remaining time on a terminal's stderr, gone when it ends.

    Yields:
        A function to call with what is being done, how much of it is done, and how much there is.
    """
    if quiet or not sys.stderr.isatty():  # rich's own way to disable a bar leaves an empty line in some versions
        yield lambda doing, done, total: None
        return
    columns = (*Progress.get_default_columns(), TextColumn("left", style="progress.remaining"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")

        def show_stage(doing: str, done: int, total: int) -> None:
            if not done:
                bar.reset(task, total=total)  # the remaining time is that of this stage
            bar.update(task, description=doing, completed=done)

        yield show_stage


@contextmanager
def progress(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar of one stage.

    Args:
        what: What is being done.
        total: The number of steps.
        quiet: Show nothing.

    Yields:
        A function to call with the number of steps that were taken.
    """
    with stages(quiet) as show_stage:
        yield counter(what, total, show_stage)


def fitting_table(columns: Sequence[Column], spare: Sequence[str]) -> Table:
    """Return a table that fits the terminal.

    Args:
        columns: All columns.
        spare: Headings of columns to leave out where the terminal is too narrow, the first first.
    """
    terminal = console()
    for gone in range(len(spare) + 1):
        table = wrapped_table([column for column in columns if column[0] not in spare[:gone]])
        if terminal.measure(table, options=terminal.options.update(max_width=UNLIMITED)).maximum <= terminal.width:
            break
    return table


def wrapped_table(columns: Sequence[Column], words: Sequence[str] = ()) -> Table:
    """Return a table.

    Args:
        columns: All columns.
        words: Headings of columns with texts, which continue in the next line where the terminal is narrow.
    """
    table = plain_table()
    for index, (heading, _) in enumerate(columns):
        left = heading in words or not index
        table.add_column(Text(heading, "bold"), justify="left" if left else "right", no_wrap=heading not in words)
    for row in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


def plain_table(title: str | None = None) -> Table:
    """Return an empty table without lines."""
    return Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1), pad_edge=False)


def check_writable(path: Path | None) -> None:
    """Refuse a file that cannot be written, before hours are spent on its content."""
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(None, "is a folder, not a file to write", str(path))
    folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise PermissionError(None, f"cannot be written: {folder} is not a folder that one can write to", str(path))


def check_picture(path: Path | None) -> None:
    """Refuse a picture that cannot be drawn into its file, before anything is spent."""
    check_writable(path)
    if path is not None and path.suffix.lower() not in PICTURES:
        raise ArgumentError(f"a picture's name must end in {', '.join(PICTURES)}, got {str(path)!r}")


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib into a file, and make its folder if need be.

    Args:
        figure: The figure.
        path: The file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)

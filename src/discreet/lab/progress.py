"""A progress bar for Python: how much of the work is done, and how long the rest will take."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from discreet._wording import duration

_MOMENT = 1.0  # seconds before a bar appears
_PAUSE = 0.2  # seconds between two changes of it
_WIDTH = 30


@contextmanager
def progress_bar(what: str, total: int, wanted: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar that is gone at the end: in a notebook below the cell, in a terminal on stderr.

    Args:
        what: What is being done.
        total: The number of steps.
        wanted: False for none; None for one where somebody watches.

    Yields:
        A function to call with the number of steps that were taken.
    """
    place = None if wanted is False else _place(wanted)
    if place is None:
        yield lambda steps: None
        return
    start, done, shown = time.monotonic(), 0, 0.0

    def advance(steps: int) -> None:
        nonlocal done, shown
        done += steps
        now = time.monotonic()
        if now - start > _MOMENT and now - shown > _PAUSE:
            shown = now
            place.write(bar(what, done, total, now - start))

    try:
        yield advance
    finally:
        place.clear()


def bar(what: str, done: int, total: int, seconds: float) -> str:
    """Return the line that says how far it is.

    Args:
        what: What is being done.
        done: The steps that were taken.
        total: The number of steps.
        seconds: The time that they took.

    >>> bar("simulating dp-se", 10, 40, 20.0)
    'simulating dp-se ███████░░░░░░░░░░░░░░░░░░░░░░░ 25 %, about 60 seconds left'
    """
    share = min(done / total, 1.0) if total else 1.0
    full = int(_WIDTH * share)
    left = f", about {duration(round(seconds / share - seconds))} left" if 0 < share < 1 else ""
    return f"{what} {'█' * full}{'░' * (_WIDTH - full)} {100 * share:.0f} %{left}"


def _place(wanted: bool | None) -> Any:
    """Return where a bar is shown; None if nobody would see it."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if getattr(shell, "kernel", None) is not None:
        return _Notebook(sys.modules["IPython.display"])
    return _Terminal(sys.stderr) if wanted or (sys.stderr is not None and sys.stderr.isatty()) else None


class _Terminal:
    """A line that is written over."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._longest = stream, 0

    def write(self, line: str) -> None:
        self._longest = max(self._longest, len(line))
        self._stream.write(f"\r{line:<{self._longest}}")
        self._stream.flush()

    def clear(self) -> None:
        if self._longest:
            self._stream.write(f"\r{' ' * self._longest}\r")
            self._stream.flush()


class _Notebook:
    """An output of the cell that is replaced."""

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None

    def write(self, line: str) -> None:
        self._show({"text/plain": line})

    def clear(self) -> None:
        if self._handle is not None:
            self._show({"text/plain": ""})

    def _show(self, bundle: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

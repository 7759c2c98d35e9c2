"""Trace the walks of docs/architecture.md: python tools/trace_walks.py [-v] [a|b|c|d ...].

Counts the calls of the package's own functions (comprehensions and lambdas left out), the different functions that are
called, and their files. With -v every call is printed, indented by its depth. Each walk runs twice and the second time
counts, so that nothing is imported or cached for the first time.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import discreet
from discreet.cli import main

ROOT = str(Path(discreet.__file__).parent)
Call = tuple[int, str, str]  # depth, file, function


@contextlib.contextmanager
def traced(calls: list[Call]) -> Iterator[None]:
    """Add the package's calls in the block to a list. Calls of a thread that began before it are not seen."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            depth, outer = 0, frame.f_back
            while outer is not None:
                depth += outer.f_code.co_filename.startswith(ROOT)
                outer = outer.f_back
            calls.append((depth, code.co_filename[len(ROOT) + 1 :], code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def reward(folder: Path, calls: list[Call]) -> None:
    """Tell the last reward of an epoch of dp-se to a bandit with a file."""
    policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=100_000)
    bandit = discreet.Bandit(policy)
    bandit.save(folder / f"state-{len(list(folder.iterdir()))}.json")
    *others, last = bandit.ask(policy.plan().size)  # type: ignore[union-attr]
    bandit.tell(others, [0.5] * len(others))
    with traced(calls):
        bandit.tell(last, 0.5)


def simulate(folder: Path, calls: list[Call]) -> None:
    """Simulate dp-se by the command line, in this thread."""
    command = "simulate dp-se --instance C2 --epsilon 0.25 --horizon 1e6 --runs 2 --engine serial"
    with traced(calls):
        main(command.split())


def stop(folder: Path, calls: list[Call]) -> None:
    """Estimate the private mean of a CSV file by the command line."""
    file, rng = folder / "clicks.csv", random.Random(0)
    file.write_text("\n".join(["clicked", *("01"[rng.random() < 0.3] for _ in range(20_000))]))
    command = f"stop {file} --column clicked --epsilon 1 --alpha 0.1 --beta 0.05 --low 0 --high 1"
    with traced(calls):
        main(command.split())


WALKS: dict[str, Callable[[Path, list[Call]], None]] = {"a": reward, "b": simulate, "d": stop}


def run() -> None:
    """Trace the walks that are named on the command line, or all."""
    for name in [argument for argument in sys.argv[1:] if argument in WALKS] or WALKS:
        calls: list[Call] = []
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            WALKS[name](Path(folder), [])
            WALKS[name](Path(folder), calls)
        functions, files = {call[1:] for call in calls}, {file for _, file, _ in calls}
        print(f"({name}) {len(calls):,} calls of {len(functions)} functions in {len(files)} files")
        if "-v" in sys.argv:
            for depth, file, function in calls:
                print("  " * (depth + 1) + f"{file} {function}")


if __name__ == "__main__":
    run()

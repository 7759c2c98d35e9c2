"""Trace the walks of docs/architecture.md: python -m tools.trace_walks [-v] [a|b|c|d ...], from the project's folder.

Counts the calls of the package's own functions (comprehensions and lambdas left out), the different functions that are
called, and their files. With -v every call is printed, indented by its depth. Each walk runs twice and the second time
counts, so that nothing is imported or cached for the first time.
"""

from __future__ import annotations

import contextlib
import io
import random
import shlex
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


class Trace:
    """The package's calls inside of `with trace:` blocks, in all threads that begin after the trace was made."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str, str]] = []  # depth, file, function
        self._counts = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    @contextlib.contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Count the calls of a block, and print the counts."""
        self.calls.clear()
        self._counts = True
        try:
            yield
        finally:
            self._counts = False
        functions, files = {call[1:] for call in self.calls}, {file for _, file, _ in self.calls}
        print(f"{what}: {len(self.calls):,} calls of {len(functions)} functions in {len(files)} files", file=sys.stderr)
        if "-v" in sys.argv:
            for depth, file, function in self.calls:
                print("  " * (depth + 1) + f"{file} {function}", file=sys.stderr)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self._counts and event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            depth, outer = 0, frame.f_back
            while outer is not None:
                depth += outer.f_code.co_filename.startswith(ROOT)
                outer = outer.f_back
            self.calls.append((depth, code.co_filename[len(ROOT) + 1 :], code.co_qualname))


def reward(folder: Path, trace: Trace) -> None:
    """Tell the last reward of an epoch of dp-se to a bandit with a file."""
    for name in ("first", "second"):
        policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=100_000)
        bandit = discreet.Bandit(policy)
        bandit.save(folder / name)
        plan = policy.plan()
        assert plan is not None
        *others, last = bandit.ask(plan.size)
        bandit.tell(others, [0.5] * len(others))
        with trace.of("(a) tell") if name == "second" else contextlib.nullcontext():
            bandit.tell(last, 0.5)


def simulate(_: Path, trace: Trace) -> None:
    """Simulate dp-se by the command line, in this thread."""
    command = shlex.split("simulate dp-se --instance C2 --epsilon 0.25 --horizon 1e6 --runs 2 --engine serial")
    main(command)
    with trace.of("(b) simulate"):
        main(command)


def service(folder: Path, trace: Trace) -> None:
    """Assign a unit, report its reward and close an epoch, over HTTP without a network."""
    from tests._tools.service_tools import Clock, World, crowd, make_tables, small  # noqa: PLC0415

    make_tables(str(folder / "service.db"))
    world = crowd(World(str(folder / "service.db"), Clock()))
    with world.web() as web:
        world.start("banners", **small(policy="dp-se"))
        for unit in ("ann", "bob"):
            with trace.of("(c) assign") if unit == "bob" else contextlib.nullcontext():
                given = web.post("/v1/experiments/banners/assignments", json={"units": [unit]}).json()
            (assignment,) = given["assignments"]
            with trace.of("(c) reward") if unit == "bob" else contextlib.nullcontext():
                web.put(f"/v1/rewards/{assignment['assignment']}", json={"reward": 1})
        for epoch in (1, 2):
            world.fill("banners", lambda _: 0.5)
            world.clock.wait(60)
            with trace.of("(c) close") if epoch == 2 else contextlib.nullcontext():
                world.close("banners")
    world.database.close()


def stop(folder: Path, trace: Trace) -> None:
    """Estimate the private mean of a CSV file by the command line."""
    file, rng = folder / "clicks.csv", random.Random(0)
    file.write_text("\n".join(["clicked", *("01"[rng.random() < 0.3] for _ in range(20_000))]))
    command = shlex.split(f"stop {file} --column clicked --epsilon 1 --alpha 0.1 --beta 0.05 --low 0 --high 1")
    main(command)
    with trace.of("(d) stop"):
        main(command)


WALKS: dict[str, Callable[[Path, Trace], None]] = {"a": reward, "b": simulate, "c": service, "d": stop}


def run() -> None:
    """Trace the walks that are named on the command line, or all."""
    trace = Trace()
    for name in [argument for argument in sys.argv[1:] if argument in WALKS] or WALKS:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            WALKS[name](Path(folder), trace)


if __name__ == "__main__":
    run()

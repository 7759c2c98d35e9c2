"""What `reproduce` does: a reproduction, interrupted and resumed at will, and what it found."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from discreet.cli.console import check_writable, duration, show, show_json, stages
from discreet.lab.engines import Engine
from discreet.lab.store import Store
from discreet.reproduction.reproduce import Reproduction


class Interrupted(Exception):
    """Ctrl-C, with what has become of the work."""


def reproduce(wanted: Reproduction, engine: Engine, folder: Path, *, json: bool) -> None:
    """Simulate what is not in the folder yet, write the report, and say what was found.

    Args:
        wanted: The studies.
        engine: Simulates.
        folder: Where the report and the data go.
        json: Print one JSON document.
    """
    settings, store, start = wanted.settings(), Store(folder / "settings"), time.perf_counter()
    check_writable(folder / "report.html")
    check_writable(store.path(settings[0]))
    try:
        with stages(json) as on_progress:
            report = wanted.run(folder, engine, on_progress)
    except KeyboardInterrupt as stop:
        paths = {store.path(one) for one in settings}
        kept = sum(path.exists() for path in paths)
        raise Interrupted(
            f"{kept} of {len(paths)} settings are finished and kept in {folder}: the same command goes on from there"
        ) from stop
    _tell(report.headlines, report.page, folder, time.perf_counter() - start, json)


def _tell(sentences: list[str], page: Path, folder: Path, seconds: float, json: bool) -> None:
    """Say what was found, and where everything is."""
    places = {"report": page, "figures": folder / "figures", "data": folder / "data", "runs": folder / "settings"}
    if json:
        found: dict[str, Any] = {"headlines": sentences, "simulated": True, "seconds": seconds}
        show_json({**found, **{name: str(path) for name, path in places.items()}})
        return
    for sentence in sentences:
        show(f"- {sentence}", wrap=True)
    show("")
    for name, path in places.items():
        show(f"{name:8} {path}")
    show(f"{'time':8} {duration(seconds)}, on simulated noise")

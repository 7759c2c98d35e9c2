"""`discreet reproduce`: the paper's evaluation, interrupted and resumed at will, and its report."""

import time
from pathlib import Path
from typing import Annotated, Any

from discreet._wording import duration
from discreet.cli import Interrupted
from discreet.cli import _options as opt
from discreet.cli._console import check_writable, show, show_json, stages
from discreet.lab.engines import make_engine
from discreet.lab.setting import HORIZON, SEED
from discreet.lab.store import Store
from discreet.reproduction.reproduce import Report, Reproduction

PARTS = {"figures": "figures", "data": "data", "runs": "settings"}  # of the folder


@opt.command("discreet reproduce", "discreet reproduce --quick --output quick", "discreet reproduce --all --runs 100")
def _reproduce(
    *,
    output: Annotated[Path, opt.option("DIR", "Where the report and the data go.")] = Path("reproduction"),
    everything: Annotated[
        bool,
        opt.flag("Go beyond the paper: every policy and rule against its lower bound.", "--all"),
    ] = False,
    quick: Annotated[bool, opt.flag("Fewer runs, and beyond the paper fewer arms.", "--quick")] = False,
    runs: Annotated[int | None, opt.whole("Runs of each setting of the bandits.", show_default="30, quick 3")] = None,
    horizon: opt.Horizon = HORIZON,
    seed: opt.Seed = SEED,
    json: opt.Json = False,
    engine: opt.EngineName = None,
    workers: opt.Workers = None,
    address: opt.Address = None,
) -> None:
    """Repeat the paper's evaluation, and write a report with its figures.

    After Ctrl-C the same command goes on where it was: finished settings are kept in the folder.
    """
    wanted = Reproduction.of(everything=everything, quick=quick, horizon=horizon, seed=seed, runs=runs)
    running = make_engine(engine or "processes", workers, address)
    settings, store, start = wanted.settings(), Store(output / "settings"), time.perf_counter()
    check_writable(output / "report.html")
    check_writable(store.path(settings[0]))
    try:
        with stages(json) as on_progress:
            report = wanted.run(output, running, on_progress)
    except KeyboardInterrupt as stop:
        paths = {store.path(one) for one in settings}
        kept = sum(path.exists() for path in paths)
        raise Interrupted(
            f"{kept} of {len(paths)} settings are finished and kept in {output}: the same command goes on from there"
        ) from stop
    _show(report, output, time.perf_counter() - start, json)


def _show(report: Report, folder: Path, seconds: float, json: bool) -> None:
    """Print what was found, and where everything is."""
    places = {"report": report.page, **{name: folder / part for name, part in PARTS.items()}}
    if json:
        found: dict[str, Any] = {"headlines": report.headlines, "simulated": True, "seconds": seconds}
        show_json({**found, **{name: str(path) for name, path in places.items()}})
        return
    for sentence in report.headlines:
        show(f"- {sentence}", wrap=True)
    show("")
    for name, path in places.items():
        show(f"{name:8} {path}")
    show(f"{'time':8} {duration(seconds)}, on simulated noise")

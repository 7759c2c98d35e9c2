"""`discreet reproduce`: the paper's evaluation, interrupted and resumed at will, and its report."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import Interrupted
from discreet.cli._console import check_writable, show, show_json, stages
from discreet.cli._options import Address, EngineName, Horizon, Json, Seed, Workers, examples, whole_option
from discreet.core.wording import duration
from discreet.lab.engines import Engine, make_engine
from discreet.lab.setting import HORIZON, SEED
from discreet.lab.store import Store
from discreet.reproduction.reproduce import Reproduction

app = typer.Typer()


@app.command(
    "reproduce",
    epilog=examples(
        "discreet reproduce", "discreet reproduce --quick --output quick", "discreet reproduce --all --runs 100"
    ),
)
def _reproduce(
    *,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where the report and the data go.")] = Path(
        "reproduction"
    ),
    everything: Annotated[
        bool, typer.Option("--all", help="Go beyond the paper: every policy and rule against its lower bound.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs, and five arms only.")] = False,
    runs: Annotated[
        int | None, whole_option("Runs of each setting of the bandits.", show_default="30, quick 3")
    ] = None,
    horizon: Horizon = HORIZON,
    seed: Seed = SEED,
    json: Json = False,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Repeat the paper's evaluation, and write a report with its figures.

    After Ctrl-C the same command goes on where it was: finished settings are kept in the folder.
    """
    wanted = Reproduction.of(everything=everything, quick=quick, horizon=horizon, seed=seed, runs=runs)
    _run(wanted, make_engine(engine or "processes", workers, address), output, json=json)


def _run(wanted: Reproduction, engine: Engine, folder: Path, *, json: bool) -> None:
    """Simulate what is not in the folder yet, write the report, and say what was found."""
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
    _show(report.headlines, report.page, folder, time.perf_counter() - start, json)


def _show(sentences: list[str], page: Path, folder: Path, seconds: float, json: bool) -> None:
    """Print what was found, and where everything is."""
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

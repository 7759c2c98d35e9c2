"""`discreet reproduce`: the paper's whole evaluation, interrupted and resumed at will, and its report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import Interrupted
from discreet.cli._console import check_writable, duration, progress, show, show_json
from discreet.cli._options import Address, EngineName, Horizon, Json, Seed, Workers, examples, whole_option
from discreet.lab.engines import Engine, make_engine
from discreet.lab.setting import HORIZON, SEED
from discreet.lab.simulate import Runs
from discreet.lab.store import Store
from discreet.reproduction.evaluation import Evaluation
from discreet.reproduction.league import LeagueStudy
from discreet.reproduction.stopping import StoppingStudy

app = typer.Typer()


@app.command(
    "reproduce",
    epilog=examples(
        "discreet reproduce", "discreet reproduce --quick --output quick", "discreet reproduce --runs 100 --seed 1"
    ),
)
def _reproduce(
    *,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where the report and the data go.")] = Path(
        "reproduction"
    ),
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
    """Repeat the paper's whole evaluation, go beyond it, and write a report.

    Beyond: every private policy and stopping rule against its lower bound.

    After Ctrl-C the same command goes on where it was: finished settings are kept in the folder.
    """
    changes: dict[str, Any] = {"horizon": horizon, "seed": seed, **({} if runs is None else {"runs": runs})}
    evaluation = Evaluation.quick(**changes) if quick else Evaluation(**changes)
    study = StoppingStudy.quick(seed=seed) if quick else StoppingStudy(seed=seed)
    league = LeagueStudy.quick(**changes) if quick else LeagueStudy(**changes)
    reproduce(evaluation, study, league, make_engine(engine or "threads", workers, address), output, json=json)


def reproduce(
    evaluation: Evaluation, study: StoppingStudy, league: LeagueStudy, engine: Engine, folder: Path, *, json: bool
) -> None:
    """Simulate what is not in the folder yet, write the report, and say what was found."""
    from discreet.reproduction.report import Reproduced, headlines, steps, write_report  # noqa: PLC0415  (matplotlib and pandas)

    settings: list[Runs] = [*evaluation.settings(), *study.settings(), *league.settings()]
    store, start = Store(folder / "settings"), time.perf_counter()
    check_writable(folder / "report.html")
    check_writable(store.path(settings[0]))
    try:
        with progress(f"simulating {len(settings)} settings", sum(one.runs for one in settings), json) as advance:
            paper, stopping = evaluation.run(engine, store, advance), study.run(engine, store, advance)
            found = Reproduced(paper, stopping, league.run(engine, store, advance))
        simulated = time.perf_counter() - start
        with progress("drawing the report", steps(evaluation, study), json) as advance:
            report = write_report(found, folder, seconds=simulated, on_progress=advance)
    except KeyboardInterrupt as stop:
        paths = {store.path(one) for one in settings}  # some settings belong to two studies
        kept = sum(path.exists() for path in paths)
        raise Interrupted(
            f"{kept} of {len(paths)} settings are finished and kept in {folder}: the same command goes on from there"
        ) from stop
    tell(headlines(found), report, folder, time.perf_counter() - start, json)


def tell(sentences: list[str], report: Path, folder: Path, seconds: float, json: bool) -> None:
    """What was found, and where everything is."""
    places = {"report": report, "figures": folder / "figures", "data": folder / "data", "runs": folder / "settings"}
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

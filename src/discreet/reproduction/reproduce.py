"""A whole reproduction: simulate what is not in the folder yet, draw the figures, write tables and the report."""

import base64
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import call
from pathlib import Path
from typing import Any, NamedTuple, Self

from discreet._pictures import write_picture
from discreet.lab.engines import Engine, Processes, Serial
from discreet.lab.setting import HORIZON, SEED, Setting
from discreet.lab.store import Store
from discreet.reproduction.parts import PARTS, Reproduced, every_picture, every_table, headlines, is_preview
from discreet.reproduction.report import render_page, render_results
from discreet.reproduction.studies.evaluation import Evaluation
from discreet.reproduction.studies.evidence import EvidenceStudy
from discreet.reproduction.studies.league import LeagueStudy
from discreet.reproduction.studies.roads import RoadsStudy
from discreet.reproduction.studies.sequential import SequentialStudy
from discreet.reproduction.studies.stopping import StoppingStudy
from discreet.reproduction.tables import write_table

DOING = {part.name: part.doing for part in PARTS}
OnProgress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


class Report(NamedTuple):
    """A finished reproduction.

    Attributes:
        page: Path of the HTML page.
        headlines: The findings in sentences.
    """

    page: Path
    headlines: list[str]


@dataclass(frozen=True)
class Reproduction:
    """The studies to simulate and to report, named as in `Reproduced`.

    Args:
        paper: The paper's evaluation.
        stopping: The stopping study; None leaves it out.
        league: The league; None leaves it out.
        roads: Regret against the number of arms; None leaves it out.
        evidence: Intervals and searches for the best arm; None leaves it out.
        tests: Sequential tests; None leaves them out.
    """

    paper: Evaluation
    stopping: StoppingStudy | None = None
    league: LeagueStudy | None = None
    roads: RoadsStudy | None = None
    evidence: EvidenceStudy | None = None
    tests: SequentialStudy | None = None

    @classmethod
    def of(
        cls,
        *,
        everything: bool = False,
        quick: bool = False,
        horizon: int = HORIZON,
        seed: int = SEED,
        runs: int | None = None,
    ) -> Self:
        """Return the reproduction of the paper's evaluation, or of everything.

        Args:
            everything: Go beyond the paper: extended evaluation, stopping study and league.
            quick: Simulate fewer runs, and beyond the paper five arms only.
            horizon: Pulls of a run.
            seed: Seed of all runs.
            runs: Runs of each setting of the bandits; by default 30, or 3 if quick.
        """
        changes: dict[str, Any] = {"horizon": horizon, "seed": seed, **({} if runs is None else {"runs": runs})}
        evaluation = Evaluation.quick if quick else Evaluation
        if not everything:
            return cls(evaluation(**changes))
        stopping, league = (StoppingStudy.quick, LeagueStudy.quick) if quick else (StoppingStudy, LeagueStudy)
        roads, evidence = (RoadsStudy.quick, EvidenceStudy.quick) if quick else (RoadsStudy, EvidenceStudy)
        tests = SequentialStudy.quick if quick else SequentialStudy
        beyond = stopping(seed=seed), league(**changes), roads(seed=seed), evidence(seed=seed), tests(seed=seed)
        return cls(evaluation(extended=True, **changes), *beyond)

    def studies(self) -> dict[str, Any]:
        """Return the studies that were not left out, by their field of `Reproduced`."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name)}

    def settings(self) -> list[Setting]:
        """Return all settings, each once; some belong to two studies."""
        return list(dict.fromkeys(setting for study in self.studies().values() for setting in study.settings()))

    def run(self, folder: Path, engine: Engine | None = None, on_progress: OnProgress | None = None) -> Report:
        """Simulate what the folder does not have yet, and write the report into it.

        Args:
            folder: The folder; finished settings are kept in it, so that an interrupted reproduction can go on.
            engine: Simulates; by default a process for each processor. Other engines than processes do not draw.
            on_progress: Told of each step.
        """
        tell = on_progress or (lambda doing, done, total: None)
        engine = engine or Processes()
        with ExitStack() as engines:
            running = _Running(engines.enter_context(engine))
            drawing = (
                running if isinstance(engine, Processes | Serial) else _Running(engines.enter_context(Processes()))
            )
            start = time.perf_counter()
            found = self.simulate(Store(folder / "settings"), running, tell)
            return write_report(found, folder, time.perf_counter() - start, drawing, tell)

    def simulate(self, store: Store, engine: Engine, on_progress: OnProgress) -> Reproduced:
        """Simulate what the store does not have yet.

        Args:
            store: Keeps finished settings.
            engine: Simulates.
            on_progress: Told of each finished task.
        """
        found = {}
        for name, study in self.studies().items():
            advance = counter(DOING[name], sum(one.runs for one in study.settings()), on_progress)
            found[name] = study.run(engine=engine, store=store, on_progress=advance)
        return Reproduced(**found)


def counter(doing: str, total: int, on_progress: OnProgress) -> Callable[[int], None]:
    """Return a function that adds up steps and reports their sum.

    Args:
        doing: What is being done.
        total: The number of steps.
        on_progress: Told at once, and of each step.
    """
    done = 0
    on_progress(doing, done, total)

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        on_progress(doing, done, total)

    return advance


class _Running(Serial):
    """An engine that was started elsewhere and is left running: one pool of workers simulates and draws."""

    def __init__(self, engine: Engine) -> None:
        self.run = engine.run  # type: ignore[method-assign]
        self.workers = getattr(engine, "workers", 1)


def write_report(found: Reproduced, folder: Path, seconds: float, engine: Engine, on_progress: OnProgress) -> Report:
    """Write figures, tables and pages into a folder.

    Args:
        found: The results.
        folder: The folder.
        seconds: Duration of the simulation.
        engine: A running engine, which draws.
        on_progress: Told of each finished step.
    """
    pictures, tables = every_picture(found), every_table(found)
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    # The longest first, so that no worker waits for another at the end.
    longest = sorted(pictures, key=lambda picture: -len(picture.panels))
    jobs: list[tuple[str, Callable[[], Any]]] = [
        (f"writing table {name}", partial(write_table, tables[name], folder / "data" / f"{name}.csv"))
        for name in tables
    ]
    draw = partial(write_picture, folder=figures, printed=not is_preview(found))
    jobs += [(f"drawing {one.name}", partial(draw, replace(one, simulations=()))) for one in longest]
    images: dict[str, str] = {}
    on_progress(jobs[0][0], 0, len(jobs) + 1)
    for done, (index, made) in enumerate(engine.run(call, [work for _, work in jobs]), start=1):
        doing, _ = jobs[index]
        if made is not None:
            images[doing.removeprefix("drawing ")] = base64.b64encode(made).decode()
        on_progress(doing if done < len(jobs) else "writing the report", done, len(jobs) + 1)
    page = folder / "report.html"
    page.write_text(render_page(found, pictures, images, list(tables), seconds), encoding="utf-8")
    (folder / "results.md").write_text(render_results(found), encoding="utf-8")
    on_progress("writing the report", len(jobs) + 1, len(jobs) + 1)
    return Report(page, [sentence for topic in headlines(found).values() for sentence in topic])

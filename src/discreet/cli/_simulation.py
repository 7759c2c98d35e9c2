"""The options and the work that `simulate` and `compare` share."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from rich.table import Table

from discreet.cli._console import Column, check_writable, console, hint, progress, show
from discreet.cli._options import (
    Address,
    Arms,
    ArmTexts,
    EngineName,
    Horizon,
    InstanceName,
    Json,
    OptionTexts,
    Seed,
    Workers,
    choose_instance,
    read_options,
    real_option,
    whole_option,
)
from discreet.core.wording import duration, plural
from discreet.lab.results import Results, Simulation
from discreet.lab.setting import HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import choose_engine, expected_wait, first_epoch, simulate_all
from discreet.reproduction.tables import number

PATIENCE = 60.0  # seconds that need no hint
QUANTILE_HEADINGS = {"q05": "5 %", "q25": "25 %", "median": "median", "q75": "75 %", "q95": "95 %"}
SPARE_COLUMNS = ("25 %", "75 %", "seconds", "s/run", "5 %", "95 %", "95 % interval", "median", "failed")
REFUSED = {
    "arms": "use --arms",
    "horizon": "use --horizon",
    "runs": "use --runs",
    "seed": "use --seed",
    "checkpoints": "use --checkpoint",
    "policy": "guess-and-double is simulated around dp-se",  # `Setting.of` has an argument of this name
}


@dataclass(frozen=True)
class SimulationOptions:
    """The options of a simulation. Each field is an option of the command line, with its help."""

    instance: InstanceName = None
    arms: Arms = None
    arm: ArmTexts = None
    epsilon: Annotated[float | None, real_option("The privacy parameter, for private policies.")] = None
    option: OptionTexts = None
    horizon: Horizon = HORIZON
    runs: Annotated[int, whole_option("Independent runs.")] = RUNS
    seed: Seed = SEED
    checkpoint: Annotated[
        list[int] | None,
        whole_option("A number of pulls at which to note the regret; once for each. By default about 200 of them."),
    ] = None
    json: Json = False
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Save everything to a file, for `discreet plot` and Python.")
    ] = None
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Save the curves: a row for each run and checkpoint.")
    ] = None
    engine: EngineName = None
    workers: Workers = None
    address: Address = None

    def common(self) -> dict[str, Any]:
        """Return the arguments of `Setting.of` that are the same for all policies."""
        return {
            "instance": choose_instance(self.instance, self.arms, self.arm),
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "checkpoints": self.checkpoint or None,
        }

    def policy_options(self) -> dict[str, Any]:
        """Return the options of policies."""
        return read_policy_options(self.option, self.epsilon)

    def run(self, settings: Sequence[Setting]) -> Results:
        """Simulate with a progress bar, write files, and return the results by their mean regret, the best first."""
        for path in (self.output, self.csv):
            check_writable(path)
        engine = choose_engine(settings, self.engine, self.workers, self.address)
        seconds, slow = expected_wait(settings, 1 if self.address else getattr(engine, "workers", 1))
        if seconds > PATIENCE:
            hint(
                f"{', '.join(slow)}: played one pull at a time here, which takes about {duration(seconds)}; a shorter "
                "--horizon or fewer --runs is faster"
            )
        slowest_first = sorted(settings, key=first_epoch)  # else the remaining time would be estimated too short
        what = settings[0].algorithm if len(settings) == 1 else f"{len(settings)} policies"
        with progress(f"simulating {what}", sum(one.runs for one in settings), self.json) as advance:
            results = simulate_all(slowest_first, engine, on_progress=advance)
            results = Results(sorted(results, key=lambda one: one.mean))
            if self.output:
                results.save(self.output)
            if self.csv:
                self.csv.parent.mkdir(parents=True, exist_ok=True)
                results.to_pandas().to_csv(self.csv, index=False)
        return results

    def report(self, title: str, how: str, *tables: Table) -> None:
        """Print results for a person.

        Args:
            title: The problem.
            how: The way in which it was simulated.
            *tables: The results.
        """
        show(title, "bold")
        show(f"{plural(self.runs, 'run')} {how}")
        for table in tables:
            show("")
            console().print(table)
        show("")
        show("Pseudo-regret at the end; a run has failed when a worse arm was pulled most.", "dim")
        for path in filter(None, (self.output, self.csv)):
            show(f"saved {path}")


def with_simulation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take all fields of `SimulationOptions` as options, and get them as its argument `options`.

    Typer reads options from a function's signature, so the fields are put there.
    """
    hints = get_type_hints(SimulationOptions, include_extras=True)
    shared = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(SimulationOptions)
    ]
    own = [one for one in signature(command, eval_str=True).parameters.values() if one.name != "options"]

    @wraps(command)
    def run(**given: Any) -> None:
        options = SimulationOptions(**{one.name: given.pop(one.name) for one in shared})
        command(**given, options=options)

    run.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
    return run


def read_policy_options(texts: Iterable[str] | None, epsilon: float | None = None) -> dict[str, Any]:
    """Return the options of a policy; those of the simulation are refused.

    Args:
        texts: Texts such as "beta=0.1".
        epsilon: The option `epsilon`, which has an argument of its own.
    """
    return read_options(texts, epsilon, REFUSED)


def regret_columns(results: Sequence[Simulation]) -> list[Column]:
    """Return the columns of a table with the final regret, a row for each simulation."""
    found = [one.statistics() for one in results]
    return [
        ("mean", [number(row["mean"]) for row in found]),
        ("95 % interval", ["-" if math.isnan(row["low"]) else _interval(row) for row in found]),
        *((heading, [number(row[key]) for row in found]) for key, heading in QUANTILE_HEADINGS.items()),
        ("worst", [number(row["worst"]) for row in found]),
        ("failed", [f"{row['failures']} of {row['runs']}" for row in found]),
    ]


def _interval(row: dict[str, Any]) -> str:
    return f"{number(row['low'])} to {number(row['high'])}"

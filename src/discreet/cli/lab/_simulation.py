"""The options and the work that `simulate` and `compare` share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table

from discreet._wording import duration, plural
from discreet.cli import _options as opt
from discreet.cli._console import Column, check_picture, check_writable, console, hint, progress, save_picture, show
from discreet.core.errors import ArgumentError
from discreet.core.options import required_options
from discreet.core.registry import find
from discreet.lab.results import Results, Simulation
from discreet.lab.setting import HORIZON, RUNS, SEED, Setting
from discreet.lab.simulate import choose_engine, expected_wait, first_epoch, simulate_all
from discreet.reproduction.tables import number

SEVERAL = "; several, with commas, are swept over by `compare`."
ARMS = "5, R3 50"
PATIENCE = 60.0  # seconds that need no hint
HEADINGS = {"q05": "5 %", "q25": "25 %", "median": "median", "q75": "75 %", "q95": "95 %", "worst": "worst"}
SPARE_COLUMNS = ("25 %", "75 %", "seconds", "s/run", "5 %", "95 %", "95 % interval", "median", "failed")
REFUSED = {
    **{name: f"use --{name}" for name in ("arms", "horizon", "runs", "seed")},
    "checkpoints": "use --checkpoint",
    "policy": "guess-and-double is simulated around dp-se",  # `Setting.of` has an argument of this name
}


@dataclass(frozen=True)
class SimulationOptions:
    """The options of a simulation. Each field is an option of the command line, with its help."""

    instance: opt.InstanceName = None
    arms: Annotated[
        Any, opt.option("NUMBERS", f"How many arms{SEVERAL}", parser=opt.read_wholes, show_default=ARMS)
    ] = None
    arm: opt.ArmTexts = None
    epsilon: Annotated[
        Any, opt.option("NUMBERS", f"The privacy parameter, for private policies{SEVERAL}", parser=opt.read_several)
    ] = None
    option: opt.OptionTexts = None
    horizon: Annotated[Any, opt.option("NUMBERS", f"Pulls in a run; 5e7 is fine{SEVERAL}", parser=opt.read_wholes)] = (
        HORIZON
    )
    runs: Annotated[int, opt.whole("Independent runs.")] = RUNS
    seed: opt.Seed = SEED
    checkpoint: Annotated[
        list[int] | None,
        opt.whole("A number of pulls at which to note the regret; once for each. By default about 200 of them."),
    ] = None
    json: opt.Json = False
    output: Annotated[
        Path | None, opt.option("FILE.npz", "Save everything to a file, for `discreet plot` and Python.")
    ] = None
    csv: Annotated[Path | None, opt.option("FILE.csv", "Save the curves: a row for each run and checkpoint.")] = None
    summary: Annotated[Path | None, opt.option("FILE.csv", "Save the summary: a row for each policy.")] = None
    figure: Annotated[Path | None, opt.picture("regret, as `discreet plot` does,")] = None
    engine: opt.EngineName = None
    workers: opt.Workers = None
    address: opt.Address = None

    def common(self) -> dict[str, Any]:
        """Return the arguments of `Setting.of` that are the same for all policies."""
        return {
            **self._world(),
            **{name: getattr(self, name) for name in ("horizon", "runs", "seed")},
            "checkpoints": self.checkpoint or None,
        }

    def _world(self) -> dict[str, Any]:
        """Return the instance; a swept number of arms goes with its name."""
        if isinstance(self.arms, list) and not self.arm:
            return {"instance": self.instance or "C2", "arms": self.arms}
        return {"instance": opt.choose_instance(self.instance, self.arms, self.arm)}

    def policy_options(self) -> dict[str, Any]:
        """Return the options of policies; those of the simulation are refused."""
        return opt.read_options(self.option, self.epsilon, REFUSED)

    def check_epsilon(self, *policies: str) -> None:
        """Refuse a private policy without an epsilon, in the words of the command.

        Args:
            *policies: Keys of policies that have no options of their own.
        """
        for key in policies if "epsilon" not in self.policy_options() else ():
            if "epsilon" in required_options(find(key, "policy")):
                raise ArgumentError(f"{key} needs the option 'epsilon', such as --epsilon 1")

    def run(self, settings: Sequence[Setting]) -> Results:
        """Simulate with a progress bar, write files, and return the results by their mean regret, the best first."""
        check_picture(self.figure)
        for path in self._files:
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
            for target, table in ((self.csv, results.to_pandas), (self.summary, results.summary)):
                if target:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    table().to_csv(target, index=False)
            if self.figure:
                save_picture(results.plot(), self.figure)
        return results

    @property
    def _files(self) -> list[Path]:
        """The files to write."""
        return [path for path in (self.output, self.csv, self.summary, self.figure) if path]

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
        for path in self._files:
            show(f"saved {path}")


def with_simulation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take all fields of `SimulationOptions` as options, and get them as its argument `options`.

    Typer reads options from a function's signature, so the fields are put there.
    """
    fields = signature(SimulationOptions).parameters.values()
    shared = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in fields]
    own = [one for one in signature(command, eval_str=True).parameters.values() if one.name != "options"]

    @wraps(command)
    def run(**given: Any) -> None:
        options = SimulationOptions(**{one.name: given.pop(one.name) for one in shared})
        command(**given, options=options)

    run.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
    return run


def regret_columns(results: Sequence[Simulation]) -> list[Column]:
    """Return the columns of a table with the final regret, a row for each simulation."""
    found = [one.statistics() for one in results]
    intervals = [f"{number(row['low'])} to {number(row['high'])}" for row in found]
    return [
        ("mean", [number(row["mean"]) for row in found]),
        ("95 % interval", ["-" if text == "- to -" else text for text in intervals]),
        *((heading, [number(row[key]) for row in found]) for key, heading in HEADINGS.items()),
        ("failed", [f"{row['failures']} of {row['runs']}" for row in found]),
    ]

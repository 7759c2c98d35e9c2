"""What simulations give: regret curves and counts, with their summaries, tables, figures and files."""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from discreet import _version
from discreet.core.errors import ArgumentError, StateError
from discreet.lab.setting import Setting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NEVER = -1
"""The time at which an arm was dropped that never was."""
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
FORMAT = 1
ARRAYS = ("regret", "best_pulls", "pulls", "dropped")
Read = TypeVar("Read")


class Tabular(ABC):
    """What one simulation and several have in common: tables, a figure and a file."""

    @abstractmethod
    def __iter__(self) -> Iterator[Simulation]:
        """The simulations, in order."""

    def to_pandas(self) -> pd.DataFrame:
        """The curves as a tidy table: a row for each run and checkpoint."""
        return self.stacked(Simulation.curve_columns)

    def runs_to_pandas(self) -> pd.DataFrame:
        """The ends as a tidy table: a row for each run, with the pulls of every arm and when it was dropped."""
        return self.stacked(lambda one: {**one.run_columns(), **one.arm_columns()})

    def stacked(self, columns: Callable[[Simulation], dict[str, Any]]) -> pd.DataFrame:
        """A table of the same columns from each simulation, below each other."""
        import pandas as pd  # noqa: PLC0415  (with matplotlib, half a second: only for those who ask)

        return pd.concat([pd.DataFrame(columns(one)) for one in self], ignore_index=True)

    def summary(self) -> pd.DataFrame:
        """A row for each setting: mean final regret, its 95 % interval, quantiles, the worst run, and failures."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame([{**one.description(), **one.statistics()} for one in self])

    def plot(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Mean regret against pulls, with a band from the 5 % to the 95 % quantile."""
        from discreet.lab.figures import plot_curves  # noqa: PLC0415

        return plot_curves(list(self), ax, log=log)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file (numpy's npz with a description in it), all or nothing."""
        write_results(Path(path), list(self))

    def _repr_html_(self) -> str:
        from discreet.lab.figures import inline_picture  # noqa: PLC0415

        table = self.summary().to_html(index=False, float_format="{:,.4g}".format, border=0)
        return f"{table}{inline_picture(lambda: self.plot().figure)}"


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Tabular):
    """All runs of one setting. Arrays have a row for each run; nothing in them depends on how they were computed."""

    setting: Setting
    regret: NDArray[np.float64]
    """Pseudo-regret by checkpoint."""
    best_pulls: NDArray[np.int64]
    """Pulls of the best arm (or arms) by checkpoint."""
    pulls: NDArray[np.int64]
    """Pulls of each arm at the end."""
    dropped: NDArray[np.int64]
    """The pulls made when each arm was dropped; NEVER where it was not, or where the policy drops none."""
    seconds: float
    """How long it took, on however many workers, added up."""
    method: str
    """'kernel' or 'object'."""

    def __iter__(self) -> Iterator[Simulation]:
        yield self

    def __str__(self) -> str:
        found = self.statistics()
        between = f" (95 % interval {found['low']:,.0f} to {found['high']:,.0f})" if found["low"] >= 0 else ""
        return (
            f"{self.setting.label}: mean regret {found['mean']:,.0f}{between}, {found['runs']} "
            f"{'run' if found['runs'] == 1 else 'runs'}, {found['failures']} failed"
        )

    __repr__ = __str__

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Simulation:
        """The one simulation in a file."""
        found = read_results(Path(path))
        if len(found) != 1:
            raise ArgumentError(f"{path} holds {len(found)} simulations: use Results.load")
        return found[0]

    @property
    def final(self) -> NDArray[np.float64]:
        """The pseudo-regret of each run at the end."""
        return self.regret[:, -1]

    @property
    def failed(self) -> NDArray[np.bool_]:
        """The runs in which a worse arm was pulled more often than any best one."""
        best = self.setting.instance.gaps == 0
        return np.asarray(self.pulls[:, best].max(axis=1) < self.pulls.max(axis=1))

    @property
    def mean(self) -> float:
        """The mean final regret."""
        return float(self.final.mean())

    def statistics(self) -> dict[str, Any]:
        """The final regret in numbers; the interval is Student's t for the mean, cut to what is possible."""
        most = float(self.setting.instance.gaps.max()) * self.setting.horizon
        low, high = np.clip(interval(self.final), 0.0, most).tolist()
        quantiles = np.quantile(self.final, list(QUANTILES.values()))
        return {
            "mean": self.mean,
            "low": low,
            "high": high,
            **dict(zip(QUANTILES, map(float, quantiles), strict=True)),
            "worst": float(self.final.max()),
            "failures": int(self.failed.sum()),
            "best_arm_share": float(self.best_pulls[:, -1].mean() / self.setting.horizon),
            "runs": len(self.final),
            "seconds": self.seconds,
            "method": self.method,
        }

    def description(self) -> dict[str, Any]:
        """The setting in columns."""
        return {
            "policy": self.setting.policy,
            "epsilon": np.nan if self.setting.epsilon is None else self.setting.epsilon,
            "options": json.dumps(self.setting.other_options),
            "instance": self.setting.instance.name,
            "arms": len(self.setting.instance),
            "horizon": self.setting.horizon,
            "seed": self.setting.seed,
        }

    def curve_columns(self) -> dict[str, Any]:
        """Columns of a row for each run and checkpoint."""
        runs, marks = self.regret.shape
        return {
            **self.description(),
            "run": np.repeat(np.arange(runs), marks),
            "time": np.tile(self.setting.checkpoints, runs),
            "regret": self.regret.ravel(),
            "best_pulls": self.best_pulls.ravel(),
        }

    def run_columns(self) -> dict[str, Any]:
        """Columns of a row for each run."""
        return {
            **self.description(),
            "run": np.arange(len(self.final)),
            "regret": self.final,
            "failed": self.failed,
            "best_pulls": self.best_pulls[:, -1],
        }

    def arm_columns(self) -> dict[str, Any]:
        """Columns for each arm of a row for each run."""
        arms = range(self.pulls.shape[1])
        return {
            **{f"pulls_{arm}": self.pulls[:, arm] for arm in arms},
            **{f"dropped_{arm}": self.dropped[:, arm] for arm in arms},
        }

    @cached_property
    def bands(self) -> dict[str, NDArray[np.float64]]:
        """Mean and quantiles of the regret by checkpoint."""
        quantiles = np.quantile(self.regret, list(QUANTILES.values()), axis=0)
        return {"mean": self.regret.mean(axis=0), **dict(zip(QUANTILES, quantiles, strict=True))}

    def to_dict(self) -> dict[str, Any]:
        """The setting, the statistics and the ends of all runs as JSON values."""
        return {
            **finite(self.description()),
            "options": dict(self.setting.options),
            "arm_means": self.setting.instance.means.tolist(),
            "final_regret": finite(self.statistics()),
            "regret_by_run": self.final.tolist(),
            "pulls_by_run": self.pulls.tolist(),
            "dropped_by_run": self.dropped.tolist(),
            "simulated": True,
            "version": _version.__version__,
        }


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """The same with None for NaN and infinity, which JSON does not know."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in values.items()
    }


class Results(Tabular, Sequence[Simulation]):
    """Several simulations, in order."""

    def __init__(self, simulations: Iterable[Simulation]) -> None:
        self._simulations = list(simulations)

    @overload
    def __getitem__(self, index: int) -> Simulation: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Simulation | Self:
        """A simulation by its place."""
        if isinstance(index, slice):
            return type(self)(self._simulations[index])
        return self._simulations[index]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._simulations)

    def __iter__(self) -> Iterator[Simulation]:
        return iter(self._simulations)

    def __repr__(self) -> str:
        return "\n".join(map(str, self._simulations)) or "no simulations"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """What `save` wrote."""
        return cls(read_results(Path(path)))


def join(parts: Sequence[Simulation], setting: Setting) -> Simulation:
    """One simulation from parts that have its runs, in order."""
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
    return Simulation(setting, **arrays, seconds=sum(part.seconds for part in parts), method=parts[0].method)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Student's 95 % interval for the mean; a single value has none (NaN), and nothing has without scipy.

    >>> [round(bound, 3) for bound in interval(np.array([1.0, 2.0, 3.0]))]
    [-0.484, 4.484]
    """
    mean = float(values.mean())
    try:
        from scipy.special import stdtrit  # noqa: PLC0415
    except ImportError:
        return np.nan, np.nan
    if len(values) == 1:
        return np.nan, np.nan
    half = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return mean - half, mean + half


def write_results(path: Path, simulations: Sequence[Simulation]) -> None:
    """Write simulations to a file."""
    arrays = {f"{place}/{name}": getattr(one, name) for place, one in enumerate(simulations) for name in ARRAYS}
    described = [
        {"setting": one.setting.to_dict(), "seconds": one.seconds, "method": one.method} for one in simulations
    ]
    write_file(path, {"simulations": described}, arrays)


def write_file(path: Path, described: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Arrays and a description of them; to a temporary file that is renamed, so that a file is whole or not there."""
    header = json.dumps({"format": FORMAT, "version": _version.__version__, **described})
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            np.savez_compressed(file, header=np.array(header), **arrays)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_results(path: Path) -> list[Simulation]:
    """What `write_results` wrote."""
    return read_file(path, _simulations)


def _simulations(header: dict[str, Any], arrays: Mapping[str, Any]) -> list[Simulation]:
    return [
        Simulation(
            Setting.from_dict(one["setting"]),
            **{name: arrays[f"{place}/{name}"] for name in ARRAYS},
            seconds=one["seconds"],
            method=one["method"],
        )
        for place, one in enumerate(header["simulations"])
    ]


def read_file(path: Path, build: Callable[[dict[str, Any], Mapping[str, Any]], Read]) -> Read:
    """What is built from the description and the arrays that `write_file` wrote."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:  # numpy alone leaves a damaged one open
            header = json.loads(str(file["header"]))
            if header["format"] > FORMAT:
                raise StateError(f"{path} was written by discreet {header['version']}; this one is older")
            return build(header, file)
    except FileNotFoundError as error:
        raise ArgumentError(f"there is no results file {str(path)!r}") from error
    except StateError:
        raise
    except Exception as error:  # a damaged zip file raises anything, zlib.error and RuntimeError too
        raise StateError(f"{path} is not a file of simulation results, or it is damaged") from error

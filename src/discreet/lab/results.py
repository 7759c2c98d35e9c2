"""Results of simulations: arrays with a row for each run, and their summaries, tables, figures and files."""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections import UserList
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import _version
from discreet._display import Page, Shown, Table
from discreet._install import needs
from discreet._pictures import png_of
from discreet.core.errors import ArgumentError, StateError
from discreet.lab.setting import Setting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEVER = -1  # the time at which an arm was dropped that never was
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
HIDDEN = ("seed", "q05", "q25", "q75", "q95", "method")  # columns of `summary` that a page leaves out
FORMAT = 1
POLICY_ARRAYS: dict[str, type] = {"regret": np.float64, "best_pulls": np.int64, "pulls": np.int64, "dropped": np.int64}
RULE_ARRAYS: dict[str, type] = {"samples": np.int64, "estimates": np.float64, "reached": np.bool_}


class Tabular(Shown, ABC):
    """Tables, a figure and a file of one simulation or of several."""

    @abstractmethod
    def __iter__(self) -> Iterator[Simulation]:
        """Return the simulations, in order."""

    def to_pandas(self) -> pd.DataFrame:
        """Return a tidy table with a row for each run and checkpoint; of a rule, with a row for each run."""
        return self.stacked(lambda one: one.run_columns() if one.setting.is_rule else one.curve_columns())

    def runs_to_pandas(self) -> pd.DataFrame:
        """Return a tidy table with a row for each run; of a policy, with each arm's pulls and when it was dropped."""
        return self.stacked(lambda one: {**one.run_columns(), **one.arm_columns()})

    def stacked(self, columns: Callable[[Simulation], dict[str, Any]]) -> pd.DataFrame:
        """Return one table from the columns of each simulation."""
        with needs("a table", "lab"):
            import pandas as pd  # noqa: PLC0415  (with matplotlib, half a second: only for those who ask)

        return pd.concat([pd.DataFrame(columns(one)) for one in self], ignore_index=True)

    def summary(self) -> pd.DataFrame:
        """Return a table with a row for each setting: mean, its 95 % interval, quantiles, the worst run, failures."""
        with needs("a table", "lab"):
            import pandas as pd  # noqa: PLC0415

        return pd.DataFrame([one.summary_row() for one in self])

    def plot(self, ax: Axes | None = None, *, log: bool = False, against: str | None = None) -> Figure:
        """Plot mean regret, with a band from the 5 % to the 95 % quantile, and return the figure.

        It is shown against pulls, or against an option that was swept; of rules the samples are shown.

        Args:
            ax: Where to draw; by default in a new figure.
            log: Whether both axes are logarithmic.
            against: An option such as "epsilon", "horizon", "arms" or "pulls"; by default what was swept.
        """
        from discreet.lab.figures import plot  # noqa: PLC0415

        return plot(list(self), ax, log=log, against=against)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file (numpy's npz with a description in it), all or nothing."""
        write_results(Path(path), list(self))

    def _page(self) -> Page:
        rows = [finite(one.summary_row()) for one in self]
        told = [name for row in rows[:1] for name in row if name not in HIDDEN]
        names = [name for name in told if any(row.get(name) not in (None, "{}") for row in rows)]
        table = Table(names, [[row.get(name) for name in names] for row in rows])
        title = next(iter(self)).setting.label if len(rows) == 1 else f"{len(rows)} simulations"
        return Page(title, tables=[table], picture=self._png if rows else None, about="mean regret")

    def _png(self) -> bytes:
        from discreet.lab.figures import picture  # noqa: PLC0415

        return png_of(picture(list(self)))


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Tabular):
    """All runs of one setting. Nothing in the arrays depends on how they were computed.

    >>> from discreet.lab import simulate
    >>> runs = simulate("dp-exp-nas", 0.5, runs=100, seed=1, alpha=0.1, beta=0.05, epsilon=1.0)
    >>> runs.method, int(runs.samples.max()), int(runs.failed.sum()), int(runs.unfinished.sum())
    ('blocks', 4096, 0, 0)

    Args:
        setting: The setting.
        arrays: Arrays with a row for each run: `regret`, `best_pulls`, `pulls` and `dropped` of a policy, `samples`,
            `estimates` and `reached` of a rule.
        seconds: The processing time, added up over all workers.
        method: "kernel", "blocks" (a rule's object on totals of many samples) or "object".
    """

    setting: Setting
    arrays: Mapping[str, NDArray[Any]]
    seconds: float
    method: str

    def __iter__(self) -> Iterator[Simulation]:
        yield self

    def __str__(self) -> str:
        found, rule = self.statistics(), self.setting.is_rule
        mean = f"mean {found['mean']:,.0f} samples" if rule else f"mean regret {found['mean']:,.0f}"
        if found.get("unfinished"):
            mean = mean.replace("mean", "mean at least")
        elif found["low"] >= 0:
            mean += f" (95 % interval {found['low']:,.0f} to {found['high']:,.0f})"
        runs = f"{found['runs']} {'run' if found['runs'] == 1 else 'runs'}, {found['failures']} failed"
        rest = f", {found['unfinished']} unfinished" if rule else ""
        return f"{self.setting.label}: {mean}, {runs}{rest}"

    __repr__ = __str__

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Simulation:
        """Return the one simulation in a file."""
        found = read_results(Path(path))
        if len(found) != 1:
            raise ArgumentError(f"{path} holds {len(found)} simulations: use Results.load")
        return found[0]

    # ------------------------------------------------------------------ arrays

    @property
    def regret(self) -> NDArray[np.float64]:
        """The pseudo-regret of a policy by run and checkpoint."""
        return self._array("regret")

    @property
    def best_pulls(self) -> NDArray[np.int64]:
        """The pulls of the best arm (or arms) by run and checkpoint."""
        return self._array("best_pulls")

    @property
    def pulls(self) -> NDArray[np.int64]:
        """The pulls at the end by run and arm."""
        return self._array("pulls")

    @property
    def dropped(self) -> NDArray[np.int64]:
        """The number of pulls when an arm was dropped, by run and arm; NEVER for one that was not."""
        return self._array("dropped")

    @property
    def samples(self) -> NDArray[np.int64]:
        """The samples that a rule took by run; `max_samples` where it did not halt."""
        return self._array("samples")

    @property
    def estimates(self) -> NDArray[np.float64]:
        """The estimate of a rule by run; NaN where it did not halt."""
        return self._array("estimates")

    @property
    def reached(self) -> NDArray[np.bool_]:
        """By run, True if a rule halted."""
        return self._array("reached")

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise ArgumentError(f"a simulation of {self.setting.algorithm} has {', '.join(self.arrays)}, not {name}")
        return self.arrays[name]

    @property
    def outcome(self) -> NDArray[Any]:
        """The number that a run is judged by: a policy's final regret, a rule's samples."""
        return self.samples if self.setting.is_rule else self.final

    @property
    def final(self) -> NDArray[np.float64]:
        """The pseudo-regret of each run at the end."""
        return self.regret[:, -1]

    @property
    def failed(self) -> NDArray[np.bool_]:
        """By run, True if a policy pulled a worse arm more than any best one, or a rule's estimate is too far off.

        An estimate is too far off if it differs from the mean by more than alpha |mean|; the verdict of a test is wrong
        if the mean contradicts it.
        """
        if self.setting.is_rule:
            wrong = self.setting.build().is_wrong(self.estimates, self.setting.distribution.mean)
            return np.asarray(self.reached & wrong)
        best = self.setting.instance.gaps == 0
        return np.asarray(self.pulls[:, best].max(axis=1) < self.pulls.max(axis=1))

    @property
    def failure_rate(self) -> float:
        """The share of runs that failed. For a rule, beta bounds its expectation."""
        return float(self.failed.mean())

    @property
    def unfinished(self) -> NDArray[np.bool_]:
        """By run, True if a rule took all samples that it may without an estimate."""
        return ~self.reached

    # ------------------------------------------------------------------ figures and tables

    @property
    def mean(self) -> float:
        """The mean final regret of a policy, or number of samples of a rule."""
        return float(self.outcome.mean())

    def statistics(self) -> dict[str, Any]:
        """Return the outcome in figures.

        The interval is Student's t for the mean, cut to what is possible. A rule's run that did not halt counts with
        the samples that it took, so that the mean is then too small.
        """
        setting, values = self.setting, self.outcome.astype(np.float64)
        if setting.is_rule:
            least, most = 1.0, dict(setting.options).get("max_samples", np.inf)
            own: dict[str, Any] = {"unfinished": int(self.unfinished.sum())}
        else:
            assert setting.horizon is not None
            least, most = 0.0, float(setting.instance.gaps.max()) * setting.horizon
            own = {"best_arm_share": float(self.best_pulls[:, -1].mean() / setting.horizon)}
        low, high = np.clip(interval(values), least, most).tolist()
        quantiles = np.quantile(values, list(QUANTILES.values()))
        return {
            "mean": self.mean,
            "low": low,
            "high": high,
            **dict(zip(QUANTILES, map(float, quantiles), strict=True)),
            "worst": self.outcome.max().item(),
            "failures": int(self.failed.sum()),
            **own,
            "runs": len(values),
            "seconds": self.seconds,
            "method": self.method,
        }

    def description(self) -> dict[str, Any]:
        """Return the setting in columns."""
        setting, options = self.setting, dict(self.setting.options)
        main = ("epsilon", "alpha", "beta") if setting.is_rule else ("epsilon",)
        others = {name: value for name, value in setting.shown.items() if name not in main}
        if setting.is_rule:
            world = {"rewards": setting.instance.name, "true_mean": setting.distribution.mean}
        else:
            world = {"instance": setting.instance.name, "arms": len(setting.instance), "horizon": setting.horizon}
        return {
            "rule" if setting.is_rule else "policy": setting.algorithm,
            **{name: options.get(name, np.nan) for name in main},
            "options": json.dumps(others),
            **world,
            "seed": setting.seed,
        }

    def summary_row(self) -> dict[str, Any]:
        """Return the setting and its statistics: a row of a table."""
        return {**self.description(), **self.statistics()}

    def curve_columns(self) -> dict[str, Any]:
        """Return columns of a table with a row for each run and checkpoint of a policy."""
        runs, marks = self.regret.shape
        return {
            **self.description(),
            "run": np.repeat(np.arange(runs), marks),
            "time": np.tile(self.setting.checkpoints, runs),
            "regret": self.regret.ravel(),
            "best_pulls": self.best_pulls.ravel(),
        }

    def run_columns(self) -> dict[str, Any]:
        """Return columns of a table with a row for each run."""
        if self.setting.is_rule:
            own = {"samples": self.samples, "estimate": self.estimates, "reached": self.reached, "failed": self.failed}
        else:
            own = {"regret": self.final, "failed": self.failed, "best_pulls": self.best_pulls[:, -1]}
        return {**self.description(), "run": np.arange(len(self.outcome)), **own}

    def arm_columns(self) -> dict[str, Any]:
        """Return columns for each arm of a table with a row for each run; a rule has none."""
        both = () if self.setting.is_rule else (("pulls", self.pulls), ("dropped", self.dropped))
        return {f"{name}_{arm}": column for name, array in both for arm, column in enumerate(array.T)}

    @cached_property
    def bands(self) -> dict[str, NDArray[np.float64]]:
        """Mean and quantiles of a policy's regret by checkpoint."""
        quantiles = np.quantile(self.regret, list(QUANTILES.values()), axis=0)
        return {"mean": self.regret.mean(axis=0), **dict(zip(QUANTILES, quantiles, strict=True))}

    def to_dict(self) -> dict[str, Any]:
        """Return the setting, the statistics and all runs as JSON values."""
        statistics, own = finite(self.statistics()), {}  # type: dict[str, Any], dict[str, Any]
        if self.setting.is_rule:
            estimates = [value if math.isfinite(value) else None for value in self.estimates.tolist()]
            own = {"samples": statistics, "samples_by_run": self.samples.tolist(), "estimate_by_run": estimates}
        else:
            own = {
                "arm_means": self.setting.instance.means.tolist(),
                "final_regret": statistics,
                "regret_by_run": self.final.tolist(),
                "pulls_by_run": self.pulls.tolist(),
                "dropped_by_run": self.dropped.tolist(),
            }
        common = {"options": dict(self.setting.options), "simulated": True, "version": _version.__version__}
        return {**finite(self.description()), **common, **own}


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """Return the same with None for NaN and infinity, which JSON does not know."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in values.items()
    }


class Results(UserList[Simulation], Tabular):
    """Several simulations, in order."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no simulations"

    __str__ = __repr__

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the simulations in a file."""
        return cls(read_results(Path(path)))


def join(parts: Sequence[Simulation], setting: Setting) -> Simulation:
    """Return one simulation from parts that have its runs, in order.

    Args:
        parts: Simulations of some runs each.
        setting: The setting with all runs.
    """
    arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in parts[0].arrays}
    return Simulation(setting, arrays, sum(part.seconds for part in parts), parts[0].method)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return Student's 95 % interval for the mean; NaN for a single value, or without scipy.

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
    """Write simulations to a temporary file that is renamed, so that a file is whole or not there.

    Args:
        path: The file.
        simulations: What is written.
    """
    arrays: dict[str, Any] = {
        f"{index}/{name}": array for index, one in enumerate(simulations) for name, array in one.arrays.items()
    }
    described = [
        {"setting": one.setting.to_dict(), "seconds": one.seconds, "method": one.method} for one in simulations
    ]
    header = json.dumps({"format": FORMAT, "version": _version.__version__, "simulations": described})
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            np.savez_compressed(file, header=np.array(header), **arrays)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_results(path: Path) -> list[Simulation]:
    """Return the simulations that `write_results` wrote.

    Raises:
        ArgumentError: If there is no such file.
        StateError: If it holds no results, is damaged, or was written by a newer version.
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:  # numpy alone leaves a damaged one open
            header = json.loads(str(file["header"]))
            if header["format"] > FORMAT:
                raise StateError(f"{path} was written by discreet {header['version']}; this one is older")
            return [_read(file, f"{index}/", one) for index, one in enumerate(header["simulations"])]
    except FileNotFoundError as error:
        raise ArgumentError(f"there is no results file {str(path)!r}") from error
    except StateError:
        raise
    except Exception as error:  # a damaged zip file raises anything, zlib.error and RuntimeError too
        raise StateError(f"{path} is not a file of simulation results, or it is damaged") from error


def _read(file: Mapping[str, Any], prefix: str, described: dict[str, Any]) -> Simulation:
    setting = Setting.from_dict(described["setting"])
    arrays = {name: file[prefix + name] for name in (RULE_ARRAYS if setting.is_rule else POLICY_ARRAYS)}
    return Simulation(setting, arrays, described["seconds"], described["method"])

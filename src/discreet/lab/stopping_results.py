"""What runs of a stopping rule gave: how many samples they took, and how often an estimate broke its promise."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import _version
from discreet.lab.results import QUANTILES, finite, interval, read_file, write_file
from discreet.lab.stopping_setting import StoppingSetting

if TYPE_CHECKING:
    import pandas as pd

ARRAYS = ("samples", "estimates", "reached")


@dataclass(frozen=True, eq=False, repr=False)
class StoppingRuns:
    """All runs of one setting. Arrays have an entry for each run; nothing depends on how they were computed.

    >>> from discreet.lab import simulate_rule
    >>> runs = simulate_rule("dp-exp-nas", 0.5, runs=100, seed=1, alpha=0.1, beta=0.05, epsilon=1.0)
    >>> runs.method, int(runs.samples.max()), int(runs.failed.sum()), int(runs.unfinished.sum())
    ('blocks', 4096, 0, 0)
    """

    setting: StoppingSetting
    samples: NDArray[np.int64]
    """The samples taken until the rule halted; `max_samples` where it did not."""
    estimates: NDArray[np.float64]
    """What it then said; NaN where it did not halt."""
    reached: NDArray[np.bool_]
    """Whether it halted."""
    seconds: float
    """How long it took, on however many workers, added up."""
    method: str
    """'kernel', 'blocks' or 'object'."""

    def __str__(self) -> str:
        found = self.statistics()
        between = f" (95 % interval {found['low']:,.0f} to {found['high']:,.0f})" if found["low"] >= 0 else ""
        mean = f"{found['mean']:,.0f} samples"
        mean = f"at least {mean}" if found["unfinished"] else f"{mean}{between}"
        return (
            f"{self.setting.label}: mean {mean}, {found['runs']} "
            f"{'run' if found['runs'] == 1 else 'runs'}, {found['failures']} failed, {found['unfinished']} unfinished"
        )

    __repr__ = __str__

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.samples)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """The runs whose estimate broke the promise: it is further from the mean than alpha |mean|."""
        mean, alpha = self.setting.rewards.mean, self.setting.build().alpha
        return np.asarray(self.reached & (np.abs(self.estimates - mean) > alpha * abs(mean)))

    @property
    def unfinished(self) -> NDArray[np.bool_]:
        """The runs that came to the cap without an estimate."""
        return ~self.reached

    @property
    def failure_rate(self) -> float:
        """The share of all runs that failed: beta is its bound."""
        return float(self.failed.mean())

    def statistics(self) -> dict[str, Any]:
        """The number of samples in figures; an unfinished run counts with its cap, so that a mean is then too small.

        The interval is Student's t for the mean, cut to what is possible.
        """
        most = dict(self.setting.options).get("max_samples", np.inf)
        samples = self.samples.astype(np.float64)
        low, high = np.clip(interval(samples), 1.0, most).tolist()
        quantiles = np.quantile(samples, list(QUANTILES.values()))
        return {
            "mean": float(samples.mean()),
            "low": low,
            "high": high,
            **dict(zip(QUANTILES, map(float, quantiles), strict=True)),
            "worst": int(self.samples.max()),
            "failures": int(self.failed.sum()),
            "unfinished": int(self.unfinished.sum()),
            "runs": len(samples),
            "seconds": self.seconds,
            "method": self.method,
        }

    def description(self) -> dict[str, Any]:
        """The setting in columns."""
        options = dict(self.setting.options)
        main = {name: options.get(name, np.nan) for name in ("epsilon", "alpha", "beta")}
        others = {name: value for name, value in self.setting.shown.items() if name not in main}
        return {
            "rule": self.setting.rule,
            **main,
            "options": json.dumps(others),
            "rewards": str(self.setting.rewards),
            "true_mean": self.setting.rewards.mean,
            "seed": self.setting.seed,
        }

    def summary_row(self) -> dict[str, Any]:
        """The setting and its statistics: a row of a table."""
        return {**self.description(), **self.statistics()}

    def summary(self) -> pd.DataFrame:
        """The setting and its statistics as a table of one row."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame([self.summary_row()])

    def to_pandas(self) -> pd.DataFrame:
        """A tidy table: a row for each run."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.run_columns())

    def run_columns(self) -> dict[str, Any]:
        """Columns of a row for each run."""
        return {
            **self.description(),
            "run": np.arange(len(self.samples)),
            "samples": self.samples,
            "estimate": self.estimates,
            "reached": self.reached,
            "failed": self.failed,
        }

    def to_dict(self) -> dict[str, Any]:
        """The setting, the statistics and all runs as JSON values."""
        return {
            **finite(self.description()),
            "options": dict(self.setting.options),
            "samples": finite(self.statistics()),
            "samples_by_run": self.samples.tolist(),
            "estimate_by_run": [
                value if reached else None for value, reached in zip(self.estimates.tolist(), self.reached, strict=True)
            ],
            "simulated": True,
            "version": _version.__version__,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file (numpy's npz with a description in it), all or nothing."""
        described = {"setting": self.setting.to_dict(), "seconds": self.seconds, "method": self.method}
        write_file(Path(path), {"stopping": described}, {name: getattr(self, name) for name in ARRAYS})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """What `save` wrote."""
        return read_file(Path(path), cls._from_file)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, Any]) -> Self:
        described = header["stopping"]
        setting = StoppingSetting.from_dict(described["setting"])
        found = {name: arrays[name] for name in ARRAYS}
        return cls(setting, **found, seconds=described["seconds"], method=described["method"])

"""The tidy tables of an evaluation, written as CSV and as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.lab.results import QUANTILES, Results

if TYPE_CHECKING:
    import pandas as pd

TABLES = {
    "settings": "a row for each setting: mean final regret, 95 % interval (low, high), quantiles, worst, failures",
    "runs": "a row for each run: final regret, pulls of the best arm, whether a worse arm was pulled most (failed)",
    "arms": "a row for each run and arm: its mean, its pulls, and after how many pulls it was dropped (-1: never)",
    "curves": "a row for each setting and checkpoint: mean and quantiles of the regret, mean pulls of the best arm",
}
"""What each table holds; all begin with the setting: policy, epsilon, other options, instance, arms, horizon, seed."""


def curves_table(results: Results) -> pd.DataFrame:
    """A row for each setting and checkpoint: mean and quantiles of the regret, and mean pulls of the best arm."""
    import pandas as pd  # noqa: PLC0415

    frames = [
        pd.DataFrame(
            {
                **one.description(),
                "time": np.array(one.setting.checkpoints),
                **{f"regret_{name}": one.bands[name] for name in ("mean", *QUANTILES)},
                "best_pulls_mean": one.best_pulls.mean(axis=0),
            }
        )
        for one in results
    ]
    return pd.concat(frames, ignore_index=True)


def runs_table(results: Results) -> pd.DataFrame:
    """A row for each run: its final regret, and whether it failed."""
    import pandas as pd  # noqa: PLC0415

    frames = [
        pd.DataFrame(
            {
                **one.description(),
                "run": np.arange(len(one.final)),
                "regret": one.final,
                "best_pulls": one.best_pulls[:, -1],
                "failed": one.failed,
            }
        )
        for one in results
    ]
    return pd.concat(frames, ignore_index=True)


def arms_table(results: Results) -> pd.DataFrame:
    """A row for each run and arm: how often it was pulled, and after how many pulls it was dropped (-1: never)."""
    import pandas as pd  # noqa: PLC0415

    frames = []
    for one in results:
        runs, arms = one.pulls.shape
        columns = {
            **one.description(),
            "run": np.repeat(np.arange(runs), arms),
            "arm": np.tile(np.arange(arms), runs),
            "mean": np.tile(one.setting.instance.means, runs),
            "pulls": one.pulls.ravel(),
            "dropped": one.dropped.ravel(),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def write_tables(results: Results, folder: Path) -> list[Path]:
    """All tables, each as CSV and as Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = (results.summary(), runs_table(results), arms_table(results), curves_table(results))
    written = []
    for name, table in zip(TABLES, tables, strict=True):
        written += [folder / f"{name}.csv", folder / f"{name}.parquet"]
        table.to_csv(written[-2], index=False, float_format="%.10g")
        table.to_parquet(written[-1], index=False)
    return written

"""The tidy tables of an evaluation, written as CSV and as Parquet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.lab.results import QUANTILES, Results, Simulation
from discreet.lab.stopping_results import StoppingRuns

TABLES = {
    "settings": "a row for each setting: mean final regret, 95 % interval (low, high), quantiles, worst, failures",
    "runs": "a row for each run: final regret, pulls of the best arm, whether a worse arm was pulled most (failed)",
    "arms": "a row for each run and arm: its mean, its pulls, and after how many pulls it was dropped (-1: never)",
    "curves": "a row for each setting and checkpoint: mean and quantiles of the regret, mean pulls of the best arm",
    "stopping": "a row for each setting of a stopping rule: mean samples, 95 % interval, quantiles, worst, failures",
    "stopping_runs": "a row for each run of a stopping rule: samples, estimate, whether it halted, whether it failed",
    "league": "a row for each policy of the league and place: mean, 95 % and 99.9 % quantiles, stuck runs, ratios",
}
"""What each table holds; all begin with the setting, such as policy or rule, epsilon, other options, seed."""


def band_columns(one: Simulation) -> dict[str, Any]:
    """Columns of a row for each checkpoint."""
    return {
        **one.description(),
        "time": np.array(one.setting.checkpoints),
        **{f"regret_{name}": one.bands[name] for name in ("mean", *QUANTILES)},
        "best_pulls_mean": one.best_pulls.mean(axis=0),
    }


def columns_of_arms(one: Simulation) -> dict[str, Any]:
    """Columns of a row for each run and arm."""
    runs, arms = one.pulls.shape
    return {
        **one.description(),
        "run": np.repeat(np.arange(runs), arms),
        "arm": np.tile(np.arange(arms), runs),
        "mean": np.tile(one.setting.instance.means, runs),
        "pulls": one.pulls.ravel(),
        "dropped": one.dropped.ravel(),
    }


def write_tables(results: tuple[Results, Sequence[StoppingRuns], Sequence[dict[str, Any]]], folder: Path) -> list[Path]:
    """All tables of the paper's bandits, of stopping rules and of the league, each as CSV and as Parquet."""
    import pandas as pd  # noqa: PLC0415

    bandits, rules, league = results
    folder.mkdir(parents=True, exist_ok=True)
    stacked = map(bandits.stacked, (Simulation.run_columns, columns_of_arms, band_columns))
    runs = pd.concat([pd.DataFrame(one.run_columns()) for one in rules], ignore_index=True)
    tables = (
        bandits.summary(),
        *stacked,
        pd.DataFrame([one.summary_row() for one in rules]),
        runs,
        pd.DataFrame(league),
    )
    written = []
    for name, table in zip(TABLES, tables, strict=True):
        written += [folder / f"{name}.csv", folder / f"{name}.parquet"]
        table.to_csv(written[-2], index=False, float_format="%.10g")
        table.to_parquet(written[-1], index=False)
    return written


def number(value: float) -> str:
    """A figure as short as it is readable.

    >>> number(4829.6), number(0.1234), number(float("nan"))
    ('4,830', '0.123', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.3g}"

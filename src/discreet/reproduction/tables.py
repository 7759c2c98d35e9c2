"""The tidy tables of a reproduction, written as CSV, and as Parquet where pyarrow is installed."""

import csv
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from discreet.lab.results import QUANTILES, Simulation
from discreet.reproduction.studies.evaluation import EvaluationFindings

Columns = Mapping[str, Any]
"""Columns by name: arrays of one length, and single values that stand for all rows."""
TABLES = {
    "settings": "a row for each setting: mean final regret, 95 % interval (low, high), quantiles, worst, failures",
    "runs": "a row for each run: final regret, pulls of the best arm, whether a worse arm was pulled most (failed)",
    "arms": "a row for each run and arm: its mean, its pulls, and after how many pulls it was dropped (-1: never)",
    "curves": "a row for each setting and checkpoint: mean and quantiles of the regret, mean pulls of the best arm",
    "stopping": "a row for each setting of a stopping rule: mean samples, 95 % interval, quantiles, worst, failures",
    "stopping_runs": "a row for each run of a stopping rule: samples, estimate, whether it halted, whether it failed",
    "claim": "a row for each form of DP-UCB and setting: its regret over DP-SE's, interval (low, high), verdict, runs",
    "roads": "a row for each road: the power of K that fits its regret, 95 % interval, the law's power, mean regrets",
    "best_arm": "a row for each instance and epsilon: mean pulls of both searches, how many times fewer, wrong answers",
    "widths": "a row for each rate, epsilon and size: widths of intervals over that of one look without noise",
    "tests": "a row for each pair of means and epsilon: samples of tests over the lower bound, errors",
    "ab_tests": "a row for each rate, lift and epsilon: people of A/B tests over the usual test's, chances to pass",
    "league": "a row for each policy of the league and place: mean, 95 % and 99.9 % quantiles, stuck runs, ratios",
}
"""The content of each table; all begin with the setting, such as policy or rule, epsilon, other options, seed."""


def bandit_tables(results: Sequence[Simulation]) -> dict[str, list[Columns]]:
    """Return the tables of simulated policies, by name."""
    return {
        "settings": [{**one.description(), **one.statistics()} for one in results],
        "runs": [one.run_columns() for one in results],
        "arms": [_arm_columns(one) for one in results],
        "curves": [_band_columns(one) for one in results],
    }


def claim_table(found: EvaluationFindings) -> list[Columns]:
    """Return the verdict on "at least 5 times" for each form of DP-UCB in each setting."""
    rows: list[Columns] = []
    for form in found.study.forms():
        for cell in found.study.cells():
            ratio = found.ratio(*cell, form)
            rows.append(
                {
                    "form": form,
                    **dict(zip(("instance", "arms", "epsilon"), cell, strict=True)),
                    "ratio": ratio.value,
                    "low": ratio.low,
                    "high": ratio.high,
                    "verdict": str(ratio.verdict),
                    "runs": len(found.dp_ucb(*cell, form).final),
                    "dp_se_runs": found.many(*cell).size,
                }
            )
    return rows


def stopping_tables(results: Sequence[Simulation]) -> dict[str, list[Columns]]:
    """Return the tables of simulated stopping rules, by name."""
    return {"stopping": [one.summary_row() for one in results], "stopping_runs": [one.run_columns() for one in results]}


def _band_columns(one: Simulation) -> Columns:
    return {
        **one.description(),
        "time": np.array(one.setting.checkpoints),
        **{f"regret_{name}": one.bands[name] for name in ("mean", *QUANTILES)},
        "best_pulls_mean": one.best_pulls.mean(axis=0),
    }


def _arm_columns(one: Simulation) -> Columns:
    runs, arms = one.pulls.shape
    return {
        **one.description(),
        "run": np.repeat(np.arange(runs), arms),
        "arm": np.tile(np.arange(arms), runs),
        "mean": np.tile(one.setting.instance.means, runs),
        "pulls": one.pulls.ravel(),
        "dropped": one.dropped.ravel(),
    }


def write_table(parts: Sequence[Columns], path: Path) -> None:
    """Write a table as CSV, and beside it as Parquet where pyarrow is installed.

    Args:
        parts: Columns of the same names, to be written below each other.
        path: The CSV file; its folder is made if need be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [max(np.size(value) for value in part.values()) for part in parts]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(parts[0])
        for part, count in zip(parts, rows, strict=True):
            columns = [_texts(value) if np.ndim(value) else _texts([value]) * count for value in part.values()]
            writer.writerows(zip(*columns, strict=True))
    if find_spec("pyarrow"):
        import pyarrow  # type: ignore[import-untyped]  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415

        stacked = {
            name: np.concatenate([np.broadcast_to(part[name], count) for part, count in zip(parts, rows, strict=True)])
            for name in parts[0]
        }
        parquet.write_table(pyarrow.table(stacked), path.with_suffix(".parquet"))


def _texts(values: Any) -> list[str]:
    cells = np.asarray(values).tolist()
    return [("" if math.isnan(cell) else f"{cell:.10g}") if isinstance(cell, float) else str(cell) for cell in cells]


def number(value: float) -> str:
    """Return a figure as short as it is readable.

    >>> number(4829.6), number(0.1234), number(float("nan"))
    ('4,830', '0.123', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.3g}"

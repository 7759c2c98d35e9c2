"""Results and algorithms as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from discreet.cli.arguments import first_sentence
from discreet.cli.console import Column, fitting_table, output, plain_table
from discreet.core.algorithm import Algorithm
from discreet.core.options import parameters_of
from discreet.core.registry import TABLES
from discreet.lab.results import NEVER, Results, Simulation
from discreet.lab.setting import with_options
from discreet.reproduction.tables import number

QUANTILE_HEADINGS = {"q05": "5 %", "q25": "25 %", "median": "median", "q75": "75 %", "q95": "95 %"}
SPARE = ("25 %", "75 %", "seconds", "s/run", "5 %", "95 %", "95 % interval", "median", "failed")
ROOM_FOR_CLASSES = 120  # columns
SET_BY_THE_LAB = ("arms", "noise")


def summary_table(simulation: Simulation) -> Table:
    """The final regret of one simulation."""
    seconds: Column = ("seconds", [f"{simulation.seconds:.3g}"])
    return fitting_table([*regret_columns([simulation]), seconds], SPARE)


def league_table(results: Results) -> Table:
    """A row for each policy, in the order given."""
    promised = [one.setting.build().privacy.epsilon for one in results]
    columns: list[Column] = [
        ("policy", [with_options(one.setting.policy, one.setting.other_options) for one in results]),
        ("private", ["no" if math.isinf(epsilon) else f"yes, {epsilon:g}" for epsilon in promised]),
        *regret_columns(results),
        ("s/run", [f"{one.seconds / one.setting.runs:.2g}" for one in results]),
    ]
    private = [one.mean for one, epsilon in zip(results, promised, strict=True) if not math.isinf(epsilon)]
    if private and min(private) > 0:
        columns.append(("x best private", [f"{one.mean / min(private):.3g}" for one in results]))
    return fitting_table(columns, SPARE)


def regret_columns(results: Sequence[Simulation]) -> list[Column]:
    """The final regret in numbers."""
    found = [one.statistics() for one in results]
    return [
        ("mean", [number(row["mean"]) for row in found]),
        ("95 % interval", ["-" if math.isnan(row["low"]) else interval(row) for row in found]),
        *((heading, [number(row[key]) for row in found]) for key, heading in QUANTILE_HEADINGS.items()),
        ("worst", [number(row["worst"]) for row in found]),
        ("failed", [f"{row['failures']} of {row['runs']}" for row in found]),
    ]


def interval(row: dict[str, Any]) -> str:
    """Both ends of the mean's interval."""
    return f"{number(row['low'])} to {number(row['high'])}"


def arms_table(simulation: Simulation) -> Table:
    """What each arm pays, how often it was pulled, and when it was dropped."""
    setting, runs = simulation.setting, len(simulation.final)
    pulls = simulation.pulls.mean(axis=0)
    columns: list[Column] = [
        ("arm", range(len(setting.instance))),
        *([] if setting.instance.bernoulli else [("pays", setting.instance.rewards)]),
        ("mean", [f"{mean:.4g}" for mean in setting.instance.means]),
        ("pulls", [number(count) for count in pulls]),
        ("share", [f"{100 * count / setting.horizon:.3f} %" for count in pulls]),
    ]
    times = [column[column != NEVER] for column in simulation.dropped.T]
    if any(map(len, times)):
        columns += [
            ("dropped in", [f"{len(column)} of {runs}" for column in times]),
            ("after", [number(float(np.mean(column))) if len(column) else "-" for column in times]),
            ("latest", [number(float(max(column))) if len(column) else "-" for column in times]),
        ]
    return fitting_table(columns, ("latest", "pays", "share"))


def algorithms() -> list[dict[str, Any]]:
    """Every registered policy and rule as JSON values."""
    return [describe(what, name, kind) for what, table in TABLES.items() for name, kind in sorted(table.items())]


def describe(what: str, name: str, kind: type[Algorithm]) -> dict[str, Any]:
    """One algorithm."""
    parameters = [entry for entry in parameters_of(kind).values() if entry.name not in SET_BY_THE_LAB]
    named = [entry for entry in parameters if entry.kind is not entry.VAR_KEYWORD]
    wraps = len(named) < len(parameters)  # options that it does not know go to what it wraps
    return {
        "name": name,
        "kind": what,
        "class": kind.__name__,
        "private": "as wrapped" if wraps else "no" if kind.privacy_reason is None else "yes",
        "needs": [entry.name for entry in named if entry.default is entry.empty],
        "options": {entry.name: entry.default for entry in named if entry.default is not entry.empty},
        "summary": first_sentence(kind),
    }


def algorithms_table(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """Algorithms for a person: long texts go on in the next line."""
    table = plain_table(title)
    table.add_column("name", no_wrap=True)
    table.add_column("private")
    table.add_column("class", no_wrap=True)
    table.add_column("options (* needed)", max_width=30)
    table.add_column("what it is")
    for row in rows:
        options = ", ".join([f"{name}*" for name in row["needs"]] + list(row["options"]))
        table.add_row(*map(Text, (row["name"], row["private"], row["class"], options, row["summary"])))
    if output().width < ROOM_FOR_CLASSES:
        del table.columns[2]
    return table

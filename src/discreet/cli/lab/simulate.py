"""`discreet simulate`: one policy on one instance."""

from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from discreet.cli._console import Column, fitting_table, show_json
from discreet.cli._options import command, completion
from discreet.cli.lab._simulation import SPARE_COLUMNS, SimulationOptions, regret_columns, with_simulation_options
from discreet.core.registry import POLICIES, find
from discreet.lab.results import NEVER, Simulation
from discreet.lab.setting import Setting
from discreet.reproduction.tables import number

NAMES = "The policy's short name; `discreet policies` lists all."


@command(
    "discreet simulate dp-se --instance C2 --arms 5 --epsilon 0.25 --horizon 5e7 --runs 30 --seed 7",
    "discreet simulate dp-ucb --epsilon 1 -O preset=thesis --output thesis.npz",
    'discreet simulate se --arm 0.3 --arm "beta(2,5)" --arm "csv(clicks.csv,rate)" --horizon 1e6 --json',
)
@with_simulation_options
def _simulate(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help=NAMES, autocompletion=completion(POLICIES))],
    options: SimulationOptions,
) -> None:
    """Simulate a policy on an instance and summarise its regret."""
    find(policy, "policy")
    options.check_epsilon(policy)
    (result,) = options.run([Setting.of(policy, **options.common(), **options.policy_options())])
    if options.json:
        show_json(result.to_dict())
        return
    how = "by a compiled kernel" if result.method == "kernel" else "as the policy object"
    options.report(
        result.setting.label,
        f"on simulated noise, seed {options.seed}, played {how}",
        fitting_table([*regret_columns([result]), ("seconds", [f"{result.seconds:.3g}"])], SPARE_COLUMNS),
        _arms_table(result),
    )


def _arms_table(simulation: Simulation) -> Table:
    """Return a row for each arm: its mean, its pulls and the time when it was dropped."""
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
        columns.append(("dropped in", [f"{len(column)} of {runs}" for column in times]))
        for heading, figure in (("after", np.mean), ("latest", np.max)):
            columns.append((heading, [number(float(figure(column))) if len(column) else "-" for column in times]))
    return fitting_table(columns, ("latest", "pays", "share"))

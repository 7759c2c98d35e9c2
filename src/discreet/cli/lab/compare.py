"""`discreet compare`: several policies on one instance."""

import math
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli._console import Column, fitting_table, show_json
from discreet.cli._options import command, completion, read_options
from discreet.cli.lab._simulation import (
    REFUSED,
    SPARE_COLUMNS,
    SimulationOptions,
    regret_columns,
    with_simulation_options,
)
from discreet.core.registry import POLICIES, find
from discreet.lab.results import Results
from discreet.lab.setting import with_options
from discreet.lab.simulate import LEAGUE
from discreet.lab.sweep import Entry, league

NAMES = "Short names of policies, with options of their own after a colon: dp-ucb:preset=thesis."


@command(
    "discreet compare --instance C2 --epsilon 0.25",
    "discreet compare dp-se dp-ucb dp-ucb:preset=thesis --epsilon 0.5",
    "discreet compare dp-se dp-ucb dp-se-svt --arms 10 --epsilon 1 --horizon 1e6 --output league.npz",
    "discreet compare dp-se dp-chernoff-imed --epsilon 0.1,0.3,1 --horizon 1e6 --summary sweep.csv",
    "discreet --module mine.py compare my-policy dp-se --epsilon 1 --horizon 1e6",
)
@with_simulation_options
def _compare(
    policies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POLICY", help=NAMES, autocompletion=completion(POLICIES), show_default=" ".join(LEAGUE)
        ),
    ] = None,
    *,
    options: SimulationOptions,
) -> None:
    """Compare policies on one instance, the best first. An option goes to each policy that has it."""
    entries = [_read_entry(text) for text in policies or LEAGUE]
    options.check_epsilon(*(entry for entry in entries if isinstance(entry, str)))
    settings = league(entries, options.policy_options(), options.common())
    results = options.run(settings)
    if options.json:
        show_json([one.to_dict() for one in results])
        return
    same = [f"{letter} = {values[0]}" for letter, values in _sizes(results) if len(set(values)) == 1]
    title = ", ".join([settings[0].instance.name, *same])
    options.report(title, f"of each policy on simulated noise, seed {options.seed}", _league_table(results))


def _read_entry(text: str) -> Entry:
    """Return a policy of a league, with options of its own after a colon.

    >>> _read_entry("dp-ucb:preset=thesis"), _read_entry("se")
    (('dp-ucb', {'preset': 'thesis'}), 'se')
    """
    name, colon, options = text.partition(":")
    find(name, "policy")
    return (name, read_options(options.split(","), refused=REFUSED)) if colon else name


def _sizes(results: Results) -> list[tuple[str, list[int]]]:
    """Return the number of arms and the horizon of each simulation, by their letters."""
    settings = [one.setting for one in results]
    return [("K", [len(one.instance) for one in settings]), ("T", [one.horizon or 0 for one in settings])]


def _league_table(results: Results) -> Table:
    """Return a row for each policy, in the order of the results."""
    promised = [one.setting.build().privacy.epsilon for one in results]
    columns: list[Column] = [
        ("policy", [with_options(one.setting.algorithm, one.setting.other_options) for one in results]),
        *((letter, values) for letter, values in _sizes(results) if len(set(values)) > 1),
        ("private", ["no" if math.isinf(epsilon) else f"yes, {epsilon:g}" for epsilon in promised]),
        *regret_columns(results),
        ("s/run", [f"{one.seconds / one.setting.runs:.2g}" for one in results]),
    ]
    private = [one.mean for one, epsilon in zip(results, promised, strict=True) if not math.isinf(epsilon)]
    if private and min(private) > 0:
        columns.append(("x best private", [f"{one.mean / min(private):.3g}" for one in results]))
    return fitting_table(columns, SPARE_COLUMNS)

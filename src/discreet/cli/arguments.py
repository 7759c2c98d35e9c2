"""The options that commands share, how their texts are read, and how they complete in a shell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.core.errors import ArgumentError
from discreet.core.registry import POLICIES
from discreet.lab.engines import ENGINES
from discreet.lab.instances import INSTANCES
from discreet.lab.simulate import Entry

ELSEWHERE = {
    "arms": "--arms",
    "horizon": "--horizon",
    "runs": "--runs",
    "seed": "--seed",
    "checkpoints": "--checkpoint",
}
TAKEN = ("policy",)  # an option of guess-and-double, but `Setting.of` calls the policy itself so
WORDS = {"true": True, "false": False, "none": None}


def first_sentence(kind: object) -> str:
    """What a policy or rule is."""
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def whole(text: str | int) -> int:
    """A whole number as people write it.

    >>> whole("5e7"), whole("1_000_000")
    (50000000, 1000000)
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():  # neither are infinities and NaN
        raise typer.BadParameter(f"{text!r} is not a whole number such as 1000, 1_000 or 1e3")
    return int(number)


def real(text: str | float) -> float:
    """A number as people write it."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def read_options(texts: Iterable[str], epsilon: float | None, simulated: bool = True) -> dict[str, Any]:
    """Options of a policy from texts such as "beta=0.1"; those of a simulation have arguments of their own.

    >>> read_options(["preset=thesis", "beta=0.1"], epsilon=0.5)
    {'epsilon': 0.5, 'preset': 'thesis', 'beta': 0.1}
    """
    options: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if not (name and equals and value):
            raise ArgumentError(f"an option must look like name=value, got {text!r}")
        if name in options:
            raise ArgumentError(f"{name} must be given once, got it twice")
        if simulated and name in ELSEWHERE:
            raise ArgumentError(f"{name} is not an option of the policy here; use {ELSEWHERE[name]}")
        if simulated and name in TAKEN:
            raise ArgumentError(f"{name} cannot be set here: guess-and-double is simulated around dp-se")
        options[name] = read_value(value)
    return options


def read_entry(text: str) -> Entry:
    """A policy of a league, with options of its own after a colon.

    >>> read_entry("dp-ucb:preset=thesis"), read_entry("se")
    (('dp-ucb', {'preset': 'thesis'}), 'se')
    """
    name, colon, options = text.partition(":")
    return (name, read_options(options.split(","), None)) if colon else name


def read_value(text: str) -> Any:
    """A number where it is one, and a word elsewhere.

    >>> [read_value(text) for text in ("500", "0.1", "thesis", "true")]
    [500, 0.1, 'thesis', True]
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return WORDS.get(text.lower(), text)


def complete_policy() -> list[tuple[str, str]]:
    """Every policy with what it is."""
    return [(name, first_sentence(kind)) for name, kind in POLICIES.items()]


def complete_instance() -> list[tuple[str, str]]:
    """Every known instance with what it is."""
    return [(name, first_sentence(make)) for name, make in INSTANCES.items()]


def complete_engine() -> list[str]:
    """Every engine."""
    return list(ENGINES)


NUMBER, ENGINE_PANEL = "NUMBER", "Where it runs"

PolicyName = Annotated[
    str,
    typer.Argument(
        metavar="POLICY", help="The policy's short name; `discreet policies` lists all.", autocompletion=complete_policy
    ),
]
PolicyNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="POLICY",
        help="Short names of policies, with options of their own after a colon: dp-ucb:preset=thesis.",
        autocompletion=complete_policy,
        show_default="dp-se dp-ucb se ucb",
    ),
]
InstanceName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A known instance: the paper's C1 to C4, or R1 to R3 with rare rewards.",
        autocompletion=complete_instance,
        show_default="C2",
    ),
]
Arms = Annotated[
    int | None,
    typer.Option(parser=whole, metavar=NUMBER, help="How many arms the instance has.", show_default="5, R3 50"),
]
ArmTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--arm",
        metavar="TEXT",
        help="An arm of your own, instead of --instance; once for each. A number is the mean of an arm that pays 0 or "
        "1; others are beta(2,5), uniform(0.2,0.8), normal(0.5,0.1), discrete(0:0.5,1:0.5) and csv(PATH,COLUMN).",
    ),
]
Epsilon = Annotated[
    float | None, typer.Option(parser=real, metavar=NUMBER, help="The privacy parameter, for private policies.")
]
OptionTexts = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", metavar="NAME=VALUE", help="Any other option of the policy, such as beta=0.1."),
]
Alpha = Annotated[
    float, typer.Option(parser=real, metavar=NUMBER, help="How close: 0.1 is within 10% of the true mean.")
]
Beta = Annotated[
    float, typer.Option(parser=real, metavar=NUMBER, help="How often it may be further off: 0.05 is once in 20 times.")
]
Low = Annotated[
    float | None, typer.Option(parser=real, metavar=NUMBER, help="The smallest that a value can be, whatever the data.")
]
High = Annotated[float | None, typer.Option(parser=real, metavar=NUMBER, help="The largest that a value can be.")]
Radius = Annotated[
    float | None, typer.Option(parser=real, metavar=NUMBER, help="Instead of both: values lie in [-RADIUS, RADIUS].")
]
Horizon = Annotated[int, typer.Option(parser=whole, metavar=NUMBER, help="Pulls in a run; 5e7 is fine.")]
Runs = Annotated[int, typer.Option(parser=whole, metavar=NUMBER, help="Independent runs.")]
Seed = Annotated[
    int, typer.Option(parser=whole, metavar=NUMBER, help="Where the randomness comes from: same seed, same numbers.")
]
Checkpoints = Annotated[
    list[int] | None,
    typer.Option(
        "--checkpoint",
        parser=whole,
        metavar=NUMBER,
        help="A number of pulls at which to note the regret; once for each. By default about 200 of them.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
OutputFile = Annotated[
    Path | None, typer.Option(metavar="FILE.npz", help="Save everything to a file, for `discreet plot` and Python.")
]
CsvFile = Annotated[
    Path | None, typer.Option(metavar="FILE.csv", help="Save the curves: a row for each run and checkpoint.")
]
EngineName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="serial, threads, processes, dask or ray. The numbers are the same on all.",
        autocompletion=complete_engine,
        rich_help_panel=ENGINE_PANEL,
        show_default="what fits the policies",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        parser=whole,
        metavar=NUMBER,
        help="Workers to start.",
        rich_help_panel=ENGINE_PANEL,
        show_default="one for each processor",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A running Dask or Ray cluster to use instead.", rich_help_panel=ENGINE_PANEL),
]

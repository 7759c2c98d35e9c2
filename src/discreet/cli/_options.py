"""The application, options that its commands share, the reading of their texts, and their completion in a shell."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.core.errors import ArgumentError
from discreet.lab.engines import ENGINES
from discreet.lab.instances import INSTANCES, Instance
from discreet.lab.instances import instance as make_instance

WORDS = {"true": True, "false": False, "none": None}


Command = TypeVar("Command", bound=Callable[..., None])


class _Plain:
    """A command whose flags are not listed as <bool>, as if they took a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments, `--help` included."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return found


class _PlainCommand(_Plain, TyperCommand):
    """A command."""


class _PlainGroup(_Plain, TyperGroup):
    """All commands."""


app = typer.Typer(
    name="discreet",
    cls=_PlainGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def command(*examples: str) -> Callable[[Command], Command]:
    """Return a decorator for the function of a command, named after it, with examples at the end of its help."""
    epilog = "\n\n".join(["Examples:", *examples]) if examples else None

    def add(function: Command) -> Command:
        name = function.__name__.strip("_").replace("_", "-")
        return app.command(name, cls=_PlainCommand, epilog=epilog)(function)

    return add


def first_sentence(kind: object) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def completion(table: Mapping[str, object]) -> Callable[[], list[tuple[str, str]]]:
    """Return a function that lists the keys of a table for a shell, each with its value's first sentence."""
    return lambda: [(name, first_sentence(kind)) for name, kind in table.items()]


# ---------------------------------------------------------------------- numbers


def read_whole(text: str | int) -> int:
    """Return the whole number in a text.

    >>> read_whole("5e7"), read_whole("1_000_000")
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


def read_real(text: str | float) -> float:
    """Return the number in a text."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def read_several(text: Any, read: Callable[[Any], Any] = read_real) -> Any:
    """Return the number in a text, or a list of several with commas between them.

    Args:
        text: The text.
        read: Reads one number.

    >>> read_several("0.5"), read_several("1e4,1e5", read_whole)
    (0.5, [10000, 100000])
    """
    parts = str(text).split(",")
    return read(text) if len(parts) == 1 else [read(part) for part in parts]


def read_wholes(text: Any) -> Any:
    """Return the whole number in a text, or a list of several."""
    return read_several(text, read_whole)


def option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option that takes a value.

    Args:
        metavar: The name of the value.
        text: Its help.
        *names: Its names; by default that of the argument.
        **more: Other arguments of `typer.Option`.
    """
    return typer.Option(*names, metavar=metavar, help=text, **more)


def flag(text: str, *names: str, **more: Any) -> Any:
    """Return an option without a value. See `option` for the arguments."""
    return typer.Option(*names, help=text, **more)


def whole(text: str, **more: Any) -> Any:
    """Return an option that takes a whole number. See `option` for the arguments."""
    return option("NUMBER", text, parser=read_whole, **more)


def real(text: str, **more: Any) -> Any:
    """Return an option that takes a number. See `option` for the arguments."""
    return option("NUMBER", text, parser=read_real, **more)


def picture(what: str) -> Any:
    """Return an option for a file that something is drawn into.

    Args:
        what: What is drawn.
    """
    return option("FILE", f"Also draw {what} into this .png, .pdf or .svg.", "--figure", "--plot")


# ---------------------------------------------------------------------- options of algorithms, and instances


def read_options(
    texts: Iterable[str] | None, epsilon: float | None = None, refused: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the options of an algorithm from texts such as "beta=0.1".

    Args:
        texts: One text for each option.
        epsilon: The option `epsilon`, which has an argument of its own.
        refused: Names that are not accepted, each with the reason.

    >>> read_options(["preset=thesis", "beta=0.1"], epsilon=0.5)
    {'epsilon': 0.5, 'preset': 'thesis', 'beta': 0.1}
    """
    options: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if not (name and equals and value):
            raise ArgumentError(f"an option must look like name=value, got {text!r}")
        if name in options:
            raise ArgumentError(f"{name} must be given once, got it twice")
        if refused and name in refused:
            raise ArgumentError(f"{name} cannot be set as an option of the policy here: {refused[name]}")
        options[name] = _read_value(value)
    return options


def _read_value(text: str) -> Any:
    """Return a number where the text is one, and a word elsewhere.

    >>> [_read_value(text) for text in ("500", "0.1", "thesis", "true", "0.1,0.5")]
    [500, 0.1, 'thesis', True, [0.1, 0.5]]
    """
    parts = [_read_value(part) for part in text.split(",")] if "," in text else []
    if parts and all(isinstance(part, int | float) for part in parts):
        return parts
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return WORDS.get(text.lower(), text)


def choose_instance(name: str | None, arms: int | None, own_arms: Sequence[str] | None) -> Instance:
    """Return the bandit instance that the options name.

    Args:
        name: A known instance (--instance); C2 if neither it nor `own_arms` is given.
        arms: Its number of arms (--arms).
        own_arms: Instead of both, a text for each arm (--arm).
    """
    if not own_arms:
        return make_instance(name or "C2", arms)
    if name is not None:
        raise ArgumentError(f"give --instance or --arm, not both: got --instance {name} and {len(own_arms)} of --arm")
    if arms is not None:
        raise ArgumentError(f"--arms is for --instance; with --arm it must be left out, got {arms}")
    return make_instance(own_arms)


# ---------------------------------------------------------------------- the types of shared options

Json = Annotated[bool, flag("Print one JSON document, and nothing else, on stdout.", "--json")]
OptionTexts = Annotated[
    list[str] | None, option("NAME=VALUE", "Any other option of the policy, such as beta=0.1.", "--option", "-O")
]

InstanceName = Annotated[
    str | None,
    option(
        "NAME",
        "A known instance: the paper's C1 to C4, or R1 to R3 with rare rewards.",
        autocompletion=completion(INSTANCES),
        show_default="C2",
    ),
]
Arms = Annotated[int | None, whole("How many arms the instance has.", show_default="5, R3 50")]
ArmTexts = Annotated[
    list[str] | None,
    option(
        "TEXT",
        "An arm of your own, instead of --instance; once for each. A number is the mean of an arm that pays 0 or 1; "
        "others are beta(2,5), uniform(0.2,0.8), normal(0.5,0.1), discrete(0:0.5,1:0.5) and csv(PATH,COLUMN).",
        "--arm",
    ),
]
Horizon = Annotated[int, whole("Pulls in a run; 5e7 is fine.")]
Seed = Annotated[int, whole("Where the randomness comes from: same seed, same numbers.")]

_engine: dict[str, Any] = {"rich_help_panel": "Where it runs"}
EngineName = Annotated[
    str | None,
    option(
        "NAME",
        "serial, threads, processes, dask or ray. The numbers are the same on all.",
        autocompletion=completion(ENGINES),
        show_default="what fits the policies",
        **_engine,
    ),
]
Workers = Annotated[int | None, whole("Workers to start.", show_default="one for each processor", **_engine)]
Address = Annotated[str | None, option("ADDRESS", "A running Dask or Ray cluster to use instead.", **_engine)]

Alpha = Annotated[float, real("How close: 0.1 is within 10% of the true mean.")]
Beta = Annotated[float, real("How often it may be further off: 0.05 is once in 20 times.")]
Low = Annotated[float | None, real("The smallest that a value can be, whatever the data.")]
High = Annotated[float | None, real("The largest that a value can be.")]
Radius = Annotated[float | None, real("Instead of both: values lie in [-RADIUS, RADIUS].")]

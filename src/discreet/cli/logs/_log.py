"""Shared parts of the commands on logs: options, the reading of their texts, and the printing of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._display import own_page
from discreet.cli import _options as opt
from discreet.cli._console import complain, show, show_json
from discreet.core.errors import ArgumentError

if TYPE_CHECKING:
    from discreet.logs import Answer

NOT_REACHED = 3  # the exit code
SOURCES = (
    "A CSV or Parquet file, a folder or a pattern of them, or a table of a database: postgresql://HOST/SHOP#EVENTS."
)
SKIP = "skip"
SELECTED = "Use only such rows; may be given several times."
FILLED = "What a cell without a number counts as; or `skip` to leave such rows out."
_AS_OPTIONS = (
    ('missing="skip"', "--missing skip"),
    ("missing=", "--missing "),
    ("clip=True", "--clip"),
    ("as low and high", "as --low and --high"),
    ("`order`", "--order"),
    ("name it in `arms`, or select rows with `where`", "select rows with --where"),
    ("`where`", "--where"),
)
"""What a refused log is told in Python, and how a shell says it."""

LogArgument = Annotated[str, typer.Argument(metavar="LOG", help=SOURCES)]
ArmColumn = Annotated[str, opt.option("COLUMN", "The column that says which arm a row is of.", "--arm")]
RewardColumn = Annotated[str, opt.option("COLUMN", "The column of rewards: numbers, or true and false.", "--reward")]
UnitColumn = Annotated[
    str | None,
    opt.option(
        "COLUMN", "The column that says whom epsilon protects; one row of each is used.", show_default="each row"
    ),
]
Epsilon = Annotated[float, opt.real("The privacy parameter: the largest privacy loss of one unit.")]
OrderColumn = Annotated[
    str | None, opt.option("COLUMN", "The column by which rows are taken.", "--order", show_default="random order")
]
Where = Annotated[list[str] | None, opt.option("COLUMN=VALUE", SELECTED, "--where")]
Missing = Annotated[
    str | None,
    opt.option("REWARD", FILLED, "--missing"),
]
Clip = Annotated[bool, opt.flag("Move values outside the range into it, instead of refusing them.", "--clip")]
Low = Annotated[float, opt.real("The least reward that there can be, whatever the data.")]
High = Annotated[float, opt.real("The largest reward that there can be.")]


def read_where(texts: Iterable[str] | None) -> dict[str, list[str]] | None:
    """Return the values of each column that rows must have, from texts such as "country=SE".

    Args:
        texts: One text for each value.

    >>> read_where(["country=SE", "country=NO", "day=7"])
    {'country': ['SE', 'NO'], 'day': ['7']}
    """
    found: dict[str, list[str]] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ArgumentError(f"--where must look like COLUMN=VALUE, got {text!r}")
        found.setdefault(name, []).append(value)
    return found or None


def read_missing(text: str | None) -> float | str | None:
    """Return a reward, or the word to skip rows by.

    Args:
        text: The option's text.
    """
    if text is None or text == SKIP:
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"--missing must be a reward or {SKIP}, got {text!r}") from None


@contextmanager
def remedies() -> Iterator[None]:
    """Have the message of a log that is refused name the options of the command."""
    try:
        yield
    except ArgumentError as error:
        message = str(error)
        for python, shell in _AS_OPTIONS:
            message = message.replace(python, shell)
        raise ArgumentError(message) from error


def report(answer: Answer, json: bool, extra: dict[str, Any] | None = None) -> None:
    """Print an answer; without one, raise the exit code.

    Args:
        answer: The answer.
        json: Print one JSON document.
        extra: More of that document.
    """
    if json:
        show_json({**answer.to_dict(), **(extra or {})})
    elif answer.reached:
        page = own_page(answer)
        show(page.title, "bold", wrap=True)
        for table in page.tables:
            show("\n".join(table.lines()))
        for note in page.notes:
            show(note, wrap=True)
        if answer.privacy.promised:
            show("Another run on the same people spends epsilon again.", wrap=True)
    else:
        complain(f"{answer.claim[0].lower()}{answer.claim[1:]} {answer.source}{_spent(answer)}", "no answer: ")
    if not answer.reached:
        raise typer.Exit(NOT_REACHED)


def _spent(answer: Answer) -> str:
    cost = answer.to_dict()["epsilon_spent"]
    return f" What was released has spent epsilon = {cost:g} on these people all the same." if cost else ""

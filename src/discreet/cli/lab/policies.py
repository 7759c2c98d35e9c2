"""`discreet policies`: every policy and stopping rule with its options."""

import inspect
from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from discreet.cli._console import console, plain_table, show, show_json
from discreet.cli._options import Json, command, first_sentence
from discreet.core.algorithm import Algorithm
from discreet.core.options import field_names, required_options
from discreet.core.registry import TABLES, find

TITLES = {"policy": "Policies", "rule": "Stopping rules (for `discreet stop`)"}
ROOM_FOR_CLASSES = 120  # columns


@command("discreet policies", "discreet policies dp-se-sharp")
def _policies(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One of them, to read all about it.", show_default="all")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """List every policy and stopping rule with its options, or say what one of them does."""
    if name is not None:
        one = find(name)
        row = _describe(one.family, name, one)
        show_json(row) if json else _show_one(row, one)
        return
    rows = [_describe(what, name, kind) for what, table in TABLES.items() for name, kind in sorted(table.items())]
    if json:
        show_json(rows)
        return
    for kind, title in TITLES.items():
        console().print(_table([row for row in rows if row["kind"] == kind], title))
        show("")


def _describe(what: str, name: str, kind: type[Algorithm]) -> dict[str, Any]:
    """Return one algorithm as JSON values."""
    needs = [option for option in required_options(kind) if option != "arms"]
    defaults = {one.name: one.default for one in fields(kind)}
    return {
        "name": name,
        "kind": what,
        "class": kind.__name__,
        "private": "as wrapped" if "policy" in defaults else "no" if kind.reason is None else f"for a {kind.unit}",
        "theorem": None if kind.reason is None else kind.theorem,
        "experimental": kind.experimental,
        "needs": needs,
        "options": {one: defaults[one] for one in field_names(kind, init=True) if one not in (*needs, "arms")},
        "summary": first_sentence(kind),
    }


def _show_one(row: dict[str, Any], kind: type[Algorithm]) -> None:
    """Print what an algorithm says about itself, without its doctest."""
    show(f"{row['name']}, in Python {row['class']}", "bold")
    proof = "" if row["theorem"] is None else f", {row['theorem'].words}"
    show(f"private: {row['private']}{proof}")
    show("")
    show((inspect.getdoc(kind) or "").partition("\n>>>")[0].replace("\nArgs:", "\nOptions:").strip())


def _table(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """Return a table for a person; long texts continue in the next line."""
    table = plain_table(title)
    table.add_column("name", no_wrap=True)
    table.add_column("private")
    table.add_column("class", no_wrap=True)
    table.add_column("options (* needed)", max_width=30)
    table.add_column("what it is")
    for row in rows:
        options = ", ".join([f"{name}*" for name in row["needs"]] + list(row["options"]))
        summary = f"(experimental) {row['summary']}" if row["experimental"] else row["summary"]
        table.add_row(*map(Text, (row["name"], row["private"], row["class"], options, summary)))
    if console().width < ROOM_FOR_CLASSES:
        del table.columns[2]
    return table

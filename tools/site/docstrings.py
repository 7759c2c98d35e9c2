"""Docstrings as Markdown: Google's sections become lists, examples become code blocks, tables become tables."""

from __future__ import annotations

import inspect
import re
import textwrap

SECTIONS = {
    "Args": "Arguments", "Attributes": "Attributes", "Returns": "Returns", "Yields": "Yields", "Raises": "Raises",
}  # fmt: skip
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):\n((?:    .*\n?|\n)+)", re.M)
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.M | re.S)
_TABLE = re.compile(r"^(=+(?: =+)+)\n(.*)\n\1\n((?:.*\n)+?)\1$", re.M)
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*):\s+(.*)$", re.S)


def markdown(docstring: str | None) -> str:
    r"""Return a docstring as Markdown.

    >>> print(markdown("Return a sum.\n\nArgs:\n    a: The first.\n    b: The second\n        one."))
    Return a sum.
    <BLANKLINE>
    *Arguments*
    <BLANKLINE>
    - `a`: The first.
    - `b`: The second one.
    """
    text = inspect.cleandoc(docstring or "")
    text = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
    return _SECTION.sub(_list, _TABLE.sub(_table, text)).strip()


def first_line(docstring: str | None) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join(inspect.cleandoc(docstring or "").split("\n\n", maxsplit=1)[0].split())


def _table(found: re.Match[str]) -> str:
    """Return a table whose columns are as wide as the bars above them."""
    columns = [slice(bar.start(), bar.end()) for bar in re.finditer("=+", found[1])]
    columns[-1] = slice(columns[-1].start, None)
    first, *rest = ([line[column].strip() for column in columns] for line in [found[2], *found[3].splitlines()])
    rows = [first, ["---"] * len(columns), *([f"`{cell}`" for cell in row] for row in rest)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _list(found: re.Match[str]) -> str:
    """Return a section as a list of its entries, or as a paragraph where it has no names."""
    entries = []
    for entry in re.split(r"\n(?=\S)", textwrap.dedent(found[2]).strip("\n")):
        words = " ".join(entry.split())
        named = _ENTRY.match(words)
        entries.append(f"- `{named[1]}`: {named[2]}" if named and found[1] not in ("Returns", "Yields") else words)
    listed = "\n".join(entries) if entries[0].startswith("- ") else " ".join(entries)
    return f"*{SECTIONS[found[1]]}*\n\n{listed}\n\n"

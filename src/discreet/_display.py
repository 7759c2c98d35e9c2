"""The display of objects: one description, written as text for `print` and as HTML for notebooks.

A class inherits `Shown` and writes `_page`. Pictures are drawn when HTML is asked for, and only if matplotlib is there.

>>> page = Page("a policy", {"epsilon": 0.5, "arms": 3}, [Table(("arm", "mean"), [("A", 0.25), ("B", None)])])
>>> print(page.text())
a policy
  epsilon  0.5
  arms     3
  arm  mean
  A    0.25
  B       -
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from numbers import Integral, Real
from typing import Any

ROWS = 20  # of a table that are shown; what lies between the first and the last ones is left out
_STYLE = "margin:0.3em 0;border-collapse:collapse"
_CELL = "padding:0.1em 0.9em 0.1em 0;vertical-align:top;white-space:pre-line"


@dataclass(frozen=True)
class Table:
    """A table. Numbers stand on the right, words on the left.

    Args:
        headings: The name of each column.
        rows: The cells of each row.
        title: Text above it.
        written: True if its numbers are words already: all columns but the first stand on the right.
        most: The number of rows that are shown; of more, the first and the last ones.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    written: bool = False
    most: int = ROWS

    @property
    def shown(self) -> list[Sequence[object]]:
        """The rows that are shown: all of them, or the first and the last with a row of dots between."""
        if len(self.rows) <= self.most:
            return list(self.rows)
        half = self.most // 2
        return [*self.rows[:half], ["..."] * len(self.headings), *self.rows[-half:]]

    @property
    def on_the_right(self) -> list[bool]:
        """By column, True if it holds numbers."""
        if self.written:
            return [place > 0 for place in range(len(self.headings))]
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.headings)
        return [any(isinstance(cell, Real) and not isinstance(cell, bool) for cell in cells) for cells in columns]

    def lines(self) -> list[str]:
        """Return it as lines of plain text."""
        rows = [tuple(self.headings), *(tuple(map(words, row)) for row in self.shown)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        forms = [f"{'>' if right else '<'}{width}" for width, right in zip(widths, self.on_the_right, strict=True)]
        table = [f"  {'  '.join(map(format, row, forms))}".rstrip() for row in rows]
        return [self.title, *table] if self.title else table


@dataclass(frozen=True)
class Page:
    """The description of an object: a title, facts, tables, notes and a picture.

    Args:
        title: What it is, in one line.
        facts: Its figures, by their names.
        tables: Tables below them.
        notes: Sentences at the end.
        picture: Returns a picture as the bytes of a PNG file, for HTML; None for no picture.
        about: What the picture shows, for those who cannot see it.
    """

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    picture: Callable[[], bytes] | None = None
    about: str = ""

    def text(self) -> str:
        """Return it as lines of plain text."""
        widest = max(map(len, self.facts), default=0)
        lines = [self.title]
        lines += [f"  {name:<{widest}}  {words(value)}" for name, value in self.facts.items()]
        for table in self.tables:
            lines += table.lines()
        return "\n".join([*lines, *self.notes])

    def html(self) -> str:
        """Return it as HTML for a notebook. Colours are the page's own, so that it fits dark ones too."""
        parts = [f'<div style="margin-top:0.4em"><strong>{escape(self.title)}</strong></div>']
        if self.facts:
            rows = "".join(
                f'<tr><th scope="row" style="{_CELL};text-align:left;font-weight:normal;opacity:0.7">{escape(name)}'
                f'</th><td style="{_CELL};text-align:left">{escape(words(value))}</td></tr>'
                for name, value in self.facts.items()
            )
            parts.append(f'<table style="{_STYLE}"><tbody>{rows}</tbody></table>')
        parts += [_html_table(table) for table in self.tables]
        parts += [f'<div style="opacity:0.8">{marked(note)}</div>' for note in self.notes]
        if self.picture is not None:
            parts.append(_image(self.picture, self.about))
        return f'<div class="discreet">{"".join(parts)}</div>'


class Shown:
    """An object that shows itself: `print` writes its page as text, and a notebook shows it as HTML."""

    __slots__ = ()

    def _page(self) -> Page:
        """Return what the object says about itself."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self._page().text()

    def _repr_html_(self) -> str:
        return self._page().html()


def own_page(shown: Shown) -> Page:
    """Return what an object says about itself, for the page of another one that has it."""
    return shown._page()


def page_of(value: Any, *names: str) -> Page:
    """Return a page of some attributes of an object.

    Args:
        value: The object.
        *names: Names of its attributes; by default the fields of a dataclass or a named tuple.
    """
    found = names or getattr(value, "_fields", None) or tuple(getattr(value, "__dataclass_fields__", ()))
    return Page(type(value).__name__, {name.replace("_", " "): getattr(value, name) for name in found})


def marked(text: str) -> str:
    """Return text as HTML, with what stands in backticks as code.

    >>> marked("`a < b` is checked")
    '<code>a &lt; b</code> is checked'
    """
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def words(value: object) -> str:
    """Return a value as people read it.

    >>> [words(value) for value in (None, True, 1234567, 0.25, 1 / 3, 2.5e7, float("inf"), ("A", "B"), "as it is")]
    ['-', 'yes', '1,234,567', '0.25', '0.3333', '25,000,000', 'inf', 'A, B', 'as it is']
    """
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    if isinstance(value, Real):
        return _number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{words(name)}: {words(item)}" for name, item in value.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return ", ".join(map(words, value)) or "none"
    return str(value)


def _number(value: Real) -> str:
    """Return a number: whole ones and large ones in full, others with four digits."""
    if isinstance(value, Integral):
        return f"{int(value):,}"
    number = float(value)
    in_full = abs(number) < 1e15 and (number.is_integer() or abs(number) >= 1e3)
    return f"{number:,.0f}" if in_full else f"{number:.4g}"


def _html_table(table: Table) -> str:
    """Return a table as HTML."""
    sides = [f"{_CELL};text-align:{'right' if right else 'left'}" for right in table.on_the_right]
    title = f'<caption style="text-align:left">{escape(table.title)}</caption>' if table.title else ""
    head = "".join(
        f'<th scope="col" style="{side}">{escape(name)}</th>' for name, side in zip(table.headings, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{side}">{escape(words(cell))}</td>' for cell, side in zip(row, sides, strict=True))
        + "</tr>"
        for row in table.shown
    )
    return f'<table style="{_STYLE}">{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _image(draw: Callable[[], bytes], about: str) -> str:
    """Return a picture that the page carries; nothing where matplotlib is not installed."""
    try:
        png = draw()
    except ModuleNotFoundError:
        return ""
    return f'<img alt="{escape(about)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'

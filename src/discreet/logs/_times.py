"""Columns by which rows are ordered: numbers, dates and times, which every engine compares alike.

Finer times are rounded to microseconds before they are compared. Otherwise the end of an epoch, as Python's datetime
has it, could lie before a contribution that this epoch has used.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple

import ibis
import ibis.expr.datatypes as dt

from discreet.core.errors import ArgumentError
from discreet.logs._sources import Source

Kind = Literal["integer", "real", "local", "zoned", "text"]
_TYPES: dict[Kind, Any] = {
    "integer": "int64",
    "real": "float64",
    "local": dt.Timestamp(scale=6),
    "zoned": dt.Timestamp(timezone="UTC", scale=6),
    "text": "string",
}
_ZONE = r"([zZ]|[+-]\d\d(:?\d\d)?)\s*$"


class Ordering(NamedTuple):
    """A column that orders rows.

    Attributes:
        column: Its values: NULL for NaN, infinite numbers, and text that is not of the kind.
        kind: What they are.
    """

    column: Any
    kind: Kind


def ordering(source: Source, table: Any, name: str) -> Ordering:
    """Return a column by which rows can be ordered.

    Args:
        source: The log.
        table: The log's table, or the selected rows of it.
        name: The column's name.

    Raises:
        ArgumentError: Its values have no order that we know.
    """
    column = table[name]
    kind = column.type()
    if kind.is_string():
        found = _kind_of_text(table, column.strip()) if source.local else "text"
        return Ordering(
            _finite(column.strip().try_cast(_TYPES[found]), found) if found != "text" else column.nullif(""), found
        )
    if kind.is_integer():
        return Ordering(column.cast("int64"), "integer")
    if kind.is_floating() or kind.is_decimal():
        return Ordering(_finite(column.cast("float64"), "real"), "real")
    if kind.is_date() or kind.is_timestamp():
        zoned: Kind = "zoned" if kind.is_timestamp() and kind.timezone is not None else "local"
        return Ordering(column.cast(_TYPES[zoned]), zoned)
    raise ArgumentError(f"the column {name!r} must hold numbers, dates or timestamps, not {kind}")


def _kind_of_text(table: Any, text: Any) -> Kind:
    """Return what most cells of a column of text are."""
    zoned = text.re_search(_ZONE) & text.try_cast(_TYPES["zoned"]).notnull()
    found = table.aggregate(
        integer=text.try_cast("int64").notnull().sum(),
        real=text.try_cast("float64").notnull().sum(),
        local=text.try_cast(_TYPES["local"]).notnull().sum(),
        zoned=(zoned & text.try_cast("float64").isnull()).sum(),
    )
    counts = {name: int(count or 0) for name, count in found.to_pyarrow().to_pylist()[0].items()}
    if not any(counts.values()):
        return "text"
    if counts["real"] >= counts["local"]:
        return "integer" if counts["integer"] == counts["real"] else "real"
    return "zoned" if counts["zoned"] else "local"


def _finite(column: Any, kind: Kind) -> Any:
    return ibis.ifelse(column - column == 0, column, ibis.null("float64")) if kind == "real" else column


def bound(name: str, time: Any, kind: Kind) -> Any:
    """Return a caller's time as a literal that compares with a column of its kind; None for no bound.

    Args:
        name: The argument's name, for the error message.
        time: The time; None for no bound.
        kind: The kind of times in the log.

    Raises:
        ArgumentError: If `time` is of another kind.
    """
    if time is None:
        return None
    if kind in ("integer", "real"):
        if isinstance(time, bool) or not isinstance(time, int | float) or not math.isfinite(time):
            raise ArgumentError(f"{name} must be a number, as the log's times are, got {time!r}")
        return ibis.literal(time)
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if not isinstance(time, datetime) or (time.tzinfo is None) != (kind == "local"):
        zone = "without a time zone" if kind == "local" else "with a time zone"
        raise ArgumentError(f"{name} must be a datetime {zone}, as the log's times are, got {time!r}")
    return ibis.literal(time.astimezone(UTC) if kind == "zoned" else time, type=_TYPES[kind])

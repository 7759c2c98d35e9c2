"""Cells of a log as expressions of Ibis: numbers, grid steps, names, keyed places."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, Protocol

import ibis

from discreet.core.errors import ArgumentError

_EMPTY = ("", "na", "n/a", "null", "none", "nan")
_DIGITS = 12  # of a place: 48 bits, which DuckDB keeps without a pointer


class Scale(Protocol):
    """The rounding of rewards: a grid, or a plan of the service."""

    @property
    def low(self) -> float:
        """The least reward."""
        ...

    @property
    def high(self) -> float:
        """The largest reward."""
        ...

    @property
    def step(self) -> float:
        """The size of one step, a power of two."""
        ...

    @property
    def floor(self) -> int:
        """The steps from 0 to `low`."""
        ...


class Cell(IntEnum):
    """The content of a cell that should have a reward."""

    REWARD = 0
    EMPTY = 1
    """Nothing, NaN, or a word for nothing."""
    TEXT = 2
    """A text that is no number."""
    OUTSIDE = 3
    """A number outside of the declared range."""


@ibis.udf.scalar.builtin(name="md5")  # type: ignore[untyped-decorator]
def _md5(text: str) -> str:  # type: ignore[empty-body]
    """Return the MD5 digest of a text in hexadecimal digits."""


def number(column: Any, name: str, *, local: bool) -> Any:
    """Return a column of rewards as floats: NULL for NaN and for what is no number.

    Args:
        column: The column.
        name: Its name, for the error message.
        local: True if DuckDB runs it; elsewhere a column of text is refused.

    Raises:
        ArgumentError: The column cannot hold numbers.
    """
    kind = column.type()
    if kind.is_boolean():
        return column.cast("int64").cast("float64")
    if kind.is_string() and local:
        text = column.strip().lower()
        value = ibis.cases((text == "true", real(1.0)), (text == "false", real(0.0)), else_=text.try_cast("float64"))
    elif kind.is_numeric():
        value = column.cast("float64")
    elif kind.is_null():
        value = ibis.null("float64")
    else:
        raise ArgumentError(f"the reward column {name!r} must hold numbers, not {kind}")
    # x - x = 0 is false for NaN on every engine; DuckDB drops some comparisons that Parquet's statistics decide.
    return ibis.ifelse(
        value.isin([real(math.inf), real(-math.inf)]) | (value - value == 0), value, ibis.null("float64")
    )


def contents(column: Any, value: Any, scale: Scale) -> Any:
    """Return what a cell holds, as the number of a `Cell`.

    Args:
        column: The column.
        value: Its cells as numbers.
        scale: The range of rewards.
    """
    empty = column.isnull()
    if column.type().is_string():
        empty = empty | column.strip().lower().isin(_EMPTY)
    elif column.type().is_floating():
        empty = value.isnull()
    inside = (value >= real(scale.low)) & (value <= real(scale.high))
    return ibis.cases((empty, Cell.EMPTY), (value.isnull(), Cell.TEXT), (inside, Cell.REWARD), else_=Cell.OUTSIDE)


def steps(value: Any, scale: Scale) -> Any:
    """Return numbers in steps above the floor: moved into the range, and rounded half to even as `Grid.encode` does.

    Args:
        value: Floats that are not NaN; NULL stays.
        scale: The grid.
    """
    low, high = real(scale.low), real(scale.high)
    inside = ibis.cases((value < low, low), (value > high, high), else_=value)
    scaled = inside / real(scale.step)
    below = scaled.floor().cast("int64")
    part = scaled - below.cast("float64")
    up = ibis.cases((part > 0.5, 1), (part < 0.5, 0), else_=(below % 2).abs())
    return (below - scale.floor + up).cast("int64")


def words(column: Any, role: str, name: str) -> Any:
    """Return a column of names as text: NULL where there is none.

    Args:
        column: The column.
        role: What it names, for the error message.
        name: The column's name.

    Raises:
        ArgumentError: The column cannot hold names.
    """
    kind = column.type()
    if not (kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_uuid()):
        raise ArgumentError(f"the {role} column {name!r} must hold text or whole numbers, not {kind}: convert it first")
    text = column.cast("string")
    return text.nullif("") if kind.is_string() else text


def place(key: str, text: Any) -> Any:
    """Return a keyed place of a text among all: the first digits of the MD5 digest of key and text.

    Without the key, an order of such places cannot be told from a random one. Two texts of 10 million share a place
    with a probability of 0.2; they then count as one.

    Args:
        key: The key, of digits.
        text: The text.
    """
    return _md5(ibis.literal(f"{key}/") + text).left(_DIGITS)


def real(value: float) -> Any:
    """Return a float as a literal that every engine reads to the bit."""
    return ibis.literal(repr(float(value)).replace("inf", "Infinity")).cast("float64")

"""The one expression that prepares a log: check each cell, take one row of each unit, order and number the rows.

Nothing here looks at a reward but `contents` and `steps`, which turn each cell into its own number. Which rows are
selected, which row of a unit is taken, and in which order, follows from the other columns and from a key.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ibis
from ibis.expr import operations

from discreet.core.errors import ArgumentError
from discreet.logs import _cells
from discreet.logs._cells import Scale
from discreet.logs._sources import ROW, Source
from discreet.logs._times import ordering

SKIP = "skip"
_PRIME = 2**31 - 1  # products of two numbers below it are integers of 64 bits
_LOTS = 4  # values of a random cubic are independent by fours: choices of two units from two rows each do not agree


@dataclass(frozen=True, slots=True)
class Key:
    """The key that decides which row of a unit is taken, and in which order: drawn once a run, and kept in memory only.

    Args:
        text: The key of places.
        lots: The coefficients of the polynomial whose values are the rows' lots, the highest power's first.
    """

    text: str
    lots: tuple[int, ...]

    @classmethod
    def draw(cls) -> Key:
        """Return a key from the system's entropy."""
        return cls(secrets.token_hex(16), tuple(secrets.randbelow(_PRIME) for _ in range(_LOTS)))


@dataclass(frozen=True, slots=True)
class Reading:
    """The way a log is read.

    Args:
        reward: The column of rewards; None for the only column.
        arm: The column of arms; None if all rows are of one arm.
        unit: The column of units; None if each row is a unit.
        order: The column by which rows are taken; None for a random order.
        where: What selects rows: values by column, or a function of the table.
        missing: The reward of a cell without a number, or "skip" to leave such rows out; None refuses them.
        clip: True to move rewards into the range, instead of refusing those outside.

    Raises:
        ArgumentError: A column has two roles, or `missing` is wrong.
    """

    reward: str | None
    arm: str | None = None
    unit: str | None = None
    order: str | None = None
    where: Mapping[str, Any] | Callable[[Any], Any] | None = None
    missing: float | str | None = None
    clip: bool = False

    def __post_init__(self) -> None:
        others = [self.arm, self.unit, self.order, *(self.where if isinstance(self.where, Mapping) else ())]
        if self.reward is not None and self.reward in others:
            raise ArgumentError(
                f"only `reward` may name the column {self.reward!r}: arms, units, the order and the selection of rows "
                f"must not depend on rewards, or epsilon does not hold"
            )
        if self.arm is not None and self.arm == self.unit:
            raise ArgumentError(f"arm and unit must be two columns, got {self.arm!r} for both")
        if isinstance(self.missing, str) and self.missing != SKIP:
            raise ArgumentError(f'missing must be a reward or "skip", got {self.missing!r}')

    @property
    def wanted(self) -> list[str]:
        """The names of the columns that are read."""
        selecting = self.where if isinstance(self.where, Mapping) else ()
        names = [self.reward, self.arm, self.unit, self.order, *selecting]
        return list(dict.fromkeys(name for name in names if name is not None))


def cells(source: Source, reading: Reading, scale: Scale, key: Key) -> Any:
    """Return the selected rows of a log: what each cell holds, the arm, the steps, and the unit's keyed place.

    Args:
        source: The log.
        reading: How it is read.
        scale: The grid.
        key: The key of this run.
    """
    assert reading.reward is not None
    table = selected(source.table, reading)
    reward = table[reading.reward]
    value = _cells.number(reward, reading.reward, local=source.local)
    cell = _cells.contents(reward, value, scale)
    taken = ibis.ifelse(value.isnull(), _default(reading, scale), _cells.steps(value, scale))
    row = table[ROW] if source.local else ibis.null("int64")
    if reading.unit is not None:
        whose = _cells.words(table[reading.unit], "unit", reading.unit)
        place = _cells.place(key.text, whose)
    else:
        place = _cells.place(key.text, (row if source.local else ibis.random()).cast("string"))
    arm = ibis.literal("") if reading.arm is None else _cells.words(table[reading.arm], "arm", reading.arm)
    columns = {"row": row, "place": place, "arm": arm, "cell": cell.cast("int8"), "steps": taken}
    if reading.order is not None:
        columns["order"] = ordering(source, table, reading.order).column
    if not source.local:
        columns["lot"] = ibis.random()
    return table.select(**columns)


def prepared(rows: Any, reading: Reading, key: Key) -> Any:
    """Return one row of each unit, numbered from 0 within its arm in the order in which epochs take them.

    Of several rows of a unit the first by `order` is taken; without an order, the one with the least lot.

    Args:
        rows: What `cells` returned, or what was kept of it.
        reading: How the log is read.
        key: The key of this run.
    """
    ordered = ["order"] if reading.order is not None else []
    rows = rows.filter(rows.steps.notnull() & rows.arm.notnull() & rows.place.notnull())
    if reading.unit is not None:
        rows = rows if "lot" in rows.columns else rows.mutate(lot=_lot(rows.row, key))
        rows = one_of_each(rows, "place", [*ordered, "lot"])
    return numbered(rows, [*ordered, "place"]).select("arm", "index", "steps")


def one_of_each(rows: Any, name: str, first: list[str]) -> Any:
    """Return the first row of each value of a column.

    Args:
        rows: The rows.
        name: The column's name.
        first: The names of the columns by which one row comes before another.
    """
    visits = rows.mutate(visit=ibis.row_number().over(ibis.window(group_by=name, order_by=first)))
    return visits.filter(visits.visit == 0).drop("visit")


def numbered(rows: Any, order: list[str]) -> Any:
    """Return rows with their number within their arm, from 0, as the column `index`.

    Args:
        rows: The rows.
        order: The names of the columns that they are ordered by.
    """
    return rows.mutate(index=ibis.row_number().over(ibis.window(group_by="arm", order_by=order)))


def selected(table: Any, reading: Reading) -> Any:
    """Return the rows that `where` selects, which must not look at rewards.

    Args:
        table: The log.
        reading: How it is read.

    Raises:
        ArgumentError: `where` looks at rewards, or is no selection.
    """
    where = reading.where
    if where is None:
        return table
    if not callable(where):
        chosen = [_equals(table[name], value) for name, value in where.items()]
        return table.filter(chosen) if chosen else table
    predicate = where(table)
    if not isinstance(predicate, ibis.expr.types.BooleanValue):
        raise ArgumentError(f"where must return a condition on rows, got {type(predicate).__name__}")
    for field in predicate.op().find(operations.Field):
        if field.rel == table.op() and field.name == reading.reward:
            raise ArgumentError(
                f"where must not look at the reward column {reading.reward!r}: rows that are chosen by their rewards "
                f"are not covered by epsilon"
            )
    return table.filter(predicate)


def _equals(column: Any, value: Any) -> Any:
    """Return the condition that a column has a value, or one of several. They are compared as text."""
    several = value if isinstance(value, list | tuple | set | frozenset) else [value]
    texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in several]
    return column.cast("string").isin(texts)


def _default(reading: Reading, scale: Scale) -> Any:
    """Return the steps of a cell without a number; NULL for rows that are left out or refused."""
    if reading.missing is None or isinstance(reading.missing, str):
        return ibis.null("int64")
    return _cells.steps(_cells.real(reading.missing), scale)


def _lot(row: Any, key: Key) -> Any:
    """Return a number by which one row of a unit is chosen: that with the least one.

    It follows from the row's number in the log, which does not depend on rewards, by a random polynomial. Each of two
    rows is chosen equally often; of more rows that is not proved, and 400,000 keys showed no difference. A random line
    would not do: where a log is sorted by day, it would choose the same day for most units. Tables of databases have no
    such numbers: there the engine draws it, so that each row of a unit is chosen equally often wherever it is stored.
    """
    lot, *rest = key.lots
    for coefficient in rest:
        lot = (row % _PRIME * lot + coefficient) % _PRIME
    return lot

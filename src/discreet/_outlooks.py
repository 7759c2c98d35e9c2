"""The base class of forecasts: rows of what a question takes, as text, tables and JSON."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Generic, TypeVar

from discreet._display import Shown, Table
from discreet._install import needs

Row = TypeVar("Row")


class Outlooks(Shown, Generic[Row]):
    """Rows of a forecast. A subclass is a dataclass with these fields, and says how people read them.

    Attributes:
        outlooks: The rows.
        notes: What to know about the figures.
    """

    outlooks: tuple[Row, ...]
    notes: tuple[str, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.outlooks)

    def __len__(self) -> int:
        return len(self.outlooks)

    def __getitem__(self, place: int) -> Row:
        return self.outlooks[place]

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of a table for people, by their headings; not those that are empty."""
        return {heading: cells for heading, cells in self._columns().items() if any(cell is not None for cell in cells)}

    @abstractmethod
    def _columns(self) -> dict[str, list[Any]]:
        """Return all columns of a table for people, by their headings."""

    def _table(self) -> Table:
        columns = self.columns()
        return Table(list(columns), list(zip(*columns.values(), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        found: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return {**found, "outlooks": list(found["outlooks"]), "notes": list(self.notes)}

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def to_pandas(self) -> Any:
        """Return a pandas table with a row for each outlook."""
        with needs("to_pandas", "lab"):
            import pandas as pd  # noqa: PLC0415  (half a second: only for those who ask)

        return pd.DataFrame(self.to_dict()["outlooks"])

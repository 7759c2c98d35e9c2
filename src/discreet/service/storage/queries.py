"""Rows of the experiment table as what they describe."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, or_, select

from discreet.service.experiments.descriptions import Description, describe
from discreet.service.http.errors import not_found
from discreet.service.http.messages import NewExperiment
from discreet.service.storage import schema


def described(row: Row[Any]) -> Description:
    """What an experiment's row describes."""
    return _described(row.description)


@lru_cache(maxsize=4096)
def _described(text: str) -> Description:
    return describe(msgspec.json.decode(text, type=NewExperiment))


def find(connection: Connection, name: str) -> Row[Any]:
    """An experiment by its id or its name."""
    table = schema.experiment
    row = connection.execute(select(table).where(or_(table.c.uid == name, table.c.name == name))).first()
    if row is None:
        raise not_found(f"experiment {name!r}")
    return row

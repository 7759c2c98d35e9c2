"""Times of a log as numbers that compare exactly: whole microseconds since 1970, or the numbers that stand there.

Finer times are cut to microseconds before anything is compared. Otherwise the end of one epoch, rounded on its way
through Python, could lie before a contribution that this epoch has used.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from discreet.core.errors import ArgumentError

Kind = Literal["integer", "real", "local", "zoned"]
_START = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def to_number(label: str, moment: Any, kind: Kind) -> int | float | None:
    """A caller's bound on times, in the terms of a log of this kind.

    >>> to_number("after", datetime(1970, 1, 1, 0, 1), "local")
    60000000
    """
    if moment is None:
        return None
    if kind in ("integer", "real"):
        if isinstance(moment, bool) or not isinstance(moment, int | float) or not math.isfinite(moment):
            raise ArgumentError(f"{label} must be a number, as the log's times are, got {moment!r}")
        return moment
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if not isinstance(moment, datetime) or (moment.tzinfo is None) != (kind == "local"):
        zone = "without a time zone" if kind == "local" else "with a time zone"
        raise ArgumentError(f"{label} must be a datetime {zone}, as the log's times are, got {moment!r}")
    return ((moment.replace(tzinfo=UTC) if kind == "local" else moment) - _START) // _TICK


def from_number(number: float, kind: Kind) -> Any:
    """The same way back.

    >>> from_number(60000000, "zoned")
    datetime.datetime(1970, 1, 1, 0, 1, tzinfo=datetime.timezone.utc)
    """
    if kind in ("integer", "real"):
        return number
    moment = _START + timedelta(microseconds=number)
    return moment.replace(tzinfo=None) if kind == "local" else moment

"""Times of a log as numbers that compare exactly: microseconds since 1970, or the log's own numbers.

Finer times are truncated to microseconds before they are compared. Otherwise the end of an epoch, rounded by Python's
datetime, could lie before a contribution that this epoch has used.
"""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from discreet.core.errors import ArgumentError

TimeKind = Literal["integer", "real", "local", "zoned"]
_START = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def to_number(name: str, time: Any, kind: TimeKind) -> int | float | None:
    """Return a caller's time as a number that compares with a log's times.

    Args:
        name: The argument's name, for the error message.
        time: The time; None for no bound.
        kind: The kind of times in the log.

    Raises:
        ArgumentError: If `time` is of another kind.

    >>> to_number("after", datetime(1970, 1, 1, 0, 1), "local")
    60000000
    """
    if time is None:
        return None
    if kind in ("integer", "real"):
        if isinstance(time, bool) or not isinstance(time, int | float) or not math.isfinite(time):
            raise ArgumentError(f"{name} must be a number, as the log's times are, got {time!r}")
        return time
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if not isinstance(time, datetime) or (time.tzinfo is None) != (kind == "local"):
        zone = "without a time zone" if kind == "local" else "with a time zone"
        raise ArgumentError(f"{name} must be a datetime {zone}, as the log's times are, got {time!r}")
    return ((time.replace(tzinfo=UTC) if kind == "local" else time) - _START) // _TICK


def from_number(number: float, kind: TimeKind) -> Any:
    """Return a number of `to_number` as a time.

    Args:
        number: The number.
        kind: The kind of times in the log.

    >>> from_number(60000000, "zoned")
    datetime.datetime(1970, 1, 1, 0, 1, tzinfo=datetime.timezone.utc)
    """
    if kind in ("integer", "real"):
        return number
    time = _START + timedelta(microseconds=number)
    return time.replace(tzinfo=None) if kind == "local" else time

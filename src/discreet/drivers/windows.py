"""Windows: how long a reward is waited for, by a clock or by the number of tickets that come after.

Why this is private, silence included: an epoch with a window closes when its last pull's window has passed, at the next
`ask` or `expire()`. The clock, the order of asks and the default reward are public, and no reward takes part in any of
this: neither whether it came, nor when. So a neighbour whose reward is another one, or never comes, closes the same
epochs at the same moments; all that differs is one reward of one total, which is what the mechanism's noise covers. An
epoch that closed as soon as all rewards are in would show that everybody had answered.
"""

import math
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from discreet.core import checks
from discreet.core.errors import ArgumentError, StateError

Clock = Callable[[], float]
"""Returns the seconds since some moment that never changes, also not after a restart."""
_MARKS = 4096  # tickets expire at most this part of the window late, so that few moments must be kept


@dataclass
class Window:
    """The time for which a reward is waited for.

    Args:
        length: In seconds; or, without a clock, the number of tickets that are handed out after its own.
        clock: The clock; None for a window in tickets.
    """

    length: float
    clock: Clock | None = None
    _latest: float = field(init=False, default=-math.inf)

    @staticmethod
    def of(window: timedelta | int, clock: Clock | None = None) -> "Window":
        """Return a window.

        Args:
            window: A timedelta, or a number of tickets.
            clock: A clock to go by instead of the system's.

        Raises:
            ArgumentError: The window is neither, or too short; or a number of tickets was given with a clock.
        """
        if isinstance(window, timedelta):
            if window <= timedelta(0):
                raise ArgumentError(f"window must be longer than nothing, got {window!r}")
            if clock is not None and not callable(clock):
                raise ArgumentError(f"clock must be a function that returns seconds, such as time.time, got {clock!r}")
            return Window(window.total_seconds(), clock or time.time)
        if isinstance(window, bool) or not isinstance(window, int | float):
            raise ArgumentError(f"window must be a datetime.timedelta, or a number of tickets, got {window!r}")
        if clock is not None:
            raise ArgumentError(f"with a clock, window must be a datetime.timedelta, got {window!r}")
        return Window(checks.whole("window", window))

    @property
    def by_system_clock(self) -> bool:
        """True if it goes by the system's clock."""
        return self.clock is time.time

    def now(self, issued: int) -> float:
        """Return the time, which never goes back: by the clock, or the number of tickets that were handed out.

        Args:
            issued: The number of tickets that were handed out, ever.
        """
        if self.clock is None:
            return issued
        time = self.clock()
        if type(time) is not float or not -math.inf < time < math.inf:
            time = checks.real("the clock's time", time)
        self._latest = max(self._latest, time)
        return self._latest

    def moment(self, deadline: float) -> datetime | float:
        """Return a deadline as people read it: a time of day by the system's clock, or else the number."""
        return datetime.fromtimestamp(deadline, UTC) if self.by_system_clock else deadline

    def until(self, deadline: float) -> str:
        """Return words that say when a deadline is."""
        if self.clock is None:
            return f"after {deadline:,} tickets"
        moment = self.moment(deadline)
        shown = f"{moment:%Y-%m-%d %H:%M:%S %Z}" if isinstance(moment, datetime) else f"{moment:,.10g} seconds"
        return f"from {shown} on"

    def __str__(self) -> str:
        return f"{self.length:,} tickets" if self.clock is None else str(timedelta(seconds=self.length))

    # ------------------------------------------------------------------ saving

    def options(self) -> dict[str, Any]:
        """Return it as JSON values. They are public."""
        if self.clock is None:
            return {"tickets": self.length}
        return {"seconds": self.length, "clock": "system" if self.by_system_clock else "own"}

    @staticmethod
    def from_options(options: dict[str, Any], clock: Clock | None) -> "Window":
        """Return a saved window.

        Args:
            options: What `options` returned.
            clock: The clock, if it went by one of the user's own.

        Raises:
            StateError: A clock is missing, or there is one too many.
        """
        own = options.get("clock") == "own"
        if own and clock is None:
            raise StateError("its window goes by a clock of your own: give it again, as in load(path, clock=...)")
        if clock is not None and not own:
            raise StateError("its window does not go by a clock of your own: load it without clock")
        window = options["tickets"] if "tickets" in options else timedelta(seconds=options["seconds"])
        return Window.of(window, clock)


class Deadlines:
    """When the tickets of an epoch expire. Tickets are noted in their order, so those that have expired come first.

    Only the moments of the last window are kept, rounded up to a 4096th of it.

    Args:
        length: The window.
        whole: True for a window in tickets.

    >>> deadlines = Deadlines(10, whole=True)
    >>> deadlines.note(0, now=1)
    >>> deadlines.note(1, now=2)
    >>> [deadlines.expired(now, noted=2) for now in (2, 10, 11, 12)], deadlines.last
    ([0, 0, 1, 2], 12)
    """

    def __init__(self, length: float, whole: bool) -> None:
        self._length = length
        self._tick = max(1, int(length) // _MARKS) if whole else length / _MARKS
        self._places: list[int] = []  # the first ticket of each deadline
        self._deadlines: list[float] = []

    def note(self, place: int, now: float) -> None:
        """Note that the epoch's next ticket was handed out.

        Args:
            place: Its place in the epoch, from 0.
            now: The time.
        """
        if self._deadlines and now + self._length <= self._deadlines[-1]:
            return
        deadline = math.ceil(now / self._tick) * self._tick + self._length
        if not self._deadlines or deadline > self._deadlines[-1]:
            gone = bisect_right(self._deadlines, now)
            del self._places[:gone], self._deadlines[:gone]
            self._places.append(place)
            self._deadlines.append(deadline)

    def expired(self, now: float, noted: int) -> int:
        """Return how many of the epoch's tickets have expired: those are its first ones.

        Args:
            now: The time.
            noted: How many were handed out.
        """
        gone = bisect_right(self._deadlines, now)
        return self._places[gone] if gone < len(self._places) else noted

    @property
    def last(self) -> float:
        """The deadline of the ticket that was handed out last; infinite before the first."""
        return self._deadlines[-1] if self._deadlines else math.inf

    def state(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"places": list(self._places), "deadlines": list(self._deadlines)}

    def restore(self, state: dict[str, Any], noted: int) -> None:
        """Go on from a saved state.

        Args:
            state: What `state` returned.
            noted: How many tickets were handed out.

        Raises:
            StateError: It makes no sense.
        """
        places = [checks.whole("place", place, at_least=0) for place in state["places"]]
        deadlines = [checks.real("deadline", deadline) for deadline in state["deadlines"]]
        if isinstance(self._tick, int):
            deadlines = [checks.whole("deadline", deadline) for deadline in deadlines]
        rising = all(one < two for numbers in (places, deadlines) for one, two in pairwise(numbers))
        if (
            len(places) != len(deadlines)
            or bool(places) != bool(noted)
            or not rising
            or max(places, default=-1) >= noted
        ):
            raise StateError("the saved deadlines do not fit the saved tickets")
        self._places, self._deadlines = places, [*deadlines]

"""The open epoch of a `Bandit`: which pulls were handed out, and what was told of them. Its sums are secret."""

import base64
import zlib
from array import array
from typing import Any

import numpy as np

from discreet.core.errors import StateError
from discreet.core.plans import Arm, Plan
from discreet.drivers.tickets import Dealer
from discreet.drivers.windows import Deadlines, Window

OPEN, TOLD = 0, 1
"""The states of a ticket."""


class OpenEpoch:
    """The tickets of one epoch, and exact sums of what was told of them.

    Tickets are numbered through all epochs; the *place* of a ticket is its number less that of the epoch's first one.
    Planned pulls come first. Extra ones, whose rewards are not used, come after all of them, and are only counted.

    Args:
        plan: The plan; None when nothing is left to pull.
        number: The epoch's number.
        first: The number of its first ticket.
        window: How long rewards are waited for, if there is a limit.
        rng: The generator of the order of the arms.

    Attributes:
        learns: True if rewards are used.
        names: The names of the planned arms.
        dealer: Deals the planned pulls.
        handed_out: How many planned pulls were handed out.
        extra: How many extra ones were.
        arms: The index of each ticket's arm, by place.
        status: Whether each ticket's reward was told, by place.
        sums: What was told, in steps, of each arm.
        missing: How many planned pulls have no reward.
        deadlines: When tickets expire; None without a window.
    """

    def __init__(
        self, plan: Plan | None, number: int, first: int, window: Window | None, rng: np.random.Generator
    ) -> None:
        pulls = plan.pulls if plan is not None else {}
        planned = list(pulls.values())
        self.number, self.first = number, first
        self.learns = plan is not None and plan.query is not None
        self.names: list[Arm] = list(pulls)
        self.size = sum(planned)
        self.dealer = Dealer(planned, rng)
        self.handed_out = self.extra = 0
        self.arms, self.status = array("I"), bytearray()
        self.sums = [0] * len(planned)  # exact
        self.missing = self.size if self.learns else 0
        self.deadlines: Deadlines | None = None
        self._in_tickets = window is not None and window.clock is None
        if window is not None and self.learns:
            self.deadlines = Deadlines(window.length, self._in_tickets)

    @property
    def issued(self) -> int:
        """The number of tickets that were handed out, in this epoch and all earlier ones."""
        return self.first + self.handed_out + self.extra

    def hand_out(self, arm: int, now: float | None) -> int:
        """Enter the next planned pull, and return its ticket's number.

        Args:
            arm: The index of its arm.
            now: The time, where there is a window.
        """
        place = self.handed_out
        self.handed_out += 1
        if self.learns:
            self.arms.append(arm)
            self.status.append(OPEN)
            if self.deadlines is not None and now is not None:
                self.deadlines.note(place, self.issued if self._in_tickets else now)
        return self.first + place

    def change(self, place: int, steps: int, status: int) -> None:
        """Count a ticket's reward, or take it back.

        Args:
            place: The ticket's place.
            steps: The reward.
            status: TOLD to count it, OPEN to take it back.
        """
        sign = 1 if status == TOLD else -1
        self.status[place] = status
        self.sums[self.arms[place]] += sign * steps
        self.missing -= sign

    def open_places(self, now: float | None = None) -> list[int]:
        """Return the places of tickets whose rewards are missing and would count.

        Args:
            now: The time, where there is a window.
        """
        first = 0 if self.deadlines is None or now is None else self.deadlines.expired(now, len(self.status))
        return [place for place in range(first, len(self.status)) if self.status[place] == OPEN]

    def is_late(self, place: int, now: float) -> bool:
        """Return True if a ticket has expired: by the clock alone, whether anybody has looked since or not.

        Args:
            place: The ticket's place.
            now: The time.
        """
        return self.deadlines is not None and place < self.deadlines.expired(now, len(self.status))

    @property
    def closes_at(self) -> float | None:
        """The deadline of the last planned pull, if it was handed out; None before, or without a window."""
        return self.deadlines.last if self.deadlines is not None and self.handed_out == self.size else None

    def totals(self, default: int = 0) -> dict[Arm, int]:
        """Return the exact total of each arm. Rewards that are missing take the default.

        Args:
            default: The default, in steps.
        """
        totals = self.sums
        if self.missing:
            untold = np.frombuffer(bytes(self.status), np.uint8) == OPEN
            missing = np.bincount(np.array(self.arms)[untold], minlength=len(totals)).tolist()
            totals = [total + count * default for total, count in zip(totals, missing, strict=True)]
        return {arm: totals[index] for index, arm in enumerate(self.names)}

    # ------------------------------------------------------------------ saving

    def state(self) -> dict[str, Any]:
        """Return it as JSON values. They are secret."""
        return {
            "first": self.first,
            "extra": self.extra,
            "dealt": list(self.dealer.dealt),
            "sums": list(self.sums),
            "status": _pack(bytes(self.status)),
            "arms": _pack(np.array(self.arms, dtype="<u4").tobytes()),
            "deadlines": None if self.deadlines is None else self.deadlines.state(),
        }

    def restore(self, state: dict[str, Any], width: int) -> None:
        """Go on from a saved state.

        Args:
            state: What `state` returned.
            width: The largest reward, in steps.

        Raises:
            StateError: It is whole, but makes no sense.
        """
        self.first, self.extra = int(state["first"]), int(state["extra"])
        self.dealer.dealt = [int(count) for count in state["dealt"]]
        self.handed_out = sum(self.dealer.dealt)
        self.sums = [int(total) for total in state["sums"]]
        self.status = bytearray(_unpack(state["status"]))
        self.arms = array("I", np.frombuffer(_unpack(state["arms"]), dtype="<u4").tolist())
        told = self.status.count(TOLD)
        self.missing -= told
        self._check(told, width)
        if (state["deadlines"] is None) is not (self.deadlines is None):
            raise StateError("the saved deadlines do not fit the saved window")
        if self.deadlines is not None:
            self.deadlines.restore(state["deadlines"], self.handed_out)

    def _check(self, told: int, width: int) -> None:
        """Refuse a state that makes no sense at once, not at the next close."""
        planned = self.dealer.planned
        dealt = [0] * len(planned)
        for arm in self.arms:
            dealt[arm] += 1
        if not self.learns:
            dealt = self.dealer.dealt
        fits = (
            dealt == self.dealer.dealt
            and all(0 <= count <= most for count, most in zip(dealt, planned, strict=True))
            and len(self.arms) == len(self.status) == (self.handed_out if self.learns else 0)
            and self.status.count(OPEN) + told == len(self.status)
            and len(self.sums) == len(planned)
            and all(0 <= total <= told * width for total in self.sums)
            and (self.missing > 0 or not self.learns or self.deadlines is not None)
            and min(self.first, self.extra) >= 0
            and (not self.extra or self.handed_out == self.size)
        )
        if not fits:
            raise StateError("the saved tickets do not fit the saved plan")


def comparable(state: dict[str, Any]) -> dict[str, Any]:
    """Return a saved state with its tickets as they are before they are compressed, which may be done otherwise."""
    return {**state, **{name: _unpack(state[name]).hex() for name in ("status", "arms")}}


def _pack(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


def _unpack(packed: str) -> bytes:
    return zlib.decompress(base64.b64decode(packed))

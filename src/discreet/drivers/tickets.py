"""Tickets: pulls that were handed out, what became of their rewards, and the order in which arms are dealt."""

import hashlib
import secrets
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from discreet._display import page_of
from discreet.core.errors import TicketError
from discreet.core.plans import Arm

_BLOCKS = 256  # permuted blocks that are dealt at a time, and about this many pulls at most:
_QUEUE = 2**14
_TAG = 16  # hexadecimal digits of a tag
_TAGS = 1024  # tags that are derived at a time


class Ticket(NamedTuple):
    """One pull that was handed out.

    Attributes:
        arm: The arm to pull.
        number: The ticket's number, from 0 for each `Bandit`.
        epoch: The epoch that it belongs to.
        issuer: The name of the process's `Bandit` that issued it.
        tag: What nobody can guess of it.
    """

    arm: Arm
    number: int
    epoch: int
    issuer: str
    tag: str

    @property
    def id(self) -> str:
        """A text that names the ticket in messages. `tell` takes it too. It cannot be guessed."""
        return f"{self.issuer}-{self.number}-{self.tag}"

    def _repr_html_(self) -> str:
        return page_of(self, "arm", "number", "epoch", "id").html()


class Issuer:
    """The source of tickets' tags: one for each `Bandit` in each process that it lived in.

    A tag is a keyed hash of the ticket's number, so nobody can guess the id of a ticket that another person has.

    Args:
        key: The secret key in hexadecimal digits, for an issuer from a file; by default a new one.
    """

    def __init__(self, key: str | None = None) -> None:
        self.key = secrets.token_hex(16) if key is None else key
        self.name = hashlib.sha256(f"name {self.key}".encode()).hexdigest()[:16]
        self._block, self._tags = -1, [""]  # the tags that were derived last

    def tag(self, number: int) -> str:
        """Return the tag of a ticket."""
        block = number // _TAGS
        if block != self._block:
            self._block, self._tags = block, _tags(self.key, block)
        return self._tags[number % _TAGS]


@lru_cache(maxsize=64)
def _tags(key: str, block: int) -> list[str]:
    digest = hashlib.shake_128(f"{key} {block}".encode()).hexdigest(_TAG * _TAGS // 2)
    return [digest[start : start + _TAG] for start in range(0, len(digest), _TAG)]


class Issuers:
    """The issuers of all tickets of a `Bandit`: the one of this process, and those from before a reload.

    Attributes:
        current: The issuer of new tickets.
    """

    def __init__(self) -> None:
        self.current = Issuer()
        self._earlier: dict[str, tuple[Issuer, int]] = {}  # and how many tickets each has issued

    def number(self, ticket: Any, issued: int) -> int:
        """Return the number of a ticket that was issued here.

        Args:
            ticket: A ticket, or its id.
            issued: The number of tickets that were handed out, ever.

        Raises:
            TicketError: It was not issued here.
        """
        if isinstance(ticket, Ticket):
            _, number, _, name, tag = ticket
        elif isinstance(ticket, str):
            name, number, tag = _parse(ticket)
        else:
            raise TicketError(f"ticket must be a Ticket or its id, got {ticket!r}")
        issuer = self.current
        if name != issuer.name:
            if name not in self._earlier:
                raise TicketError(f"ticket {ticket!r} was not issued by this bandit; tell it to the one that issued it")
            issuer, issued = self._earlier[name]
        if type(number) is not int or not 0 <= number < issued or issuer.tag(number) != tag:
            raise TicketError(f"ticket {ticket!r} is unknown to this bandit; ask again")
        return number

    def state(self, issued: int) -> dict[str, int]:
        """Return the keys of all issuers, and how many tickets each has issued. Keys are secret.

        Args:
            issued: The number of tickets that were handed out, ever.
        """
        return {**{issuer.key: count for issuer, count in self._earlier.values()}, self.current.key: issued}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state, with a new issuer for new tickets."""
        self._earlier = {}
        for key, issued in state.items():
            if key != self.current.key:
                issuer = Issuer(str(key))
                self._earlier[issuer.name] = issuer, int(issued)

    def fit(self, issued: int) -> bool:
        """Return True if no issuer has issued more tickets than were handed out, ever."""
        return all(0 <= count <= issued for _, count in self._earlier.values())


def _parse(text: str) -> tuple[str, int, str]:
    """Return the parts of a ticket's id: issuer, number and tag."""
    parts = text.split("-")
    if len(parts) == 3 and parts[1].isdecimal() and parts[1].isascii() and len(parts[1]) < 20:
        return parts[0], int(parts[1]), parts[2]
    raise TicketError(f"ticket must be a Ticket or its id, got {text!r}")


class Told(StrEnum):
    """The outcome of telling a reward.

    Attributes:
        DUPLICATE: Told or expired before. The first reward stands.
        LATE: Its window has passed, or its epoch has closed with the reward that came first, or with the default.
        UNUSED: This pull decides nothing, so its reward is not kept.
    """

    COUNTED = "counted"
    DUPLICATE = "duplicate"
    LATE = "late"
    UNUSED = "unused"


class Dealer:
    """Deals an epoch's pulls in randomly permuted blocks: one pull of every arm that has some left.

    So the order reveals nothing, and arms stay balanced at every moment of the epoch. The generator is no secret.

    Args:
        planned: The number of pulls of each arm.
        rng: The generator of the order.

    >>> dealer = Dealer([3, 3], np.random.default_rng(0))
    >>> [dealer.deal() for _ in range(7)]
    [1, 0, 1, 0, 1, 0, None]
    """

    def __init__(self, planned: list[int], rng: np.random.Generator) -> None:
        self.planned = planned
        self.dealt = [0] * len(planned)
        self._rng = rng
        self._queue: list[int] = []

    def deal(self) -> int | None:
        """Return the index of the next arm; None when all pulls are dealt."""
        if not self._queue and not self._refill():
            return None
        arm = self._queue.pop()
        self.dealt[arm] += 1
        return arm

    @property
    def empty(self) -> bool:
        """True when all pulls are dealt."""
        return not self._queue and not self._refill()

    def _refill(self) -> bool:
        if len(self.planned) == 1:
            self._queue = [0] * min(self.planned[0] - self.dealt[0], _BLOCKS)
            return bool(self._queue)
        left = [planned - dealt for planned, dealt in zip(self.planned, self.dealt, strict=True)]
        arms = [arm for arm, rest in enumerate(left) if rest]
        if not arms:
            return False
        ahead = max(self.dealt)
        behind = [arm for arm in arms if self.dealt[arm] < ahead]
        if len(arms) == 1:
            self._queue = arms * min(left[arms[0]], _BLOCKS)
        elif behind:  # the rest of a block that was begun before a reload, or arms with fewer pulls than others
            self._queue = self._rng.permutation(behind).tolist()
        else:
            blocks = min(_BLOCKS, 1 + _QUEUE // len(arms), *(left[arm] for arm in arms))
            self._queue = self._rng.permuted(np.tile(arms, (blocks, 1)), axis=1).ravel().tolist()
        return True

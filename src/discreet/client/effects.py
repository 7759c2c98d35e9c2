"""What a client does to the world, as values: so that its logic is written once, without a thread and without `await`.

An operation is a generator. It yields an effect, the shell around it (`blocking` or `awaiting`) carries it out, and the
generator goes on with the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Send:
    """One HTTP request. The outcome is a `Reply`, or `Unanswered` is thrown in."""

    method: str
    path: str
    timeout: float
    query: dict[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)  # rewards travel in it


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Call a function that takes its time, such as a query over a log. The outcome is what it gives."""

    function: Callable[[], Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)


class Unanswered(Exception):
    """No reply came: thrown into steps, and never out. `arrived` says whether the request may have got there."""

    def __init__(self, why: str, arrived: bool) -> None:
        super().__init__(why)
        self.arrived = arrived


Effect = Send | Pause | Work
Steps = Generator[Effect, Any, T]

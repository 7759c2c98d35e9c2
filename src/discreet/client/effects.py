"""Effects, and operations written as generators of effects (sans I/O).

An operation is a generator. It yields an effect, such as "send this request"; the client carries it out and sends the
outcome back in. So all logic is written once, for `Client` (threads) and `AsyncClient` (asyncio), and is tested
without either.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Send:
    """Send one HTTP request. The outcome is a `Reply`, or `Unanswered` is thrown in.

    Args:
        method: The HTTP method.
        path: The path below the service's address.
        timeout: Seconds to wait for the reply.
        query: The query parameters.
        body: The JSON body, which may contain rewards and is therefore never printed.
    """

    method: str
    path: str
    timeout: float
    query: dict[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait.

    Args:
        seconds: The time to wait.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Call a slow function, such as a query over a log. The outcome is its result.

    Args:
        function: The function to call, without arguments.
    """

    function: Callable[[], Any] = field(repr=False)


Effect = Send | Pause | Work
Effects = Generator[Effect, Any, T]


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to an HTTP request.

    Args:
        status: The HTTP status.
        headers: The headers, with lower-case names.
        body: The body, which is never printed.
    """

    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)


class Unanswered(Exception):
    """No reply came. Thrown into operations, which never let it out.

    Args:
        why: The reason.
        arrived: True if the request may have reached the service.
    """

    def __init__(self, why: str, arrived: bool) -> None:
        super().__init__(why)
        self.arrived = arrived


class Blocking(ABC):
    """An object whose operations return their result."""

    @abstractmethod
    def run(self, effects: Effects[T]) -> T:
        """Carry out the effects of an operation and return its result."""


class Awaiting(ABC):
    """An object whose operations return a coroutine."""

    @abstractmethod
    async def run(self, effects: Effects[T]) -> T:
        """Carry out the effects of an operation and return its result."""


class operation(Generic[P, T]):  # noqa: N801  (a decorator)
    """Decorator of a generator method: a call runs it by the object's own `run`.

    Args:
        generator: The method, which yields effects.
    """

    def __init__(self, generator: Callable[Concatenate[Any, P], Effects[T]]) -> None:
        self._generator = generator
        functools.update_wrapper(self, generator)  # type: ignore[arg-type]

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: Awaiting, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self

        @functools.wraps(self._generator)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return owner.run(self._generator(owner, *args, **kwargs))

        return call

"""One logic for two ways of running: threads and asyncio.

All logic is written once, as coroutines that wait only in methods of a `Runtime`. Those of the blocking client do not
suspend, so that each of its coroutines runs to its end in one step, without an event loop.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

import httpx

P = ParamSpec("P")
T = TypeVar("T")


class Runtime(Protocol):
    """The connections of a client, its pauses, and its background sender of reports."""

    @property
    def http(self) -> httpx.Client | httpx.AsyncClient:
        """The connections."""

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send one HTTP request and return its response.

        Args:
            method: The HTTP method.
            path: The path below the service's address.
            **options: More arguments of httpx's `request`.
        """

    async def pause(self, seconds: float) -> None:
        """Wait for some seconds."""

    async def work(self, function: Callable[[], T]) -> T:
        """Return the result of a slow function, such as a query over a log."""

    async def wait_for_reports(self, seconds: float) -> None:
        """Wait for some seconds, or until the sender is woken."""

    def wake(self, send_reports: Callable[[], Coroutine[Any, Any, None]], full: bool) -> None:
        """Start the sender if there is none, and wake it if a batch is full.

        Args:
            send_reports: The sender's coroutine.
            full: True if a batch is full.
        """

    async def close(self) -> None:
        """End the sender, and close the connections."""


class Blocking:
    """An object whose operations return their result."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run an operation and return its result."""
        try:
            work.send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        raise AssertionError("an operation of the blocking client was suspended")


class Awaiting:
    """An object whose operations return a coroutine."""

    def run(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Return an operation, to be awaited."""
        return work


class operation(Generic[P, T]):  # noqa: N801  (a decorator)
    """Decorator of a coroutine method: a call runs it by the object's own `run`.

    Args:
        method: The method.
    """

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: Awaiting, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self

        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return owner.run(self._method(owner, *args, **kwargs))

        return call

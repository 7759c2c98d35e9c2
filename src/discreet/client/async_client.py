"""The client for asyncio. A background task, started by the first report, sends reports."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Self, TypeVar, overload

import httpx

from discreet.client.experiment import ExperimentOperations, Trial
from discreet.client.running import Awaiting
from discreet.client.service import ServiceOperations
from discreet.service.messages import Assignment

T = TypeVar("T")


class AsyncioRuntime:
    """Connections of asyncio, and a task that sends reports.

    Args:
        transport: A transport of httpx, for tests.
        **options: Arguments of httpx's client.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None, **options: Any) -> None:
        self.http = httpx.AsyncClient(transport=transport, **options)
        self._wake = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send one HTTP request and return its response.

        Args:
            method: The HTTP method.
            path: The path below the service's address.
            **options: More arguments of httpx's `request`.
        """
        return await self.http.request(method, path, **options)

    async def pause(self, seconds: float) -> None:
        """Wait for some seconds."""
        await asyncio.sleep(seconds)

    async def work(self, function: Callable[[], T]) -> T:
        """Return the result of a slow function, which runs in a thread."""
        return await asyncio.to_thread(function)

    async def wait_for_reports(self, seconds: float) -> None:
        """Wait for some seconds, or until the sender is woken."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
        self._wake.clear()

    def wake(self, send_reports: Callable[[], Coroutine[Any, Any, None]], full: bool) -> None:
        """Start the task if there is none, and wake it if a batch is full.

        Args:
            send_reports: The sender's coroutine.
            full: True if a batch is full.
        """
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(send_reports(), name="discreet-reports")
        if full:
            self._wake.set()

    async def close(self) -> None:
        """End the task, and close the connections."""
        if self._sender is not None:
            self._sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sender
        await self.http.aclose()


class AsyncExperiment(ExperimentOperations, Awaiting):
    """Handle on one experiment of a service. Made by `AsyncClient.experiment`."""

    @overload
    async def assign(self, unit: str) -> Assignment: ...
    @overload
    async def assign(self, unit: list[str] | tuple[str, ...]) -> list[Assignment]: ...
    async def assign(self, unit: str | list[str] | tuple[str, ...]) -> Assignment | list[Assignment]:
        """Return the assignment of a unit, or a list of them for many units.

        A unit keeps its assignment while the epoch lasts.
        """
        return await self._assign(unit)

    @contextlib.asynccontextmanager
    async def trial(self, unit: str) -> AsyncIterator[Trial]:
        """Assign a unit, and report its reward when the block ends, also by an exception.

        A trial without an event reports the default reward, so the existence of a report reveals nothing.
        """
        trial = await self._begin(unit)
        try:
            yield trial
        finally:
            await self._end(trial)


class AsyncClient(ServiceOperations[httpx.AsyncBaseTransport, AsyncExperiment], Awaiting):
    """Client of a discreet service for asyncio. It behaves as `Client`, with one exception.

    Pending reports are not sent at the end of the program: use `async with`, or await `close()`.

    Args:
        address: The URL of the service. By default the environment's DISCREET_ADDRESS.
        key: The API key. By default the environment's DISCREET_KEY.
        patience: Seconds to keep trying a call while the service cannot be reached, is busy or restarts.
        timeout: Seconds for one attempt.
        batch: The number of queued reports that are sent at once.
        delay: Seconds after which fewer reports are sent.
        room: The most reports that may be pending.
        when_full: "drop" loses a new report when there is no room, so that no page waits; it counts as the
            experiment's default reward. "wait" makes the caller wait for up to `patience` seconds.
        transport: A transport of httpx, for tests.
        clock: A monotonic clock in seconds, for tests.
    """

    _handle, _runtime = AsyncExperiment, AsyncioRuntime

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

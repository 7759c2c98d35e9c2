"""The client for programs without asyncio. A background thread, started by the first report, sends reports."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Self, TypeVar, overload

import httpx

from discreet.client.experiment import ExperimentOperations, Trial
from discreet.client.running import Blocking
from discreet.client.service import ServiceOperations
from discreet.service.messages import Assignment

T = TypeVar("T")


class ThreadRuntime:
    """Blocking connections, and a thread that sends reports.

    Args:
        transport: A transport of httpx, for tests.
        **options: Arguments of httpx's client.
    """

    def __init__(self, transport: httpx.BaseTransport | None, **options: Any) -> None:
        self.http = httpx.Client(transport=transport, **options)
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._sender: threading.Thread | None = None

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send one HTTP request and return its response.

        Args:
            method: The HTTP method.
            path: The path below the service's address.
            **options: More arguments of httpx's `request`.
        """
        return self.http.request(method, path, **options)

    async def pause(self, seconds: float) -> None:
        """Wait for some seconds."""
        time.sleep(seconds)

    async def work(self, function: Callable[[], T]) -> T:
        """Return the result of a slow function."""
        return function()

    async def wait_for_reports(self, seconds: float) -> None:
        """Wait for some seconds, or until the sender is woken."""
        self._wake.wait(seconds)
        self._wake.clear()

    def wake(self, send_reports: Callable[[], Coroutine[Any, Any, None]], full: bool) -> None:
        """Start the thread if there is none, and wake it if a batch is full.

        Args:
            send_reports: The sender's coroutine.
            full: True if a batch is full.
        """
        with self._starting:
            if self._sender is None:
                sender = threading.Thread(
                    target=lambda: Blocking().run(send_reports()), name="discreet-reports", daemon=True
                )
                with contextlib.suppress(RuntimeError):  # the program is ending: `close` will send the report
                    sender.start()
                    self._sender = sender
        if full:
            self._wake.set()

    async def close(self) -> None:
        """End the thread, if it does not take longer than a call may, and close the connections."""
        self._wake.set()
        if self._sender is not None and self._sender is not threading.current_thread():
            self._sender.join(self.http.timeout.read)
        self.http.close()


class Experiment(ExperimentOperations, Blocking):
    """Handle on one experiment of a service. Made by `Client.experiment`."""

    @overload
    def assign(self, unit: str) -> Assignment: ...
    @overload
    def assign(self, unit: list[str] | tuple[str, ...]) -> list[Assignment]: ...
    def assign(self, unit: str | list[str] | tuple[str, ...]) -> Assignment | list[Assignment]:
        """Return the assignment of a unit, or a list of them for many units.

        A unit keeps its assignment while the epoch lasts.
        """
        return self.run(self._assign(unit))

    @contextlib.contextmanager
    def trial(self, unit: str) -> Iterator[Trial]:
        """Assign a unit, and report its reward when the block ends, also by an exception.

        A trial without an event reports the default reward, so the existence of a report reveals nothing.
        """
        trial = self.run(self._begin(unit))
        try:
            yield trial
        finally:
            self.run(self._end(trial))


class Client(ServiceOperations[httpx.BaseTransport, Experiment], Blocking):
    """Client of a discreet service, safe for threads.

    Reports are queued and sent in the background: when `batch` of them are queued, when the oldest is `delay` seconds
    old, and at `close()`, the end of a `with` block or of the program.

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

    _handle, _runtime = Experiment, ThreadRuntime

    def _begin(self) -> None:
        super()._begin()
        _CLIENTS[self] = weakref.WeakMethod(self._begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_CLIENTS: weakref.WeakKeyDictionary[Client, weakref.WeakMethod[Callable[[], None]]] = weakref.WeakKeyDictionary()
"""All clients of this process, each with its method that starts it anew after a fork."""


@atexit.register
def _close_all() -> None:
    for client in list(_CLIENTS):
        client.close()


def _begin_again() -> None:
    """Start all clients anew in a forked child: their reports and connections belong to the parent."""
    for client, begin in list(_CLIENTS.items()):
        if not client.logic.outbox.closed and (again := begin()) is not None:
            again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)

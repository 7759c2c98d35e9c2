"""The client for programs without asyncio. A background thread, started by the first report, sends reports."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar, overload

import httpx

from discreet.client.api import Connection, as_reply, as_unanswered
from discreet.client.effects import Blocking, Effect, Effects, Pause, Reply, Send, Work
from discreet.client.experiment import ExperimentOperations, Trial
from discreet.client.logic import ClientLogic
from discreet.client.service import ServiceOperations
from discreet.core.errors import UnreachableError
from discreet.service.messages import Assignment

T = TypeVar("T")


class Client(ServiceOperations, Blocking):
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

    def __init__(
        self,
        address: str | None = None,
        key: str | None = None,
        *,
        patience: float = 10.0,
        timeout: float = 3.0,
        batch: int = 1000,
        delay: float = 1.0,
        room: int = 100_000,
        when_full: str = "drop",
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = Connection.make(address, key)
        self._transport = transport
        self._make_logic: Callable[[], ClientLogic] = lambda: ClientLogic(
            patience=patience, timeout=timeout, batch=batch, delay=delay, room=room, when_full=when_full, clock=clock
        )
        self._begin()
        _CLIENTS[self] = weakref.WeakMethod(self._begin)

    def _begin(self) -> None:
        """Start with an empty outbox and new connections."""
        self.logic = self._make_logic()
        self._http = httpx.Client(transport=self._transport, **self._connection.options)
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self.logic.outbox.on_queued = self._wake_sender
        self._sender: threading.Thread | None = None

    # ------------------------------------------------------------------ user's side

    def experiment(self, name: str, *, fallback: str | None = None, default_reward: float | None = None) -> Experiment:
        """Return a handle on an experiment. Nothing is sent.

        Args:
            name: The experiment's name or id.
            fallback: The arm that `assign` and trials return, without learning, if the service fails. By default they
                raise an error.
            default_reward: The reward that a trial without an event reports, which must be the experiment's own. By
                default the service is asked for it once, which needs a key with the scope "analyse".
        """
        return Experiment(self, name, fallback, default_reward)

    @property
    def pending(self) -> int:
        """Number of reports that are queued or being sent."""
        return self.logic.outbox.pending

    @property
    def lost(self) -> int:
        """Number of reports that will never arrive; they count as the default reward."""
        return self.logic.outbox.lost

    def close(self) -> None:
        """Send all reports, for up to `patience` seconds, and close the connection."""
        if self.logic.outbox.closed:
            return
        self.logic.outbox.close()
        self._wake.set()
        try:
            self.run(self.logic.finish())
        finally:
            if self._sender is not None and self._sender is not threading.current_thread():
                self._sender.join(self.logic.timeout)
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._connection.address!r})"

    # ------------------------------------------------------------------ effects

    def run(self, effects: Effects[T]) -> T:
        """Carry out the effects of an operation and return its result."""
        return self._carry_out(effects, time.sleep)

    def _carry_out(self, effects: Effects[T], pause: Callable[[float], object]) -> T:
        try:
            effect = next(effects)
            while True:
                try:
                    outcome = self._do(effect, pause)
                except BaseException as error:
                    effect = effects.throw(error)
                else:
                    effect = effects.send(outcome)
        except StopIteration as end:
            result: T = end.value
            return result

    def _do(self, effect: Effect, pause: Callable[[float], object]) -> Any:
        match effect:
            case Send():
                return self._send(effect)
            case Pause(seconds):
                return pause(seconds)
            case Work(function):
                return function()

    def _send(self, send: Send) -> Reply:
        try:
            return as_reply(
                self._http.request(send.method, send.path, params=send.query, content=send.body, timeout=send.timeout)
            )
        except httpx.HTTPError as error:
            raise as_unanswered(error) from None
        except RuntimeError:
            if self._http.is_closed:
                raise UnreachableError("the client is closed") from None
            raise

    # ------------------------------------------------------------------ background sender

    def _wake_sender(self, full: bool) -> None:
        """Start the background thread if there is none, and wake it if a batch is full."""
        with self._starting:
            if self._sender is None:
                sender = threading.Thread(target=self._send_reports, name="discreet-reports", daemon=True)
                with contextlib.suppress(RuntimeError):  # the program is ending: `close` will send the report
                    sender.start()
                    self._sender = sender
        if full:
            self._wake.set()

    def _send_reports(self) -> None:
        def pause(seconds: float) -> None:
            self._wake.wait(seconds)
            self._wake.clear()

        self._carry_out(self.logic.send_reports(), pause)


class Experiment(ExperimentOperations, Blocking):
    """Handle on one experiment of a service. Made by `Client.experiment`."""

    _client: Client

    @overload
    def assign(self, unit: str) -> Assignment: ...
    @overload
    def assign(self, unit: list[str] | tuple[str, ...]) -> list[Assignment]: ...
    def assign(self, unit: str | list[str] | tuple[str, ...]) -> Assignment | list[Assignment]:
        """Return the assignment of a unit, or a list of them for many units.

        A unit keeps its assignment while the epoch lasts.
        """
        if isinstance(unit, str):
            return self.run(self._assign_one(unit))
        return self.run(self._assign_many(unit))

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

    def run(self, effects: Effects[T]) -> T:
        """Carry out the effects of an operation and return its result."""
        return self._client.run(effects)


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

"""`Client`: for threads. A background thread, started by the first report, sends reports in batches."""

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

from discreet.client.connection import Connection, as_reply, as_unanswered
from discreet.client.effects import Effect, Pause, Reply, Send, Steps, Work
from discreet.client.experiment import ExperimentOperations, Trial
from discreet.client.logic import Core
from discreet.client.operation import Blocking
from discreet.client.service import ServiceOperations
from discreet.core.errors import UnreachableError
from discreet.service.http.messages import Assignment

T = TypeVar("T")


class Client(ServiceOperations, Blocking):
    """A discreet service, for programs without `await`; safe for many threads.

    `address` and `key` may also come from the environment: DISCREET_ADDRESS and DISCREET_KEY. A call is tried again
    when the service cannot be reached, is busy or restarts: for up to `patience` seconds in all, `timeout` for a try.

    Reports are queued and sent in the background: when `batch` of them wait, or the first has waited `delay` seconds,
    and at the end of a `with` block, at `close()` or at the program's end. At most `room` wait. When there is no room a
    new one is dropped and counts as the experiment's default (`when_full="drop"`, which never makes a page wait), or
    its caller waits (`"wait"`). `pending` and `lost` say how many wait, and how many will never arrive.
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
        self._make_core: Callable[[], Core] = lambda: Core(
            patience=patience, timeout=timeout, batch=batch, delay=delay, room=room, when_full=when_full, clock=clock
        )
        self._begin()
        _CLIENTS.add(self)

    def _begin(self) -> None:
        """Start with an empty outbox and a connection of this process's own."""
        self._core = self._make_core()
        self._http = httpx.Client(transport=self._transport, **self._connection.options)
        self._starting = threading.Lock()
        self._wake = threading.Event()
        self._core.outbox.on_news = self._see_to_reports
        self._courier: threading.Thread | None = None

    # ------------------------------------------------------------------ use

    def experiment(self, name: str, *, fallback: str | None = None, default_reward: float | None = None) -> Experiment:
        """A handle on an experiment, by its name or id. Nothing is sent yet."""
        return Experiment(self, name, fallback, default_reward)

    @property
    def pending(self) -> int:
        """Reports that wait or are on their way."""
        return self._core.outbox.pending

    @property
    def lost(self) -> int:
        """Reports that will never arrive: they count as the default reward."""
        return self._core.outbox.lost

    def close(self) -> None:
        """Send what waits, for up to `patience` seconds, and let go of the connection."""
        if self._core.outbox.closed:
            return
        self._core.outbox.close()
        self._wake.set()
        try:
            self.run(self._core.finish())
        finally:
            if self._courier is not None and self._courier is not threading.current_thread():
                self._courier.join(self._core.timeout)
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._connection.address!r})"

    # ------------------------------------------------------------------ effects

    def run(self, steps: Steps[T]) -> T:
        """Carry out the effects of an operation, one after the other."""
        return self._carry_out(steps, time.sleep)

    def _carry_out(self, steps: Steps[T], pause: Callable[[float], object]) -> T:
        try:
            effect = next(steps)
            while True:
                try:
                    outcome = self._do(effect, pause)
                except BaseException as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(outcome)
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

    # ------------------------------------------------------------------ the background

    def _see_to_reports(self, full: bool) -> None:
        """Have a thread that sends what waits, and wake it if it is time."""
        with self._starting:
            if self._courier is None:
                courier = threading.Thread(target=self._send_reports, name="discreet-reports", daemon=True)
                with contextlib.suppress(RuntimeError):  # the program ends: `close` will send it
                    courier.start()
                    self._courier = courier
        if full:
            self._wake.set()

    def _send_reports(self) -> None:
        def pause(seconds: float) -> None:
            self._wake.wait(seconds)
            self._wake.clear()

        self._carry_out(self._core.courier(), pause)


class Experiment(ExperimentOperations, Blocking):
    """One experiment of a service: assign, report, look at it, run it."""

    _client: Client

    @overload
    def assign(self, unit: str) -> Assignment: ...
    @overload
    def assign(self, unit: list[str] | tuple[str, ...]) -> list[Assignment]: ...
    def assign(self, unit: str | list[str] | tuple[str, ...]) -> Assignment | list[Assignment]:
        """What a unit gets, or what each of many gets. Asking again gives the same while the epoch lasts."""
        if isinstance(unit, str):
            return self.run(self._assign_one(unit))
        return self.run(self._assign_many(unit))

    @contextlib.contextmanager
    def trial(self, unit: str) -> Iterator[Trial]:
        """Assign a unit and report its reward when the block ends, however it ends.

        So the existence of a report tells nothing: a visit without an event reports the default.
        """
        trial = self.run(self._begin(unit))
        try:
            yield trial
        finally:
            self.run(self._end(trial))

    def run(self, steps: Steps[T]) -> T:
        """Carry out the effects of an operation, one after the other."""
        return self._client.run(steps)


_CLIENTS: weakref.WeakSet[Client] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for client in list(_CLIENTS):
        client.close()


def _begin_again() -> None:
    """In a forked child: reports that wait are the parent's to send, and so are its connections."""
    for client in list(_CLIENTS):
        if not client._core.outbox.closed:
            client._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)

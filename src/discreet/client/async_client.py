"""The client for asyncio. A background task, started by the first report, sends reports."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Self, TypeVar, overload

import httpx

from discreet.client.api import Connection, as_reply, as_unanswered
from discreet.client.effects import Awaiting, Effect, Effects, Pause, Reply, Send, Work
from discreet.client.experiment import ExperimentOperations, Trial
from discreet.client.logic import ClientLogic
from discreet.client.service import ServiceOperations
from discreet.core.errors import UnreachableError
from discreet.service.messages import Assignment

T = TypeVar("T")


class AsyncClient(ServiceOperations, Awaiting):
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
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = Connection.make(address, key)
        self.logic = ClientLogic(
            patience=patience, timeout=timeout, batch=batch, delay=delay, room=room, when_full=when_full, clock=clock
        )
        self._http = httpx.AsyncClient(transport=transport, **self._connection.options)
        self._wake = asyncio.Event()
        self.logic.outbox.on_queued = self._wake_sender
        self._sender: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------ user's side

    def experiment(
        self, name: str, *, fallback: str | None = None, default_reward: float | None = None
    ) -> AsyncExperiment:
        """Return a handle on an experiment. Nothing is sent.

        Args:
            name: The experiment's name or id.
            fallback: The arm that `assign` and trials return, without learning, if the service fails. By default they
                raise an error.
            default_reward: The reward that a trial without an event reports, which must be the experiment's own. By
                default the service is asked for it once, which needs a key with the scope "analyse".
        """
        return AsyncExperiment(self, name, fallback, default_reward)

    @property
    def pending(self) -> int:
        """Number of reports that are queued or being sent."""
        return self.logic.outbox.pending

    @property
    def lost(self) -> int:
        """Number of reports that will never arrive; they count as the default reward."""
        return self.logic.outbox.lost

    async def close(self) -> None:
        """Send all reports, for up to `patience` seconds, and close the connection."""
        if self.logic.outbox.closed:
            return
        self.logic.outbox.close()
        self._wake.set()
        try:
            await self.run(self.logic.finish())
        finally:
            if self._sender is not None:
                self._sender.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._sender
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.address!r})"

    # ------------------------------------------------------------------ effects

    async def run(self, effects: Effects[T]) -> T:
        """Carry out the effects of an operation and return its result."""
        return await self._carry_out(effects, asyncio.sleep)

    async def _carry_out(self, effects: Effects[T], pause: Callable[[float], Awaitable[object]]) -> T:
        try:
            effect = next(effects)
            while True:
                try:
                    outcome = await self._do(effect, pause)
                except BaseException as error:
                    effect = effects.throw(error)
                else:
                    effect = effects.send(outcome)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _do(self, effect: Effect, pause: Callable[[float], Awaitable[object]]) -> Any:
        match effect:
            case Send():
                return await self._send(effect)
            case Pause(seconds):
                return await pause(seconds)
            case Work(function):
                return await asyncio.to_thread(function)

    async def _send(self, send: Send) -> Reply:
        try:
            return as_reply(
                await self._http.request(
                    send.method, send.path, params=send.query, content=send.body, timeout=send.timeout
                )
            )
        except httpx.HTTPError as error:
            raise as_unanswered(error) from None
        except RuntimeError:
            if self._http.is_closed:
                raise UnreachableError("the client is closed") from None
            raise

    # ------------------------------------------------------------------ background sender

    def _wake_sender(self, full: bool) -> None:
        """Start the background task if there is none, and wake it if a batch is full."""
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._send_reports(), name="discreet-reports")
        if full:
            self._wake.set()

    async def _send_reports(self) -> None:
        async def pause(seconds: float) -> None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), seconds)
            self._wake.clear()

        await self._carry_out(self.logic.send_reports(), pause)


class AsyncExperiment(ExperimentOperations, Awaiting):
    """Handle on one experiment of a service. Made by `AsyncClient.experiment`."""

    _client: AsyncClient

    @overload
    async def assign(self, unit: str) -> Assignment: ...
    @overload
    async def assign(self, unit: list[str] | tuple[str, ...]) -> list[Assignment]: ...
    async def assign(self, unit: str | list[str] | tuple[str, ...]) -> Assignment | list[Assignment]:
        """Return the assignment of a unit, or a list of them for many units.

        A unit keeps its assignment while the epoch lasts.
        """
        if isinstance(unit, str):
            return await self.run(self._assign_one(unit))
        return await self.run(self._assign_many(unit))

    @contextlib.asynccontextmanager
    async def trial(self, unit: str) -> AsyncIterator[Trial]:
        """Assign a unit, and report its reward when the block ends, also by an exception.

        A trial without an event reports the default reward, so the existence of a report reveals nothing.
        """
        trial = await self.run(self._begin(unit))
        try:
            yield trial
        finally:
            await self.run(self._end(trial))

    async def run(self, effects: Effects[T]) -> T:
        """Carry out the effects of an operation and return its result."""
        return await self._client.run(effects)

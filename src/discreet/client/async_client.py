"""`AsyncClient`: the same for asyncio. A background task, started by the first report, sends reports in batches."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Self, TypeVar, overload

import httpx

from discreet.client.connection import Connection, as_reply, as_unanswered
from discreet.client.effects import Effect, Pause, Reply, Send, Steps, Work
from discreet.client.experiment import ExperimentOperations, Trial
from discreet.client.logic import Core
from discreet.client.operation import Awaiting
from discreet.client.service import ServiceOperations
from discreet.core.errors import UnreachableError
from discreet.service.http.messages import Assignment

T = TypeVar("T")


class AsyncClient(ServiceOperations, Awaiting):
    """A discreet service, for programs with `await`. Its arguments and its behaviour are those of `Client`.

    There is no way to send reports when the program ends by itself: use `async with`, or await `close()`.
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
        self._core = Core(
            patience=patience, timeout=timeout, batch=batch, delay=delay, room=room, when_full=when_full, clock=clock
        )
        self._http = httpx.AsyncClient(transport=transport, **self._connection.options)
        self._wake = asyncio.Event()
        self._core.outbox.on_news = self._see_to_reports
        self._courier: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------ use

    def experiment(
        self, name: str, *, fallback: str | None = None, default_reward: float | None = None
    ) -> AsyncExperiment:
        """A handle on an experiment, by its name or id. Nothing is sent yet."""
        return AsyncExperiment(self, name, fallback, default_reward)

    @property
    def pending(self) -> int:
        """Reports that wait or are on their way."""
        return self._core.outbox.pending

    @property
    def lost(self) -> int:
        """Reports that will never arrive: they count as the default reward."""
        return self._core.outbox.lost

    async def close(self) -> None:
        """Send what waits, for up to `patience` seconds, and let go of the connection."""
        if self._core.outbox.closed:
            return
        self._core.outbox.close()
        self._wake.set()
        try:
            await self.run(self._core.finish())
        finally:
            if self._courier is not None:
                self._courier.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._courier
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.address!r})"

    # ------------------------------------------------------------------ effects

    async def run(self, steps: Steps[T]) -> T:
        """Carry out the effects of an operation, one after the other."""
        return await self._carry_out(steps, asyncio.sleep)

    async def _carry_out(self, steps: Steps[T], pause: Callable[[float], Awaitable[object]]) -> T:
        try:
            effect = next(steps)
            while True:
                try:
                    outcome = await self._do(effect, pause)
                except BaseException as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(outcome)
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

    # ------------------------------------------------------------------ the background

    def _see_to_reports(self, full: bool) -> None:
        """Have a task that sends what waits, and wake it if it is time."""
        if self._courier is None:
            self._courier = asyncio.get_running_loop().create_task(self._send_reports(), name="discreet-reports")
        if full:
            self._wake.set()

    async def _send_reports(self) -> None:
        async def pause(seconds: float) -> None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), seconds)
            self._wake.clear()

        await self._carry_out(self._core.courier(), pause)


class AsyncExperiment(ExperimentOperations, Awaiting):
    """One experiment of a service: assign, report, look at it, run it."""

    _client: AsyncClient

    @overload
    async def assign(self, unit: str) -> Assignment: ...
    @overload
    async def assign(self, unit: list[str] | tuple[str, ...]) -> list[Assignment]: ...
    async def assign(self, unit: str | list[str] | tuple[str, ...]) -> Assignment | list[Assignment]:
        """What a unit gets, or what each of many gets. Asking again gives the same while the epoch lasts."""
        if isinstance(unit, str):
            return await self.run(self._assign_one(unit))
        return await self.run(self._assign_many(unit))

    @contextlib.asynccontextmanager
    async def trial(self, unit: str) -> AsyncIterator[Trial]:
        """Assign a unit and report its reward when the block ends, however it ends.

        So the existence of a report tells nothing: a visit without an event reports the default.
        """
        trial = await self.run(self._begin(unit))
        try:
            yield trial
        finally:
            await self.run(self._end(trial))

    async def run(self, steps: Steps[T]) -> T:
        """Carry out the effects of an operation, one after the other."""
        return await self._client.run(steps)

"""The logic of both clients: retries, batches of reports, fallbacks."""

import logging
import math
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from discreet.client.api import NEVER_SENT, Call, error_in, path, retry_after, silence
from discreet.client.outbox import Outbox
from discreet.client.running import Runtime
from discreet.core import checks
from discreet.core.errors import ArgumentError, FinishedError, ServiceError, UnreachableError
from discreet.service import messages
from discreet.service.messages import MOST_REWARDS, MOST_UNITS, Assignment

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
MOST_TOKEN = 200  # characters of an assignment's token
DELIVERY = 10.0  # seconds to wait for the answer to a batch of reports
log = logging.getLogger("discreet.client")


@dataclass(eq=False, repr=False)
class ClientLogic:
    """The operations of a client that need state: the outbox, and recent outages.

    Args:
        runtime: Sends requests and waits.
        patience: Seconds to keep trying a call.
        timeout: Seconds for one attempt.
        batch: The most reports in a batch.
        delay: Seconds after which a batch that is not full is sent.
        room: The most reports that may be pending.
        when_full: "drop" or "wait".
        clock: A monotonic clock, in seconds.
    """

    runtime: Runtime
    patience: float
    timeout: float
    batch: int
    delay: float
    room: int
    when_full: str
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        checks.positive("patience", self.patience)
        checks.positive("timeout", self.timeout)
        checks.choice("when_full", self.when_full, ("drop", "wait"))
        size = checks.whole("batch", self.batch)
        if size > MOST_REWARDS:
            raise ArgumentError(f"batch must be at most {MOST_REWARDS}, got {size!r}")
        self.outbox = Outbox(checks.whole("room", self.room), size, checks.positive("delay", self.delay), self.clock)
        self._down_until = self._fallback_warned = -math.inf
        self._tries = 0  # failed deliveries since the last success
        self._outage_warned = False

    # ------------------------------------------------------------------ one call

    async def ask(self, call: Call[T], patience: float | None = None, timeout: float | None = None) -> T:
        """Send a request until it is answered or `patience` seconds have passed, and return the answer.

        Args:
            call: The request.
            patience: Seconds to keep trying; 0 for a single attempt. By default the client's.
            timeout: Seconds for one attempt. By default the client's, within `patience`.

        Raises:
            UnreachableError: If no attempt was answered. A request to be done once is not sent again when it may have
                arrived.
            ServiceError: If the service refused.
        """
        end = self.clock() + (self.patience if patience is None else patience)
        tries = 0
        while True:
            left = max(end - self.clock(), 0.01)
            reply = await self._send(call, timeout or min(self.timeout, left))
            if isinstance(reply, UnreachableError):
                failure, pause = reply, 0.0
            elif call.may_repeat(reply.status_code):
                failure, pause = UnreachableError(str(error_in(reply)), status=reply.status_code), retry_after(reply)
            else:
                return call.read(reply)
            pause = max(pause, backoff(tries))
            tries += 1
            if self.clock() + pause >= end:
                raise failure
            await self.runtime.pause(pause)

    async def _send(self, call: Call[Any], timeout: float) -> httpx.Response | UnreachableError:
        """Return the response to one attempt; or, if none came and it may be repeated, the error to raise at last."""
        body = call.body()
        try:
            return await self.runtime.request(call.method, call.path, params=call.query, content=body, timeout=timeout)
        except httpx.HTTPError as error:  # it holds the request with its body, so it goes no further
            why, arrived = silence(error), not isinstance(error, NEVER_SENT)
        except RuntimeError:
            if not self.runtime.http.is_closed:
                raise
            raise UnreachableError("the client is closed") from None
        if arrived and call.once:
            raise UnreachableError(f"{why}: look whether it was done before you repeat it")
        return UnreachableError(f"the service cannot be reached: {why}")

    # ------------------------------------------------------------------ assign

    async def assign(self, experiment: str, units: Sequence[str]) -> list[Assignment]:
        """Return an assignment for each unit.

        Args:
            experiment: The experiment's name or id.
            units: The units' names.
        """
        found: list[Assignment] = []
        for start in range(0, len(units), MOST_UNITS):
            request = messages.AssignRequest(units=list(units[start : start + MOST_UNITS]))
            call = Call("POST", path("experiments", experiment, "assignments"), messages.Assignments, request)
            found += (await self.ask(call)).assignments
        return found

    async def with_fallback(self, operation: Callable[[], Awaitable[T]], instead: T | None) -> T:
        """Return the result of an operation, or `instead` if the service fails.

        For `patience` seconds after an outage the service is not asked again.

        Args:
            operation: The operation.
            instead: The result without the service; None to raise the error.
        """
        if instead is None:
            return await operation()
        if self.clock() < self._down_until:
            return instead
        try:
            return await operation()
        except ServiceError as error:
            if isinstance(error, UnreachableError):
                self._down_until = self.clock() + self.patience
            if self.clock() >= self._fallback_warned + LONGEST_PAUSE:  # not for every visitor
                self._fallback_warned = self.clock()
                log.warning(f"serving the fallback: {error}")
            return instead

    # ------------------------------------------------------------------ report

    async def report(self, assignment: Assignment | str | None, reward: Any) -> bool:
        """Queue a reward.

        Args:
            assignment: The assignment or its token; None for one that does not learn.
            reward: A finite number.

        Returns:
            True if it is queued; False if it is not needed, the token is malformed, or the outbox is full.

        Raises:
            FinishedError: If the client is closed.
        """
        value = finite(reward)
        token = assignment.assignment if isinstance(assignment, Assignment) else assignment
        if token is None or not may_be_token(token):
            return False
        queued = self.outbox.add(token, value)
        if not queued and self.outbox.closed:
            raise FinishedError("the client is closed: report before its with block ends")
        if not queued and self.when_full == "wait":
            queued = await self._make_room(token, value)
        if not queued:
            self.outbox.lose(1)
            self._warn("more reports wait for the service than there is room for; new ones are dropped")
        return queued

    async def _make_room(self, token: str, value: float) -> bool:
        end = self.clock() + self.patience
        while not (queued := self.outbox.add(token, value)) and not self.outbox.closed and self.clock() < end:
            try:
                if not await self.deliver(end - self.clock()):
                    await self.runtime.pause(FIRST_PAUSE)  # all reports are being sent
            except UnreachableError:
                await self.runtime.pause(backoff(self._tries))
        return queued

    async def deliver(self, within: float = DELIVERY) -> bool:
        """Send one batch, in one attempt of at most `within` seconds; return False if none is queued."""
        batch = self.outbox.take()
        if not batch:
            return False
        rewards = [messages.BatchedReward(assignment=token, reward=value) for token, value in batch]
        call = Call("POST", "/v1/rewards:batch", messages.Receipts, messages.RewardBatch(rewards))
        try:
            receipts = await self.ask(call, 0, min(DELIVERY, max(within, 0.1)))
        except UnreachableError:
            self._tries += 1
            self.outbox.put_back(batch)
            raise
        except ServiceError as error:
            self.outbox.lose(len(batch))
            self.outbox.delivered(batch)
            self._warn(f"reports were refused: {error}")
        except BaseException:  # the program ends, or the task is cancelled
            self.outbox.put_back(batch)
            raise
        else:
            self._tries, self._outage_warned = 0, False
            self.outbox.delivered(batch)
            if "unknown" in receipts.statuses:
                log.warning("the service does not know some of the reported assignments")
        return True

    async def send_reports(self) -> None:
        """Send each batch when it is due, until the client is closed. This runs in the background."""
        while not self.outbox.closed:
            wait = self.outbox.due_in()
            if wait is None or wait > 0:
                await self.runtime.wait_for_reports(self.delay if wait is None else wait)
                continue
            try:
                await self.deliver()
            except UnreachableError as error:
                self._warn(f"reports wait: {error}")
                self.outbox.hold(backoff(self._tries))
            except Exception as error:  # must not end the background sender; its message could contain a reward
                self._warn(f"reports wait: {type(error).__name__}")
                self.outbox.hold(LONGEST_PAUSE)

    async def flush(self, patience: float | None = None) -> bool:
        """Send all reports; return False if some could not be sent within `patience` seconds."""
        end = self.clock() + (self.patience if patience is None else patience)
        while self.outbox.pending:
            try:
                if not await self.deliver(end - self.clock()):
                    await self.runtime.pause(0.01)  # the rest is being sent
            except UnreachableError:
                pause = backoff(self._tries)
                if self.clock() + pause >= end:
                    return False
                await self.runtime.pause(pause)
            if self.clock() >= end:
                return not self.outbox.pending
        return True

    async def finish(self) -> None:
        """Refuse further reports and send the rest. Those that cannot be sent will count as the default reward."""
        self.outbox.close()
        if not await self.flush():
            self.outbox.lose(self.outbox.pending)
            log.warning("some reports could not be sent before the end; they will count as the default reward")

    def _warn(self, message: str) -> None:
        """Log a warning once per outage. No count: where only successes are reported, it would be their number."""
        if not self._outage_warned:
            self._outage_warned = True
            log.warning(message)


def backoff(tries: int) -> float:
    """Return the seconds before the next attempt: doubling, and random, so that clients do not return all at once."""
    most = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tries, 20))
    return most * random.uniform(0.5, 1.0)


def fallback_assignment(unit: str | None, arm: str) -> Assignment:
    """Return an assignment made without the service, which does not learn.

    Args:
        unit: The unit's name.
        arm: The fallback arm.
    """
    return Assignment(unit=unit, arm=arm, assignment=None, epoch=None, learn=False, deadline=None)


def may_be_token(token: Any) -> bool:
    """Return True if a text has the form of an assignment's token.

    It may come from a visitor's cookie. A malformed one would have the whole batch refused.
    """
    if not isinstance(token, str):
        raise ArgumentError(f"assignment must be an Assignment or its text, got a {type(token).__name__}")
    return 0 < len(token) <= MOST_TOKEN and token.isascii()


def finite(reward: Any) -> float:
    """Return a reward as a finite float. An error does not repeat it."""
    try:
        value = float(reward)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError("reward must be a finite number") from None
    return value


def unit_name(unit: Any) -> str:
    """Return a unit's name, which must be text. The service keeps only a keyed digest of it."""
    if not isinstance(unit, str):
        raise ArgumentError(f"unit must be text, such as an account's name, got a {type(unit).__name__}; use str(...)")
    return unit

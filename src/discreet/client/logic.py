"""What both clients do, without doing it: retries, batches, fallbacks. The shells carry out the effects."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from discreet.client.calls import Call, path, problem, waiting_time
from discreet.client.effects import Pause, Steps, Unanswered
from discreet.client.outbox import Batch, Outbox
from discreet.core import checks
from discreet.core.errors import ArgumentError, FinishedError, ServiceError, UnreachableError
from discreet.service.http.messages import (
    MOST_REWARDS,
    MOST_UNITS,
    Assignment,
    Assignments,
    AssignRequest,
    BatchedReward,
    Receipts,
    RewardBatch,
)

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
MOST_TOKEN = 200  # letters of an assignment
DELIVERY = 10.0  # seconds for one batch of reports to be answered
log = logging.getLogger("discreet.client")


class Core:
    """The logic of a client and what it remembers: reports that wait, and whether the service was down just now."""

    def __init__(
        self,
        *,
        patience: float,
        timeout: float,
        batch: int,
        delay: float,
        room: int,
        when_full: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.patience = checks.positive("patience", patience)
        self.timeout = checks.positive("timeout", timeout)
        self.when_full = checks.choice("when_full", when_full, ("drop", "wait"))
        size = checks.whole("batch", batch)
        if size > MOST_REWARDS:
            raise ArgumentError(f"batch must be at most {MOST_REWARDS}, got {batch!r}")
        self.outbox = Outbox(checks.whole("room", room), size, checks.positive("delay", delay), clock)
        self.clock = clock
        self._down_until = self._mentioned = -math.inf
        self._tries = 0  # of the courier since something arrived
        self._complained = False

    # ------------------------------------------------------------------ one call

    def ask(self, call: Call[T], patience: float | None = None, timeout: float | None = None) -> Steps[T]:
        """Send a request until it is answered, or `patience` seconds are over; 0 is one try, of `timeout` seconds."""
        end = self.clock() + (self.patience if patience is None else patience)
        tries = 0
        while True:
            left = max(end - self.clock(), 0.01)
            try:
                reply = yield call.send(timeout or min(self.timeout, left))
            except Unanswered as silence:
                failure = UnreachableError(f"the service cannot be reached: {silence}")
                if silence.arrived and not call.repeatable:
                    raise UnreachableError(f"{silence}: look whether it was done before you repeat it") from None
                pause = 0.0
            else:
                if not call.may_repeat(reply.status):
                    return call.read(reply)
                failure = UnreachableError(str(problem(reply)), status=reply.status)
                pause = waiting_time(reply)
            pause = max(pause, backoff(tries))
            tries += 1
            if self.clock() + pause >= end:
                raise failure from None
            yield Pause(pause)

    # ------------------------------------------------------------------ assign

    def assign(self, experiment: str, units: Sequence[str]) -> Steps[list[Assignment]]:
        """An assignment for each unit."""
        found: list[Assignment] = []
        for start in range(0, len(units), MOST_UNITS):
            request = AssignRequest(units=list(units[start : start + MOST_UNITS]))
            call = Call("POST", path("experiments", experiment, "assignments"), Assignments, request)
            found += (yield from self.ask(call)).assignments
        return found

    def shielded(self, steps: Steps[T], instead: T) -> Steps[T]:
        """What the steps give, or `instead` if the service fails. One that was just down is not waited for again."""
        if self.clock() < self._down_until:
            steps.close()
            return instead
        try:
            return (yield from steps)
        except ServiceError as error:
            if isinstance(error, UnreachableError):
                self._down_until = self.clock() + self.patience
            self._mention(f"serving the fallback: {error}")
            return instead

    # ------------------------------------------------------------------ report

    def report(self, assignment: Assignment | str | None, reward: Any) -> Steps[bool]:
        """Queue a reward; whether it is on its way. What does not learn, or is no assignment at all, needs none."""
        value = finite(reward)
        token = assignment.assignment if isinstance(assignment, Assignment) else assignment
        if token is None or not may_be_token(token):
            return False
        queued = self.outbox.add(token, value)
        if not queued and self.outbox.closed:
            raise FinishedError("the client is closed: report before its with block ends")
        if not queued and self.when_full == "wait":
            queued = yield from self._make_room(token, value)
        if not queued:
            self.outbox.lose(1)
            self._complain("more reports wait for the service than there is room for; new ones are dropped")
        return queued

    def _make_room(self, token: str, value: float) -> Steps[bool]:
        end = self.clock() + self.patience
        while not (queued := self.outbox.add(token, value)) and not self.outbox.closed and self.clock() < end:
            try:
                if not (yield from self.deliver(end - self.clock())):
                    yield Pause(FIRST_PAUSE)  # everything is on its way already
            except UnreachableError:
                yield Pause(backoff(self._tries))
        return queued

    def deliver(self, within: float = DELIVERY) -> Steps[bool]:
        """Try once to send a batch; False if none waits."""
        batch = self.outbox.take()
        if not batch:
            return False
        rewards = [BatchedReward(assignment=token, reward=value) for token, value in batch]
        call = Call("POST", "/v1/rewards:batch", Receipts, RewardBatch(rewards))
        try:
            receipts = yield from self.ask(call, 0, min(DELIVERY, max(within, 0.1)))
        except UnreachableError:
            self._tries += 1
            self.outbox.put_back(batch)
            raise
        except ServiceError as error:
            self._give_up(batch, str(error))
        except BaseException:  # the program ends, or the task is cancelled
            self.outbox.put_back(batch)
            raise
        else:
            self._tries, self._complained = 0, False
            self.outbox.arrived(batch)
            if "unknown" in receipts.statuses:
                log.warning("the service does not know some of the reported assignments")
        return True

    def courier(self) -> Steps[None]:
        """Send what is due, for as long as the client is open."""
        while not self.outbox.closed:
            wait = self.outbox.due_in()
            if wait is None or wait > 0:
                yield Pause(self.outbox.delay if wait is None else wait)
                continue
            try:
                yield from self.deliver()
            except UnreachableError as error:
                self._complain(f"reports wait: {error}")
                self.outbox.hold(backoff(self._tries))
            except Exception as error:  # nobody would notice a courier that died; its words could hold a reward
                self._complain(f"reports wait: {type(error).__name__}")
                self.outbox.hold(LONGEST_PAUSE)

    def flush(self, patience: float | None = None) -> Steps[bool]:
        """Send all that waits; False if some could not be sent in time."""
        end = self.clock() + (self.patience if patience is None else patience)
        while self.outbox.pending:
            try:
                if not (yield from self.deliver(end - self.clock())):
                    yield Pause(0.01)  # the rest is on its way
            except UnreachableError:
                pause = backoff(self._tries)
                if self.clock() + pause >= end:
                    return False
                yield Pause(pause)
            if self.clock() >= end:
                return not self.outbox.pending
        return True

    def finish(self) -> Steps[None]:
        """Take no more reports and send the rest; what cannot be sent will count as the experiment's default."""
        self.outbox.close()
        if not (yield from self.flush()):
            self.outbox.lose(self.outbox.pending)
            log.warning("some reports could not be sent before the end; they will count as the default reward")

    def _give_up(self, batch: Batch, why: str) -> None:
        self.outbox.lose(len(batch))
        self.outbox.arrived(batch)
        self._complain(f"reports were refused: {why}")

    def _mention(self, what: str) -> None:
        """Not for every visitor."""
        if self.clock() >= self._mentioned + LONGEST_PAUSE:
            self._mentioned = self.clock()
            log.warning(what)

    def _complain(self, what: str) -> None:
        """Once for each outage, and without a count: where only successes are reported, it would be their number."""
        if not self._complained:
            self._complained = True
            log.warning(what)


def backoff(tries: int) -> float:
    """Seconds before the next try: doubling, and random, so that clients do not come back all at once."""
    most = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tries, 20))
    return most * random.uniform(0.5, 1.0)


def without_service(unit: str | None, arm: str) -> Assignment:
    """What is shown when nobody can be asked: its reward is not needed."""
    return Assignment(unit=unit, arm=arm, assignment=None, epoch=None, learn=False, deadline=None)


def may_be_token(token: Any) -> bool:
    """Whether an assignment's text could be one. It may come from a visitor's cookie, and is sent along with others':
    one that the service cannot even read would have the whole batch refused.
    """
    if not isinstance(token, str):
        raise ArgumentError(f"assignment must be an Assignment or its text, got a {type(token).__name__}")
    return 0 < len(token) <= MOST_TOKEN and token.isascii()


def finite(reward: Any) -> float:
    """A reward as a number; an error does not say which."""
    try:
        value = float(reward)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError("reward must be a finite number") from None
    return value


def unit_name(unit: Any) -> str:
    """A unit's name, which is text: the service keeps only a keyed digest of it."""
    if not isinstance(unit, str):
        raise ArgumentError(f"unit must be text, such as an account's name, got a {type(unit).__name__}; use str(...)")
    return unit

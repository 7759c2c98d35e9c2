"""Group commit: requests that wait at the same time share one transaction, and so one wait for the disk.

A request is answered after the commit that has it, never before: what was acknowledged is durable.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Any

from sqlalchemy import Connection

from discreet.service.experiments.assignments import Ask, Tell, assign, tell
from discreet.service.http.errors import ServiceProblem
from discreet.service.storage.database import AWAY, Store

_TOGETHER = 512  # requests in one transaction
_MOST_WAITING = 20_000
Work = Ask | Sequence[Tell]
Waiting = tuple[Work, Any, asyncio.AbstractEventLoop | None]
log = logging.getLogger("discreet.service")


class Writer:
    """One thread that writes what all requests of this process ask for."""

    def __init__(self, store: Store, together: int = _TOGETHER) -> None:
        self.shard = "-" if store.sqlite else secrets.token_hex(4)
        self._store = store
        self._together = together
        self._waiting: deque[Waiting | None] = deque()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="discreet-writer", daemon=True)
        self._thread.start()

    async def do(self, work: Work) -> Any:
        """Do it with others that wait now; gives its answer once it is durable."""
        if len(self._waiting) > _MOST_WAITING:
            raise ServiceProblem(503, "overloaded", "too many requests are waiting; try again in a moment")
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._put((work, future, loop))
        return await future

    def do_now(self, work: Work) -> Any:
        """The same for a thread."""
        future: Future[Any] = Future()
        self._put((work, future, None))
        return future.result()

    def stop(self) -> None:
        """Finish what waits, and end."""
        self._put(None)
        self._thread.join()

    def _put(self, one: Waiting | None) -> None:
        """Whoever finds the thread asleep wakes it; those who come until it is up go with them."""
        self._waiting.append(one)
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()  # before it looks: who comes after this wakes it again
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._together))]
                requests = [one for one in batch if one is not None]
                if requests:
                    self._answer(requests)
                if len(requests) < len(batch):
                    return

    def _answer(self, requests: list[Waiting]) -> None:
        answers = self._answers([work for work, _, _ in requests])
        by_loop: dict[asyncio.AbstractEventLoop | None, list[tuple[Any, Any]]] = {}
        for (_, future, loop), answer in zip(requests, answers, strict=True):
            by_loop.setdefault(loop, []).append((future, answer))
        for loop, answered in by_loop.items():
            if loop is None:
                _deliver(answered)
            else:
                try:
                    loop.call_soon_threadsafe(_deliver, answered)
                except RuntimeError:  # the server stopped while they waited
                    continue

    def _answers(self, works: list[Work]) -> list[Any]:
        """What to say to each. Where one of them is at fault, and not the database, the others must not suffer."""
        try:
            answers: list[Any] = self._store.write(lambda connection: self._all(connection, works))
        except Exception as error:
            log.error("a transaction of %d requests failed: %s", len(works), type(error).__name__)
            if len(works) > 1 and not isinstance(error, AWAY):
                return [answer for work in works for answer in self._answers([work])]
            problem = ServiceProblem(503, "unavailable", "the database did not confirm this; it is safe to try again")
            return [problem] * len(works)
        return answers

    def _all(self, connection: Connection, works: list[Work]) -> list[Any]:
        """All reports first, so that asking cannot hold them up; then all questions, one experiment after the other."""
        answers: list[Any] = [None] * len(works)
        told = [(place, work) for place, work in enumerate(works) if not isinstance(work, Ask)]
        statuses = iter(tell(self._store, connection, self.shard, [one for _, rewards in told for one in rewards]))
        for place, rewards in told:
            answers[place] = list(islice(statuses, len(rewards)))
        asked: dict[int, list[int]] = {}
        for place, work in enumerate(works):
            if isinstance(work, Ask):
                asked.setdefault(work.experiment.id, []).append(place)
        for _, places in sorted(asked.items()):
            self._assign(connection, [(place, works[place]) for place in places], answers)
        return answers

    def _assign(self, connection: Connection, asks: list[tuple[int, Any]], answers: list[Any]) -> None:
        """Questions about one experiment, as one."""
        together = Ask(asks[0][1].experiment, [unit for _, ask in asks for unit in ask.units])
        try:
            given = iter(assign(self._store, connection, together))
        except ServiceProblem as problem:
            for place, _ in asks:
                answers[place] = problem
            return
        for place, ask in asks:
            answers[place] = list(islice(given, len(ask.units)))


def _deliver(answered: list[tuple[Any, Any]]) -> None:
    for future, answer in answered:
        if future.done():  # whoever asked has gone away
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)

"""Group commit: requests that wait at the same time share one transaction, and so one wait for the disk.

A request is answered after the commit that contains it: what was acknowledged is durable.
"""

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from discreet.service.errors import ServiceProblem
from discreet.service.storage.database import UNAVAILABLE, Database, Transaction

_TOGETHER = 512  # the largest number of requests in one transaction
_ROWS = 3_000  # and of their rows, but for a single request that has more
_SMALL = 16  # requests of more rows let others go first; one of them is in every transaction all the same
_SEVERAL = 4  # requests of a group after which the next one is waited for
_MOMENT = 0.006  # seconds, at most
_MOST_WAITING = 20_000
Work = TypeVar("Work")
_Waiting = tuple[Work, asyncio.Future[Any]]
log = logging.getLogger("discreet.service")


class GroupCommit(Generic[Work]):
    """A thread that does the work of all requests of this process, many in one transaction.

    Args:
        database: The database.
        answer: Does the works of some requests in a transaction, and returns one answer for each. An answer that is an
            exception is raised where the request was made.
        rows: Returns the number of rows that a work writes.
    """

    def __init__(
        self,
        database: Database,
        answer: Callable[[Transaction, list[Work]], list[Any]],
        rows: Callable[[Work], int],
    ) -> None:
        self.database, self._answer, self._rows = database, answer, rows
        self._small: deque[_Waiting[Work]] = deque()
        self._large: deque[_Waiting[Work]] = deque()
        self._stopped = False
        self._enough = 1  # requests that wake the thread
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="discreet-writer", daemon=True)
        self._thread.start()

    async def do(self, work: Work) -> Any:
        """Do the work of a request together with others that wait, and return its answer once it is durable."""
        if self.waiting() > _MOST_WAITING:
            raise ServiceProblem(503, "overloaded", "too many requests are waiting; try again in a moment")
        future = asyncio.get_running_loop().create_future()
        (self._small if self._rows(work) <= _SMALL else self._large).append((work, future))
        if self.waiting() >= self._enough:
            self._wake_up()
        return await future

    def stop(self) -> None:
        """Finish the requests that wait, and end the thread."""
        self._stopped = True
        self._wake_up()
        self._thread.join()

    def _wake_up(self) -> None:
        """Wake an idle thread. Requests that arrive before it starts join the same batch."""
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()  # before the queue is read: whoever comes after this wakes it again
            while batch := self._batch():
                self._serve(batch)
                self._gather(len(batch))
            if self._stopped:
                return

    def waiting(self) -> int:
        """Return the number of requests that wait."""
        return len(self._small) + len(self._large)

    def _gather(self, last: int) -> None:
        """Wait a few milliseconds for as many as were answered: they ask again, and share one transaction.

        To serve half of them while the others are written takes longer: the two threads keep each other from running,
        and there are twice as many transactions.
        """
        self._enough = last
        if last >= _SEVERAL and not self._stopped:
            self._wake.clear()
            if self.waiting() < self._enough:
                self._wake.wait(_MOMENT)
        self._enough = 1

    def _batch(self) -> list[_Waiting[Work]]:
        """Return the requests of the next transaction: one large one, then small ones, then large ones as they fit."""
        batch: list[_Waiting[Work]] = []
        rows = 0
        for queue, most in ((self._large, 1), (self._small, _TOGETHER), (self._large, _TOGETHER)):
            while queue and len(batch) < most:
                rows += self._rows(queue[0][0])
                if batch and rows > _ROWS:
                    return batch
                batch.append(queue.popleft())
        return batch

    def _serve(self, requests: list[_Waiting[Work]]) -> None:
        answers = self._answers([work for work, _ in requests])
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
        for (_, future), answer in zip(requests, answers, strict=True):
            by_loop.setdefault(future.get_loop(), []).append((future, answer))
        for loop, answered in by_loop.items():
            with contextlib.suppress(RuntimeError):  # the server stopped while they waited
                loop.call_soon_threadsafe(_deliver, answered)

    def _answers(self, works: list[Work]) -> list[Any]:
        """Return the answer to each work. A work that fails by itself fails alone: each is tried on its own then."""
        try:
            return self.database.write(lambda transaction: self._answer(transaction, works))
        except Exception as error:
            log.error("a transaction of %d requests failed: %s", len(works), type(error).__name__)
            if len(works) > 1 and not isinstance(error, UNAVAILABLE):
                return [answer for work in works for answer in self._answers([work])]
            problem = ServiceProblem(503, "unavailable", "the database did not confirm this; it is safe to try again")
            return [problem] * len(works)


def _deliver(answered: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in answered:
        if future.done():  # the client has disconnected
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)

"""Reports that wait to be sent: bounded, in order, each assignment once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

Batch = list[tuple[str, float]]


class Outbox:
    """A queue of rewards by assignment, for any number of threads.

    The first reward of an assignment stands, as it does in the service. What is being sent still takes room until it
    has arrived. Nothing here can be printed: rewards are nobody's business.
    """

    def __init__(self, room: int, batch: int, delay: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.room, self.batch, self.delay = room, batch, delay
        self.on_news: Callable[[bool], object] = lambda full: None  # a first report waits, or (True) a whole batch
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, float] = OrderedDict()
        self._flying = 0
        self.lost = 0
        self.closed = False
        self._since = self._not_before = 0.0

    @property
    def pending(self) -> int:
        """Reports that have not arrived: those that wait and those on their way."""
        with self._lock:
            return len(self._waiting) + self._flying

    def add(self, assignment: str, reward: float) -> bool:
        """Queue a report; False if there is no room for it, or the outbox is closed."""
        with self._lock:
            if self.closed:
                return False
            if assignment in self._waiting:
                return True
            if len(self._waiting) + self._flying >= self.room:
                return False
            if not self._waiting:
                self._since = self._clock()
            self._waiting[assignment] = reward
            waiting = len(self._waiting)
        if waiting in (1, self.batch):
            self.on_news(waiting == self.batch)
        return True

    def take(self) -> Batch:
        """The oldest reports, up to a batch, to be sent: afterwards `arrived` or `put_back` must be told."""
        with self._lock:
            batch = [self._waiting.popitem(last=False) for _ in range(min(self.batch, len(self._waiting)))]
            self._flying += len(batch)
            return batch

    def arrived(self, batch: Batch) -> None:
        """Forget a batch that was sent."""
        with self._lock:
            self._flying -= len(batch)

    def put_back(self, batch: Batch) -> None:
        """A batch could not be sent: it comes first again, before what was reported since."""
        with self._lock:
            self._flying -= len(batch)
            for assignment, reward in reversed(batch):
                self._waiting[assignment] = reward
                self._waiting.move_to_end(assignment, last=False)

    def lose(self, count: int) -> None:
        """Note that so many reports will never arrive."""
        with self._lock:
            self.lost += count

    def close(self) -> None:
        """Take nothing more. Whoever was told that a report is queued was told so before."""
        with self._lock:
            self.closed = True

    def hold(self, seconds: float) -> None:
        """Let nothing be due for so long."""
        with self._lock:
            self._not_before = self._clock() + seconds

    def due_in(self) -> float | None:
        """Seconds until a batch is due: it is full, or its oldest report has waited `delay`. None if nothing waits."""
        with self._lock:
            if not self._waiting:
                return None
            now = self._clock()
            ready = now if len(self._waiting) >= self.batch else self._since + self.delay
            return max(0.0, ready - now, self._not_before - now)

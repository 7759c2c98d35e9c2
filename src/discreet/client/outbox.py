"""Queue of reports: bounded, in order, each assignment once."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

Batch = list[tuple[str, float]]


class Outbox:
    """Queue of rewards by assignment, safe for threads. It is never printed, since it holds rewards.

    The first reward of an assignment stands, as it does in the service. A batch that is being sent counts against
    `room` until it is delivered.

    Args:
        room: The most reports that are queued or being sent.
        batch: The most reports in a batch.
        delay: Seconds after which a batch that is not full is due.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, room: int, batch: int, delay: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.room, self.batch, self.delay = room, batch, delay
        self.on_queued: Callable[[bool], object] = lambda full: None  # for the first report, and (True) a full batch
        self._clock = clock
        self._lock = threading.Lock()
        self._queued: OrderedDict[str, float] = OrderedDict()
        self._sending = 0
        self.lost = 0
        self.closed = False
        self._since = self._not_before = 0.0

    @property
    def pending(self) -> int:
        """Number of reports that are queued or being sent."""
        with self._lock:
            return len(self._queued) + self._sending

    def add(self, assignment: str, reward: float) -> bool:
        """Queue a report.

        Args:
            assignment: The assignment's token.
            reward: Its reward. Ignored if a reward of this assignment is queued already.

        Returns:
            False if the outbox is full or closed.
        """
        with self._lock:
            if self.closed:
                return False
            if assignment in self._queued:
                return True
            if len(self._queued) + self._sending >= self.room:
                return False
            if not self._queued:
                self._since = self._clock()
            self._queued[assignment] = reward
            count = len(self._queued)
        if count in (1, self.batch):
            self.on_queued(count == self.batch)
        return True

    def take(self) -> Batch:
        """Return the oldest reports, up to a batch, to send them. `delivered` or `put_back` must follow."""
        with self._lock:
            batch = [self._queued.popitem(last=False) for _ in range(min(self.batch, len(self._queued)))]
            self._sending += len(batch)
            return batch

    def delivered(self, batch: Batch) -> None:
        """Forget a batch."""
        with self._lock:
            self._sending -= len(batch)

    def put_back(self, batch: Batch) -> None:
        """Queue a batch that could not be sent again, before all newer reports."""
        with self._lock:
            self._sending -= len(batch)
            for assignment, reward in reversed(batch):
                self._queued[assignment] = reward
                self._queued.move_to_end(assignment, last=False)

    def lose(self, count: int) -> None:
        """Add `count` reports that will never arrive to `lost`."""
        with self._lock:
            self.lost += count

    def close(self) -> None:
        """Refuse all further reports. Those that were accepted stay queued."""
        with self._lock:
            self.closed = True

    def hold(self, seconds: float) -> None:
        """Let no batch be due for some seconds."""
        with self._lock:
            self._not_before = self._clock() + seconds

    def due_in(self) -> float | None:
        """Return the seconds until a batch is due (full, or older than `delay`); None if nothing is queued."""
        with self._lock:
            if not self._queued:
                return None
            now = self._clock()
            ready = now if len(self._queued) >= self.batch else self._since + self.delay
            return max(0.0, ready - now, self._not_before - now)

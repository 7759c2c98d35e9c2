"""Threads beside the requests: they close due epochs, delete what is no longer needed, and check what is kept."""

import logging
import threading
import time
from abc import ABC, abstractmethod

from discreet.service.experiments import closing, testmode
from discreet.service.experiments.upkeep.checking import Checker
from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.experiments.upkeep.readiness import Readiness
from discreet.service.http.metrics import Metrics
from discreet.service.storage import Database

log = logging.getLogger("discreet.service")
_NOTED_EVERY = 10.0  # seconds between notes of the time
TICK = 1.0  # seconds between looks for due epochs: a coarse clock hides how long a release took


class Background(ABC):
    """A thread that looks again and again for something to do.

    Args:
        tick: Seconds between two looks.
    """

    def __init__(self, tick: float) -> None:
        self._tick = tick
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"discreet-{type(self).__name__.lower()}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after what it is doing."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._tick):
            try:
                self.look()
            except Exception as error:  # go on: the database may be back at the next look
                log.error("%s failed: %s", type(self).__name__, type(error).__name__)

    @abstractmethod
    def look(self) -> object:
        """Do what there is to do."""


class Closer(Background):
    """A thread that closes due epochs, and writes the journal.

    Args:
        database: The database.
        metrics: Counters of this process.
        journal: The journal of releases, if there is one.
        tick: Seconds between looks for due epochs.
    """

    def __init__(self, database: Database, metrics: Metrics, journal: Journal | None, tick: float = TICK) -> None:
        super().__init__(tick)
        self._database, self._metrics, self._journal = database, metrics, journal

    def look(self) -> int:
        """Close due epochs, and return their number."""
        closed = sum(self._close(experiment) for experiment in closing.due(self._database))
        if self._journal is not None:  # also for epochs that another process has closed
            self._journal.catch_up(self._database)
        return closed

    def _close(self, experiment: int) -> bool:
        try:
            closed = closing.close_if_due(self._database, experiment) is not None
        except Exception as error:  # other experiments are closed all the same
            self._metrics.closed(failed=True)
            log.error("closing an epoch failed: %s", type(error).__name__)
            return False
        if closed:
            self._metrics.closed()
            if self._journal is not None:
                self._journal.catch_up(self._database, experiment)
        return closed


class Eraser(Background):
    """A thread that deletes ended tests and the assignments of ended epochs, a small part at a time, and their traces.

    After each part it rests as long as the part took, so that assignments and rewards have at least half of the time.

    Args:
        database: The database.
        tick: Seconds between looks for ended epochs.
    """

    def __init__(self, database: Database, tick: float = TICK) -> None:
        super().__init__(tick)
        self._database = database
        self._erased = False  # of traces, also of the process before this one

    def look(self) -> int:
        """Delete all that is left of ended epochs, and return the number of parts."""
        parts, began = 0, time.monotonic()
        if testmode.delete_ended(self._database):
            self._erased = False
        while closing.delete_assignments(self._database):
            if not parts:
                self._database.erase_traces()  # of sums, which were deleted at the close
            parts, self._erased = parts + 1, False
            if self._stopped.wait(time.monotonic() - began):
                return parts
            began = time.monotonic()
        if not self._erased:
            self._erased = self._database.erase_traces()
        return parts


class Checking(Background):
    """A thread that checks kept sums and chains of ledgers.

    Args:
        checker: Checks a little in each look.
        tick: Seconds between looks.
    """

    def __init__(self, checker: Checker, tick: float) -> None:
        super().__init__(tick)
        self._checker = checker

    def look(self) -> None:
        """Check some lines and some experiments."""
        self._checker.look()


class Noting(Background):
    """A thread that notes the time every ten seconds, and what this process lacks.

    Args:
        readiness: Looks, and notes.
    """

    def __init__(self, readiness: Readiness) -> None:
        super().__init__(_NOTED_EVERY)
        self._readiness = readiness

    def start(self) -> None:
        """Look once, so that this process knows the latest time before it serves, and start the thread."""
        self.look()
        super().start()

    def look(self) -> None:
        """Look at what this process needs, and note the time."""
        self._readiness.reasons()

"""A thread that checks kept sums, a little at a time."""

import logging
import threading

from discreet.service.experiments.checking import Checker

log = logging.getLogger("discreet.service")


class CheckingThread:
    """A thread that checks kept sums and chains of ledgers.

    Args:
        checker: Checks a little in each look.
        tick: Seconds between looks.
    """

    def __init__(self, checker: Checker, tick: float) -> None:
        self._checker, self._tick = checker, tick
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="discreet-checker", daemon=True)

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
                self._checker.look()
            except Exception as error:  # go on: the database may be back at the next look
                log.error("checking the ledgers failed: %s", type(error).__name__)

"""The state of a service: a small durable write, the journal, and the clock.

The write notes the time. A clock that is behind the last time that was noted has jumped back; by then the service's own
time stands still (`Database.clock`), so nothing that was over is accepted again.
"""

import logging
import threading
import time

from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.storage import Database, Transaction, queries
from discreet.service.storage.database import failure

LATEST = "latest time"
"""The setting with the latest time at which a process was seen to write."""
_FRESH = 1.0  # seconds for which a look counts: anybody may ask
_PATIENCE = 1.0  # seconds that a request waits for the look of another one
_SLACK = 2.0  # seconds that a clock may be set back, as time servers do
_ROOM = 65_536  # bytes that must find room on the disk
log = logging.getLogger("discreet.service")


class Readiness:
    """Looks at what a process needs to serve, and notes the time.

    Args:
        database: The database.
        journal: The journal of releases, if there is one.
    """

    def __init__(self, database: Database, journal: Journal | None = None) -> None:
        self._database, self._journal = database, journal
        self._looked, self._reasons = -_FRESH, list[str]()
        self._lock = threading.Lock()

    def reasons(self) -> list[str]:
        """Return the reasons why this process cannot serve well: none if all is well. They hold no secret."""
        if not self._lock.acquire(timeout=_PATIENCE):
            return ["the database has not answered for a while"]
        try:
            if time.monotonic() - self._looked >= _FRESH:
                found = self._look()
                if found != self._reasons:
                    log.error("not ready: %s", "; ".join(found)) if found else log.warning("ready again")
                self._looked, self._reasons = time.monotonic(), found
            return self._reasons
        finally:
            self._lock.release()

    def _look(self) -> list[str]:
        found = []
        try:
            behind, is_copy = self._database.write(self._note)
        except Exception as error:  # whatever it is, this process cannot serve now
            found.append(f"the database cannot be written: {failure(error) or type(error).__name__}")
        else:
            if behind > _SLACK:
                found.append(
                    f"the clock is {behind:.0f} seconds behind the last time that was noted: time stands still here "
                    "until it has caught up"
                )
            if is_copy:
                found.append("the database is a copy, as of a backup: start the service again, so that it takes note")
        if self._journal is not None and (why := self._journal.check()) is not None:
            found.append(f"the journal cannot be written: {why}")
        return found

    def _note(self, transaction: Transaction) -> tuple[float, bool]:
        """Note the time, and return the seconds by which the clock is behind, and True if the database is a copy."""
        noted = self._database.saw(float(queries.read_setting(transaction, LATEST) or 0))
        queries.update_setting(transaction, LATEST, repr(transaction.now()))
        self._database.set_room_aside(transaction, _ROOM)
        return noted - transaction.raw_now(), self._database.is_copy(transaction)

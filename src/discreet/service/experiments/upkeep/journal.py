"""A list of releases outside the database, so that a database from a backup is found out.

A backup is older than what was released since. Restored, its open epochs would be closed again with new noise, and two
noisy totals of the same rewards tell more than one. The journal only grows, beside the database and not in it; a server
compares the two when it starts, and forfeits all open epochs if the database lies behind (`restoring`).
"""

import contextlib
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from discreet.service.storage import Database, Transaction, queries
from discreet.service.storage.schema import exact

SETTLED = "journal settled"
"""The setting with the number of lines at the last restore of the database: these have been paid for."""
Release = tuple[str, int, str]
_SAID_EVERY = 60.0  # seconds between messages about a journal that cannot be written
log = logging.getLogger("discreet.service")


class Line(NamedTuple):
    """A closed epoch.

    Attributes:
        experiment: The experiment's public id.
        epoch: The epoch's number.
        digest: A digest of the epoch's releases.
        population: The population that pays for the experiment.
        promised: What the experiment may cost, as a fraction.
    """

    experiment: str
    epoch: int
    digest: str
    population: str
    promised: str

    @property
    def release(self) -> Release:
        """The part that stays the same for ever."""
        return self[:3]


class Journal:
    """An append-only file: one line for each closed epoch, with a digest of its releases.

    Several processes of a machine may share it: whoever writes holds the file, and has read what others wrote.

    Args:
        path: The file.

    Attributes:
        trouble: The reason why the last write failed; None if it did not.
        failures: The number of writes that failed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.trouble: str | None = None
        self.failures = 0
        self._said = -_SAID_EVERY
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._read = 0  # bytes of the file
        self._others: set[Release] = set()  # lines of other processes that were not looked for in the database yet
        self._last: dict[int, int] | None = None  # by experiment: the last epoch in the database that is written
        self._closed: dict[int, int] = {}  # by experiment: the number of closed epochs when it was last looked at

    def lines(self) -> list[Line]:
        """Return all lines. One that a crash cut short counts as not written."""
        return _parse(self.path.read_bytes()) if self.path.exists() else []

    def catch_up(self, database: Database, experiment: int | None = None) -> bool:
        """Add all closed epochs that are not in the journal yet. Only new ones are read from the database.

        A failure is counted and logged, at most once a minute. Nothing is lost: it is tried again at the next call.

        Args:
            database: The database.
            experiment: The number of the only experiment to look at; by default all.

        Returns:
            False if the journal could not be written.
        """
        with self._lock:
            try:
                if self._last is not None and self._size() < self._read:  # somebody has moved it away
                    self._forget()
                with database.reading() as transaction:
                    found, closed = self._find(transaction, experiment)
                if found:
                    self._write([line for line, _ in found])
            except OSError as error:
                self.trouble = self._fail(error)
                return False
            self.trouble = None
            self._last = self._last or {}
            for line, number in found:
                self._last[number] = max(line.epoch, self._last.get(number, 0))
            self._closed.update(closed)
            return True

    def check(self) -> str | None:
        """Return the reason why the journal cannot be written; None if it can."""
        with self._lock:
            try:
                os.close(os.open(self.path, _FLAGS, 0o600))
            except OSError as error:
                return self._fail(error)
            return self.trouble

    def _find(self, transaction: Transaction, experiment: int | None) -> tuple[list[tuple[Line, int]], dict[int, int]]:
        """Return new epochs with their experiments' numbers, and the numbers of closed epochs that were looked at."""
        if self._last is None:
            return closed_epochs(transaction), {}
        if experiment is not None:
            return closed_epochs(transaction, experiment, self._last.get(experiment, 0)), {}
        closed = queries.closed_counts(transaction)
        changed = {number: count for number, count in closed.items() if count != self._closed.get(number)}
        found = [closed_epochs(transaction, number, self._last.get(number, 0)) for number in changed]
        return [line for lines in found for line in lines], changed

    def _write(self, found: list[Line]) -> None:
        """Append whole lines at once, but for those that another process has written. A line cut short ends before."""
        with self._held() as file:
            file.seek(self._read)
            new = file.readall()
            whole = new[: new.rfind(b"\n") + 1]
            self._others.update(line.release for line in _parse(whole))
            missing = [line for line in found if line.release not in self._others]
            if missing:
                text = "".join(f"\n{json.dumps(line)}" for line in missing) + "\n"
                _write_all(file, text.encode())
                os.fsync(file.fileno())
                whole = new + text.encode()
            self._read += len(whole)
            self._others.difference_update(line.release for line in found)

    @contextmanager
    def _held(self) -> Iterator[FileIO]:
        """Open the file, which other processes that write wait for."""
        with open(self.path, "a+b", buffering=0, opener=partial(os.open, mode=0o600)) as file:
            with contextlib.suppress(ImportError, OSError):  # not on Windows, and not on every file system
                import fcntl  # noqa: PLC0415

                fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _fail(self, error: OSError) -> str:
        why = error.strerror or type(error).__name__
        self.failures += 1
        if time.monotonic() - self._said >= _SAID_EVERY:
            self._said = time.monotonic()
            log.error("the journal %s cannot be written: %s", self.path, why)
        return why

    def missing(self, transaction: Transaction) -> list[Line]:
        """Return the releases that are not in the database, which therefore comes from a backup."""
        written = self.lines()  # first, since each line was in the database before it was here
        known = {line.release for line, _ in closed_epochs(transaction)}
        settled = int(queries.read_setting(transaction, SETTLED) or 0)
        return [line for line in written[settled:] if line.release not in known]


_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT


def _parse(content: bytes) -> list[Line]:
    found = []
    for text in content.decode(errors="replace").splitlines():
        try:
            found.append(Line(*json.loads(text)))
        except (ValueError, TypeError):
            continue
    return found


def _write_all(file: FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]


def closed_epochs(transaction: Transaction, experiment: int | None = None, after: int = 0) -> list[tuple[Line, int]]:
    """Return a line for every closed epoch with releases, and the number of its experiment.

    Args:
        transaction: The transaction.
        experiment: The number of the only experiment to look at; by default all.
        after: The epoch after which to begin.
    """
    digests: dict[tuple[int, int], list[queries.Digest]] = {}
    for found in queries.digests(transaction, experiment, after):
        digests.setdefault((found.number, found.epoch), []).append(found)
    lines = []
    for (number, epoch), parts in digests.items():
        digest = hashlib.sha256("".join(part.digest for part in parts).encode()).hexdigest()
        about = parts[0]
        lines.append((Line(about.experiment, epoch, digest, about.population, exact(about.promised)), number))
    return lines

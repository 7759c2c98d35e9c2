"""A list of releases outside the database, so that a database from a backup is found out.

A backup is older than what was released since. Restored, its open epochs would be closed again with new noise, and two
noisy totals of the same rewards tell more than one. The journal only grows, beside the database and not in it; a server
compares the two when it starts, and forfeits all open epochs if the database lies behind (`restoring`).
"""

import hashlib
import json
import os
import threading
from functools import partial
from pathlib import Path
from typing import NamedTuple

from discreet.service.storage import Database, Transaction, queries
from discreet.service.storage.schema import exact

SETTLED = "journal settled"
"""The setting with the number of lines at the last restore of the database: these have been paid for."""


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
    def release(self) -> tuple[str, int, str]:
        """The part that stays the same for ever."""
        return self[:3]


class Journal:
    """An append-only file: one line for each closed epoch, with a digest of its releases.

    Args:
        path: The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._written = {line.release for line in self.lines()}
        self._seen = 0  # releases, which never get fewer
        self._lock = threading.Lock()

    def lines(self) -> list[Line]:
        """Return all lines. One that a crash cut short counts as not written."""
        if not self.path.exists():
            return []
        found = []
        for text in self.path.read_text().splitlines():
            try:
                found.append(Line(*json.loads(text)))
            except (ValueError, TypeError):
                continue
        return found

    def catch_up(self, database: Database) -> None:
        """Add all closed epochs that are not in the journal yet."""
        with self._lock, database.reading() as transaction:
            released = queries.count_releases(transaction)
            if released == self._seen:
                return
            missing = [line for line in closed_epochs(transaction) if line.release not in self._written]
            if missing:
                self._append(missing)
            self._written.update(line.release for line in missing)
            self._seen = released

    def _append(self, missing: list[Line]) -> None:
        """Append whole lines at once, since several processes may write. A line that was cut short ends before them."""
        text = "".join(f"\n{json.dumps(line)}" for line in missing) + "\n"
        with open(self.path, "ab", opener=partial(os.open, mode=0o600)) as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    def missing(self, transaction: Transaction) -> list[Line]:
        """Return the releases that are not in the database, which therefore comes from a backup."""
        written = self.lines()  # first, since each line was in the database before it was here
        known = {line.release for line in closed_epochs(transaction)}
        settled = int(queries.read_setting(transaction, SETTLED) or 0)
        return [line for line in written[settled:] if line.release not in known]


def closed_epochs(transaction: Transaction) -> list[Line]:
    """Return a line for every closed epoch."""
    digests: dict[tuple[str, int, str, str], list[str]] = {}
    for experiment, epoch, population, promised, digest in queries.digests(transaction):
        digests.setdefault((experiment, epoch, population, exact(promised)), []).append(digest)
    return [
        Line(experiment, epoch, hashlib.sha256("".join(parts).encode()).hexdigest(), population, promised)
        for (experiment, epoch, population, promised), parts in digests.items()
    ]

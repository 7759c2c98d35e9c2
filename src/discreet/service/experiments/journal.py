"""A list of releases outside the database, so that a database from a backup is found out.

A backup is older than what was released since. Restored, its open epochs would be closed again with new noise, and two
noisy totals of the same rewards tell more than one. The journal only grows, beside the database and not in it; a server
compares the two when it starts, and burns all open epochs if the database lies behind (`restoring`).
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from discreet.service.storage import schema
from discreet.service.storage.database import Store

SETTLED = "journal settled"
"""The setting that says how many lines were there when the database was last restored: they have been paid for."""


class Line(NamedTuple):
    """A closed epoch, a digest of its releases, and what its experiment may cost whom."""

    experiment: str
    epoch: int
    digest: str
    population: str
    promised: str

    @property
    def release(self) -> tuple[str, int, str]:
        """What stays the same for ever."""
        return self[:3]


class Journal:
    """An append-only file: one line for each closed epoch, with a digest of its releases."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._written = {line.release for line in self.lines()}
        self._seen = 0  # releases, which never get fewer
        self._lock = threading.Lock()

    def lines(self) -> list[Line]:
        """All lines; one that a crash cut short counts as not written."""
        if not self.path.exists():
            return []
        found = []
        for text in self.path.read_text().splitlines():
            try:
                found.append(Line(*json.loads(text)))
            except (ValueError, TypeError):
                continue
        return found

    def catch_up(self, store: Store) -> None:
        """Write down all closed epochs that are not in it yet."""
        with self._lock, store.reading() as connection:
            released = connection.execute(select(func.count()).select_from(schema.release)).scalar_one()
            if released == self._seen:
                return
            missing = [line for line in closed_epochs(connection) if line.release not in self._written]
            if missing:
                self._append(missing)
            self._written.update(line.release for line in missing)
            self._seen = released

    def _append(self, missing: list[Line]) -> None:
        """Whole lines in one go, since several processes may write; a line that a crash cut short ends before them."""
        text = "".join(f"\n{json.dumps(line)}" for line in missing) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            left = text.encode()
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def missing(self, connection: Connection) -> list[Line]:
        """What was released and is not in the database, which therefore comes from a backup."""
        written = self.lines()  # first, since each line was in the database before it was here
        known = {line.release for line in closed_epochs(connection)}
        query = select(schema.setting.c.value).where(schema.setting.c.name == SETTLED)
        settled = int(connection.execute(query).scalar() or 0)
        return [line for line in written[settled:] if line.release not in known]

    def is_ahead(self, store: Store) -> bool:
        """Whether something was released that the database does not know."""
        with store.reading() as connection:
            return bool(self.missing(connection))


def closed_epochs(connection: Connection) -> list[Line]:
    """Every closed epoch with a digest of what it released."""
    table, experiment = schema.release, schema.experiment
    about = (experiment.c.uid, experiment.c.population, experiment.c.epsilon)
    query = (
        select(table.c.epoch, table.c.digest, *about)
        .join(experiment, experiment.c.id == table.c.experiment)
        .order_by(table.c.experiment, table.c.epoch, table.c.what, table.c.arm)
    )
    digests: dict[tuple[str, int, str, str], list[str]] = {}
    for epoch, digest, uid, population, promised in connection.execute(query):
        digests.setdefault((uid, epoch, population, promised), []).append(digest)
    return [
        Line(uid, epoch, hashlib.sha256("".join(all_).encode()).hexdigest(), population, promised)
        for (uid, epoch, population, promised), all_ in digests.items()
    ]

"""A list of releases outside the database, so that a database from a backup is found out.

A backup is older than what was released since. Restored, its open epochs would be closed again with new noise, and two
noisy totals of the same rewards tell more than one. The journal only grows, beside the database and not in it; a server
compares the two when it starts, and burns all open epochs if the database lies behind.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from sqlalchemy import Connection, func, select

from discreet.service import schema
from discreet.service.store import Store

Line = tuple[str, int, str]


class Journal:
    """An append-only file: one line for each closed epoch, with a digest of its releases."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._written = set(self.lines())
        self._seen = 0  # releases, which never get fewer

    def lines(self) -> list[Line]:
        """All lines; one that a crash cut short counts as not written."""
        if not self.path.exists():
            return []
        found = []
        for text in self.path.read_text().splitlines():
            try:
                experiment, epoch, digest = json.loads(text)
            except ValueError:
                continue
            found.append((experiment, epoch, digest))
        return found

    def catch_up(self, store: Store) -> None:
        """Write down all closed epochs that are not in it yet."""
        with store.reading() as connection:
            released = connection.execute(select(func.count()).select_from(schema.release)).scalar_one()
            if released == self._seen:
                return
            missing = [line for line in closed_epochs(connection) if line not in self._written]
        if missing:
            self._append(missing)
        self._written.update(missing)
        self._seen = released

    def _append(self, missing: list[Line]) -> None:
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
            for line in missing:
                file.write(f"\n{json.dumps(line)}")
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())

    def is_ahead(self, store: Store) -> bool:
        """Whether something was released that the database does not know: it comes from a backup."""
        with store.reading() as connection:
            known = set(closed_epochs(connection))
            burnt = set(_burnt(connection))
            experiments = set(connection.execute(select(schema.experiment.c.uid)).scalars())
        return any(
            line not in known and line[0] in experiments and (line[0], line[1]) not in burnt for line in self.lines()
        )


def closed_epochs(connection: Connection) -> list[Line]:
    """Every closed epoch with a digest of what it released."""
    table = schema.release
    query = (
        select(schema.experiment.c.uid, table.c.epoch, table.c.digest)
        .join(schema.experiment, schema.experiment.c.id == table.c.experiment)
        .order_by(table.c.experiment, table.c.epoch, table.c.what, table.c.arm)
    )
    digests: dict[tuple[str, int], list[str]] = {}
    for uid, epoch, digest in connection.execute(query):
        digests.setdefault((uid, epoch), []).append(digest)
    return [(uid, epoch, hashlib.sha256("".join(all_).encode()).hexdigest()) for (uid, epoch), all_ in digests.items()]


def _burnt(connection: Connection) -> list[tuple[str, int]]:
    table = schema.epoch
    query = (
        select(schema.experiment.c.uid, table.c.number)
        .join(schema.experiment, schema.experiment.c.id == table.c.experiment)
        .where(table.c.state.in_(("burnt", "discarded")))
    )
    return [(uid, number) for uid, number in connection.execute(query)]

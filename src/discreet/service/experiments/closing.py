"""An epoch's end: one transaction locks, sums, releases, writes everything down, wipes the sums, and commits.

A release is drawn once. Noise that was drawn in a transaction that did not commit has been seen by nobody, since
nothing is shown, logged or returned before the commit; and once a release is committed its epoch is closed and its sums
are gone, so there is nothing left to draw for. An epoch is ripe when all its slots are dealt and the last one's
window has passed: that depends on who came when, never on a reward. Its time is written down in whole seconds: how
long a close has waited for those who were reporting is nobody's business.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from discreet.core.errors import PrivacyError
from discreet.core.privacy import Release
from discreet.service.experiments import budget
from discreet.service.experiments.course import Course, Pulls, resume
from discreet.service.experiments.descriptions import Description
from discreet.service.experiments.epsilon import as_stored
from discreet.service.http.errors import conflict
from discreet.service.storage import schema
from discreet.service.storage.database import Store
from discreet.service.storage.queries import described

_SCRUBBED_AT_ONCE = 50_000
EPOCH = schema.epoch
EXPERIMENT = schema.experiment


def ripe(store: Store) -> list[int]:
    """The experiments that have an epoch to close."""
    with store.reading() as connection:
        query = (
            select(EXPERIMENT.c.id)
            .join(EPOCH, EPOCH.c.experiment == EXPERIMENT.c.id)
            .where(EXPERIMENT.c.state == "running", EPOCH.c.state == "open")
            .where(EPOCH.c.dealt == EPOCH.c.quota, EPOCH.c.ripe_at <= store.now(connection))
            .order_by(EXPERIMENT.c.id)
        )
        return list(connection.execute(query).scalars())


def close_if_ripe(store: Store, experiment: int) -> int | None:
    """Close an experiment's open epoch if it is ripe; gives its number, and None if there was nothing to close.

    Safe to call from anywhere at any time: whoever comes second finds the epoch closed.
    """

    def work(connection: Connection) -> int | None:
        row, epoch = hold(store, connection, experiment)
        if row.state != "running" or epoch is None or epoch.dealt < epoch.quota:
            return None
        now = store.now(connection)
        if epoch.ripe_at is None or epoch.ripe_at > now:
            return None
        _close(store, connection, row, epoch, totals=None, now=float(floor(now)))
        return int(epoch.number)

    closed: int | None = store.write(work)
    return closed


def close_with(store: Store, experiment: int, number: int, totals: Mapping[int, int]) -> None:
    """Close the open epoch of an experiment that is fed from a log, with its exact totals."""

    def work(connection: Connection) -> None:
        row, epoch = hold(store, connection, experiment)
        if row.state != "running" or epoch is None:
            raise conflict("the experiment has no open epoch")
        if described(row).request.source != "totals":
            raise conflict("this experiment assigns by itself; its totals come from its own assignments")
        if epoch.number != number:
            raise conflict(f"the open epoch is number {epoch.number}, not {number}; totals are taken once")
        _close(store, connection, row, epoch, totals=totals, now=float(floor(store.now(connection))))

    store.write(work)


def hold(store: Store, connection: Connection, experiment: int) -> tuple[Row[Any], Row[Any] | None]:
    """An experiment and its open epoch, which nobody else can change or report to before this transaction ends."""
    store.lock(connection, experiment)
    row = connection.execute(select(EXPERIMENT).where(EXPERIMENT.c.id == experiment)).one()
    query = select(EPOCH).where(EPOCH.c.experiment == experiment, EPOCH.c.state == "open")
    return row, connection.execute(query if store.sqlite else query.with_for_update()).first()


def open_next(connection: Connection, row: Row[Any], course: Course, now: float) -> None:
    """Open an experiment's next epoch, unless there is nothing left to find out."""
    plan = course.plan()
    if plan is None or not plan.learns:
        return
    charged = described(row).charge(course.epoch_epsilon)
    last = connection.execute(select(func.max(EPOCH.c.number)).where(EPOCH.c.experiment == row.id)).scalar()
    connection.execute(
        insert(EPOCH).values(
            experiment=row.id,
            number=(last or 0) + 1,
            state="open",
            mark=secrets.randbelow(2**31),
            plan=json.dumps(plan.by_arm),
            quota=plan.size,
            dealt=0,
            threshold=course.threshold,
            epsilon=as_stored(charged),
            opened_at=now,
            dropped="[]",
            scrubbed=0,
        )
    )


def planned(epoch: Row[Any]) -> dict[int, int]:
    """An epoch's slots by arm number."""
    return {int(arm): int(count) for arm, count in json.loads(epoch.plan).items()}


def _close(
    store: Store,
    connection: Connection,
    row: Row[Any],
    epoch: Row[Any],
    *,
    totals: Mapping[int, int] | None,
    now: float,
) -> None:
    description = described(row)
    course = resume(description.kind, json.loads(row.course))
    plan, before = course.plan(), course.viable  # the noise is drawn here, before the sums are read
    if plan is None or plan.by_arm != planned(epoch):
        raise PrivacyError(f"epoch {epoch.number} of {row.uid} is not what its releases plan: the database was changed")
    exact = _sums(connection, description, epoch, plan) if totals is None else totals
    for release in course.close(exact):
        _write_release(connection, row, epoch, release)
    dropped = sorted(before - course.viable)
    wipe(connection, row.id, epoch.number)
    connection.execute(
        update(EPOCH)
        .where(EPOCH.c.experiment == row.id, EPOCH.c.number == epoch.number)
        .values(state="closed", closed_at=now, dropped=json.dumps(dropped), dealt=epoch.quota)
    )
    budget.hold(store, connection, row.population)
    charged = Fraction(epoch.epsilon)
    budget.write(connection, row.population, "release", charged, now, experiment=row.uid, epoch=epoch.number)
    spend(connection, row, json.dumps(course.state()))
    open_next(connection, row, course, now)


def spend(connection: Connection, row: Row[Any], course: str) -> None:
    """Write down where the algorithm stands and what all closed and burnt epochs have cost."""
    query = select(EPOCH.c.epsilon).where(EPOCH.c.experiment == row.id, EPOCH.c.state.in_(("closed", "burnt")))
    paid = [Fraction(epsilon) for epsilon in connection.execute(query).scalars()]
    cost = as_stored(described(row).cost(paid, Fraction(row.epsilon)))
    connection.execute(update(EXPERIMENT).where(EXPERIMENT.c.id == row.id).values(course=course, spent=cost))


def wipe(connection: Connection, experiment: int, epoch: int) -> None:
    """Delete an epoch's sums."""
    counter = schema.counter
    connection.execute(delete(counter).where(counter.c.experiment == experiment, counter.c.epoch == epoch))


def scrub(store: Store) -> bool:
    """Delete some assignments of epochs that have ended, and with them whose reward came; True if there are more."""

    def work(connection: Connection) -> bool:
        ended = connection.execute(select(EPOCH).where(EPOCH.c.state != "open", EPOCH.c.scrubbed == 0).limit(1)).first()
        if ended is None:
            return False
        table = schema.assignment
        mine = (table.c.experiment == ended.experiment, table.c.epoch == ended.number, table.c.slot < ended.quota)
        slots = select(table.c.slot).where(*mine).order_by(table.c.slot).limit(_SCRUBBED_AT_ONCE).scalar_subquery()
        gone = connection.execute(delete(table).where(*mine, table.c.slot.in_(slots))).rowcount
        if gone < _SCRUBBED_AT_ONCE:
            here = (EPOCH.c.experiment == ended.experiment, EPOCH.c.number == ended.number)
            connection.execute(update(EPOCH).where(*here).values(scrubbed=1))
        return True

    more: bool = store.write(work)
    return more


def _sums(connection: Connection, description: Description, epoch: Row[Any], plan: Pulls) -> dict[int, int]:
    """The exact totals of all assignments, reported or not: missing rewards count as the default."""
    table = schema.counter
    query = (
        select(table.c.arm, func.sum(table.c.told), func.sum(table.c.total))
        .where(table.c.experiment == epoch.experiment, table.c.epoch == epoch.number)
        .group_by(table.c.arm)
    )
    told = {int(arm): (int(count), int(total)) for arm, count, total in connection.execute(query)}
    default = description.grid.encode(description.default_reward)
    exact = {}
    for arm, count in plan.by_arm.items():
        came, total = told.get(arm, (0, 0))
        exact[arm] = total + (count - came) * default
    return exact


def _write_release(connection: Connection, row: Row[Any], epoch: Row[Any], release: Release) -> None:
    arm = release.arms[0]
    content = {
        "experiment": row.id,
        "epoch": epoch.number,
        "arm": 0 if arm is None else int(arm),
        "what": release.what,
        "pulls": release.count,
        "units": str(release.units),
        "value": (release.value or 0.0) + 0.0,  # not -0.0, which SQLite gives back as 0.0
        "scale": release.scale,
        "epsilon": epoch.epsilon,
    }
    connection.execute(insert(schema.release).values(**content, digest=checksum(content)))


def checksum(content: Mapping[str, Any]) -> str:
    """What shows that a row was changed."""
    return hashlib.sha256(json.dumps(dict(content), sort_keys=True).encode()).hexdigest()

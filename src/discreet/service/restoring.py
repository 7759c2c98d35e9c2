"""After a restore from a backup: what may have been released since is written down as spent, and nothing is used twice.

The database has forgotten a part of the past, the *lost* part. Its releases may be out in the world. So no epoch that
is open in the backup may be closed: two noisy totals of the same rewards tell more than one. And what the lost part has
cost is charged, as far as it can be known: for each experiment at most what it had not spent yet, since it ran within
its promise; and for each experiment whose start only the journal remembers, its whole promise.
"""

from __future__ import annotations

import json
from fractions import Fraction

from sqlalchemy import Connection, delete, insert, select, update

from discreet.service import budget, closing, records, schema
from discreet.service.amounts import as_stored
from discreet.service.control import stop
from discreet.service.course import resume
from discreet.service.journal import SETTLED, Journal, Line
from discreet.service.store import Store

Burnt = tuple[str, int]


def recover(store: Store, journal: Journal | None) -> list[Burnt]:
    """Burn all open epochs and charge what was lost, in one transaction. Gives what was burnt."""

    def work(connection: Connection) -> list[Burnt]:
        if journal is not None:
            _charge_lost_experiments(store, connection, journal.missing(connection))
            _settle(connection, journal)
        query = select(schema.epoch.c.experiment).where(schema.epoch.c.state == "open")
        ids = sorted(set(connection.execute(query).scalars()))
        burnt = [_burn(store, connection, one) for one in ids]
        return [one for one in burnt if one is not None]

    done: list[Burnt] = store.write(work)
    return done


def _burn(store: Store, connection: Connection, experiment: int) -> Burnt | None:
    """Throw an open epoch away and open another in its place; or stop, where the population cannot pay for the loss."""
    row, epoch = closing.hold(store, connection, experiment)
    if epoch is None:
        return None
    table, now, description = schema.epoch, store.now(connection), records.described(row)
    unspent = Fraction(row.epsilon) - Fraction(row.spent)
    extra, own = {
        "each-epoch": (unspent, unspent),  # everybody may have been in all lost epochs, and may be in all to come
        "once": (description.epsilon, Fraction(epoch.epsilon)),  # who took part since the backup may do so again
        None: (Fraction(0), Fraction(epoch.epsilon)),  # a reward of a lost epoch is never reported to another
    }[description.request.contribution]
    closing.wipe(connection, row.id, epoch.number)
    here = (table.c.experiment == row.id, table.c.number == epoch.number)
    connection.execute(update(table).where(*here).values(state="burnt", closed_at=now, epsilon=as_stored(own)))
    promised = as_stored(Fraction(row.epsilon) + extra)
    connection.execute(update(schema.experiment).where(schema.experiment.c.id == row.id).values(epsilon=promised))
    given = {"experiment": row.uid, "epoch": epoch.number, "extra": extra, "now": now}
    affordable = budget.burn(store, connection, row.population, **given)
    row = records.find(connection, row.uid)
    closing.spend(connection, row, row.course)
    row = records.find(connection, row.uid)
    if affordable:
        closing.open_next(connection, row, resume(description.kind, json.loads(row.course)), now)
    else:
        stop(store, connection, row, now)
    return row.uid, epoch.number


def _charge_lost_experiments(store: Store, connection: Connection, missing: list[Line]) -> None:
    """Experiments that were started after the backup: nothing but the journal knows of them."""
    started = select(schema.experiment.c.uid).where(schema.experiment.c.state != "draft")
    known = set(connection.execute(started).scalars())
    now = store.now(connection)
    lost: dict[tuple[str, str], list[Line]] = {}
    for line in missing:
        if line.experiment not in known:
            lost.setdefault((line.population, line.experiment), []).append(line)
    for (population, experiment), lines in sorted(lost.items()):
        extra = max(Fraction(line.promised) for line in lines)
        if not budget.exists(connection, population):
            budget.create(connection, population, extra, now)
        last = max(line.epoch for line in lines)
        budget.burn(store, connection, population, experiment=experiment, epoch=last, extra=extra, now=now)


def _settle(connection: Connection, journal: Journal) -> None:
    """Remember, in the database, how much of the journal has been paid for."""
    table = schema.setting
    connection.execute(delete(table).where(table.c.name == SETTLED))
    connection.execute(insert(table).values(name=SETTLED, value=str(len(journal.lines()))))

"""After a restore from a backup: what may have been released since is written down as spent, and nothing is used twice.

The database has forgotten a part of the past, the *lost* part. Its releases may be out in the world. So no epoch that
is open in the backup may be closed: two noisy totals of the same rewards tell more than one. And what the lost part has
cost is charged, as far as it can be known. An experiment ran within its promise, and the journal has the largest one
that it ever released under, which is larger than the backup's if the same backup was restored before.
"""

from __future__ import annotations

import json
from fractions import Fraction

from sqlalchemy import Connection, delete, insert, select, update

from discreet.service.experiments import budget, closing
from discreet.service.experiments.control import stop
from discreet.service.experiments.course import resume
from discreet.service.experiments.epsilon import as_stored
from discreet.service.experiments.journal import SETTLED, Journal, Line
from discreet.service.storage import queries as records
from discreet.service.storage import schema
from discreet.service.storage.database import Store

Burnt = tuple[str, int]


def recover(store: Store, journal: Journal | None, *, asked: bool = True) -> list[Burnt]:
    """Burn all open epochs and charge what was lost, in one transaction. Gives what was burnt.

    Unless somebody `asked` for it, that depends on the journal being ahead, still.
    """

    def work(connection: Connection) -> list[Burnt]:
        missing = [] if journal is None else journal.missing(connection)
        if not asked and not missing:
            return []
        promises: dict[str, Fraction] = {}
        for line in missing:
            promises[line.experiment] = max(Fraction(line.promised), promises.get(line.experiment, Fraction(0)))
        table = schema.experiment
        query = select(table.c.id, table.c.uid).join(schema.epoch, schema.epoch.c.experiment == table.c.id)
        running = connection.execute(query.where(schema.epoch.c.state == "open").order_by(table.c.id)).all()
        others = promises.keys() - {uid for _, uid in running}
        _charge(store, connection, [line for line in missing if line.experiment in others], promises)
        burnt = [_burn(store, connection, one, promises.get(uid, Fraction(0))) for one, uid in running]
        if journal is not None:
            _settle(connection, journal)
        return [one for one in burnt if one is not None]

    done: list[Burnt] = store.write(work)
    return done


def _burn(store: Store, connection: Connection, experiment: int, promised: Fraction) -> Burnt | None:
    """Throw an open epoch away and open another in its place; or stop, where the population cannot pay for the loss."""
    row, epoch = closing.hold(store, connection, experiment)
    if epoch is None:  # another server has closed its last one meanwhile
        return None
    table, now, description = schema.epoch, store.now(connection), records.described(row)
    lost = max(Fraction(row.epsilon), promised)  # at most, by anybody until now
    own = Fraction(epoch.epsilon)
    if description.request.contribution == "each-epoch":  # everybody may be in all epochs to come
        own = lost - Fraction(row.spent)
        extra = own
    elif description.once or description.request.source == "totals":  # who was in a lost epoch may be in another one
        extra = lost + description.epsilon - Fraction(row.epsilon)
    else:  # a reward of a lost epoch is never reported to another: its token has another mark
        extra = Fraction(0)
    closing.wipe(connection, row.id, epoch.number)
    here = (table.c.experiment == row.id, table.c.number == epoch.number)
    connection.execute(update(table).where(*here).values(state="burnt", closed_at=now, epsilon=as_stored(own)))
    raised = as_stored(Fraction(row.epsilon) + extra)
    connection.execute(update(schema.experiment).where(schema.experiment.c.id == row.id).values(epsilon=raised))
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


def _charge(store: Store, connection: Connection, missing: list[Line], promises: dict[str, Fraction]) -> None:
    """Experiments without an open epoch in the backup: not started in it, as far as it knows, or at their end."""
    now, table = store.now(connection), schema.experiment
    last = {line.experiment: line for line in missing}
    for experiment, line in sorted(last.items()):
        row = connection.execute(select(table).where(table.c.uid == experiment, table.c.state != "draft")).first()
        charged = Fraction(0)
        if row is not None:  # all of it, or what was used when it was stopped
            charged = Fraction(row.spent if row.state in {"stopped", "archived"} else row.epsilon)
        extra = promises[experiment] - charged
        if extra > 0:
            if not budget.exists(connection, line.population):
                budget.create(connection, line.population, extra, now)
            who, epoch = line.population, line.epoch
            budget.burn(store, connection, who, experiment=experiment, epoch=epoch, extra=extra, now=now)


def _settle(connection: Connection, journal: Journal) -> None:
    """Remember, in the database, how much of the journal has been paid for."""
    table = schema.setting
    connection.execute(delete(table).where(table.c.name == SETTLED))
    connection.execute(insert(table).values(name=SETTLED, value=str(len(journal.lines()))))

"""After a restore from a backup: what may have been released since is charged, and nothing is used twice.

The database has lost a part of the past. Releases of that part may be out in the world. So no epoch that is open in the
backup may be closed: two noisy totals of the same rewards tell more than one. And what the lost part has cost is
charged, as far as it can be known. An experiment ran within its promise, and the journal has the largest one that it
ever released under, which is larger than the backup's if the same backup was restored before.
"""

import secrets
from dataclasses import replace
from fractions import Fraction

from discreet.service.experiments import budget, closing, standing
from discreet.service.experiments.descriptions import described
from discreet.service.experiments.keys import SESSION_SECRET
from discreet.service.experiments.upkeep.journal import SETTLED, Journal, Line
from discreet.service.experiments.upkeep.readiness import LATEST
from discreet.service.storage import Database, Population, Transaction, queries
from discreet.service.storage.backups import FROM_BACKUP

Forfeited = tuple[str, int]
"""The public id of an experiment and the number of its epoch that was forfeited."""


def recover(database: Database, journal: Journal | None, *, asked: bool = True) -> list[Forfeited]:
    """Forfeit all open epochs and charge what was lost, in one transaction.

    Args:
        database: The database.
        journal: The journal of releases, if there is one.
        asked: False to do it only if the database is seen to come from a backup: it is marked as one, its tables are a
            copy, or the journal is ahead of it.

    Returns:
        The epochs that were forfeited.
    """

    def work(transaction: Transaction) -> list[Forfeited]:
        transaction.lock(0)  # of several servers that start, one recovers
        missing = [] if journal is None else journal.missing(transaction)
        marked = queries.read_setting(transaction, FROM_BACKUP) is not None
        if not (asked or missing or marked or database.is_copy(transaction)):
            return []
        promises: dict[str, Fraction] = {}
        for line in missing:
            promises[line.experiment] = max(Fraction(line.promised), promises.get(line.experiment, Fraction(0)))
        running = queries.with_open_epoch(transaction)
        others = promises.keys() - {row.uid for row in running}
        _charge(transaction, [line for line in missing if line.experiment in others], promises)
        forfeited = [_forfeit(transaction, row.id, promises.get(row.uid, Fraction(0))) for row in running]
        if journal is not None:  # remember how much of it has been paid for
            queries.write_setting(transaction, SETTLED, str(len(journal.lines())))
        queries.delete_setting(transaction, FROM_BACKUP)
        queries.update_setting(transaction, LATEST, "0")  # no deadline is left that a clock could have passed
        queries.update_setting(transaction, SESSION_SECRET, secrets.token_hex(32))  # who has signed out since is out
        database.settle(transaction)
        return [one for one in forfeited if one is not None]

    return database.write(work)


def _forfeit(transaction: Transaction, experiment: int, promised: Fraction) -> Forfeited | None:
    """Discard an open epoch and open another in its place; or stop, where the population cannot pay for the loss."""
    row, epoch = closing.hold(transaction, experiment)
    if epoch is None:  # another server has closed its last one meanwhile
        return None
    now, description = transaction.now(), described(row)
    lost = max(row.epsilon, promised)  # at most, by anybody until now
    own = epoch.epsilon
    if description.request.contribution == "each-epoch":  # everybody may be in all epochs to come
        own = extra = lost - row.spent
    elif description.once or description.request.source == "totals":  # who was in a lost epoch may be in another one
        extra = lost + description.epsilon - row.epsilon
    else:  # a reward of a lost epoch is never reported to another: its token has another generation
        extra = Fraction(0)
    closing.end_epoch(transaction, epoch, "forfeited", now, epsilon=own)
    row = replace(row, epsilon=row.epsilon + extra)
    row = replace(row, spent=closing.spent(transaction, row))
    transaction.change(row, epsilon=row.epsilon, spent=row.spent)
    number = epoch.number
    if budget.forfeit(transaction, row.population, experiment=row.uid, epoch=number, extra=extra, now=now):
        closing.open_next(transaction, row, standing.replay(transaction, row), now)
    else:
        closing.stop(transaction, row, now)
    return row.uid, number


def _charge(transaction: Transaction, missing: list[Line], promises: dict[str, Fraction]) -> None:
    """Charge experiments without an open epoch in the backup: not started in it, as far as it knows, or ended."""
    now = transaction.now()
    last = {line.experiment: line for line in missing}
    for experiment, line in sorted(last.items()):
        row = queries.find_experiment(transaction, experiment)
        charged = Fraction(0)
        if row is not None and row.state != "draft":  # all of it, or what was spent when it was stopped
            charged = row.spent if row.state in {"stopped", "archived"} else row.epsilon
        extra = promises[experiment] - charged
        if extra > 0:
            if transaction.find(Population, name=line.population) is None:
                budget.create(transaction, line.population, extra, now)
            who, epoch = line.population, line.epoch
            budget.forfeit(transaction, who, experiment=experiment, epoch=epoch, extra=extra, now=now)

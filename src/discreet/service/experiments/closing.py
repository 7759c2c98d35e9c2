"""The end of epochs and experiments.

One transaction locks an experiment, rebuilds its algorithm from its releases, sums, has the curator release, writes
everything down, deletes the sums, opens the next epoch, and commits. A release is drawn once: noise of a transaction
that did not commit has been seen by nobody, since nothing is shown, logged or returned before the commit; and once a
release is committed its epoch is closed and its sums are deleted. An epoch is due when all its slots are dealt and the
last one's window has passed: that depends on who came when, never on a reward. Its time is stored in whole seconds: how
long a close has waited depends on how many rewards were being reported.
"""

import math
import secrets
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.core.algorithm import Algorithm
from discreet.core.errors import PrivacyError
from discreet.core.releases import Release
from discreet.mechanisms.curator import Curator
from discreet.service.errors import conflict
from discreet.service.experiments import budget, standing
from discreet.service.experiments.descriptions import Description, described
from discreet.service.storage import Database, Epoch, Experiment, Released, Transaction, assignments, queries

_ROOM, _ROOM_OF_AN_ARM = 65_536, 1024  # bytes for what a close writes


def due(database: Database) -> list[int]:
    """Return the numbers of the experiments that have an epoch to close."""
    return database.read(lambda transaction: queries.due(transaction, transaction.now()))


def close_if_due(database: Database, experiment: int) -> int | None:
    """Close an experiment's open epoch if it is due.

    Safe to call from anywhere at any time: whoever comes second finds the epoch closed.

    Args:
        database: The database.
        experiment: The experiment's number.

    Returns:
        The epoch's number; None if there was nothing to close.
    """

    def work(transaction: Transaction) -> int | None:
        row, epoch = hold(transaction, experiment)
        now = transaction.now()
        if row.state != "running" or epoch is None or epoch.due_at is None or epoch.due_at > now:
            return None
        close(transaction, row, epoch, now=float(math.floor(now)))
        return epoch.number

    return database.write(work)


def close_with(database: Database, experiment: int, number: int, totals: Mapping[int, int]) -> None:
    """Close the open epoch of an experiment that is fed from a log.

    Args:
        database: The database.
        experiment: The experiment's number.
        number: The epoch's number.
        totals: The exact totals in grid steps, by arm index.

    Raises:
        ServiceProblem: It is not the open epoch, or the experiment assigns by itself.
    """

    def work(transaction: Transaction) -> None:
        row, epoch = hold(transaction, experiment)
        if row.state != "running" or epoch is None:
            raise conflict("the experiment has no open epoch")
        if described(row).request.source != "totals":
            raise conflict("this experiment assigns by itself; its totals come from its own assignments")
        if epoch.number != number:
            raise conflict(f"the open epoch is number {epoch.number}, not {number}; totals are taken once")
        close(transaction, row, epoch, now=float(math.floor(transaction.now())), totals=totals)

    database.write(work)


def hold(transaction: Transaction, experiment: int) -> tuple[Experiment, Epoch | None]:
    """Return an experiment and its open epoch, which nobody else can change or report to before the transaction ends.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    transaction.lock(experiment)
    row = transaction.find(Experiment, id=experiment)
    assert row is not None
    return row, open_epoch(transaction, experiment)


def open_epoch(transaction: Transaction, experiment: int) -> Epoch | None:
    """Return an experiment's open epoch with its progress; None if it has none.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    found = transaction.rows(Epoch, experiment=experiment, state="open")
    return assignments.with_progress(transaction, found)[0] if found else None


def end_epoch(transaction: Transaction, epoch: Epoch, state: str, now: float, **more: Any) -> None:
    """End an open epoch: its sums are deleted, and its progress is written down.

    Args:
        transaction: The transaction, which holds the experiment.
        epoch: The epoch with its progress.
        state: "closed", "forfeited" or "discarded".
        now: The time.
        **more: Other columns that change.
    """
    assignments.delete_totals(transaction, epoch)
    progress = {"dealt": epoch.dealt, "full_at": epoch.full_at, "due_at": epoch.due_at}
    transaction.change(epoch, **{"state": state, "closed_at": now, **progress, **more})


def close(
    transaction: Transaction, row: Experiment, epoch: Epoch, *, now: float, totals: Mapping[int, int] | None = None
) -> None:
    """Release an open epoch, and open the next one.

    Args:
        transaction: The transaction, which holds the experiment.
        row: The experiment.
        epoch: Its open epoch.
        now: The time.
        totals: The exact totals in grid steps, by arm index; by default those of the epoch's own assignments.

    Raises:
        PrivacyError: The epoch is not what the releases before it plan.
    """
    if transaction.database.is_copy(transaction):
        raise PrivacyError("the database is a copy, as of a backup; start the service again, so that it takes note")
    algorithm = standing.replay(transaction, row)
    plan = algorithm.plan()
    if plan is None or plan.learns != epoch.learns or standing.by_index(plan.pulls) != epoch.plan:
        raise PrivacyError(f"epoch {epoch.number} of {row.uid} is not what its releases plan: the database was changed")
    released: tuple[Release, ...] = ()
    if plan.learns:
        exact = _totals(transaction, described(row), epoch) if totals is None else totals
        transaction.database.set_room_aside(transaction, _ROOM + _ROOM_OF_AN_ARM * len(algorithm.taken))
        by_arm = {arm: exact[0 if arm is None else int(arm)] for arm in plan.pulls}
        released = Curator.of(algorithm).release(plan, by_arm)  # not stored: nothing here is secret between epochs
        for part, release in enumerate(released):
            transaction.add(_row(epoch, part, release))
        budget.state(transaction, row.population, hold=True)
        who, number = row.population, epoch.number
        budget.write(transaction, who, "release", epoch.epsilon, now, experiment=row.uid, epoch=number)
    before = standing.viable(algorithm)
    algorithm.learn(released)
    dropped = sorted(before - standing.viable(algorithm))
    end_epoch(transaction, epoch, "closed", now, dropped=dropped, dealt=epoch.quota)
    cost = described(row).cost_with(row.spent, epoch.epsilon, row.epsilon)
    transaction.change(row, spent=cost, **standing.snapshot(algorithm))
    open_next(transaction, row, algorithm, now)


def open_next(transaction: Transaction, row: Experiment, algorithm: Algorithm, now: float) -> None:
    """Open an experiment's next epoch, unless nothing is left to find out.

    An epoch whose rewards decide nothing is dealt like others, and closes without a release. Where the service does not
    assign, it closes at once.

    Args:
        transaction: The transaction, which holds the experiment.
        row: The experiment.
        algorithm: Its algorithm.
        now: The time.
    """
    plan = algorithm.plan()
    if plan is None or standing.is_last(algorithm):
        return
    description, last = described(row), transaction.find(Epoch, "-number", experiment=row.id)
    passed = not plan.learns and description.request.source == "totals"
    transaction.insert(
        Epoch,
        experiment=row.id,
        number=1 if last is None else last.number + 1,
        state="closed" if passed else "open",
        generation=secrets.randbelow(2**31),
        plan=standing.by_index(plan.pulls),
        learns=plan.learns,
        quota=plan.size,
        leased=0,
        dealt=plan.size if passed else 0,
        threshold=standing.threshold(algorithm),
        epsilon=description.charge(math.fsum(plan.query.prices)) if plan.query is not None else Fraction(0),
        opened_at=now,
        closed_at=now if passed else None,
        dropped=[],
        erased_parts=0,
        erased=False,
    )
    if passed:
        algorithm.learn(())
        transaction.change(row, **standing.snapshot(algorithm))
        open_next(transaction, row, algorithm, now)


def spent(transaction: Transaction, row: Experiment) -> Fraction:
    """Return what all closed and forfeited epochs of an experiment have cost.

    Args:
        transaction: The transaction.
        row: The experiment.
    """
    costs = transaction.values(Epoch, ("epsilon",), experiment=row.id, state=("closed", "forfeited"))
    return described(row).cost(costs, row.epsilon)


def stop(transaction: Transaction, row: Experiment, now: float) -> None:
    """End an experiment: its open epoch is discarded without a release, and what it has not spent is refunded.

    Args:
        transaction: The transaction, which holds the experiment.
        row: The experiment.
        now: The time.
    """
    epoch = open_epoch(transaction, row.id)
    if epoch is not None:
        end_epoch(transaction, epoch, "discarded", now)
    unspent = row.epsilon - row.spent
    if unspent > 0:
        budget.state(transaction, row.population, hold=True)
        budget.write(transaction, row.population, "refund", unspent, now, experiment=row.uid)
    transaction.change(row, state="stopped", ended_at=now)


def delete_assignments(database: Database) -> bool:
    """Delete a small part of the assignments of an epoch that has ended, and with them whose reward came.

    Returns:
        True if there are more.
    """

    def work(transaction: Transaction) -> bool:
        epoch = queries.ended(transaction)
        if epoch is None:
            return False
        more = assignments.delete_part(transaction, epoch, epoch.erased_parts)
        transaction.change(epoch, erased_parts=epoch.erased_parts + 1, erased=not more)
        return True

    return database.write(work)


def _totals(transaction: Transaction, description: Description, epoch: Epoch) -> dict[int, int]:
    """Return the exact totals of all assignments: a reward that did not come counts as the default."""
    told = assignments.totals(transaction, epoch)
    default = description.grid.encode(description.default_reward)
    came = {arm: told.get(arm, (0, 0)) for arm in epoch.plan}
    return {arm: total + (epoch.plan[arm] - count) * default for arm, (count, total) in came.items()}


def _row(epoch: Epoch, part: int, release: Release) -> Released:
    ((arm, first, last),) = release.spans
    where = epoch.experiment, epoch.number, part, release.kind, 0 if arm is None else int(arm)
    released = Released(*where, first, last, str(release.steps), release.scale, release.epsilon)
    return replace(released, digest=released.checksum())

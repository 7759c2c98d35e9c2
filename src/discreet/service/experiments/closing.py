"""The end of epochs and experiments.

One transaction locks an experiment, sums, releases, writes everything down, deletes the sums, and commits. A release is
drawn once: noise of a transaction that did not commit has been seen by nobody, since nothing is shown, logged or
returned before the commit; and once a release is committed its epoch is closed and its sums are deleted. An epoch is
due when all its slots are dealt and the last one's window has passed: that depends on who came when, never on a reward.
Its time is stored in whole seconds: how long a close has waited depends on how many rewards were being reported.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor

from discreet.core.errors import PrivacyError
from discreet.core.privacy import Release
from discreet.service.experiments import budget
from discreet.service.experiments.course import Course, resume
from discreet.service.experiments.descriptions import Description, described
from discreet.service.http.errors import conflict
from discreet.service.storage import assignments, epochs, experiments, releases
from discreet.service.storage.database import Database, Transaction
from discreet.service.storage.epochs import Epoch
from discreet.service.storage.experiments import Experiment

_DELETED_AT_ONCE = 50_000


def due(database: Database) -> list[int]:
    """Return the numbers of the experiments that have an epoch to close."""
    with database.reading() as transaction:
        return experiments.due(transaction, transaction.now())


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
        if row.state != "running" or epoch is None or epoch.dealt < epoch.quota:
            return None
        now = transaction.now()
        if epoch.due_at is None or epoch.due_at > now:
            return None
        close(transaction, row, epoch, now=float(floor(now)))
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
        close(transaction, row, epoch, now=float(floor(transaction.now())), totals=totals)

    database.write(work)


def hold(transaction: Transaction, experiment: int) -> tuple[Experiment, Epoch | None]:
    """Return an experiment and its open epoch, which nobody else can change or report to before the transaction ends.

    Args:
        transaction: The transaction.
        experiment: The experiment's number.
    """
    transaction.lock(experiment)
    row = experiments.get(transaction, experiment)
    assert row is not None
    return row, epochs.open_epoch(transaction, experiment, hold=True)


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
    description = described(row)
    course = resume(description.kind, json.loads(row.course))
    plan, before = course.plan(), course.viable
    if plan is None or plan.by_arm != epoch.plan:
        raise PrivacyError(f"epoch {epoch.number} of {row.uid} is not what its releases plan: the database was changed")
    exact = _totals(transaction, description, epoch) if totals is None else totals
    for release in course.close(exact):
        releases.add(transaction, _released(epoch, release))
    dropped = sorted(before - course.viable)
    assignments.delete_totals(transaction, epoch)
    epochs.update(transaction, epoch, state="closed", closed_at=now, dropped=dropped, dealt=epoch.quota)
    budget.state(transaction, row.population, hold=True)
    number = epoch.number
    budget.write(transaction, row.population, "release", epoch.epsilon, now, experiment=row.uid, epoch=number)
    experiments.update(transaction, row.id, course=json.dumps(course.state()), spent=spent(transaction, row))
    open_next(transaction, row, course, now)


def open_next(transaction: Transaction, row: Experiment, course: Course, now: float) -> None:
    """Open an experiment's next epoch, unless nothing is left to find out.

    Args:
        transaction: The transaction, which holds the experiment.
        row: The experiment.
        course: Its algorithm.
        now: The time.
    """
    plan = course.plan()
    if plan is None or not plan.learns:
        return
    values = {
        "experiment": row.id,
        "number": epochs.last_number(transaction, row.id) + 1,
        "state": "open",
        "generation": secrets.randbelow(2**31),
        "plan": plan.by_arm,
        "quota": plan.size,
        "dealt": 0,
        "threshold": course.threshold,
        "epsilon": described(row).charge(course.epoch_epsilon),
        "opened_at": now,
        "dropped": [],
        "erased": False,
    }
    epochs.insert(transaction, values)


def spent(transaction: Transaction, row: Experiment) -> Fraction:
    """Return what all closed and forfeited epochs of an experiment have cost.

    Args:
        transaction: The transaction.
        row: The experiment.
    """
    return described(row).cost(epochs.costs(transaction, row.id), row.epsilon)


def stop(transaction: Transaction, row: Experiment, now: float) -> None:
    """End an experiment: its open epoch is discarded without a release, and what it has not spent is refunded.

    Args:
        transaction: The transaction, which holds the experiment.
        row: The experiment.
        now: The time.
    """
    epoch = epochs.open_epoch(transaction, row.id)
    if epoch is not None:
        assignments.delete_totals(transaction, epoch)
        epochs.update(transaction, epoch, state="discarded", closed_at=now)
    unspent = row.epsilon - row.spent
    if unspent > 0:
        budget.state(transaction, row.population, hold=True)
        budget.write(transaction, row.population, "refund", unspent, now, experiment=row.uid)
    experiments.update(transaction, row.id, state="stopped", ended_at=now)


def delete_assignments(database: Database) -> bool:
    """Delete some assignments of epochs that have ended, and with them whose reward came.

    Returns:
        True if there are more.
    """

    def work(transaction: Transaction) -> bool:
        ended = epochs.not_erased(transaction)
        if ended is None:
            return False
        if assignments.delete_assignments(transaction, ended, _DELETED_AT_ONCE) < _DELETED_AT_ONCE:
            epochs.update(transaction, ended, erased=True)
        return True

    return database.write(work)


def _totals(transaction: Transaction, description: Description, epoch: Epoch) -> dict[int, int]:
    """Return the exact totals of all assignments: a reward that did not come counts as the default."""
    told = assignments.totals(transaction, epoch)
    default = description.grid.encode(description.default_reward)
    exact = {}
    for arm, count in epoch.plan.items():
        came, total = told.get(arm, (0, 0))
        exact[arm] = total + (count - came) * default
    return exact


def _released(epoch: Epoch, release: Release) -> releases.Released:
    arm = release.arms[0]
    row = releases.Released(
        experiment=epoch.experiment,
        epoch=epoch.number,
        arm=0 if arm is None else int(arm),
        what=release.what,
        pulls=release.count,
        units=str(release.units),
        value=(release.value or 0.0) + 0.0,  # not -0.0, which SQLite returns as 0.0
        scale=release.scale,
        epsilon=epoch.epsilon,
        digest="",
    )
    return replace(row, digest=releases.checksum(row))

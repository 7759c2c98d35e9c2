"""Views of experiments for anybody with a key: releases, what was planned from them, and what follows from both."""

import math
from collections.abc import Sequence
from typing import Any

from discreet.core.errors import PrivacyError
from discreet.core.probability.tails import hoeffding_radius
from discreet.service.errors import ServiceProblem, conflict
from discreet.service.experiments.descriptions import OURS, Description, described, family
from discreet.service.experiments.epsilon import as_text
from discreet.service.experiments.standing import History, Standing, histories, standing_in, verified
from discreet.service.experiments.statements import testing
from discreet.service.messages import ArmView, EpochView, ExperimentView, PlanView, ReleaseView, TestVerdict
from discreet.service.storage import Epoch, Experiment, Released, Transaction

_LEVEL = math.log(2 / 0.05)  # a radius that holds on both sides with probability 95 %


def experiment_view(transaction: Transaction, row: Experiment) -> ExperimentView:
    """Return an experiment with its open epoch and the newest release of each arm.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: A release was changed in the database.
    """
    (history,) = histories(transaction, [row])
    return view_in(row, history)


def view_in(row: Experiment, history: History) -> ExperimentView:
    """Return an experiment from what was read of it.

    Args:
        row: The experiment.
        history: Its history.

    Raises:
        ServiceProblem: A release was changed in the database.
    """
    try:
        return _view(row, history)
    except PrivacyError as error:
        raise _changed(error) from None


def experiment_views(transaction: Transaction, rows: Sequence[Experiment]) -> list[ExperimentView]:
    """Return experiments as `experiment_view` does, in a constant number of statements.

    One whose releases were changed in the database says so, and shows nothing that follows from them.

    Args:
        transaction: The transaction.
        rows: The experiments.
    """
    return [_view_or_problem(*both) for both in zip(rows, histories(transaction, rows), strict=True)]


def _view_or_problem(row: Experiment, history: History) -> ExperimentView:
    try:
        return _view(row, history)
    except PrivacyError as error:
        return _view(row, History(), problem=str(error))


def _view(row: Experiment, history: History, problem: str | None = None) -> ExperimentView:
    description = described(row)
    verified(row, history.released)
    newest = history.epochs[-1] if history.epochs else None
    now_open = _epoch(description, newest, ()) if newest is not None and newest.state == "open" else None
    stands = None if row.state == "draft" or problem else standing_in(row, history)
    best = None if stands is None or stands.best is None else description.arms[stands.best]
    return ExperimentView(
        id=row.uid,
        kind=family(description.kind),
        options={name: one for name, one in description.options.items() if one is not None and name not in OURS},
        default_reward=description.default_reward,
        privacy=description.label(),
        spent=as_text(row.spent),
        arms=_arms(description, history, stands),
        epoch=now_open,
        best=best,
        settled=row.state in {"running", "paused"} and now_open is None and problem is None,
        estimate=None if stands is None else stands.estimate,
        answer=None if stands is None else _answer(description, stands),
        verdicts={} if stands is None else _verdicts(description, stands),
        problem=problem,
        **_fields(row, "name", "state", "algorithm", "population", "created_at", "started_at", "ended_at"),
        test_until=row.test_until,
        control=description.control,
        **_fields(description.request, "description", "low", "high", "window", "source", "binary", "drifting"),
    )


def _verdicts(description: Description, stands: Standing) -> dict[str, TestVerdict]:
    return {description.arms[arm] or "": verdict for arm, verdict in stands.verdicts.items()}


def _answer(description: Description, stands: Standing) -> str | None:
    if not stands.verdicts:
        return stands.answer
    width = description.grid.high - description.grid.low
    return testing.sentence(_verdicts(description, stands), description.control or "", description.options, width)


def epoch_views(transaction: Transaction, row: Experiment) -> list[EpochView]:
    """Return all epochs of an experiment with their releases, the oldest first.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: A release was changed in the database.
    """
    (history,) = histories(transaction, [row])
    return epochs_in(row, history)


def epochs_in(row: Experiment, history: History) -> list[EpochView]:
    """Return all epochs of an experiment from what was read of it.

    Args:
        row: The experiment.
        history: Its history.

    Raises:
        ServiceProblem: A release was changed in the database.
    """
    try:
        released = verified(row, history.released)
    except PrivacyError as error:
        raise _changed(error) from None
    return [_epoch(described(row), epoch, released.get(epoch.number, ())) for epoch in history.epochs]


def _changed(error: PrivacyError) -> ServiceProblem:
    return ServiceProblem(500, "changed release", str(error))


def release_views(transaction: Transaction, row: Experiment) -> list[ReleaseView]:
    """Return all releases of an experiment, the oldest first.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: A release was changed in the database.
    """
    return [release for epoch in epoch_views(transaction, row) for release in epoch.releases]


def plan_view(transaction: Transaction, row: Experiment) -> PlanView:
    """Return the plan of an experiment's open epoch, for whoever aggregates an event log.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: No epoch is open.
    """
    description = described(row)
    epoch = transaction.find(Epoch, experiment=row.id, state="open")
    if epoch is None:
        raise conflict("the experiment has no open epoch: it is not running, or there is nothing left to find out")
    grid, pulls = description.grid, _by_name(description, epoch)
    return PlanView(epoch.number, pulls, epoch.learns, grid.low, grid.high, grid.step, grid.floor, grid.width)


def arm_name(description: Description, arm: int) -> str:
    """Return an arm's name as a key of JSON; the one arm of a rule is called "mean".

    Args:
        description: The experiment's description.
        arm: The arm's index.
    """
    return description.arms[arm] or "mean"


def _by_name(description: Description, epoch: Epoch) -> dict[str, int]:
    return {arm_name(description, arm): count for arm, count in epoch.plan.items()}


def _fields(source: object, *names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def _epoch(description: Description, epoch: Epoch, released: Sequence[Released]) -> EpochView:
    return EpochView(
        planned=_by_name(description, epoch),
        epsilon=as_text(epoch.epsilon),
        releases=[_release(description, epoch, one) for one in released],
        eliminated=[arm_name(description, arm) for arm in epoch.dropped],
        **_fields(epoch, "number", "state", "learns", "quota", "dealt", "threshold"),
        **_fields(epoch, "opened_at", "full_at", "due_at", "closed_at"),
    )


def _release(description: Description, epoch: Epoch, one: Released) -> ReleaseView:
    mean, radius = _mean_and_radius(description, one)
    return ReleaseView(
        epoch=one.epoch,
        arm=description.arms[one.arm],
        count=one.count,
        mean=mean,
        value=mean * one.count,
        scale=one.scale * description.grid.step,
        radius=radius,
        epsilon=as_text(epoch.epsilon),
        kind=one.kind,
    )


def _mean_and_radius(description: Description, one: Released) -> tuple[float, float]:
    grid, count = description.grid, one.count
    radius = hoeffding_radius(count, 1, one.epsilon, _LEVEL) / count * grid.width * grid.step
    return grid.mean(int(one.steps), count), radius


def _arms(description: Description, history: History, stands: Standing | None) -> list[ArmView]:
    last = {one.arm: one for one in history.released}
    closed = [epoch.plan for epoch in history.epochs if epoch.state == "closed"]
    dropped = {arm: epoch.number for epoch in reversed(history.epochs) for arm in epoch.dropped}
    found = []
    for index, name in enumerate(description.arms):
        mean, radius = _mean_and_radius(description, last[index]) if index in last else (None, None)
        is_viable = stands is None or index in stands.viable
        assigned = sum(plan.get(index, 0) for plan in closed)
        found.append(ArmView(name, is_viable, assigned, mean, radius, dropped.get(index)))
    return found

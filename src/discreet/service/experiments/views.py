"""Views of experiments for anybody with a key: releases, what was planned from them, and what follows from both."""

import math
from collections.abc import Sequence
from typing import Any

from discreet.core.errors import PrivacyError
from discreet.core.tails import hoeffding_radius
from discreet.service.errors import ServiceProblem, conflict
from discreet.service.experiments.descriptions import OURS, Description, described, family
from discreet.service.experiments.epsilon import as_text
from discreet.service.experiments.standing import Standing, standing, verified
from discreet.service.messages import ArmView, EpochView, ExperimentView, PlanView, ReleaseView
from discreet.service.storage import Epoch, Experiment, Released, Transaction, assignments

_LEVEL = math.log(2 / 0.05)  # a radius that holds on both sides with probability 95 %


def experiment_view(transaction: Transaction, row: Experiment) -> ExperimentView:
    """Return an experiment with its open epoch and the newest release of each arm.

    Args:
        transaction: The transaction.
        row: The experiment.
    """
    description = described(row)
    shown = epoch_views(transaction, row)
    now_open = shown[-1] if shown and shown[-1].state == "open" else None
    stands = None if row.state == "draft" else standing(transaction, row)
    best = None if stands is None or stands.best is None else description.arms[stands.best]
    return ExperimentView(
        id=row.uid,
        kind=family(description.kind),
        options={name: one for name, one in description.options.items() if one is not None and name not in OURS},
        default_reward=description.default_reward,
        privacy=description.label(),
        spent=as_text(row.spent),
        arms=[_arm(description, index, shown, stands) for index in range(len(description.arms))],
        epoch=now_open,
        best=best,
        settled=row.state in {"running", "paused"} and now_open is None,
        estimate=None if stands is None else stands.estimate,
        answer=None if stands is None else stands.answer,
        **_fields(row, "name", "state", "algorithm", "population", "created_at", "started_at", "ended_at"),
        **_fields(description.request, "description", "low", "high", "window", "source"),
    )


def epoch_views(transaction: Transaction, row: Experiment) -> list[EpochView]:
    """Return all epochs of an experiment with their releases, the oldest first.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: A release was changed in the database.
    """
    try:
        released = verified(transaction, row)
    except PrivacyError as error:
        raise ServiceProblem(500, "changed release", str(error)) from None
    found = assignments.with_progress(transaction, transaction.rows(Epoch, "number", experiment=row.id))
    return [_epoch(described(row), epoch, released.get(epoch.number, ())) for epoch in found]


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
    grid, count = description.grid, one.count
    radius = hoeffding_radius(count, 1, one.epsilon, _LEVEL) / count * grid.width * grid.step
    mean = grid.mean(int(one.steps), count)
    return ReleaseView(
        epoch=one.epoch,
        arm=description.arms[one.arm],
        count=count,
        mean=mean,
        value=mean * count,
        scale=one.scale * grid.step,
        radius=radius,
        epsilon=as_text(epoch.epsilon),
        kind=one.kind,
    )


def _arm(description: Description, index: int, shown: list[EpochView], stands: Standing | None) -> ArmView:
    name, key = description.arms[index], arm_name(description, index)
    last = [one for epoch in shown for one in epoch.releases if one.arm == name]
    return ArmView(
        name=name,
        viable=stands is None or index in stands.viable,
        assigned=sum(epoch.planned.get(key, 0) for epoch in shown if epoch.state == "closed"),
        mean=last[-1].mean if last else None,
        radius=last[-1].radius if last else None,
        eliminated_in=next((epoch.number for epoch in shown if key in epoch.eliminated), None),
    )

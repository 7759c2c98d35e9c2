"""Views of experiments for anybody with a key: releases, what was planned from them, and what follows from both."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache

from discreet.core.tails import hoeffding_radius
from discreet.service.experiments.course import resume
from discreet.service.experiments.descriptions import Description, described
from discreet.service.experiments.epsilon import as_text
from discreet.service.http.errors import ServiceProblem, conflict
from discreet.service.http.messages import ArmView, EpochView, ExperimentView, PlanView, ReleaseView
from discreet.service.storage import epochs, releases
from discreet.service.storage.database import Transaction
from discreet.service.storage.epochs import Epoch
from discreet.service.storage.experiments import Experiment
from discreet.service.storage.releases import Released

_LEVEL = math.log(2 / 0.05)  # a radius that holds on both sides with probability 95 %


@dataclass(frozen=True)
class Standing:
    """Where an algorithm stands, by its releases."""

    viable: frozenset[int]
    best: int | None
    estimate: float | None
    answer: str | None


@lru_cache(maxsize=1024)
def standing(kind: str, state: str) -> Standing:
    """Where the algorithm that was kept as this text stands."""
    course = resume(kind, json.loads(state))
    said = course.answer
    estimate, answer = said if said is not None else (None, None)
    return Standing(frozenset(course.viable), course.best, estimate, answer)


def experiment_view(transaction: Transaction, row: Experiment) -> ExperimentView:
    """Return an experiment with its open epoch and the newest release of each arm.

    Args:
        transaction: The transaction.
        row: The experiment.
    """
    description = described(row)
    request = description.request
    shown = epoch_views(transaction, row)
    now_open = shown[-1] if shown and shown[-1].state == "open" else None
    stands = standing(description.kind, row.course) if row.course else None
    best = None if stands is None or stands.best is None else description.arms[stands.best]
    return ExperimentView(
        id=row.uid,
        name=row.name,
        state=row.state,
        description=request.description,
        algorithm=description.algorithm,
        kind="policy" if description.kind == "policy" else "rule",
        options={key: value for key, value in description.options.items() if key not in {"low", "high", "epsilon"}},
        low=request.low,
        high=request.high,
        default_reward=description.default_reward,
        window=request.window,
        population=row.population,
        source=request.source,
        privacy=description.label(),
        spent=as_text(row.spent),
        arms=[_arm(description, index, shown, stands) for index in range(len(description.arms))],
        epoch=now_open,
        best=best,
        settled=row.state in {"running", "paused"} and now_open is None,
        estimate=None if stands is None else stands.estimate,
        answer=None if stands is None else stands.answer,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def epoch_views(transaction: Transaction, row: Experiment) -> list[EpochView]:
    """Return all epochs of an experiment with their releases, the oldest first.

    Args:
        transaction: The transaction.
        row: The experiment.
    """
    description = described(row)
    released: dict[int, list[ReleaseView]] = {}
    for one in release_views(transaction, row):
        released.setdefault(one.epoch, []).append(one)
    found = epochs.of_experiment(transaction, row.id)
    return [_epoch(description, epoch, released.get(epoch.number, [])) for epoch in found]


def release_views(transaction: Transaction, row: Experiment) -> list[ReleaseView]:
    """Return all releases of an experiment, the oldest first.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: A release was changed in the database.
    """
    found = releases.of_experiment(transaction, row.id)
    for one in found:
        if one.digest != releases.checksum(one):
            said = f"what epoch {one.epoch} of {row.name!r} released was changed in the database after it was written"
            raise ServiceProblem(500, "changed release", said)
    return [_release(described(row), one) for one in found]


def plan_view(transaction: Transaction, row: Experiment) -> PlanView:
    """Return the plan of an experiment's open epoch, for whoever aggregates an event log.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: No epoch is open.
    """
    description = described(row)
    epoch = epochs.open_epoch(transaction, row.id)
    if epoch is None:
        raise conflict("the experiment has no open epoch: it is not running, or there is nothing left to find out")
    grid, pulls = description.grid, _by_name(description, epoch)
    return PlanView(epoch.number, pulls, True, grid.low, grid.high, grid.step, grid.floor, grid.width)


def arm_name(description: Description, arm: int) -> str:
    """Return an arm's name as a key of JSON; the one arm of a rule is called "mean".

    Args:
        description: The experiment's description.
        arm: The arm's index.
    """
    return description.arms[arm] or "mean"


def _by_name(description: Description, epoch: Epoch) -> dict[str, int]:
    return {arm_name(description, arm): count for arm, count in epoch.plan.items()}


def _epoch(description: Description, epoch: Epoch, released: list[ReleaseView]) -> EpochView:
    return EpochView(
        number=epoch.number,
        state=epoch.state,
        planned=_by_name(description, epoch),
        learns=True,
        quota=epoch.quota,
        dealt=epoch.dealt,
        epsilon=as_text(epoch.epsilon),
        opened_at=epoch.opened_at,
        full_at=epoch.full_at,
        due_at=epoch.due_at,
        closed_at=epoch.closed_at,
        threshold=epoch.threshold,
        releases=released,
        eliminated=[arm_name(description, arm) for arm in epoch.dropped],
    )


def _release(description: Description, one: Released) -> ReleaseView:
    grid = description.grid
    epsilon = grid.width * grid.step / one.scale  # that the noise was drawn with
    radius = hoeffding_radius(one.pulls, 1, epsilon, _LEVEL) / one.pulls * grid.width * grid.step
    return ReleaseView(
        epoch=one.epoch,
        arm=description.arms[one.arm],
        count=one.pulls,
        mean=one.value / one.pulls,
        value=one.value,
        scale=one.scale,
        radius=radius,
        epsilon=as_text(one.epsilon),
        what=one.what,
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

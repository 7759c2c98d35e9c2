"""What anybody with a key may see: releases, what was planned from them, and what follows from both. Nothing else."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, select

from discreet.core.tails import hoeffding_radius
from discreet.service.experiments.closing import checksum, planned
from discreet.service.experiments.course import resume
from discreet.service.experiments.descriptions import Description
from discreet.service.experiments.epsilon import as_text
from discreet.service.http.errors import ServiceProblem, conflict
from discreet.service.http.messages import ArmView, EpochView, ExperimentView, PlanView, ReleaseView
from discreet.service.storage import schema
from discreet.service.storage.queries import described

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


def experiment_view(connection: Connection, row: Row[Any]) -> ExperimentView:
    """An experiment with its open epoch and what was released last about each arm."""
    description = described(row)
    request = description.request
    epochs = epoch_views(connection, row)
    now_open = epochs[-1] if epochs and epochs[-1].state == "open" else None
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
        spent=as_text(Fraction(row.spent)),
        arms=[_arm(description, number, epochs, stands) for number in range(len(description.arms))],
        epoch=now_open,
        best=best,
        settled=row.state in {"running", "paused"} and now_open is None,
        estimate=None if stands is None else stands.estimate,
        answer=None if stands is None else stands.answer,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def epoch_views(connection: Connection, row: Row[Any]) -> list[EpochView]:
    """All epochs, oldest first, with their releases."""
    description, table = described(row), schema.epoch
    released: dict[int, list[ReleaseView]] = {}
    for one in release_views(connection, row):
        released.setdefault(one.epoch, []).append(one)
    found = connection.execute(select(table).where(table.c.experiment == row.id).order_by(table.c.number))
    return [_epoch(description, epoch, released.get(epoch.number, [])) for epoch in found]


def release_views(connection: Connection, row: Row[Any]) -> list[ReleaseView]:
    """All releases, oldest first."""
    table = schema.release
    order = (table.c.epoch, table.c.what, table.c.arm)
    found = connection.execute(select(table).where(table.c.experiment == row.id).order_by(*order)).all()
    for one in found:
        if one.digest != checksum({key: value for key, value in one._mapping.items() if key != "digest"}):
            said = f"what epoch {one.epoch} of {row.name!r} released was changed in the database after it was written"
            raise ServiceProblem(500, "changed release", said)
    return [_release(described(row), one) for one in found]


def plan_view(connection: Connection, row: Row[Any]) -> PlanView:
    """What the open epoch needs, for whoever aggregates an event log."""
    table, description = schema.epoch, described(row)
    epoch = connection.execute(select(table).where(table.c.experiment == row.id, table.c.state == "open")).first()
    if epoch is None:
        raise conflict("the experiment has no open epoch: it is not running, or there is nothing left to find out")
    grid = description.grid
    pulls = {_name(description, arm): count for arm, count in planned(epoch).items()}
    return PlanView(epoch.number, pulls, True, grid.low, grid.high, grid.step, grid.floor, grid.width)


def _epoch(description: Description, epoch: Row[Any], released: list[ReleaseView]) -> EpochView:
    return EpochView(
        number=epoch.number,
        state=epoch.state,
        planned={_name(description, arm): count for arm, count in planned(epoch).items()},
        learns=True,
        quota=epoch.quota,
        dealt=epoch.dealt,
        epsilon=as_text(Fraction(epoch.epsilon)),
        opened_at=epoch.opened_at,
        full_at=epoch.full_at,
        ripe_at=epoch.ripe_at,
        closed_at=epoch.closed_at,
        threshold=epoch.threshold,
        releases=released,
        eliminated=[_name(description, arm) for arm in json.loads(epoch.dropped)],
    )


def _release(description: Description, one: Row[Any]) -> ReleaseView:
    grid = description.grid
    epsilon = description.grid.width * grid.step / one.scale  # what the noise was drawn with
    radius = hoeffding_radius(one.pulls, 1, epsilon, _LEVEL) / one.pulls * grid.width * grid.step
    return ReleaseView(
        epoch=one.epoch,
        arm=description.arms[one.arm],
        count=one.pulls,
        mean=one.value / one.pulls,
        value=one.value,
        scale=one.scale,
        radius=radius,
        epsilon=as_text(Fraction(one.epsilon)),
        what=one.what,
    )


def _arm(description: Description, number: int, epochs: list[EpochView], stands: Standing | None) -> ArmView:
    name = description.arms[number]
    key = _name(description, number)
    last = [one for epoch in epochs for one in epoch.releases if one.arm == name]
    closed = sum(epoch.planned.get(key, 0) for epoch in epochs if epoch.state == "closed")
    return ArmView(
        name=name,
        viable=stands is None or number in stands.viable,
        assigned=closed,
        mean=last[-1].mean if last else None,
        radius=last[-1].radius if last else None,
        eliminated_in=next((epoch.number for epoch in epochs if key in epoch.eliminated), None),
    )


def _name(description: Description, arm: int) -> str:
    """An arm's name as a key of JSON; the one stream of a running mean is called so."""
    return description.arms[arm] or "mean"

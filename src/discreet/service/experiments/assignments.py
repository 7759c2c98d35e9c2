"""The hot path: who gets which arm, and what they report; many requests in a transaction of the caller's."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from sqlalchemy import Connection, Row
from sqlalchemy import insert as insert_into

from discreet.service.experiments.allocation import order
from discreet.service.experiments.course import resume
from discreet.service.experiments.descriptions import Description
from discreet.service.experiments.pseudonyms import pseudonym, share
from discreet.service.http import tokens
from discreet.service.http.errors import conflict
from discreet.service.http.messages import Assignment, Status
from discreet.service.storage import schema
from discreet.service.storage.database import Store

_STATE = "SELECT state, {now} FROM experiment WHERE id = :experiment"
_COURSE = "SELECT course FROM experiment WHERE id = :experiment"
_EPOCH = "SELECT number, mark, plan, quota, dealt FROM epoch WHERE experiment = :experiment AND state = 'open'"
# A unit's pseudonym is of one experiment. With + 0 there is no index but the one of units: PostgreSQL, which knows
# little of a young table, may read all of another one instead.
_KNOWN = """SELECT unit, slot, arm, deadline FROM assignment
    WHERE {units} AND experiment + 0 = :experiment AND epoch + 0 = :epoch"""
_PARTICIPANTS = "SELECT unit FROM participant WHERE {units} AND experiment + 0 = :experiment"
_IS_OPEN = """SELECT 1 FROM epoch
    WHERE experiment = :experiment AND number = :epoch AND mark = :mark AND state = 'open'"""
# 1 for the first time, and then 2 and 3 in turn: where nothing changed, SQLite would not wait for the disk.
_TELL = """UPDATE assignment SET told = CASE told WHEN 0 THEN 1 WHEN 2 THEN 3 ELSE 2 END
    WHERE experiment = :experiment AND epoch = :epoch AND {slots} AND deadline >= {now}
    RETURNING slot, arm, unit, told"""
_UNTELL = "UPDATE assignment SET told = 0 WHERE experiment = :experiment AND epoch = :epoch AND {slots}"
_COUNT = """INSERT INTO counter (experiment, epoch, shard, arm, told, total)
    VALUES (:experiment, :epoch, :shard, :arm, :told, :total)
    ON CONFLICT (experiment, epoch, shard, arm)
    DO UPDATE SET told = counter.told + excluded.told, total = counter.total + excluded.total"""


@dataclass(frozen=True)
class Started:
    """What does not change about an experiment once it has started."""

    id: int
    uid: str
    secret: bytes
    description: Description


@dataclass(frozen=True, slots=True)
class Ask:
    """Somebody wants to know what these units get; None is a unit without a name."""

    experiment: Started
    units: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Tell:
    """A reward, in grid units, of an assignment whose token was checked."""

    experiment: Started
    place: tokens.Place
    reward: int


# ---------------------------------------------------------------------- assign


def assign(store: Store, connection: Connection, ask: Ask) -> list[Assignment]:
    """What each unit gets: what it has already in this epoch, or the next slot, or an arm that nothing depends on."""
    mine = {"experiment": ask.experiment.id}
    query = _EPOCH + store.for_update
    epochs = store.run(connection, query, mine)
    if not epochs and not store.sqlite:  # it may have waited for a close, whose new epoch a new statement sees
        epochs = store.run(connection, query, mine)
    clock, given = store.clock()
    ((state, now),) = store.run(connection, _STATE.format(now=clock), {**mine, **given})
    if state in {"draft", "archived"}:
        raise conflict(f"the experiment is {'not started' if state == 'draft' else 'archived'}")
    if not epochs or state != "running":
        return _serve(store, connection, ask)
    return _deal(store, connection, ask, epochs[0], now)


def _deal(
    store: Store, connection: Connection, ask: Ask, epoch: Row[tuple[int, int, str, int, int]], now: float
) -> list[Assignment]:
    experiment, description = ask.experiment, ask.experiment.description
    names = [secrets.token_urlsafe(16) if unit is None else pseudonym(experiment.secret, unit) for unit in ask.units]
    mine = {"experiment": experiment.id, "epoch": epoch.number}
    known = _KNOWN.format(units=store.among("unit"))
    listed = {**mine, "listed": store.listed(names)}
    slots = {name: (slot, arm, end) for name, slot, arm, end in store.run(connection, known, listed)}
    fresh = dict.fromkeys(name for name in names if name not in slots)
    if description.once and fresh:
        query = _PARTICIPANTS.format(units=store.among("unit"))
        listed = {"experiment": experiment.id, "listed": store.listed(list(fresh))}
        for (name,) in store.run(connection, query, listed):
            del fresh[name]
    dealt = list(islice(fresh, epoch.quota - epoch.dealt))
    plan = {int(arm): count for arm, count in json.loads(epoch.plan).items()}
    if dealt:
        deadline = now + description.request.window
        arms = order(experiment.secret, epoch.number, plan, epoch.dealt, epoch.dealt + len(dealt))
        dealing = enumerate(zip(dealt, arms, strict=True), epoch.dealt)
        rows = [(slot, name, arm) for slot, (name, arm) in dealing]
        if description.once:
            connection.execute(
                insert_into(schema.participant), [{"experiment": experiment.id, "unit": name} for name in dealt]
            )
        full = epoch.dealt + len(dealt) == epoch.quota
        ripe_at, full_at = (deadline, now) if full else (None, None)
        now_dealt = {"dealt": epoch.dealt + len(dealt), "full_at": full_at, "ripe_at": ripe_at, "deadline": deadline}
        store.deal(connection, {**mine, **now_dealt}, rows)
        slots.update({name: (slot, arm, deadline) for slot, name, arm in rows})
    spare = sorted(plan)
    answers = []
    for unit, name in zip(ask.units, names, strict=True):
        if name in slots:
            slot, arm, end = slots[name]
            witness = tokens.witness(experiment.secret, epoch.mark, slot, name)
            place = tokens.Place(experiment.id, epoch.number, epoch.mark, slot, witness)
            token = tokens.seal(experiment.secret, place)
            answers.append(Assignment(unit, description.arms[arm], token, epoch.number, True, end))
        else:
            arm = spare[share(experiment.secret, epoch.number, name) % len(spare)]
            answers.append(Assignment(unit, description.arms[arm], None, epoch.number, False, None))
    return answers


def _serve(store: Store, connection: Connection, ask: Ask) -> list[Assignment]:
    """Arms for units while nothing is learned: paused, stopped, or nothing left to find out."""
    experiment, arms = ask.experiment, ask.experiment.description.arms
    ((course,),) = store.run(connection, _COURSE, {"experiment": experiment.id})
    served = _served(experiment.description.kind, course)
    answers = []
    for unit in ask.units:
        number = secrets.randbelow(len(served)) if unit is None else share(experiment.secret, 0, unit) % len(served)
        answers.append(Assignment(unit, arms[served[number]], None, None, False, None))
    return answers


@lru_cache(maxsize=256)
def _served(kind: str, state: str) -> list[int]:
    """The arms that are left, or the best of them once nothing is left to find out."""
    course = resume(kind, json.loads(state))
    plan = course.plan()
    if plan is not None:
        return sorted(plan.by_arm)
    return sorted(course.viable) if course.best is None else [course.best]


# ---------------------------------------------------------------------- report


def tell(store: Store, connection: Connection, shard: str, told: Sequence[Tell]) -> list[Status]:
    """Count each reward once, while its epoch is open and its window has not passed: "accepted", and else "late".

    What is said of it depends on the assignment and on the time alone. Whoever may assign and report can ask for any
    unit's assignment: a word that told a first reward from a second one would tell them who has answered. A second one
    is written down as a first one is, too, and so takes as long.
    """
    statuses: list[Status] = ["late"] * len(told)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for place, one in enumerate(told):
        groups.setdefault(one.place[:3], []).append(place)
    for group, places in sorted(groups.items()):  # in one order everywhere, so that writers cannot block each other
        found = _tell_epoch(store, connection, shard, group, [told[place] for place in places])
        for place, status in zip(places, found, strict=True):
            statuses[place] = status
    return statuses


def _tell_epoch(
    store: Store, connection: Connection, shard: str, place: tuple[int, int, int], told: list[Tell]
) -> list[Status]:
    experiment, epoch, mark = place
    store.lock(connection, experiment, shared=True)
    mine = {"experiment": experiment, "epoch": epoch}
    if not store.run(connection, _IS_OPEN, {**mine, "mark": mark}):
        return ["late"] * len(told)
    secret, among = told[0].experiment.secret, store.among("slot")
    rewards: dict[tuple[int, bytes], int] = {}
    for one in told:
        rewards.setdefault(one.place[3:], one.reward)
    slots = store.listed(list({slot for slot, _ in rewards}))
    clock, given = store.clock()
    accepted, wronged = set(), []
    sums: dict[int, tuple[int, int]] = {}
    for slot, arm, unit, times in store.run(
        connection, _TELL.format(slots=among, now=clock), {**mine, **given, "listed": slots}
    ):
        owner, first = (slot, tokens.witness(secret, mark, slot, unit)), times == 1
        if owner in rewards:
            count, total = sums.get(arm, (0, 0))
            sums[arm] = count + first, total + first * rewards[owner]
            accepted.add(owner)
        elif first:
            wronged.append(slot)
    if sums:
        rows = [{**mine, "shard": shard, "arm": arm, "told": n, "total": s} for arm, (n, s) in sorted(sums.items())]
        store.run(connection, _COUNT, rows)
    if wronged:  # a slot that was another unit's before a restore: the one who has it now has said nothing
        store.run(connection, _UNTELL.format(slots=among), {**mine, "listed": store.listed(wronged)})
    return ["accepted" if one.place[3:] in accepted else "late" for one in told]

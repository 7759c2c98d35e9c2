"""Assigning units to arms and counting their rewards: many requests in one transaction."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from discreet.service.errors import ServiceProblem, conflict
from discreet.service.experiments import tokens
from discreet.service.experiments.allocation import order
from discreet.service.experiments.descriptions import Description
from discreet.service.experiments.standing import standing
from discreet.service.experiments.tokens import pseudonym, share
from discreet.service.messages import Assignment, Status
from discreet.service.storage import Database, Experiment, Slot, Transaction, assignments
from discreet.service.storage.group_commit import GroupCommit


@dataclass(frozen=True)
class Started:
    """The part of an experiment that does not change once it has started.

    Args:
        id: Its number in the database.
        uid: Its public id.
        secret: The key of its pseudonyms and orders of arms.
        token_secret: The key of the service's tokens.
        description: Its description.
    """

    id: int
    uid: str
    secret: bytes
    token_secret: bytes
    description: Description


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for assignments.

    Args:
        experiment: The experiment.
        units: The names of units; None for a unit without a name.
    """

    experiment: Started
    units: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Tell:
    """A report of a reward.

    Args:
        experiment: The experiment.
        place: What the assignment's token says, which was checked.
        reward: The reward in grid steps.
    """

    experiment: Started
    place: tokens.Place
    reward: int


Work = Ask | Sequence[Tell]


class Writer(GroupCommit[Work]):
    """Assigns units and counts rewards, many requests in one transaction.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        self.shard = database.new_shard()
        super().__init__(database, self._answer_all, _rows)

    def _answer_all(self, transaction: Transaction, works: list[Work]) -> list[Any]:
        """Do all reports first, so that asking cannot delay them; then all asks, one experiment after the other."""
        answers: list[Any] = [None] * len(works)
        told = [(index, work) for index, work in enumerate(works) if not isinstance(work, Ask)]
        statuses = iter(tell(transaction, self.shard, [one for _, rewards in told for one in rewards]))
        for index, rewards in told:
            answers[index] = list(islice(statuses, len(rewards)))
        asked: dict[int, list[tuple[int, Ask]]] = {}
        for index, work in enumerate(works):
            if isinstance(work, Ask):
                asked.setdefault(work.experiment.id, []).append((index, work))
        for _, asks in sorted(asked.items()):
            _assign_together(transaction, asks, answers)
        return answers


def _rows(work: Work) -> int:
    return len(work.units) if isinstance(work, Ask) else len(work)


def _assign_together(transaction: Transaction, asks: list[tuple[int, Ask]], answers: list[Any]) -> None:
    """Answer the asks about one experiment as if they were one."""
    together = Ask(asks[0][1].experiment, [unit for _, ask in asks for unit in ask.units])
    try:
        given = iter(assign(transaction, together))
    except ServiceProblem as problem:
        for index, _ in asks:
            answers[index] = problem
        return
    for index, ask in asks:
        answers[index] = list(islice(given, len(ask.units)))


# ---------------------------------------------------------------------- assign


def assign(transaction: Transaction, ask: Ask) -> list[Assignment]:
    """Assign units: to what each has already in this epoch, to the next slot, or to an arm that nothing depends on.

    Args:
        transaction: The transaction.
        ask: The request.

    Returns:
        One assignment for each unit, in the order of the request.

    Raises:
        ServiceProblem: The experiment is not started, or archived.
    """
    state, now, epoch = assignments.state_and_dealing(transaction, ask.experiment.id)
    if state in {"draft", "archived"}:
        raise conflict(f"the experiment is {'not started' if state == 'draft' else 'archived'}")
    if epoch is None or state != "running":
        return _serve(transaction, ask)
    return _deal(transaction, ask, epoch, now)


def _deal(transaction: Transaction, ask: Ask, epoch: assignments.Dealing, now: float) -> list[Assignment]:
    experiment, description = ask.experiment, ask.experiment.description
    names = [secrets.token_urlsafe(16) if unit is None else pseudonym(experiment.secret, unit) for unit in ask.units]
    known = assignments.assigned(transaction, experiment.id, epoch.number, names)
    fresh = dict.fromkeys(name for name in names if name not in known)
    if description.once and epoch.learns and fresh:
        for name in assignments.participants(transaction, experiment.id, list(fresh)):
            del fresh[name]
    dealt = list(islice(fresh, epoch.quota - epoch.dealt))
    if dealt:
        known.update(_deal_slots(transaction, experiment, epoch, dealt, now))
    spare = sorted(epoch.plan)
    answers = []
    for unit, name in zip(ask.units, names, strict=True):
        if name in known and epoch.learns:
            slot, arm, deadline = known[name]
            unit_tag = tokens.unit_tag(experiment.secret, epoch.generation, slot, name)
            place = tokens.Place(experiment.id, epoch.number, epoch.generation, slot, unit_tag)
            token = tokens.seal(experiment.token_secret, place)
            answers.append(Assignment(unit, description.arms[arm], token, epoch.number, True, deadline))
        else:
            spare_arm = spare[share(experiment.secret, epoch.number, name) % len(spare)]
            arm = known[name].arm if name in known else spare_arm
            answers.append(Assignment(unit, description.arms[arm], None, epoch.number, False, None))
    return answers


def _deal_slots(
    transaction: Transaction, experiment: Started, epoch: assignments.Dealing, units: list[str], now: float
) -> dict[str, assignments.Assigned]:
    """Deal the next slots of an epoch to units that have none."""
    first, dealt = epoch.dealt, epoch.dealt + len(units)
    deadline = now + experiment.description.request.window if epoch.learns else now
    arms = order(experiment.secret, epoch.number, epoch.plan, first, dealt)
    slots = [Slot(first + index, unit, arm) for index, (unit, arm) in enumerate(zip(units, arms, strict=True))]
    if experiment.description.once and epoch.learns:
        assignments.add_participants(transaction, experiment.id, units)
    full_at, due_at = (now, deadline) if dealt == epoch.quota else (None, None)
    progress = {"dealt": dealt, "deadline": deadline, "full_at": full_at, "due_at": due_at}
    where = {"experiment": experiment.id, "epoch": epoch.number}
    transaction.database.deal(transaction, where | progress, slots)
    return {slot.unit: assignments.Assigned(slot.slot, slot.arm, deadline) for slot in slots}


def _serve(transaction: Transaction, ask: Ask) -> list[Assignment]:
    """Assign arms while nothing is learned: paused, stopped, or nothing left to find out."""
    experiment, arms = ask.experiment, ask.experiment.description.arms
    row = transaction.find(Experiment, id=experiment.id)
    assert row is not None
    served = standing(transaction, row).served
    answers = []
    for unit in ask.units:
        index = secrets.randbelow(len(served)) if unit is None else share(experiment.secret, 0, unit) % len(served)
        answers.append(Assignment(unit, arms[served[index]], None, None, False, None))
    return answers


# ---------------------------------------------------------------------- report


def tell(transaction: Transaction, shard: str, told: Sequence[Tell]) -> list[Status]:
    """Count each reward once, while its epoch is open and its window has not passed.

    A repeated reward gets the same receipt as a first one; otherwise a client that may assign and report could learn
    who has answered. It is written as a first one is, too, so that it takes as long.

    Args:
        transaction: The transaction.
        shard: The writer's own part of the sums.
        told: The reports.

    Returns:
        "accepted" or "late" for each report, by its assignment and the time alone.
    """
    statuses: list[Status] = ["late"] * len(told)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for index, one in enumerate(told):
        groups.setdefault(one.place[:3], []).append(index)
    for group, indexes in sorted(groups.items()):  # in one order everywhere, so that writers cannot block each other
        found = _tell_epoch(transaction, shard, group, [told[index] for index in indexes])
        for index, status in zip(indexes, found, strict=True):
            statuses[index] = status
    return statuses


def _tell_epoch(
    transaction: Transaction, shard: str, place: tuple[int, int, int], told: list[Tell]
) -> Sequence[Status]:
    experiment, epoch, generation = place
    transaction.lock(experiment, shared=True)
    if not assignments.is_open(transaction, experiment, epoch, generation):
        return ["late"] * len(told)
    secret = told[0].experiment.secret
    rewards: dict[tuple[int, bytes], int] = {}
    for one in told:
        rewards.setdefault(one.place[3:], one.reward)
    accepted, wronged = set(), []
    totals: dict[int, tuple[int, int]] = {}
    slots = list({slot for slot, _ in rewards})
    for slot, arm, unit, first in assignments.report(transaction, experiment, epoch, slots):
        owner = slot, tokens.unit_tag(secret, generation, slot, unit)
        if owner in rewards:
            count, total = totals.get(arm, (0, 0))
            totals[arm] = count + first, total + first * rewards[owner]
            accepted.add(owner)
        elif first:
            wronged.append(slot)
    if totals:
        assignments.add_totals(transaction, experiment, epoch, shard, totals)
    if wronged:  # slots that were other units' before a restore: those who have them now have reported nothing
        assignments.retract(transaction, experiment, epoch, wronged)
    return ["accepted" if one.place[3:] in accepted else "late" for one in told]

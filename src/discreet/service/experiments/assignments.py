"""Assigning units to arms and counting their rewards: many requests in one transaction."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from discreet.service.errors import ServiceProblem, conflict, invalid
from discreet.service.experiments import tokens
from discreet.service.experiments.allocation import order
from discreet.service.experiments.descriptions import Description
from discreet.service.experiments.standing import standing
from discreet.service.experiments.tokens import PSEUDONYM, pseudonym, share
from discreet.service.messages import Assignment, AssignRequest, Status
from discreet.service.storage import Database, Dealt, Experiment, Slot, Transaction, assignments, leases
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


class Tell(NamedTuple):
    """A report of a reward.

    Attributes:
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
        """Do all reports first, so that asking cannot delay them; then all asks."""
        asks = [work for work in works if isinstance(work, Ask)]
        told = [one for work in works if not isinstance(work, Ask) for one in work]
        experiments = {ask.experiment.id for ask in asks} | {one.experiment.id for one in told}
        transaction.lock(*sorted(experiments), shared=True)
        statuses = iter(tell(transaction, self.shard, told))
        given = iter(assign(transaction, self.shard, asks))
        return [next(given) if isinstance(work, Ask) else list(islice(statuses, len(work))) for work in works]


class Writers(NamedTuple):
    """The writers of a process.

    Attributes:
        single: For assignments and single rewards.
        batches: For batches of rewards. Where the database takes several transactions at once, others need not wait
            for them, and one is made up while another is written; else there is one writer for all.
    """

    single: Writer
    batches: tuple[Writer, ...]

    @classmethod
    def of(cls, database: Database) -> "Writers":
        """Start the writers of a database."""
        single = Writer(database)
        return cls(single, (Writer(database), Writer(database)) if database.WRITES_AT_ONCE else (single,))

    async def count_batch(self, rewards: Sequence[Tell]) -> list[Status]:
        """Count a batch of rewards, by the writer for which the fewest requests wait."""
        statuses: list[Status] = await min(self.batches, key=Writer.waiting).do(rewards)
        return statuses

    def stop(self) -> None:
        """Finish the requests that wait, and end the threads."""
        for writer in {self.single, *self.batches}:
            writer.stop()


def _rows(work: Work) -> int:
    return len(work.units) if isinstance(work, Ask) else len(work)


def units_of(description: Description, request: AssignRequest) -> Sequence[str | None]:
    """Return the units that a request names; None for each one without a name.

    Args:
        description: The experiment's description.
        request: The request.

    Raises:
        ServiceProblem: The experiment assigns nobody, or needs names.
    """
    if description.request.source == "totals":
        raise conflict("this experiment is fed from an event log and assigns nobody")
    if (request.units is None) == (request.count is None):
        raise invalid("units", "give units (their names), or count, and not both")
    if request.units is None and description.request.privacy_unit == "person":
        raise invalid("count", "people need names, so that each counts as often as promised: give units")
    return request.units if request.units is not None else [None] * (request.count or 0)


# ---------------------------------------------------------------------- assign


@dataclass(frozen=True, slots=True)
class _Open:
    """An experiment with an open epoch, and the units that ask for it.

    Args:
        experiment: The experiment.
        epoch: Its open epoch.
        units: The names of units; None for a unit without a name.
        names: Their pseudonyms.
    """

    experiment: Started
    epoch: assignments.Dealing
    units: Sequence[str | None]
    names: list[bytes]


def assign(transaction: Transaction, writer: str, asks: Sequence[Ask]) -> list[Any]:
    """Assign units: to what each has already in this epoch, to the next slot, or to an arm that nothing depends on.

    All requests are answered by a few statements, however many experiments they are about.

    Args:
        transaction: The transaction, which has locked the experiments.
        writer: The writer whose leases the slots come from.
        asks: The requests.

    Returns:
        For each request, one assignment for each unit in its order; or a `ServiceProblem`, if the experiment is not
        started, or archived.
    """
    groups: dict[int, list[Ask]] = {}
    for ask in asks:
        groups.setdefault(ask.experiment.id, []).append(ask)
    now, dealings = assignments.dealings(transaction, writer, sorted(groups)) if groups else (0.0, {})
    answers: dict[int, Any] = {}
    dealing: list[_Open] = []
    for number, group in sorted(groups.items()):
        experiment, units = group[0].experiment, [unit for ask in group for unit in ask.units]
        state, epoch = dealings[number]
        if state in {"draft", "archived"}:
            answers[number] = conflict(f"the experiment is {'not started' if state == 'draft' else 'archived'}")
        elif epoch is None or state != "running":
            answers[number] = iter(_serve(transaction, experiment, units))
        else:
            names = [_name(experiment, unit) for unit in units]
            dealing.append(_Open(experiment, epoch, units, names))
    if dealing:
        known = _deal(transaction, writer, dealing, now)
        answers.update({one.experiment.id: _answers(one, known) for one in dealing})
    return [_part(answers[ask.experiment.id], len(ask.units)) for ask in asks]


def _name(experiment: Started, unit: str | None) -> bytes:
    return secrets.token_bytes(PSEUDONYM) if unit is None else pseudonym(experiment.secret, unit)


def _part(answers: Any, size: int) -> Any:
    return answers if isinstance(answers, ServiceProblem) else list(islice(answers, size))


def _deal(
    transaction: Transaction, writer: str, dealing: list[_Open], now: float
) -> dict[tuple[int, bytes], assignments.Assigned]:
    """Deal slots to units that have none, as far as there are any, and return all that have one."""
    wanted = {(one.experiment.id, one.epoch.number, name): None for one in dealing for name in one.names}
    known = assignments.assigned(transaction, list(wanted))
    once = {one.experiment.id for one in dealing if one.experiment.description.once and one.epoch.learns}
    barred = assignments.participants(transaction, [(who, name) for who, _, name in wanted if who in once])
    slots: list[Slot] = []
    changed: list[Dealt] = []
    for one in dealing:
        who = one.experiment.id
        fresh = [name for name in dict.fromkeys(one.names) if (who, name) not in known and (who, name) not in barred]
        if fresh:
            dealt, lease = _slots(transaction, writer, one, fresh, now)
            slots += dealt
            changed += lease
    if slots:
        if once:
            new = [(one.experiment, one.unit) for one in slots if one.experiment in once]
            assignments.add_participants(transaction, new)
        transaction.database.deal(transaction, writer, changed, slots)
    for slot in slots:
        known[slot.experiment, slot.unit] = assignments.Assigned(slot.slot, slot.arm, slot.deadline)
    return known


def _slots(
    transaction: Transaction, writer: str, one: _Open, fresh: list[bytes], now: float
) -> tuple[list[Slot], list[Dealt]]:
    """Return slots for units that have none, and what this changes in the writer's lease."""
    experiment, epoch = one.experiment, one.epoch
    ranges = [range(epoch.next, epoch.stop)]
    if len(fresh) > len(ranges[0]):
        missing = len(fresh) - len(ranges[0])
        ranges += leases.extend(transaction, writer, experiment.id, epoch.number, missing)
    deadline = now + experiment.description.request.window if epoch.learns else now
    units = iter(fresh)
    slots: list[Slot] = []
    for lease in ranges:  # all but the last one are dealt whole
        dealt = lease[: len(fresh) - len(slots)]
        arms = order(experiment.secret, epoch.number, epoch.plan, dealt.start, dealt.stop)
        for slot, unit, arm in zip(dealt, units, arms, strict=False):
            slots.append(Slot(experiment.id, epoch.number, slot, unit, arm, deadline))
    where = experiment.id, epoch.number, epoch.next, epoch.stop
    return slots, [Dealt(*where, dealt.stop, lease.stop, len(slots), now, deadline)] if slots else []


def _answers(one: _Open, known: Mapping[tuple[int, bytes], assignments.Assigned]) -> Iterator[Assignment]:
    """Yield the assignment of each unit, in their order."""
    experiment, epoch, arms = one.experiment, one.epoch, one.experiment.description.arms
    spare = sorted(epoch.plan)
    for unit, name in zip(one.units, one.names, strict=True):
        found = known.get((experiment.id, name))
        if found is not None and epoch.learns:
            slot, arm, deadline = found
            unit_tag = tokens.unit_tag(experiment.secret, epoch.generation, slot, name)
            place = tokens.Place(experiment.id, epoch.number, epoch.generation, slot, unit_tag)
            token = tokens.seal(experiment.token_secret, place)
            yield Assignment(unit, arms[arm], token, epoch.number, True, deadline)
        else:
            index = found.arm if found else spare[share(experiment.secret, epoch.number, name) % len(spare)]
            yield Assignment(unit, arms[index], None, epoch.number, False, None)


def _serve(transaction: Transaction, experiment: Started, units: Sequence[str | None]) -> list[Assignment]:
    """Assign arms while nothing is learned: paused, stopped, or nothing left to find out."""
    arms = experiment.description.arms
    row = transaction.find(Experiment, id=experiment.id)
    assert row is not None
    served = standing(transaction, row).served
    answers = []
    for unit in units:
        chosen = secrets.token_bytes(8) if unit is None else unit.encode()
        index = share(experiment.secret, 0, chosen) % len(served)
        answers.append(Assignment(unit, arms[served[index]], None, None, False, None))
    return answers


# ---------------------------------------------------------------------- report


def tell(transaction: Transaction, shard: str, told: Sequence[Tell]) -> list[Status]:
    """Count each reward once, while its epoch is open and its window has not passed.

    A repeated reward gets the same receipt as a first one; otherwise a client that may assign and report could learn
    who has answered. It is written as a first one is, too, so that it takes as long.

    Args:
        transaction: The transaction, which has locked the experiments.
        shard: The writer's own part of the sums.
        told: The reports.

    Returns:
        "accepted" or "late" for each report, by its assignment and the time alone.
    """
    rewards: dict[tuple[Any, ...], int] = {}
    for one in told:
        rewards.setdefault(one.place, one.reward)
    keys = {one.experiment.id: one.experiment.secret for one in told}
    accepted: set[tuple[Any, ...]] = set()
    wronged: list[tuple[int, int, int]] = []
    totals: dict[tuple[int, int, int], tuple[int, int]] = {}
    for experiment, epoch, generation, slot, unit, arm, first in assignments.report(transaction, rewards):
        tag = tokens.unit_tag(keys[experiment], generation, slot, unit)
        place = experiment, epoch, generation, slot, tag
        if place in rewards:
            accepted.add(place)
            count, total = totals.get((experiment, epoch, arm), (0, 0))
            totals[experiment, epoch, arm] = count + first, total + first * rewards[place]
        elif first:  # another unit had the slot before a restore: the one that has it now has reported nothing
            wronged.append((experiment, epoch, slot))
    assignments.retract(transaction, wronged)
    if totals:
        assignments.add_totals(transaction, shard, totals)
    return ["accepted" if one.place in accepted else "late" for one in told]

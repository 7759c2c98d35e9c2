"""Statements about an experiment's arms by its releases: lifts against a control, and which arms may be the best.

Everything here follows from releases, so it costs no epsilon. It is computed once for a ledger of one length.
"""

import hashlib
import math
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import msgspec

from discreet import inference
from discreet.core.errors import PrivacyError
from discreet.core.ledger import Ledger
from discreet.core.plans import Arm
from discreet.core.releases import Release
from discreet.service.errors import ServiceProblem, invalid
from discreet.service.experiments.descriptions import Description, described
from discreet.service.experiments.standing import History, verified
from discreet.service.experiments.statements import verdicts
from discreet.service.experiments.statements.remembered import Remembered
from discreet.service.messages import ArmAtLook, ArmSummary, Comparison, Look, Summary, SummaryQuery
from discreet.service.storage import Experiment, Released

MOST_DRAWN = 8  # arms of which earlier looks are told
_SPACING = 1.3  # the ratio of the numbers of two looks that are told, where there are many
_MOST_SUMMARIES, _MOST_LOOKS = 256, 8192
_LEVEL_DIGITS = 4  # so that there are not ever new levels
_computing = tuple(threading.Lock() for _ in range(64))  # an experiment has one of them
_summaries, _looks = Remembered(_MOST_SUMMARIES), Remembered(_MOST_LOOKS)


def summary_in(row: Experiment, history: History, query: SummaryQuery) -> Summary:
    """Return what an experiment's releases say of its arms, from what was read of it.

    It may take long, so no transaction should be open.

    Args:
        row: The experiment.
        history: Its history.
        query: The control, the level, and whether means may change.

    Raises:
        ServiceProblem: There is no such control, or a release was changed in the database.
    """
    try:
        verified(row, history.released)
    except PrivacyError as error:
        raise ServiceProblem(500, "changed release", str(error)) from None
    wanted = _wanted(described(row), query)
    digests = tuple(_digests(row, history.released))
    key = digests[-1], *wanted.key

    def compute() -> Summary:
        with _computing[hash(row.uid) % len(_computing)]:  # who waited finds what another has computed meanwhile
            return _summaries.get(key, lambda: _compute(row, history.released, digests, wanted))

    found = _summaries.get(key, compute)
    closed = {epoch.number: epoch.closed_at for epoch in history.epochs}
    looks = [msgspec.structs.replace(look, at=closed.get(look.epoch)) for look in found.looks]
    return msgspec.structs.replace(found, experiment=row.uid, looks=looks)


@dataclass(frozen=True)
class _Wanted:
    """A summary that is wanted.

    Args:
        control: The arm that others are compared with.
        level: The confidence.
        drifting: True if means may change.
    """

    control: Arm
    level: float
    drifting: bool

    @property
    def key(self) -> tuple[Hashable, ...]:
        """All that a summary depends on besides the releases and the description."""
        return self.control, self.level, self.drifting


def _wanted(description: Description, query: SummaryQuery) -> _Wanted:
    control = query.control or description.control
    if control not in description.arms:
        there = ", ".join(map(str, description.arms)) if description.control else "none, since a rule has no arms"
        raise invalid("control", f"control must be one of the arms ({there}), got {query.control!r}")
    drifting = description.request.drifting if query.drifting is None else query.drifting
    return _Wanted(control, round(query.level, _LEVEL_DIGITS), drifting)


def _digests(row: Experiment, released: Sequence[Released]) -> Iterator[str]:
    """Yield a digest of the description and the promise by now, and then of both and the releases up to each one."""
    digest = hashlib.sha256(f"{row.uid} {row.description} {row.options} {row.epsilon}".encode())
    yield digest.hexdigest()
    for one in released:
        digest.update(one.digest.encode())
        yield digest.hexdigest()


def ledger_of(description: Description, released: Sequence[Released]) -> Ledger:
    """Return stored releases as a ledger whose arms have their names.

    Args:
        description: The experiment's description.
        released: Its releases, the oldest first.
    """
    arms = description.arms
    ledger = Ledger(arms, description.grid, fixed_blocks=description.kind.fixed_blocks)
    for _, group in groupby(released, lambda one: one.epoch):
        ledger.close_epoch([
            Release(
                one.epoch, one.kind, ((arms[one.arm], one.first, one.last),), int(one.steps), one.scale, one.epsilon,
                simulated=False,
            )
            for one in group
        ])  # fmt: skip
    return ledger


def _compute(row: Experiment, released: Sequence[Released], digests: Sequence[str], wanted: _Wanted) -> Summary:
    description = described(row)
    seen = inference.summary(
        ledger_of(description, released),
        wanted.control,
        wanted.level,
        binary=description.request.binary,
        drifting=wanted.drifting,
    )
    relative = seen.grid.floor >= 0
    arms = [_arm(seen, arm, relative) for arm in seen.arms]
    upto = {one.epoch: digests[place + 1] for place, one in enumerate(released)}
    return Summary(
        experiment="",
        control=description.control and str(wanted.control),
        relative=relative,
        level=wanted.level,
        drifting=wanted.drifting,
        exact=seen.exact,
        releases=len(released),
        rewards=sum(one.count for one in released),
        headline=verdicts.headline(seen),
        arms=arms,
        claims=verdicts.claims(seen, description, row.epsilon),
        cautions=verdicts.cautions(seen),
        looks=list(_all_looks(seen, upto, wanted, _drawn(arms, wanted.control), relative)),
    )


def _arm(seen: inference.Summary, arm: Arm, relative: bool) -> ArmSummary:
    lower, upper = seen.interval(arm)
    return ArmSummary(
        name=None if arm is None else str(arm),
        rewards=seen.rewards(arm),
        mean=_or_none(seen.mean(arm)),
        lower=lower,
        upper=upper,
        may_be_best=len(seen.arms) > 1 and arm in seen.may_be_best,
        against_control=None if arm == seen.control else _comparison(seen, arm, relative),
    )


def _comparison(seen: inference.Summary, arm: Arm, relative: bool) -> Comparison | None:
    if seen.is_apart(arm, seen.control):
        return None
    one = seen.lift(arm) if relative else seen.difference(arm)
    lower, upper = one.interval
    value = _or_none(one.estimate)
    return Comparison(value, lower, _or_none(upper), one.p_value, one.decided, verdicts.verdict(one))


# ---------------------------------------------------------------------- earlier looks


def _drawn(arms: Sequence[ArmSummary], control: Arm) -> list[str | None]:
    """Return the arms of which earlier looks are told: those that may be the best first, and then by their means."""
    others = [arm for arm in arms if arm.name != control or arm.name is None]
    order = sorted(others, key=lambda arm: (not arm.may_be_best, -math.inf if arm.mean is None else -arm.mean))
    kept = {arm.name for arm in order[:MOST_DRAWN]}
    return [arm.name for arm in others if arm.name in kept]


def _all_looks(
    seen: inference.Summary, digests: dict[int, str], wanted: _Wanted, arms: Sequence[str | None], relative: bool
) -> Iterator[Look]:
    """Yield some looks. One that was computed before is not computed again: later releases do not change it."""
    for epoch in looks_told(sorted(digests)):
        shown = []
        for arm in arms:
            key = digests[epoch], arm, *wanted.key
            known = _looks.get(key, partial(_at, seen, arm, epoch, relative))
            if known is not None:
                shown.append(ArmAtLook(arm, *known))
        yield Look(epoch, None, sum(seen.blocks(arm, epoch).rewards for arm in seen.arms), shown)


def looks_told(epochs: Sequence[int]) -> list[int]:
    """Return the epochs of looks that are told: the last one, and earlier ones in a ratio, which stay when more come.

    Args:
        epochs: All epochs with releases, in order.

    >>> looks_told([1, 2, 4, 5]), len(looks_told(range(1, 1001)))
    ([1, 2, 4, 5], 26)
    """
    places, place = {len(epochs)}, 1.0
    while place < len(epochs):
        places.add(math.floor(place))
        place = max(place + 1, place * _SPACING)
    return [epochs[one - 1] for one in sorted(places) if one]


def _at(seen: inference.Summary, arm: Arm, epoch: int, relative: bool) -> tuple[float, float, float | None] | None:
    """Return an arm's value and interval at a look; None if nothing can be said."""
    if arm is None:
        if not len(seen.blocks(arm, epoch)):
            return None
        lower, upper = seen.interval(arm, epoch=epoch)
        return seen.mean_at(arm, epoch), lower, _or_none(upper)
    if seen.is_apart(arm, seen.control):
        return None
    one: Any = seen.lift(arm) if relative else seen.difference(arm)
    value = one.estimate_at(epoch)
    if math.isnan(value):
        return None
    lower, upper = one.interval_at(epoch)
    return value, lower, _or_none(upper)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None

"""The algorithm of an experiment, rebuilt from its options and its releases.

Releases are stored once, and are the truth. A snapshot of what the algorithm has learned from them is a cache.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from discreet.bandits import Policy
from discreet.core import registry
from discreet.core.algorithm import Algorithm
from discreet.core.errors import FinishedError, PrivacyError, StateError
from discreet.core.plans import Arm
from discreet.core.releases import Release
from discreet.service.experiments.descriptions import described
from discreet.service.experiments.statements import testing
from discreet.service.messages import TestVerdict
from discreet.service.storage import Epoch, Experiment, Released, Transaction, assignments
from discreet.stopping import StoppingRule


class Standing(NamedTuple):
    """The decisions of an algorithm, by arm index.

    Attributes:
        viable: The arms that may still be the best one.
        best: The arm to prefer; None for a rule, or before the first release.
        served: The arms to assign while nothing is learned.
        estimate: The mean, of a rule that has halted.
        answer: The promise of that mean, or why there is none, of a rule that has ended.
        verdicts: The verdict on each arm but the control, of a test of arms.
    """

    viable: frozenset[int]
    best: int | None
    served: tuple[int, ...]
    estimate: float | None
    answer: str | None
    verdicts: Mapping[int, TestVerdict]


def replay(transaction: Transaction, row: Experiment) -> Algorithm:
    """Return the algorithm of an experiment after learning all its releases.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        PrivacyError: A release was changed, added or deleted in the database.
    """
    closed = transaction.values(Epoch, ("number",), "number", experiment=row.id, state="closed")
    return _rebuilt(row, closed, transaction.rows(Released, "epoch", "part", experiment=row.id))


def _rebuilt(row: Experiment, closed: Sequence[int], stored: Sequence[Released]) -> Algorithm:
    """Return an algorithm after learning what is stored of its closed epochs."""
    algorithm = described(row).make()
    released = dict.fromkeys(closed, ()) | verified(row, stored)
    try:
        for epoch, group in enumerate(released.values(), 1):
            algorithm.learn([_as_release(one, epoch, algorithm) for one in group])
    except (StateError, FinishedError) as error:
        raise PrivacyError(f"the releases of {row.uid} were changed in the database: {error}") from None
    if algorithm.epoch != row.epochs:
        raise PrivacyError(f"{row.uid} has {algorithm.epoch} closed epochs, not {row.epochs}: the database was changed")
    return algorithm


class History(NamedTuple):
    """All that is stored of an experiment besides its own row.

    Attributes:
        epochs: Its epochs, the oldest first.
        released: Its releases, the oldest first.
    """

    epochs: tuple[Epoch, ...] = ()
    released: tuple[Released, ...] = ()


def histories(transaction: Transaction, rows: Sequence[Experiment]) -> list[History]:
    """Return the history of each experiment, in three statements however many there are.

    Args:
        transaction: The transaction.
        rows: The experiments.
    """
    if not rows:
        return []
    numbers = tuple(row.id for row in rows)
    epochs: dict[int, list[Epoch]] = {number: [] for number in numbers}
    released: dict[int, list[Released]] = {number: [] for number in numbers}
    stored = transaction.rows(Epoch, "experiment", "number", experiment=numbers)
    for epoch in assignments.with_progress(transaction, stored):
        epochs[epoch.experiment].append(epoch)
    for one in transaction.rows(Released, "experiment", "epoch", "part", experiment=numbers):
        released[one.experiment].append(one)
    return [History(tuple(epochs[number]), tuple(released[number])) for number in numbers]


def verified(row: Experiment, stored: Sequence[Released]) -> dict[int, Sequence[Released]]:
    """Return the releases of an experiment by epoch, the oldest first.

    Args:
        row: The experiment.
        stored: Its releases, the oldest first.

    Raises:
        PrivacyError: A release was changed in the database.
    """
    changed = _first_changed(tuple(stored))
    if changed is not None:
        raise PrivacyError(f"what epoch {changed} of {row.name!r} released was changed in the database")
    return {epoch: tuple(group) for epoch, group in itertools.groupby(stored, lambda one: one.epoch)}


@lru_cache(maxsize=1024)
def _first_changed(stored: tuple[Released, ...]) -> int | None:
    """Return the first epoch with a release whose checksum is wrong. Lists show the same releases again and again."""
    return next((one.epoch for one in stored if one.digest != one.checksum()), None)


def standing(transaction: Transaction, row: Experiment) -> Standing:
    """Return the decisions of an experiment's algorithm.

    Args:
        transaction: The transaction.
        row: The experiment.
    """
    return _remembered(row) or _of(replay(transaction, row))


def standing_in(row: Experiment, history: History) -> Standing:
    """Return the decisions of an experiment's algorithm from what was read of it.

    Args:
        row: The experiment.
        history: Its history.

    Raises:
        PrivacyError: A release was changed, added or deleted in the database.
    """
    known = _remembered(row)
    if known is not None:
        return known
    closed = [epoch.number for epoch in history.epochs if epoch.state == "closed"]
    return _of(_rebuilt(row, closed, history.released))


def _remembered(row: Experiment) -> Standing | None:
    """Return the decisions by the snapshot; None if there is none that fits."""
    if row.snapshot is None or row.covered != row.epochs:
        return None
    try:
        return _from_snapshot(row.algorithm, row.options, row.snapshot)
    except StateError:  # a snapshot of another version
        return None


def snapshot(algorithm: Algorithm) -> dict[str, object]:
    """Return the columns of an experiment that follow from its algorithm."""
    return {"epochs": algorithm.epoch, "snapshot": json.dumps(algorithm.snapshot()), "covered": algorithm.epoch}


def by_index(by_arm: Mapping[Arm, int]) -> dict[int, int]:
    """Return numbers by arm index. The arms of a policy are indexes, and a rule has one."""
    return {_index(arm): count for arm, count in by_arm.items()}


def threshold(algorithm: Algorithm) -> float | None:
    """Return the lead in rewards at which the open epoch drops an arm behind the best one; None if it has none."""
    if not isinstance(algorithm, Policy) or len(algorithm.viable) < 2:
        return None
    share = algorithm.threshold(algorithm.epoch + 1, len(algorithm.viable))
    return None if share is None else share * algorithm.grid.width * algorithm.grid.step


def is_last(algorithm: Algorithm) -> bool:
    """Return True if nothing is left to find out: no plan, or none after one whose rewards decide nothing."""
    plan = algorithm.plan()
    if plan is None or plan.learns:
        return plan is None
    later = algorithm.copy()
    later.learn(())
    return later.plan() is None


def viable(algorithm: Algorithm) -> frozenset[int]:
    """Return the indexes of the arms that may still be the best one."""
    return frozenset(map(_index, algorithm.viable)) if isinstance(algorithm, Policy) else frozenset({0})


@lru_cache(maxsize=1024)
def _from_snapshot(key: str, options: str, learned: str) -> Standing:
    return _of(registry.make(key, json.loads(options)).resume(json.loads(learned)))


def _of(algorithm: Algorithm) -> Standing:
    plan = algorithm.plan()
    if isinstance(algorithm, StoppingRule):
        answer = _answer(algorithm) if is_last(algorithm) else None
        return Standing(viable(algorithm), None, (0,), algorithm.estimate, answer, {})
    assert isinstance(algorithm, Policy)
    best = None if algorithm.best_arm is None else _index(algorithm.best_arm)
    last = tuple(sorted(viable(algorithm))) if best is None else (best,)
    served = last if plan is None else tuple(sorted(by_index(plan.pulls)))
    return Standing(viable(algorithm), best, served, None, None, testing.verdicts(algorithm))


def _answer(rule: StoppingRule) -> str:
    reason = "the rule halted" if rule.halted else f"the next block would exceed the cap of {rule.max_samples} samples"
    return str(rule.result(rule.samples, reason, rule.privacy))


def _index(arm: Arm) -> int:
    return 0 if arm is None else int(arm)


def _as_release(row: Released, epoch: int, algorithm: Algorithm) -> Release:
    arm = list(algorithm.taken)[row.arm]
    return Release(epoch, row.kind, ((arm, row.first, row.last),), int(row.steps), row.scale, row.epsilon, False)

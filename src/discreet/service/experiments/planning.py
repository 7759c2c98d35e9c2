"""How long an experiment will take, before it is run: by the algorithm's own formulas."""

from __future__ import annotations

from typing import Any

from discreet.bandits._elimination import EliminationPolicy
from discreet.core.registry import POLICIES
from discreet.service.experiments.descriptions import Description, describe
from discreet.service.experiments.epsilon import as_text
from discreet.service.http.errors import invalid
from discreet.service.http.messages import ExperimentPlan, NewExperiment, PlannedEpoch, PrivacyUnit

_MOST_EPOCHS = 60


def plan_experiment(
    arms: int,
    epsilon: str,
    beta: float,
    gap: float,
    *,
    policy: str | None = None,
    per_hour: float | None = None,
    window: float = 0.0,
    privacy_unit: PrivacyUnit = "person",
) -> ExperimentPlan:
    """The epochs until every arm that is `gap` behind is gone with probability 1 - beta, if none goes earlier."""
    if not 0 < gap <= 1:
        raise invalid("gap", f"gap must lie between 0 and 1, as a share of the rewards' range, got {gap!r}")
    if per_hour is not None and not 0 < per_hour < float("inf"):
        raise invalid("per_hour", f"per_hour must be a positive number of assignments, got {per_hour!r}")
    names = [str(number) for number in range(arms)]
    request = NewExperiment(
        "plan", epsilon, arms=names, policy=policy, options={"beta": beta}, privacy_unit=privacy_unit
    )
    description = describe(request)
    epochs = _epochs(description, arms, gap, per_hour, window)
    total, seconds = epochs[-1].total, epochs[-1].ends_after
    time = "" if seconds is None else f" in about {_duration(seconds)}"
    words = (
        f"{total:,} assignments of {arms} arms in {len(epochs)} epochs{time} tell every arm apart that is {gap:g} or "
        f"more behind, with probability {1 - beta:g}"
    )
    return ExperimentPlan(description.algorithm, epochs, total, seconds, words)


def _epochs(
    description: Description, arms: int, gap: float, per_hour: float | None, window: float
) -> list[PlannedEpoch]:
    kind: Any = POLICIES[description.algorithm]
    if not issubclass(kind, EliminationPolicy):
        fit = ", ".join(name for name, one in POLICIES.items() if one.open_book and issubclass(one, EliminationPolicy))
        raise invalid("policy", f"only eliminations can be planned: {fit}; got {description.algorithm!r}")
    policy = kind(range(arms), **description.options)
    epochs: list[PlannedEpoch] = []
    total, seconds = 0, 0.0
    for number in range(1, _MOST_EPOCHS + 1):
        each, resolved = resolution(policy, number, arms)
        total += each * arms
        seconds += each * arms / per_hour * 3600 + window if per_hour else 0.0
        by_epoch = getattr(policy, "epoch_epsilon", None)
        cost = as_text(description.charge(policy.epsilon if by_epoch is None else by_epoch(number)))
        epochs.append(PlannedEpoch(number, resolved, each, total, cost, seconds if per_hour else None))
        if resolved <= gap:
            return epochs
    raise invalid("gap", f"gap {gap!r} would take more than {_MOST_EPOCHS} epochs")


def resolution(policy: Any, epoch: int, arms: int) -> tuple[int, float]:
    """The pulls of each arm in an epoch, and the gap from which on an arm is gone after it."""
    schedule = getattr(policy, "schedule", None)
    if schedule is None:
        return -int(-policy.epoch_length(epoch, arms) // 1), policy.target_gap(epoch)
    return policy.epoch_length(epoch), schedule.target_gap(epoch)


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} seconds"

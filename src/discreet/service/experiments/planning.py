"""The length of an experiment before it is run, by the algorithm's own formulas."""

from discreet._wording import duration
from discreet.bandits import DPSharpElimination, DPSuccessiveElimination
from discreet.core.registry import POLICIES
from discreet.service.errors import invalid
from discreet.service.experiments.descriptions import Description, can_run, describe
from discreet.service.experiments.epsilon import as_text
from discreet.service.messages import ExperimentPlan, NewExperiment, PlannedEpoch, PlannerRequest

PLANNABLE = (DPSharpElimination, DPSuccessiveElimination)
_MOST_EPOCHS = 60


def plan_experiment(wanted: PlannerRequest) -> ExperimentPlan:
    """Return the epochs until every arm that is `gap` behind is gone with probability 1 - beta, if none goes earlier.

    Raises:
        ServiceProblem: The policy cannot be planned, or an argument is wrong.
    """
    gap, per_hour = wanted.gap, wanted.per_hour
    if not 0 < gap <= 1:
        raise invalid("gap", f"gap must lie between 0 and 1, as a share of the rewards' range, got {gap!r}")
    if per_hour is not None and not 0 < per_hour < float("inf"):
        raise invalid("per_hour", f"per_hour must be a positive number of assignments, got {per_hour!r}")
    request = NewExperiment(
        "plan",
        wanted.epsilon,
        arms=[str(index) for index in range(wanted.arms)],
        policy=wanted.policy,
        options={"beta": wanted.beta},
        privacy_unit=wanted.privacy_unit,
    )
    description = describe(request)
    epochs = _epochs(description, wanted)
    total, seconds = epochs[-1].total, epochs[-1].ends_after
    time = "" if seconds is None else f" in about {duration(seconds)}"
    words = (
        f"{total:,} assignments of {wanted.arms} arms in {len(epochs)} epochs{time} tell every arm apart that is "
        f"{gap:g} or more behind, with probability {1 - wanted.beta:g}"
    )
    return ExperimentPlan(description.algorithm, epochs, total, seconds, words)


def _epochs(description: Description, wanted: PlannerRequest) -> list[PlannedEpoch]:
    policy = description.make()
    if not isinstance(policy, PLANNABLE):
        fit = ", ".join(key for key, one in POLICIES.items() if can_run(one) and issubclass(one, PLANNABLE))
        raise invalid("policy", f"only eliminations can be planned: {fit}; got {description.algorithm!r}")
    arms, per_hour = wanted.arms, wanted.per_hour
    epochs: list[PlannedEpoch] = []
    total, seconds = 0, 0.0
    for number in range(1, _MOST_EPOCHS + 1):
        each, resolved = policy.rounds(number, arms), _resolved(policy, number)
        total += each * arms
        seconds += each * arms / per_hour * 3600 + wanted.window if per_hour else 0.0
        cost = as_text(description.charge(policy.epoch_epsilon(number)))
        epochs.append(PlannedEpoch(number, resolved, each, total, cost, seconds if per_hour else None))
        if resolved <= wanted.gap:
            return epochs
    raise invalid("gap", f"gap {wanted.gap!r} would take more than {_MOST_EPOCHS} epochs")


def _resolved(policy: DPSharpElimination | DPSuccessiveElimination, epoch: int) -> float:
    """Return the gap from which on an arm is dropped after an epoch, as a share of the rewards' range."""
    return (policy.schedule if isinstance(policy, DPSharpElimination) else policy).target_gap(epoch)

"""The length of an experiment before it is run, by the algorithm's own formulas, and by simulating it."""

from typing import Any

import numpy as np

from discreet._wording import duration
from discreet.bandits import DPSharpElimination, DPSuccessiveElimination
from discreet.core.errors import ArgumentError
from discreet.core.registry import POLICIES
from discreet.forecasting.race import race
from discreet.service.errors import invalid
from discreet.service.experiments.descriptions import DEFAULTS, Description, can_run, describe
from discreet.service.experiments.epsilon import as_text
from discreet.service.experiments.statements import testing
from discreet.service.messages import ExperimentPlan, NewExperiment, PlanForecast, PlannedEpoch, PlannerRequest

PLANNABLE = (DPSharpElimination, DPSuccessiveElimination)
_MOST_EPOCHS = 60
_SLOWEST = 1e-6  # assignments an hour: with fewer, no length is a float
_MISSED = 0.2  # how often a test may miss the gap, if nothing is said
_RUNS, _RUNS_OF_ALL_ARMS = 3000, 200_000  # simulated experiments, and fewer of very many arms


def plan_experiment(wanted: PlannerRequest) -> ExperimentPlan:
    """Return the epochs until every arm that is `gap` behind is gone with probability 1 - beta, if none goes earlier.

    With a base rate, also what it takes on average if the best arm has the base rate and the gap, and all others have
    the base rate. A test has what it takes if there is nothing to find, and if there is, instead.

    Raises:
        ServiceProblem: The policy cannot be planned, or an argument is wrong.
    """
    gap, per_hour = _gap(wanted), wanted.per_hour
    if per_hour is not None and not _SLOWEST <= per_hour < float("inf"):
        least = f"per_hour must be a positive number of assignments, and at least {_SLOWEST:g}"
        raise invalid("per_hour", f"{least}, got {per_hour!r}")
    is_test = wanted.policy in testing.KEYS
    beta = wanted.beta if wanted.beta is not None else _MISSED if is_test else DEFAULTS["beta"]
    options = {"beta": beta}
    if is_test:
        if wanted.base_rate is None:
            raise invalid("base_rate", f"base_rate must be given for a test, {wanted.policy}")
        options |= {"base_rate": wanted.base_rate, "effect": gap, "alpha": wanted.alpha}
    request = NewExperiment(
        "plan",
        wanted.epsilon,
        arms=[str(index) for index in range(wanted.arms)],
        policy=wanted.policy,
        options=options,
        privacy_unit=wanted.privacy_unit,
    )
    description = describe(request)
    if is_test:
        return testing.plan_test(wanted, gap, description.options)
    epochs = _epochs(description, wanted, gap)
    total, seconds = epochs[-1].total, epochs[-1].ends_after
    time = "" if seconds is None else f" in about {duration(seconds)}"
    words = (
        f"{total:,} assignments of {wanted.arms} arms in {len(epochs)} epochs{time} tell every arm apart that is "
        f"{gap:.4g} or more behind, with probability {1 - beta:g}, whatever the rates"
    )
    if wanted.base_rate is None:
        words += ". Rare rewards take far fewer: give a base rate for a forecast"
    return ExperimentPlan(description.algorithm, epochs, total, seconds, words, _forecast(description, wanted, gap))


def _gap(wanted: PlannerRequest) -> float:
    """Return the gap to find: as it was given, or the lift of the base rate."""
    gap, base, lift = wanted.gap, wanted.base_rate, wanted.lift
    if (gap is None) == (lift is None):
        raise invalid("gap", f"give a gap, or a base rate and a lift; got {'neither' if gap is None else 'both'}")
    if lift is not None:
        if base is None:
            raise invalid("base_rate", "base_rate must be given with a lift, which is a share of it")
        gap = base * lift
    assert gap is not None
    if not 0 < gap <= 1:
        raise invalid("gap", f"gap must lie between 0 and 1, as a share of the rewards' range, got {gap!r}")
    if base is not None and base + gap > 1:
        raise invalid("base_rate", f"base_rate must leave room for the best arm's rate below 1, got {base + gap:g}")
    return gap


def _forecast(description: Description, wanted: PlannerRequest, gap: float) -> PlanForecast | None:
    """Return what the experiment takes on the expected rates, by simulating it."""
    base = wanted.base_rate
    if base is None:
        return None
    rates = [base] * (wanted.arms - 1) + [base + gap]
    try:
        policy: Any = description.make()
        found = race(policy, rates, min(_RUNS, _RUNS_OF_ALL_ARMS // wanted.arms), seed=0)
    except ArgumentError as error:
        raise invalid("gap", str(error)) from error
    seconds: tuple[float | None, float | None] = None, None
    if wanted.per_hour:
        each = found.people / wanted.per_hour * 3600 + found.epochs * wanted.window
        seconds = float(each.mean()), float(np.quantile(each, 0.95))
    people = found.people
    mean, median, high = float(people.mean()), float(np.median(people)), float(np.quantile(people, 0.95))
    return PlanForecast(mean, median, high, float(found.right.mean()), *seconds)


def _epochs(description: Description, wanted: PlannerRequest, gap: float) -> list[PlannedEpoch]:
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
        if resolved <= gap:
            return epochs
    raise invalid("gap", f"gap {gap!r} would take more than {_MOST_EPOCHS} epochs")


def _resolved(policy: DPSharpElimination | DPSuccessiveElimination, epoch: int) -> float:
    """Return the gap from which on an arm is dropped after an epoch, as a share of the rewards' range."""
    return (policy.schedule if isinstance(policy, DPSharpElimination) else policy).target_gap(epoch)

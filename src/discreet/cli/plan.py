"""`discreet plan`: the pulls that elimination needs to find the best arm."""

import math
from typing import Annotated, Any

import numpy as np

from discreet import theory
from discreet.bandits import DPSharpElimination
from discreet.cli._console import Column, console, fitting_table, show, show_json
from discreet.cli._options import Beta, Json, command, real, whole
from discreet.core.errors import ArgumentError
from discreet.lab.results import finite
from discreet.theory import EliminationPlan

EPOCH = ("epoch", "target_gap", "pulls_per_arm", "pulls", "threshold")


@command(
    "discreet plan --arms 4 --epsilon 0.5 --gap 0.05 --beta 0.05",
    "discreet plan --arms 4 --epsilon 0.5 --pulls 1e6 --json",
)
def _plan(
    *,
    arms: Annotated[int, whole("How many arms there are.")],
    epsilon: Annotated[float, real("The privacy parameter.")],
    gap: Annotated[float | None, real("The smallest difference from the best arm's mean to be told.")] = None,
    pulls: Annotated[int | None, whole("Instead of --gap: the pulls that there are; 1e6 is fine.")] = None,
    beta: Beta = 0.05,
    json: Json = False,
) -> None:
    """Say how many pulls DP-SE needs to find the best arm, epoch by epoch, in the worst case.

    Give the smallest gap between the best arm and any other that must be told (--gap), or how many pulls there are.
    """
    plan = _choose_plan(arms, epsilon, gap, pulls, beta)
    if json:
        show_json(_to_json(plan))
    else:
        _show_plan(plan)


def _choose_plan(arms: int, epsilon: float, gap: float | None, pulls: int | None, beta: float) -> EliminationPlan:
    """Return the plan for a gap, or for the smallest gap that can be resolved with a number of pulls."""
    if (gap is None) == (pulls is None):
        raise ArgumentError(f"give --gap or --pulls, got {'neither' if gap is None else 'both'}")
    if pulls is not None:
        gap = theory.resolvable_gap(pulls, arms, epsilon, beta)
        if math.isinf(gap):
            first = theory.plan_elimination(arms, epsilon, 0.5, beta).total
            raise ArgumentError(f"--pulls must be at least {first:,}, the length of the first epoch, got {pulls:,}")
    assert gap is not None
    return theory.plan_elimination(arms, epsilon, gap, beta)


def _to_json(plan: EliminationPlan) -> dict[str, Any]:
    """Return a plan as JSON values."""
    sharp = _sharp_pulls(plan)
    epochs = np.arange(1, plan.epochs + 1)
    columns = (epochs, plan.target_gaps, plan.pulls_per_arm, plan.pulls, plan.thresholds)
    return {
        **finite({name: getattr(plan, name) for name in ("arms", "epsilon", "gap", "beta")}),
        "epochs": [dict(zip(EPOCH, row, strict=True)) for row in zip(*(c.tolist() for c in columns), strict=True)],
        "pulls_per_arm": int(plan.pulls_per_arm.sum()),
        "pulls": plan.total,
        "pulls_due_to_privacy": plan.price_of_privacy,
        "sharp": {"policy": DPSharpElimination.key, "pulls_per_arm": sharp, "pulls": sharp and sharp * plan.arms},
    }


def _sharp_pulls(plan: EliminationPlan) -> int | None:
    """Return the pulls of each arm that `dp-se-sharp` needs for the same promise; None without privacy."""
    if math.isinf(plan.epsilon):
        return None
    return int(theory.sharp_pulls(plan.gap, plan.arms, plan.epsilon, plan.beta))


def _show_plan(plan: EliminationPlan) -> None:
    """Print a plan for a person."""
    columns: list[Column] = [
        ("epoch", range(1, plan.epochs + 1)),
        ("resolves gaps from", [f"{gap:.4g}" for gap in plan.target_gaps]),
        ("pulls of each arm", [f"{count:,}" for count in plan.pulls_per_arm]),
        ("pulls", [f"{count:,}" for count in plan.pulls]),
        ("so far", [f"{count:,}" for count in plan.pulls.cumsum()]),
        ("drops an arm behind by", [f"{threshold:.4f}" for threshold in plan.thresholds]),
        ("length set by", ["privacy" if private else "sampling" for private in plan.by_privacy]),
    ]
    given = f"{plan.arms} arms, epsilon = {plan.epsilon:g}, for gaps of {plan.gap:g} or more, beta = {plan.beta:g}"
    show(f"DP-SE with {given}", "bold")
    show("")
    console().print(fitting_table(columns, ("length set by", "drops an arm behind by", "pulls")))
    show("")
    dear = plan.price_of_privacy
    show(
        f"{plan.total:,} pulls in the worst case, in which all arms stay until the last epoch. With probability "
        f"{1 - plan.beta:.12g} the best arm is then left alone. "
        + (f"Privacy takes {dear:,} of these pulls." if dear else "Privacy adds none of these pulls."),
        wrap=True,
    )
    if sharp := _sharp_pulls(plan):
        show("")
        show(
            f"{DPSharpElimination.key}, the same with sharp constants, promises it in {sharp * plan.arms:,} pulls at "
            f"most, {sharp:,} of each arm.",
            wrap=True,
        )

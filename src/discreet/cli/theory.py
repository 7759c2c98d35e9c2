"""What `plan` and `bounds` show: the theory's numbers, each with its kind and where it is proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from discreet import theory
from discreet.bandits import DPSharpElimination
from discreet.cli.arguments import NUMBER, real, whole
from discreet.cli.console import Column, fitting_table, show, wrapped_table
from discreet.cli.console import output as console
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.registry import make_rule
from discreet.lab.instances import Instance
from discreet.lab.results import finite
from discreet.reproduction.tables import number
from discreet.stopping._released import ReleasedRule
from discreet.theory import EliminationPlan

PAPER, OURS = "Sajed and Sheffet 2019", "discreet, docs/theory.md"
SHARP = "discreet, docs/proofs/sharp-elimination.md"
KINDS = {
    "at least": "no algorithm does better on samples that take the ends of the range alone, or on the hardest arms",
    "as T grows": "no algorithm that works on all arms has less regret per ln T in the long run, on Bernoulli arms of "
    "these means; at a finite T it may",
    "order": "a bound for every algorithm, apart from a constant factor that its theorem does not name",
    "about": "samples at their mean, and no noise",
    "at most": "with probability 1 - beta, or in expectation for a regret",
}

NumberOfArms = Annotated[int, typer.Option(parser=whole, metavar=NUMBER, help="How many arms there are.")]
Gap = Annotated[
    float | None,
    typer.Option(parser=real, metavar=NUMBER, help="The smallest difference from the best arm's mean to be told."),
]
Pulls = Annotated[
    int | None,
    typer.Option(parser=whole, metavar=NUMBER, help="Instead of --gap: the pulls that there are; 1e6 is fine."),
]
Mean = Annotated[float | None, typer.Option(parser=real, metavar=NUMBER, help="The mean of the samples.")]


# ---------------------------------------------------------------------- plan


def choose_plan(arms: int, epsilon: float, gap: float | None, pulls: int | None, beta: float) -> EliminationPlan:
    """The plan for a gap, or for the smallest gap that so many pulls resolve."""
    if (gap is None) == (pulls is None):
        raise ArgumentError(f"give --gap or --pulls, got {'neither' if gap is None else 'both'}")
    if pulls is not None:
        gap = theory.resolvable_gap(pulls, arms, epsilon, beta)
        if math.isinf(gap):
            first = theory.plan_elimination(arms, epsilon, 0.5, beta).total
            raise ArgumentError(f"--pulls must be at least {first:,}, the length of the first epoch, got {pulls:,}")
    assert gap is not None
    return theory.plan_elimination(arms, epsilon, gap, beta)


def plan_data(plan: EliminationPlan) -> dict[str, Any]:
    """A plan as JSON values."""
    sharp = sharp_pulls(plan)
    return {
        "arms": plan.arms,
        **finite({"epsilon": plan.epsilon}),
        "gap": plan.gap,
        "beta": plan.beta,
        "epochs": [
            {"epoch": place + 1, "target_gap": gap, "pulls_per_arm": each, "pulls": every, "threshold": threshold}
            for place, (gap, each, every, threshold) in enumerate(
                zip(plan.target_gaps.tolist(), plan.pulls_per_arm.tolist(), plan.pulls.tolist(),
                    plan.thresholds.tolist(), strict=True)
            )
        ],
        "pulls_per_arm": int(plan.pulls_per_arm.sum()),
        "pulls": plan.total,
        "pulls_due_to_privacy": plan.price_of_privacy,
        "sharp": {"policy": DPSharpElimination.key, "pulls_per_arm": sharp, "pulls": sharp and sharp * plan.arms},
    }  # fmt: skip


def sharp_pulls(plan: EliminationPlan) -> int | None:
    """The pulls of each arm that the elimination with sharp constants needs for the same; None without privacy."""
    if math.isinf(plan.epsilon):
        return None
    return int(theory.sharp_pulls(plan.gap, plan.arms, plan.epsilon, plan.beta))


def show_plan(plan: EliminationPlan) -> None:
    """A plan for a person."""
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
    if sharp := sharp_pulls(plan):
        show("")
        show(
            f"{DPSharpElimination.key}, the same with sharp constants, promises it in {sharp * plan.arms:,} pulls at "
            f"most, {sharp:,} of each arm.",
            wrap=True,
        )


# ---------------------------------------------------------------------- bounds


@dataclass(frozen=True, slots=True)
class Bound:
    """A number that theory gives; without one, `note` says why it does not apply."""

    key: str
    what: str
    kind: str
    source: str
    value: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Bounds on one thing, and what they are for."""

    name: str
    title: str
    unit: str
    given: dict[str, Any]
    bounds: list[Bound]


def bound(key: str, what: str, kind: str, source: str, compute: Callable[[], float]) -> Bound:
    """A bound, or why there is none here."""
    try:
        return Bound(key, what, kind, source, float(compute()))
    except ArgumentError as error:
        return Bound(key, what, kind, source, None, str(error))


def regret_bounds(on: Instance, horizon: int, epsilon: float) -> Section:
    """What is known about the regret on these arms."""
    means, arms = on.means, len(on)
    title = f"Regret on {on.name}, K = {arms}, T = {horizon:,}, epsilon = {epsilon:g}"
    given = {"means": means.tolist(), "horizon": horizon, "epsilon": epsilon}
    sure = theory.dp_se_sure_regret(means, horizon, epsilon)  # first: refuses what no bound can take
    found = [
        bound("lai_robbins_bound", "without privacy, on these arms", "as T grows", "Lai and Robbins 1985",
              lambda: theory.lai_robbins_bound(means, horizon)),
        bound("regret_lower_bound", "private, on these arms", "as T grows", "Azize et al. 2025",
              lambda: theory.regret_lower_bound(means, horizon, epsilon)),
        bound("private_regret_order", "what privacy adds, K ln(T)/epsilon", "order", "Shariff and Sheffet 2018",
              lambda: theory.private_regret_order(arms, horizon, epsilon)),
        bound("minimax_lower_bound", "private, on the hardest arms", "at least", "Azize 2024, Theorem 4.15",
              lambda: theory.minimax_lower_bound(arms, horizon, epsilon)),
        bound("dp_se_sure_regret", "DP-SE on these arms, by its schedule", "at most", f"{PAPER}, Lemma 4.2's proof",
              lambda: sure),
        bound("sharp_sure_regret", "dp-se-sharp on these arms, by its schedule", "at most", SHARP,
              lambda: theory.sharp_sure_regret(means, horizon, epsilon)),
        bound("dp_se_regret_bound", "DP-SE on these arms", "at most", f"{PAPER}, Theorem 4.3",
              lambda: theory.dp_se_regret_bound(means, horizon, epsilon)),
        bound("dp_se_minimax_bound", "DP-SE on any arms", "at most", f"{PAPER}, Theorem 4.4",
              lambda: theory.dp_se_minimax_bound(arms, horizon, epsilon)),
    ]  # fmt: skip
    return Section("regret", title, "pseudo-regret", given, found)


def stopping_bounds(mean: float, alpha: float, beta: float, epsilon: float, *, ends: tuple[float, float]) -> Section:
    """What is known about the samples that a stopping rule takes."""
    low, high = ends
    title = f"Samples of {low:g} and {high:g} with mean {mean:g}, alpha = {alpha:g}, beta = {beta:g}"
    given = {"mean": mean, "alpha": alpha, "beta": beta, "epsilon": epsilon, "low": low, "high": high}
    on: dict[str, float] = {"low": low, "high": high}
    theory.two_point_lower_bound(mean, alpha, 0.25, epsilon, **on)  # first: refuses what no bound can take
    checks.fraction("beta", beta)

    def of_rule(function: Callable[..., float], name: str) -> Callable[[], float]:
        return lambda: function(name, mean, alpha, beta, epsilon, **on)

    found = [
        bound("two_point_lower_bound_without_privacy", "without privacy, in expectation", "at least", OURS,
              lambda: theory.two_point_lower_bound(mean, alpha, beta, **on)),
        bound("two_point_lower_bound", "private, in expectation", "at least", OURS,
              lambda: theory.two_point_lower_bound(mean, alpha, beta, epsilon, **on)),
        bound("nonprivate_stopping_lower_bound", "without privacy", "order", "Dagum et al. 2000",
              lambda: theory.nonprivate_stopping_lower_bound(mean, alpha, beta, **on)),
        bound("private_stopping_lower_bound", "private, in a quarter of runs", "at least", f"{PAPER}, Theorem 3.4",
              lambda: theory.private_stopping_lower_bound(mean, alpha, beta, epsilon, **on)),
        bound("stopping_lower_bound", "private: the sum of these two", "order", f"{PAPER}, Corollary 3.6",
              lambda: theory.stopping_lower_bound(
                  mean, alpha, beta, epsilon, **on)),
    ]  # fmt: skip
    for name in ("nas", "dp-nas", "dp-exp-nas"):
        key = name.replace("-", "_")
        found += [
            bound(f"{key}_typical", f"{name}", "about", "its thresholds", of_rule(theory.typical_samples, name)),
            bound(f"{key}_sure", f"{name}", "at most", "its thresholds", of_rule(theory.sure_samples, name)),
        ]
    for name in ("dp-nas-released", "dp-bernstein"):
        found.append(bound(f"{name.replace('-', '_')}_typical", name, "about", "its forecast", forecast(name, **given)))
    found += [
        bound("stopping_upper_bound", "dp-exp-nas, 2000 (t0 + t1 + t2)", "at most", f"{PAPER}, Theorem 3.3",
              lambda: theory.stopping_upper_bound(mean, alpha, beta, epsilon, **on)),
    ]  # fmt: skip
    return Section("stopping", f"{title}, epsilon = {epsilon:g}", "samples", given, found)


def forecast(name: str, mean: float, **options: float) -> Callable[[], float]:
    """About how many samples a rule takes that releases blocks."""

    def compute() -> float:
        rule = make_rule(name, **options)
        assert isinstance(rule, ReleasedRule)
        return rule.forecast(mean) or math.inf

    return compute


def sample_range(low: float | None, high: float | None, radius: float | None) -> tuple[float, float]:
    """The range of samples, by default that of clicks."""
    if radius is not None:
        if low is not None or high is not None:
            raise ArgumentError(f"give --radius, or --low and --high, not both; got --radius {radius:g}")
        return -checks.positive("radius", radius), radius
    return 0.0 if low is None else low, 1.0 if high is None else high


def bounds_data(section: Section) -> dict[str, Any]:
    """Bounds as JSON values, by the name of what computes them."""
    rows = {one.key: asdict(one) for one in section.bounds}
    for row in rows.values():
        del row["key"]
        if row["value"] is not None and math.isinf(row["value"]):
            row["value"], row["note"] = None, "never"
    return {"given": finite(section.given), "bounds": rows}


def show_bounds(section: Section) -> None:
    """Bounds for a person."""
    values = [one.value for one in section.bounds]
    columns: list[Column] = [
        ("kind", [one.kind for one in section.bounds]),
        (section.unit, ["-" if v is None else "never" if math.isinf(v) else number(v) for v in values]),
        ("of what", [one.what for one in section.bounds]),
        ("source", [one.source for one in section.bounds]),
    ]
    show(section.title, "bold")
    show("")
    console().print(wrapped_table(columns, words=("of what", "source")))
    show("")
    for one in section.bounds:
        if one.note:
            show(f"{one.what} ({one.source}): {one.note}", "dim", wrap=True)


def show_kinds(sections: Sequence[Section]) -> None:
    """What the kinds mean."""
    used = {one.kind for section in sections for one in section.bounds}
    for kind, meaning in KINDS.items():
        if kind in used:
            show(f"{kind}: {meaning}.", "dim", wrap=True)

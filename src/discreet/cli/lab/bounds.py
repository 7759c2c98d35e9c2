"""`discreet bounds`: the theory's numbers, each with its kind and where it is proved."""

import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from discreet import theory
from discreet.cli import _options as opt
from discreet.cli._console import Column, console, show, show_json, wrapped_table
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.registry import make_rule
from discreet.lab.instances import Instance
from discreet.lab.results import finite
from discreet.lab.setting import HORIZON
from discreet.reproduction.tables import number

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


@opt.command(
    "discreet bounds --instance C2 --epsilon 0.25 --horizon 5e7",
    "discreet bounds --mean 0.1 --alpha 0.1 --beta 0.05 --epsilon 0.5",
    "discreet bounds --mean 0.1 --alpha 0.1 --radius 1 --epsilon 0.5 --json",
)
def _bounds(
    *,
    epsilon: Annotated[float, opt.real("The privacy parameter.")] = 1.0,
    instance: opt.InstanceName = None,
    arms: opt.Arms = None,
    arm: opt.ArmTexts = None,
    horizon: Annotated[int | None, opt.whole("Pulls in a run.", show_default="5e7")] = None,
    mean: Annotated[float | None, opt.real("The mean of the samples.")] = None,
    alpha: opt.Alpha = 0.1,
    beta: opt.Beta = 0.05,
    low: opt.Low = None,
    high: opt.High = None,
    radius: opt.Radius = None,
    json: opt.Json = False,
) -> None:
    """Say what is possible: bounds on a bandit's regret, and with --mean on the samples of a stopping rule.

    The samples lie in [0, 1], unless --low and --high or --radius say otherwise.
    """
    sections = []
    if mean is None or any(given is not None for given in (instance, arms, arm, horizon)):
        on = opt.choose_instance(instance, arms, arm)
        sections.append(_regret_bounds(on, HORIZON if horizon is None else horizon, epsilon))
    if mean is not None:
        sections.append(_stopping_bounds(mean, alpha, beta, epsilon, _sample_range(low, high, radius)))
    if json:
        show_json({one.name: {"given": finite(one.given), "bounds": _to_json(one)} for one in sections})
        return
    for section in sections:
        _show_section(section)
    used = {row["kind"] for section in sections for row in section.bounds.values()}
    for kind, meaning in KINDS.items():
        if kind in used:
            show(f"{kind}: {meaning}.", "dim", wrap=True)


class _Section(NamedTuple):
    """Bounds on one quantity by their keys, and the problem that they are for."""

    name: str
    title: str
    unit: str
    given: dict[str, Any]
    bounds: dict[str, dict[str, Any]]


Row = tuple[Callable[..., float], str, str, str, tuple[Any, ...]]
"""A function of the theory, the kind of its bound, what it is a bound on, where it is proved, and its arguments."""


def _compute(rows: dict[str, Row], **ends: float) -> dict[str, dict[str, Any]]:
    """Return bounds as JSON values; where one has no value, its note says why."""
    bounds = {}
    for key, (function, kind, what, source, given) in rows.items():
        value, note = None, ""
        try:
            value = float(function(*given, **ends))
        except ArgumentError as error:
            note = str(error)
        bounds[key] = {"what": what, "kind": kind, "source": source, "value": value, "note": note}
    return bounds


def _regret_bounds(on: Instance, horizon: int, epsilon: float) -> _Section:
    """Return the bounds on the regret on these arms."""
    means, arms = on.means, len(on)
    title = f"Regret on {on.name}, K = {arms}, T = {horizon:,}, epsilon = {epsilon:g}"
    given = {"means": means.tolist(), "horizon": horizon, "epsilon": epsilon}
    theory.dp_se_sure_regret(means, horizon, epsilon)  # first: refuses what no bound can take
    here, there = (means, horizon, epsilon), (arms, horizon, epsilon)
    rows: list[Row] = [
        (theory.lai_robbins_bound, "as T grows", "without privacy, on these arms", "Lai and Robbins 1985", here[:2]),
        (theory.regret_lower_bound, "as T grows", "private, on these arms", "Azize et al. 2025", here),
        (theory.private_regret_order, "order", "what privacy adds, K ln(T)/epsilon", "Shariff and Sheffet 2018", there),
        (theory.minimax_lower_bound, "at least", "private, on the hardest arms", "Azize 2024, Theorem 4.15", there),
        (theory.dp_se_sure_regret, "at most", "DP-SE on these arms, by its schedule",
         f"{PAPER}, Lemma 4.2's proof", here),
        (theory.sharp_sure_regret, "at most", "dp-se-sharp on these arms, by its schedule", SHARP, here),
        (theory.dp_se_regret_bound, "at most", "DP-SE on these arms", f"{PAPER}, Theorem 4.3", here),
        (theory.dp_se_minimax_bound, "at most", "DP-SE on any arms", f"{PAPER}, Theorem 4.4", there),
    ]  # fmt: skip
    return _Section("regret", title, "pseudo-regret", given, _compute({row[0].__name__: row for row in rows}))


def _stopping_bounds(mean: float, alpha: float, beta: float, epsilon: float, ends: dict[str, float]) -> _Section:
    """Return the bounds on the samples that a stopping rule takes."""
    title = "Samples of {low:g} and {high:g} with ".format(**ends)
    title += f"mean {mean:g}, alpha = {alpha:g}, beta = {beta:g}, epsilon = {epsilon:g}"
    given = {"mean": mean, "alpha": alpha, "beta": beta, "epsilon": epsilon, **ends}
    theory.two_point_lower_bound(mean, alpha, 0.25, epsilon, **ends)  # first: refuses what no bound can take
    checks.fraction("beta", beta)
    public, private = (mean, alpha, beta), (mean, alpha, beta, epsilon)
    rows: dict[str, Row] = {
        "two_point_lower_bound_without_privacy": (
            theory.two_point_lower_bound, "at least", "without privacy, in expectation", OURS, public),
        "two_point_lower_bound": (theory.two_point_lower_bound, "at least", "private, in expectation", OURS, private),
        "nonprivate_stopping_lower_bound": (
            theory.nonprivate_stopping_lower_bound, "order", "without privacy", "Dagum et al. 2000", public),
        "private_stopping_lower_bound": (
            theory.private_stopping_lower_bound, "at least", "private, in a quarter of runs", f"{PAPER}, Theorem 3.4",
            private),
        "stopping_lower_bound": (
            theory.stopping_lower_bound, "order", "private: the sum of these two", f"{PAPER}, Corollary 3.6", private),
    }  # fmt: skip
    for name in ("nas", "dp-nas", "dp-exp-nas"):
        key, known = name.replace("-", "_"), (name, *private)
        rows[f"{key}_typical"] = theory.typical_samples, "about", name, "its thresholds", known
        rows[f"{key}_sure"] = theory.sure_samples, "at most", name, "its thresholds", known
    for name in ("dp-nas-released", "dp-bernstein"):
        rows[f"{name.replace('-', '_')}_typical"] = _forecast, "about", name, "its forecast", (name, *private)
    proved = "dp-exp-nas, 2000 (t0 + t1 + t2)", f"{PAPER}, Theorem 3.3"
    rows["stopping_upper_bound"] = theory.stopping_upper_bound, "at most", *proved, private
    return _Section("stopping", title, "samples", given, _compute(rows, **ends))


def _forecast(name: str, mean: float, alpha: float, beta: float, epsilon: float, **ends: float) -> float:
    """Return about how many samples a rule takes that releases blocks."""
    return make_rule(name, alpha=alpha, beta=beta, epsilon=epsilon, **ends).forecast(mean) or math.inf


def _sample_range(low: float | None, high: float | None, radius: float | None) -> dict[str, float]:
    """Return the range of samples, by default [0, 1]."""
    if radius is None:
        return {"low": 0.0 if low is None else low, "high": 1.0 if high is None else high}
    if low is not None or high is not None:
        raise ArgumentError(f"give --radius, or --low and --high, not both; got --radius {radius:g}")
    return {"low": -checks.positive("radius", radius), "high": radius}


def _to_json(section: _Section) -> dict[str, Any]:
    """Return bounds as JSON values, by their keys."""
    never = {"value": None, "note": "never"}
    return {key: {**row, **(never if row["value"] == math.inf else {})} for key, row in section.bounds.items()}


def _show_section(section: _Section) -> None:
    """Print bounds for a person."""
    rows = section.bounds.values()
    values = [row["value"] for row in rows]
    columns: list[Column] = [
        ("kind", [row["kind"] for row in rows]),
        (section.unit, ["-" if v is None else "never" if math.isinf(v) else number(v) for v in values]),
        ("of what", [row["what"] for row in rows]),
        ("source", [row["source"] for row in rows]),
    ]
    show(section.title, "bold")
    show("")
    console().print(wrapped_table(columns, words=("of what", "source")))
    show("")
    for row in rows:
        if row["note"]:
            show(f"{row['what']} ({row['source']}): {row['note']}", "dim", wrap=True)

"""`discreet bounds`: the theory's numbers, each with its kind and where it is proved."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from discreet import theory
from discreet.cli._console import Column, console, show, show_json, wrapped_table
from discreet.cli._options import (
    Alpha,
    Arms,
    ArmTexts,
    Beta,
    High,
    InstanceName,
    Json,
    Low,
    Radius,
    choose_instance,
    examples,
    real_option,
    whole_option,
)
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

app = typer.Typer()


@app.command(
    "bounds",
    epilog=examples(
        "discreet bounds --instance C2 --epsilon 0.25 --horizon 5e7",
        "discreet bounds --mean 0.1 --alpha 0.1 --beta 0.05 --epsilon 0.5",
        "discreet bounds --mean 0.1 --alpha 0.1 --radius 1 --epsilon 0.5 --json",
    ),
)
def _bounds(
    *,
    epsilon: Annotated[float, real_option("The privacy parameter.")] = 1.0,
    instance: InstanceName = None,
    arms: Arms = None,
    arm: ArmTexts = None,
    horizon: Annotated[int | None, whole_option("Pulls in a run.", show_default="5e7")] = None,
    mean: Annotated[float | None, real_option("The mean of the samples.")] = None,
    alpha: Alpha = 0.1,
    beta: Beta = 0.05,
    low: Low = None,
    high: High = None,
    radius: Radius = None,
    json: Json = False,
) -> None:
    """Say what is possible: bounds on a bandit's regret, and with --mean on the samples of a stopping rule.

    The samples lie in [0, 1], unless --low and --high or --radius say otherwise.
    """
    sections = []
    if mean is None or any(given is not None for given in (instance, arms, arm, horizon)):
        on = choose_instance(instance, arms, arm)
        sections.append(_regret_bounds(on, HORIZON if horizon is None else horizon, epsilon))
    if mean is not None:
        ends = _sample_range(low, high, radius)
        sections.append(_stopping_bounds(mean, alpha, beta, epsilon, ends=ends))
    if json:
        show_json({section.name: _to_json(section) for section in sections})
        return
    for section in sections:
        _show_section(section)
    _show_kinds(sections)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A number of the theory; if it has none here, `note` says why."""

    key: str
    what: str
    kind: str
    source: str
    value: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Section:
    """Bounds on one quantity, and the problem that they are for."""

    name: str
    title: str
    unit: str
    given: dict[str, Any]
    bounds: list[_Bound]


def _bound(
    what: str, kind: str, source: str, function: Callable[..., float], *given: Any, key: str = "", **more: Any
) -> _Bound:
    """Compute a bound, or note why there is none here. Its key is by default the function's name."""
    key = key or function.__name__
    try:
        return _Bound(key, what, kind, source, float(function(*given, **more)))
    except ArgumentError as error:
        return _Bound(key, what, kind, source, None, str(error))


def _regret_bounds(on: Instance, horizon: int, epsilon: float) -> _Section:
    """Return the bounds on the regret on these arms."""
    means, arms = on.means, len(on)
    title = f"Regret on {on.name}, K = {arms}, T = {horizon:,}, epsilon = {epsilon:g}"
    given = {"means": means.tolist(), "horizon": horizon, "epsilon": epsilon}
    theory.dp_se_sure_regret(means, horizon, epsilon)  # first: refuses what no bound can take
    here, anywhere = (means, horizon, epsilon), (arms, horizon, epsilon)
    found = [
        _bound("without privacy, on these arms", "as T grows", "Lai and Robbins 1985",
               theory.lai_robbins_bound, means, horizon),
        _bound("private, on these arms", "as T grows", "Azize et al. 2025", theory.regret_lower_bound, *here),
        _bound("what privacy adds, K ln(T)/epsilon", "order", "Shariff and Sheffet 2018",
               theory.private_regret_order, *anywhere),
        _bound("private, on the hardest arms", "at least", "Azize 2024, Theorem 4.15",
               theory.minimax_lower_bound, *anywhere),
        _bound("DP-SE on these arms, by its schedule", "at most", f"{PAPER}, Lemma 4.2's proof",
               theory.dp_se_sure_regret, *here),
        _bound("dp-se-sharp on these arms, by its schedule", "at most", SHARP, theory.sharp_sure_regret, *here),
        _bound("DP-SE on these arms", "at most", f"{PAPER}, Theorem 4.3", theory.dp_se_regret_bound, *here),
        _bound("DP-SE on any arms", "at most", f"{PAPER}, Theorem 4.4", theory.dp_se_minimax_bound, *anywhere),
    ]  # fmt: skip
    return _Section("regret", title, "pseudo-regret", given, found)


def _stopping_bounds(mean: float, alpha: float, beta: float, epsilon: float, *, ends: tuple[float, float]) -> _Section:
    """Return the bounds on the samples that a stopping rule takes."""
    low, high = ends
    title = f"Samples of {low:g} and {high:g} with mean {mean:g}, alpha = {alpha:g}, beta = {beta:g}"
    given = {"mean": mean, "alpha": alpha, "beta": beta, "epsilon": epsilon, "low": low, "high": high}
    on: dict[str, Any] = {"low": low, "high": high}
    theory.two_point_lower_bound(mean, alpha, 0.25, epsilon, **on)  # first: refuses what no bound can take
    checks.fraction("beta", beta)
    public, private = (mean, alpha, beta), (mean, alpha, beta, epsilon)
    found = [
        _bound("without privacy, in expectation", "at least", OURS, theory.two_point_lower_bound, *public,
               key="two_point_lower_bound_without_privacy", **on),
        _bound("private, in expectation", "at least", OURS, theory.two_point_lower_bound, *private, **on),
        _bound("without privacy", "order", "Dagum et al. 2000", theory.nonprivate_stopping_lower_bound, *public, **on),
        _bound("private, in a quarter of runs", "at least", f"{PAPER}, Theorem 3.4",
               theory.private_stopping_lower_bound, *private, **on),
        _bound("private: the sum of these two", "order", f"{PAPER}, Corollary 3.6",
               theory.stopping_lower_bound, *private, **on),
    ]  # fmt: skip
    for name in ("nas", "dp-nas", "dp-exp-nas"):
        key = name.replace("-", "_")
        found += [
            _bound(name, "about", "its thresholds", theory.typical_samples, name, *private, key=f"{key}_typical", **on),
            _bound(name, "at most", "its thresholds", theory.sure_samples, name, *private, key=f"{key}_sure", **on),
        ]
    for name in ("dp-nas-released", "dp-bernstein"):
        key = f"{name.replace('-', '_')}_typical"
        found.append(_bound(name, "about", "its forecast", _forecast, name, key=key, **given))
    found.append(
        _bound("dp-exp-nas, 2000 (t0 + t1 + t2)", "at most", f"{PAPER}, Theorem 3.3",
               theory.stopping_upper_bound, *private, **on)
    )  # fmt: skip
    return _Section("stopping", f"{title}, epsilon = {epsilon:g}", "samples", given, found)


def _forecast(name: str, mean: float, **options: float) -> float:
    """Return about how many samples a rule takes that releases blocks."""
    return make_rule(name, **options).forecast(mean) or math.inf


def _sample_range(low: float | None, high: float | None, radius: float | None) -> tuple[float, float]:
    """Return the range of samples, by default [0, 1]."""
    if radius is not None:
        if low is not None or high is not None:
            raise ArgumentError(f"give --radius, or --low and --high, not both; got --radius {radius:g}")
        return -checks.positive("radius", radius), radius
    return 0.0 if low is None else low, 1.0 if high is None else high


def _to_json(section: _Section) -> dict[str, Any]:
    """Return bounds as JSON values, by their keys."""
    rows = {one.key: asdict(one) for one in section.bounds}
    for row in rows.values():
        del row["key"]
        if row["value"] is not None and math.isinf(row["value"]):
            row["value"], row["note"] = None, "never"
    return {"given": finite(section.given), "bounds": rows}


def _show_section(section: _Section) -> None:
    """Print bounds for a person."""
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


def _show_kinds(sections: Sequence[_Section]) -> None:
    """Print the meaning of each kind that occurs."""
    used = {one.kind for section in sections for one in section.bounds}
    for kind, meaning in KINDS.items():
        if kind in used:
            show(f"{kind}: {meaning}.", "dim", wrap=True)

"""The pictures of the stopping study."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet._pictures import Cloud, Colour, Line, Panel, Picture
from discreet.reproduction.pictures.evaluation import measured
from discreet.reproduction.studies.stopping import ENDS, FOR_CLICKS, PLAIN, PRIVATE, RULES, StoppingFindings
from discreet.theory import least_level, private_stopping_lower_bound

LOOKS = {
    "nas": ("NAS (not private)", "NAS", Colour.GREEN, "o"),
    "ebstop": ("EBStop (not private)", "EBStop", Colour.AMBER, "s"),
    "dp-nas": ("DP-NAS", "DP-NAS", Colour.ORANGE, "^"),
    "dp-exp-nas": ("DP exponential NAS", "DP exp.", Colour.BLUE, "D"),
    "dp-nas-one-sided": ("DP one-sided NAS", "one-sided", Colour.AMBER, "X"),
    "dp-nas-released": ("DP-NAS by releases", "releases", Colour.SKY, "v"),
    "dp-bernstein": ("DP-Bernstein", "Bernstein", Colour.PINK, "P"),
    "inverse": ("inverse sampling (not private)", "inverse", Colour.GREY, "h"),
    "dp-inverse": ("DP inverse sampling", "DP inverse", Colour.BLACK, "*"),
}
"""The name of each rule, a short one, its colour and its marker."""
NAMES, SHORT = ({rule: looks[index] for rule, looks in LOOKS.items()} for index in (0, 1))
KINDS = {"signs": "samples of −1 and 1", "clicks": "clicks (0 and 1)"}
_RARE = 0.05  # up to this mean, the bound for rare means is shown
AXES = {"mean": "mean μ", "alpha": "accuracy α", "epsilon": "privacy ε", "beta": "failure probability β"}
SAMPLES = "samples"


def stopping_pictures(found: StoppingFindings) -> list[Picture]:
    """Return all pictures of the study, in the order of the report."""
    sweeps = [_sweeps(found, kind) for kind in ENDS]
    return [_distance(found), *sweeps, _clicks(found), _distributions(found), _price(found)]


def _distance(found: StoppingFindings) -> Picture:
    """Distance of each rule from the best possible: the one to look at first."""
    panels, shown = [], []
    top = 3 * max(value for kind in ENDS for value in found.guaranteed(kind))  # one scale for both panels
    for kind in ENDS:
        rows = {rule: found.distances(rule, kind) for rule in RULES}
        clouds = [
            Cloud("", place, values, *LOOKS[rule][2:], _times(values))
            for place, (rule, values) in enumerate(rows.items())
        ]
        proved, end = found.guaranteed(kind), len(RULES)
        clouds.append(Cloud("", end, proved, Colour.GREY, "P", _times(proved)))
        ticks = [*((place, SHORT[rule]) for place, rule in enumerate(RULES)), (end, "proved")]
        best = "no rule can do better (private rules: no private one)"
        limit = Line(best, [-0.5, end + 0.5], [1, 1], Colour.BLACK, "--")
        axes: dict[str, Any] = {"y_label": "times the least possible", "y_log": True, "y_from": 0.5, "y_to": top}
        shown += [found.of(rule, found.study.base.with_(kind=kind)) for rule in RULES]
        groups = [(0, len(PLAIN) - 1, "not private"), (len(PLAIN), end - 1, "private"), (end, end, "Theorem 3.3")]
        panels.append(Panel(KINDS[kind], [limit], clouds, ticks=ticks, groups=groups, x_label="", **axes))
    return Picture(
        "stopping-distance",
        "How many times the least possible number of samples does each rule take?",
        panels,
        simulations=shown,
        columns=1,
        stretch=2.0,
    )


def _times(values: Sequence[float]) -> str:
    """A median as a multiple."""
    return f"{float(np.median(values)):,.0f}×"


def _sweeps(found: StoppingFindings, kind: str) -> Picture:
    """Samples against each parameter, between the bounds."""
    panels, shown = [], []
    for name, values in found.study.sweeps.items():
        problems = found.study.swept(kind, name)
        lines = []
        for rule in RULES:
            row = [found.of(rule, one) for one in problems]
            lines.append(measured(NAMES[rule], values, row, *LOOKS[rule][2:]))
            shown += row
        proved, private = [one.upper_bound() for one in problems], [one.lower_bound() for one in problems]
        least = [one.lower_bound(False) for one in problems]
        lines += [
            Line("Theorem 3.3's bound", values, proved, Colour.GREY, "--", width=0.9),
            Line("lower bound, private", values, private, Colour.BLACK, "-", width=1.1),
            Line("lower bound, any rule", values, least, Colour.BLACK, ":", width=1.1),
        ]
        panels.append(Panel("", lines, x_label=AXES[name], y_label=SAMPLES, x_log=True, y_log=True))
    return Picture(
        f"stopping-sweep-{kind}", f"Samples taken: {KINDS[kind]}", panels, simulations=list(dict.fromkeys(shown))
    )


def _clicks(found: StoppingFindings) -> Picture:
    """Samples over the least possible number, against the mean of clicks."""
    problems, lines, shown = found.study.of_clicks(), [], []
    means = found.study.click_means
    for rule in FOR_CLICKS:
        row = [found.of(rule, one) for one in problems]
        times = [float(runs.samples.mean()) / one.lower_bound() for runs, one in zip(row, problems, strict=True)]
        name, _, colour, marker = LOOKS[rule]
        lines.append(Line(name, means, times, colour, "-", marker))
        shown += row
    base = found.study.clicks
    level = float(least_level(base.alpha, base.beta, base.epsilon))
    every = [level / one.mean / one.lower_bound() for one in problems if one.mean <= _RARE]
    lines += [
        Line("lower bound, private, at this mean", means, [1.0] * len(means), Colour.BLACK, "-", width=1.1),
        Line("lower bound for all rare means at once", means[: len(every)], every, Colour.BLACK, ":", width=1.1),
    ]
    title = f"α = {base.alpha:g}, β = {base.beta:g}, ε = {base.epsilon:g}"
    axes: dict[str, Any] = {
        "x_label": AXES["mean"],
        "y_label": "times the least possible",
        "x_log": True,
        "y_log": True,
    }
    panel = Panel(title, lines, **axes)
    return Picture(
        "stopping-clicks", "Clicks: how many times the least possible", [panel], columns=1, simulations=shown
    )


def _distributions(found: StoppingFindings) -> Picture:
    """The gain from following the variance."""
    grid, panels = found.study.distributions, []
    alpha = min(grid.alphas)
    for epsilon in grid.epsilons:
        rows = [row for row in found.distribution_rows if (row["epsilon"], row["alpha"]) == (epsilon, alpha)]
        medians = {rule: [row["medians"].get(rule, math.nan) for row in rows] for rule in grid.rules}
        lines = [_points(rule, range(len(rows)), values) for rule, values in medians.items()]
        ticks = [(place, row["distribution"].replace(" ", "\n", 1)) for place, row in enumerate(rows)]
        title = f"ε = {epsilon:g}, α = {alpha:g}"
        panels.append(Panel(title, lines, ticks=ticks, x_label="", y_label=SAMPLES, y_log=True))
    return Picture(
        "stopping-distributions",
        "Samples of many distributions: the gain from following the variance",
        panels,
        columns=1,
        stretch=2.0,
    )


def _price(found: StoppingFindings) -> Picture:
    """Samples that privacy adds, against 1/epsilon."""
    inverse = [1 / epsilon for epsilon in found.study.epsilons]
    panels, shown = [], []
    for kind in ENDS:
        problems = found.study.swept(kind, "epsilon")
        lines = [_points(rule, inverse, _positive(found.prices(rule, kind)), ", measured") for rule in PRIVATE]
        least = [one.lower_bound() - one.lower_bound(False) for one in problems]
        proved = [float(private_stopping_lower_bound(*one.given, **one.range)) for one in problems]
        lines += [
            Line("DP-NAS, predicted", inverse, found.predicted_prices(kind), Colour.ORANGE, "-", width=1.0),
            Line("difference of the lower bounds", inverse, _positive(least), Colour.BLACK, "-", width=1.1),
            Line("Theorem 3.4's bound (on all samples)", inverse, proved, Colour.GREY, "--", width=1.1),
        ]
        shown += [found.of(rule, one) for rule in PRIVATE for one in problems]
        axes: dict[str, Any] = {
            "x_label": "1/ε",
            "y_label": "samples more",
            "x_log": True,
            "y_log": True,
            "y_from": 1.0,
        }
        panels.append(Panel(KINDS[kind], lines, **axes))
    return Picture("stopping-price", "The price of privacy: samples more than without it", panels, simulations=shown)


def _points(rule: str, x: Sequence[float], y: Sequence[float], what: str = "") -> Line:
    """A rule's points, without a line between them."""
    name, _, colour, marker = LOOKS[rule]
    return Line(f"{name}{what}", x, y, colour, "", marker)


def _positive(values: Sequence[float]) -> list[float]:
    """Values with NaN for those that a logarithmic axis cannot show."""
    return [value if value > 0 else math.nan for value in values]

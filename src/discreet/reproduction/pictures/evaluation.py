"""The paper's twelve figures, those of the text that it has withdrawn, and those of the extended evaluation.

The paper names Mishra and Thakurta's DP-UCB, so its figures show that. What the withdrawn text says of who wins fits
the form without the factor K (`docs/paper.md`), so its figures show that one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from discreet._pictures import (
    COLOURS,
    MARKERS,
    PALETTE,
    STYLES,
    SUPERSCRIPTS,
    Cloud,
    Colour,
    Line,
    Panel,
    Picture,
)
from discreet.bandits.dp_ucb import PRESETS, PUBLISHED
from discreet.lab.figures import curve
from discreet.lab.results import QUANTILES, Simulation
from discreet.lab.setting import ARMS
from discreet.reproduction.studies.claim import CLAIM, last_elimination, regret_by_elimination
from discreet.reproduction.studies.evaluation import DEFAULT, RECOMMENDED, WITHDRAWN, EvaluationFindings
from discreet.theory import regret_lower_bound

PRESET_COLOURS = dict(zip(PRESETS, (Colour.ORANGE, Colour.PINK, Colour.AMBER, Colour.GREEN), strict=True))
SHADES = {
    "dp-ucb": (Colour.ORANGE, Colour.AMBER),
    "dp-se": (Colour.BLUE, Colour.SKY),
    "dp-se-svt": (Colour.PINK, Colour.BLACK),
    "dp-se-modified": (Colour.GREEN, Colour.GREY),
}
"""A policy's colours for the smaller and the larger epsilon of a panel."""
NAMES = {
    "dp-ucb": "DP-UCB",
    "dp-se": "DP-SE",
    "dp-se-svt": "older DP-SE",
    "dp-se-modified": "modified",
}
FINAL = "final pseudo-regret"
LETTERS = "abcdefgh"
ZOOM = 1.35
"""A second row reaches this far past the last elimination, and above the regret that is then reached."""
Rows = Mapping[str, tuple[list[Simulation], Colour]]
"""Simulations and their colour, by their label."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Attributes:
        number: Its number there; in the withdrawn text, W and a number.
        instance: Name of the instance.
        epsilons: The epsilons of each panel.
        arms: The number of arms of each panel.
        title: What all panels have in common.
    """

    number: str
    instance: str
    epsilons: Sequence[Sequence[float]]
    arms: Sequence[int]
    title: str

    @property
    def name(self) -> str:
        """The name of its file."""
        withdrawn = self.number.startswith("W")
        return f"withdrawn-{self.number[1:]}" if withdrawn else f"paper-{int(self.number):02}"

    @property
    def panels(self) -> list[tuple[str, int, Sequence[float]]]:
        """A title, a number of arms and epsilons for each panel."""
        one = len(set(self.arms)) == 1
        pairs = zip(self.arms, self.epsilons, strict=True)
        texts = [" and ".join(f"{epsilon:g}" for epsilon in pair) for pair in self.epsilons]
        return [
            (f"({LETTERS[place]}) {f'ε = {texts[place]}' if one else f'K = {arms}'}", arms, pair)
            for place, (arms, pair) in enumerate(pairs)
        ]


def paper_figures(found: EvaluationFindings) -> list[Figure]:
    """Return the paper's figures, by its numbers: 1 to 4 five arms; 5 to 12 all numbers of arms, by instance."""
    wanted = found.study
    pairs = _pairs(wanted.epsilons)
    figures = [_five_arms(name, pairs) for name in wanted.instances]
    figures += [_all_arms(name, pair, wanted.arms) for name in wanted.instances for pair in reversed(pairs)]
    return [replace(figure, number=str(number)) for number, figure in enumerate(figures, 1)]


def withdrawn_figures(found: EvaluationFindings) -> list[Figure]:
    """Return the figures of the withdrawn text: five arms as there, and then all numbers of arms at two epsilons."""
    wanted = found.study
    figures = [_five_arms(name, _pairs(wanted.epsilons)) for name in wanted.instances]
    if {0.25, 1.0} <= set(wanted.epsilons):
        figures += [_all_arms(name, (0.25, 1.0), wanted.arms) for name in wanted.instances]
    return [replace(figure, number=f"W{number}") for number, figure in enumerate(figures, 1)]


def _pairs(epsilons: Sequence[float]) -> list[Sequence[float]]:
    return [epsilons[i : i + 2] for i in range(0, len(epsilons), 2)]


def _five_arms(name: str, pairs: Sequence[Sequence[float]]) -> Figure:
    return Figure("", name, pairs, [ARMS] * len(pairs), f"K = {ARMS}")


def _all_arms(name: str, pair: Sequence[float], arms: Sequence[int]) -> Figure:
    return Figure("", name, [pair] * len(arms), arms, f"ε = {' and '.join(f'{epsilon:g}' for epsilon in pair)}")


def evaluation_pictures(found: EvaluationFindings) -> list[Picture]:
    """Return all pictures of an evaluation, in the order of the report."""
    wanted = found.study
    pictures = [_figure(found, one, ("dp-ucb", "dp-se")) for one in paper_figures(found)]
    if wanted.extended:
        pictures.insert(0, all_settings(found))
        pictures += [_figure(found, one, ("dp-ucb", *WITHDRAWN)) for one in withdrawn_figures(found)]
        pictures += [_distribution_picture(found, arms) for arms in wanted.arms]
        pictures.append(_against_epsilon(found))
        if len(wanted.arms) > 1:
            pictures.append(_against_arms(found))
        pictures += [_sweep_picture(found, arms) for arms in dict.fromkeys(arms for arms, _ in wanted.sweeps())]
    return pictures


# ---------------------------------------------------------------------- the paper's figures


def _figure(found: EvaluationFindings, figure: Figure, policies: Sequence[str]) -> Picture:
    """A figure as the paper plots it, and below each of its panels the same curves up to the last elimination."""
    columns = 2
    drawn, shown = [], []
    for start in range(0, len(figure.panels), columns):
        row = figure.panels[start : start + columns]
        curves = [_panel_runs(found, figure.instance, arms, epsilons, policies) for _, arms, epsilons in row]
        drawn += [_whole(text, runs) for (text, *_), runs in zip(row, curves, strict=True)]
        drawn += [_beginning(text, runs) for (text, *_), runs in zip(row, curves, strict=True)]
        shown += [one for runs in curves for *_, one in runs]
    kind = "Withdrawn figure" if figure.number.startswith("W") else "Figure"
    title = f"{kind} {figure.number.lstrip('W')}. {figure.instance} with {figure.title}, T = {found.study.horizon:,}"
    return Picture(figure.name, title, drawn, columns, stretch=1.3, simulations=list(dict.fromkeys(shown)))


Run = tuple[str, str, str, float, Simulation]
"""The label, colour, line style and line width of a curve, and its simulation."""


def _panel_runs(
    found: EvaluationFindings, name: str, arms: int, epsilons: Sequence[float], policies: Sequence[str]
) -> list[Run]:
    """The curves of a panel. A line style is an epsilon in all figures; wide lines lie under narrow ones."""
    form = PUBLISHED if "dp-se" in policies else DEFAULT
    styles = dict(zip(found.study.epsilons, reversed(STYLES), strict=False))
    runs: list[Run] = []
    for policy in policies:
        for place, epsilon in enumerate(epsilons):
            cell = name, arms, epsilon
            one = found.dp_ucb(*cell, form) if policy == "dp-ucb" else found.private(policy, *cell)
            colour = SHADES[policy][place]
            runs.append((f"{NAMES[policy]}, ε = {epsilon:g}", colour, styles[epsilon], (2.4, 1.3)[place], one))
    return runs


def _whole(text: str, runs: Sequence[Run]) -> Panel:
    """A panel of the paper: regret against pulls, up to the horizon."""
    lines = [replace(curve(one, label, colour, style), width=width) for label, colour, style, width, one in runs]
    return Panel(text, lines, y_from=0.0, labels_at_ends=True)


def _beginning(text: str, runs: Sequence[Run]) -> Panel:
    """The same curves up to the last elimination: straight lines, with a mark where half of the runs dropped an arm.

    An elimination's curve is drawn from when its arms were dropped, which is finer than the checkpoints.
    """
    dropping = [one for *_, one in runs if one.setting.algorithm != "dp-ucb"]
    end = ZOOM * max(last_elimination(one) for one in dropping)
    top = ZOOM * max(one.mean for one in dropping)
    lines = []
    for label, colour, style, width, one in runs:
        if one.setting.algorithm == "dp-ucb":
            lines.append(replace(curve(one, label, colour, style), width=width))
            continue
        times = np.unique(np.concatenate([np.linspace(0, end, 400), one.dropped[one.dropped >= 0]]))
        regret = regret_by_elimination(one, times)
        low, high = np.quantile(regret, [QUANTILES["q05"], QUANTILES["q95"]], axis=0)
        lines.append(Line(label, times, regret.mean(axis=0), colour, style, low=low, high=high, width=width))
        gone = np.where(one.dropped < 0, np.inf, one.dropped)
        kinks = np.unique([time for time in np.median(gone, axis=0) if np.isfinite(time)])
        lines.append(Line("", kinks, np.interp(kinks, times, regret.mean(axis=0)), colour, "", "o"))
    title = f"{text.split(')', maxsplit=1)[0]}) up to the last elimination"
    return Panel(
        title, lines, y_from=0.0, y_to=top, x_to=min(end, float(one.setting.horizon or end)), labels_at_ends=True
    )


# ---------------------------------------------------------------------- all settings on one page


def all_settings(found: EvaluationFindings) -> Picture:
    """Return regret over time against the lower bound, in a small panel for each setting."""
    wanted = found.study
    sides = [wanted.instances[i : i + 2] for i in range(0, len(wanted.instances), 2)]
    ticks = [(10.0**power, f"10{str(power).translate(SUPERSCRIPTS)}") for power in (2, 4, 6)]
    top = 2 * max(found.dp_ucb(*cell).mean for cell in wanted.cells())
    panels, shown = [], []
    for (block, side), (row, arms) in product(enumerate(sides), enumerate(wanted.arms)):
        for name, (column, epsilon) in product(side, enumerate(wanted.epsilons)):
            runs = {
                "DP-UCB as published": (found.dp_ucb(name, arms, epsilon), Colour.ORANGE),
                "DP-SE": (found.dp_se(name, arms, epsilon), Colour.BLUE),
                RECOMMENDED: (found.private(RECOMMENDED, name, arms, epsilon), Colour.GREEN),
                "UCB (not private)": (found.plain("ucb", name, arms), Colour.AMBER),
            }
            lines = [
                Line(label, one.setting.checkpoints, _positive(one.bands["mean"]), colour, width=1.2)
                for label, (one, colour) in runs.items()
            ]
            late = [time for time in wanted.dp_se(name, arms, epsilon).checkpoints if time >= 100]
            means = wanted.dp_se(name, arms, epsilon).instance.means
            bound = regret_lower_bound(means.tolist(), late, epsilon)
            lines.append(Line("lower bound (private)", late, bound, Colour.BLACK, "--", width=1.0))
            bottom = (block, row) == (len(sides) - 1, len(wanted.arms) - 1)
            axes: dict[str, Any] = {"x_log": True, "y_log": True, "x_label": "pulls" if bottom else "", "ticks": ticks}
            axes |= {"y_from": 10.0, "y_to": top}
            title = f"{name}, ε = {epsilon:g}" if row == 0 else ""
            panels.append(Panel(title, lines, y_label="" if column else f"K = {arms}", **axes))
            shown += [one for one, _ in runs.values()]
    title = f"Pseudo-regret over time in all {len(wanted.cells())} settings of the paper"
    columns = len(wanted.epsilons) * len(sides[0])
    return Picture("all-settings", title, panels, columns, small=True, simulations=list(dict.fromkeys(shown)))


def _positive(values: Any) -> Any:
    """Values with NaN for those that a logarithmic axis cannot show."""
    return np.where(np.asarray(values) > 0, values, np.nan)


# ---------------------------------------------------------------------- beyond the paper


def _distribution_picture(found: EvaluationFindings, arms: int) -> Picture:
    """The final regret of every run, for each instance and epsilon."""
    wanted = found.study
    panels, shown = [], []
    for name in wanted.instances:
        clouds = []
        for place, epsilon in enumerate(wanted.epsilons):
            ucb, se = found.dp_ucb(name, arms, epsilon), found.dp_se(name, arms, epsilon)
            clouds += [
                Cloud("DP-UCB as published", place - 0.2, ucb.final, Colour.ORANGE, "s"),
                Cloud("DP-SE", place + 0.2, se.final, Colour.BLUE, "o"),
            ]
            shown += [ucb, se]
        place = len(wanted.epsilons)
        for policy, shift, marker in (("ucb", -0.2, "^"), ("se", 0.2, "D")):
            one = found.plain(policy, name, arms)
            clouds.append(Cloud(f"{policy.upper()} (not private)", place + shift, one.final, COLOURS[policy], marker))
            shown.append(one)
        ticks = [(i, f"{epsilon:g}") for i, epsilon in enumerate(wanted.epsilons)] + [(place, "none")]
        panels.append(Panel(name, clouds=clouds, x_label="ε", y_label=FINAL, y_log=True, ticks=ticks))
    return Picture(f"distribution-{arms}-arms", f"Final regret of every run, K = {arms}", panels, simulations=shown)


def _against_epsilon(found: EvaluationFindings) -> Picture:
    """Final regret against epsilon, with every known form of DP-UCB."""
    epsilons = found.study.epsilons
    panels, shown = [], []
    for name in found.study.instances:
        rows = {
            f"DP-UCB, {form}": ([found.dp_ucb(name, ARMS, epsilon, form) for epsilon in epsilons], PRESET_COLOURS[form])
            for form in found.study.forms()
        }
        rows["DP-SE"] = [found.dp_se(name, ARMS, epsilon) for epsilon in epsilons], Colour.BLUE
        flat = []
        for policy, style in (("se", "--"), ("ucb", ":")):  # they know no epsilon
            means = [found.plain(policy, name, ARMS).mean] * len(epsilons)
            flat.append(Line(f"{policy.upper()} (not private)", epsilons, means, Colour.GREY, style))
        panels.append(_final_panel(name, "ε", epsilons, rows, flat))
        shown += [one for row, _ in rows.values() for one in row]
    return Picture("against-epsilon", f"Final regret against ε, K = {ARMS}", panels, simulations=shown)


def _against_arms(found: EvaluationFindings) -> Picture:
    """Final regret against the number of arms."""
    wanted = found.study
    epsilon = 0.25 if 0.25 in wanted.epsilons else wanted.epsilons[0]
    panels, shown = [], []
    for name in wanted.instances:
        rows = {
            "DP-UCB as published": ([found.dp_ucb(name, arms, epsilon) for arms in wanted.arms], Colour.ORANGE),
            "DP-SE": ([found.dp_se(name, arms, epsilon) for arms in wanted.arms], Colour.BLUE),
            "SE (not private)": ([found.plain("se", name, arms) for arms in wanted.arms], Colour.GREEN),
            "UCB (not private)": ([found.plain("ucb", name, arms) for arms in wanted.arms], Colour.AMBER),
        }
        panels.append(_final_panel(name, "number of arms K", wanted.arms, rows))
        shown += [one for row, _ in rows.values() for one in row]
    title = f"Final regret against the number of arms, ε = {epsilon:g}"
    return Picture("against-arms", title, panels, simulations=shown)


def _final_panel(name: str, x_label: str, x: Sequence[float], rows: Rows, flat: Sequence[Line] = ()) -> Panel:
    """Final regrets of rows of simulations, each with a colour, other lines, and the lower bound."""
    marked = zip(rows.items(), MARKERS, strict=False)
    lines = [measured(label, x, row, colour, marker) for (label, (row, colour)), marker in marked]
    private: list[Any] = [one.setting for one in rows["DP-SE"][0]]
    bound = [regret_lower_bound(one.instance.means.tolist(), one.horizon, one.epsilon) for one in private]
    lines += [*flat, Line("lower bound", x, bound, Colour.BLACK, "-", width=0.9)]
    ticks = [(value, f"{value:g}") for value in x]
    return Panel(name, lines, x_label=x_label, y_label=FINAL, x_log=True, y_log=True, ticks=ticks)


def measured(label: str, x: Sequence[float], row: Sequence[Simulation], colour: str, marker: str) -> Line:
    """Return the mean outcomes of simulations, with their 5 % to 95 % band.

    Args:
        label: Its entry in the legend.
        x: The place of each simulation.
        row: The simulations.
        colour: A colour of matplotlib.
        marker: A marker of matplotlib.
    """
    figures = [one.statistics() for one in row]
    low, mean, high = ([figure[key] for figure in figures] for key in ("q05", "mean", "q95"))
    return Line(label, x, mean, colour, "-", marker, low, high)


def _sweep_picture(found: EvaluationFindings, arms: int) -> Picture:
    """DP-UCB's regret over DP-SE's, and the runs that it loses on a wrong arm, against its constant."""
    wanted = found.study
    epsilons = [epsilon for size, epsilon in wanted.sweeps() if size == arms]
    panels, shown = [], []
    for name in wanted.instances:
        ratios, stuck = [], []
        for epsilon, colour, marker in zip(epsilons, PALETTE, MARKERS, strict=False):
            row = [*found.swept(name, arms, epsilon), found.dp_ucb(name, arms, epsilon, DEFAULT)]
            x = [*wanted.constants, wanted.default_constant(arms, epsilon)]
            values = [found.over_dp_se(one, name, arms, epsilon).value for one in row]
            ratios.append(Line(f"ε = {epsilon:g}", x, values, colour, "-", marker))
            stuck.append(replace(ratios[-1], y=[one.failed.sum() for one in row]))
            shown += row
        ends = [min(wanted.constants), max(x)]
        ratios += [
            Line("5 times DP-SE", ends, [CLAIM, CLAIM], Colour.BLACK, "--", width=0.9),
            Line("as good as DP-SE", ends, [1, 1], Colour.GREY, ":", width=0.9),
        ]
        tick_values = sorted({*[c for c in wanted.constants if c in (2, 3, 5, 8, 12, 21, 50)], round(max(x))})
        axes: dict[str, Any] = {
            "x_label": "constant c of the relaxation c ln(T)¹·⁵/ε",
            "x_log": True,
            "ticks": [(value, f"{value:g}") for value in tick_values],
        }
        panels.append(Panel(name, ratios, y_label="regret over DP-SE's", y_log=True, **axes))
        limits: dict[str, Any] = {"y_from": -0.03 * wanted.runs, "y_to": wanted.runs}
        panels.append(Panel(name, stuck, y_label=f"stuck runs of {wanted.runs}", **axes, **limits))
    return Picture(f"sweep-{arms}-arms", f"DP-UCB's constant, K = {arms}", panels, simulations=shown)

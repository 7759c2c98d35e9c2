"""The paper's twelve figures, and those of the extended evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.bandits.dp_ucb import PRESETS
from discreet.lab.figures import COLOURS, MARKERS, PALETTE, STYLES, Cloud, Colour, Line, Panel, Picture, curve
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS
from discreet.reproduction.evaluation import CLAIM, EvaluationFindings
from discreet.theory import regret_lower_bound

PRESET_COLOURS = dict(zip(PRESETS, (Colour.ORANGE, Colour.PINK, Colour.AMBER), strict=True))
FINAL = "final pseudo-regret"
Cells = Mapping[str, tuple[int, Sequence[float]]]
"""A number of arms and epsilons, by the title of their panel."""
Rows = Mapping[str, tuple[list[Simulation], Colour]]
"""Simulations and their colour, by their label."""


def evaluation_pictures(found: EvaluationFindings) -> list[Picture]:
    """Return all pictures of an evaluation, in the order of the report."""
    wanted = found.study
    several = len(wanted.arms) > 1
    pairs = [wanted.epsilons[i : i + 2] for i in range(0, len(wanted.epsilons), 2)]
    pictures = []
    for log in (False, True) if wanted.extended else (False,):
        pictures += [_epsilon_picture(found, name, pairs, log) for name in wanted.instances]
        if several:
            pictures += [_arms_picture(found, name, pair, log) for pair in reversed(pairs) for name in wanted.instances]
    if wanted.extended:
        pictures += [_distribution_picture(found, arms) for arms in wanted.arms]
        pictures.append(_against_epsilon(found))
        if several:
            pictures.append(_against_arms(found))
        pictures += [_sweep_picture(found, arms) for arms in dict.fromkeys(arms for arms, _ in wanted.sweeps())]
    return pictures


def _epsilon_picture(found: EvaluationFindings, name: str, pairs: Sequence[Sequence[float]], log: bool) -> Picture:
    """Five arms, a panel for two epsilons each: the paper's first four figures."""
    panels = {" and ".join(f"ε = {epsilon:g}" for epsilon in pair): (ARMS, pair) for pair in pairs}
    return _curves(found, name, f"epsilon-{name}", f"K = {ARMS}", panels, log=log)


def _arms_picture(found: EvaluationFindings, name: str, pair: Sequence[float], log: bool) -> Picture:
    """Two epsilons, a panel for each number of arms: the paper's other eight figures."""
    values = [f"{epsilon:g}" for epsilon in pair]
    panels = {f"K = {arms}": (arms, pair) for arms in found.study.arms}
    return _curves(
        found, name, f"arms-{name}-epsilon-{'-'.join(values)}", f"ε = {' and '.join(values)}", panels, log=log
    )


def _curves(found: EvaluationFindings, name: str, file: str, title: str, panels: Cells, *, log: bool) -> Picture:
    """Regret curves of DP-UCB and DP-SE; the logarithmic ones have room for ancestors and lower bounds."""
    drawn, shown = [], []
    for text, (arms, epsilons) in panels.items():
        curves = {}
        for epsilon, style in zip(epsilons, STYLES, strict=False):
            curves[f"DP-UCB, ε = {epsilon:g}"] = found.dp_ucb(name, arms, epsilon), Colour.ORANGE, style
            curves[f"DP-SE, ε = {epsilon:g}"] = found.dp_se(name, arms, epsilon), Colour.BLUE, style
        if log:
            for policy in ("ucb", "se"):
                curves[f"{policy.upper()} (not private)"] = found.plain(policy, name, arms), COLOURS[policy], "-"
        lines = [curve(one, label, colour, style) for label, (one, colour, style) in curves.items()]
        shown += [one for one, *_ in curves.values()]
        if log:
            setting = shown[-1].setting
            late = [moment for moment in setting.checkpoints if moment >= 100]  # it is a bound for long runs
            for epsilon, style in zip(epsilons, STYLES, strict=False):
                bound = regret_lower_bound(setting.instance.means.tolist(), late, epsilon)
                lines.append(Line(f"lower bound, ε = {epsilon:g}", late, bound, Colour.BLACK, style, width=0.9))
        drawn.append(Panel(text, lines, x_log=log, y_log=log, y_from=1.0 if log else 0.0))
    kind, axes = ("log", ", logarithmic axes") if log else ("paper", "")
    return Picture(f"{kind}-{file}", f"{name}, {title}{axes}", drawn, simulations=list(dict.fromkeys(shown)))


def _distribution_picture(found: EvaluationFindings, arms: int) -> Picture:
    """The final regret of every run, for each instance and epsilon."""
    wanted = found.study
    panels, shown = [], []
    for name in wanted.instances:
        clouds = []
        for place, epsilon in enumerate(wanted.epsilons):
            ucb, se = found.dp_ucb(name, arms, epsilon), found.dp_se(name, arms, epsilon)
            clouds += [
                Cloud("DP-UCB", place - 0.2, ucb.final, Colour.ORANGE, "s"),
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
            f"DP-UCB, {preset}": ([found.dp_ucb(name, ARMS, epsilon, preset) for epsilon in epsilons], colour)
            for preset, colour in PRESET_COLOURS.items()
        }
        rows["DP-SE"] = [found.dp_se(name, ARMS, epsilon) for epsilon in epsilons], Colour.BLUE
        flat = []
        for policy in ("se", "ucb"):  # they know no epsilon
            means = [found.plain(policy, name, ARMS).mean] * len(epsilons)
            flat.append(Line(f"{policy.upper()} (not private)", epsilons, means, COLOURS[policy], "--"))
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
            "DP-UCB": ([found.dp_ucb(name, arms, epsilon) for arms in wanted.arms], Colour.ORANGE),
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
            row = [*found.swept(name, arms, epsilon), found.dp_ucb(name, arms, epsilon)]
            x = [*wanted.constants, wanted.default_constant(arms, epsilon)]
            mine = found.dp_se(name, arms, epsilon)
            ratios.append(Line(f"ε = {epsilon:g}", x, [one.mean / mine.mean for one in row], colour, "-", marker))
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

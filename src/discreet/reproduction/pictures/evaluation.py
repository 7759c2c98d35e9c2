"""The pictures of the evaluation: the paper's twelve figures, and those beyond it. Data only; `figures` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.bandits.dp_ucb import PRESETS
from discreet.reproduction.evaluation import CLAIM, Findings
from discreet.reproduction.figures import AMBER, BLACK, BLUE, COLOURS, GREEN, GREY, MARKERS, ORANGE, PALETTE, PINK, STYLES, Cloud, Line, Panel, Picture, curve
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS
from discreet.theory import regret_lower_bound

PRESET_COLOURS = dict(zip(PRESETS, (ORANGE, PINK, AMBER), strict=True))
FINAL = "final pseudo-regret"


def every_picture(found: Findings) -> list[Picture]:
    """All of them, in the order of the report."""
    wanted = found.evaluation
    pairs = [wanted.epsilons[i : i + 2] for i in range(0, len(wanted.epsilons), 2)]
    pictures = [epsilon_picture(found, name, pairs, log) for log in (False, True) for name in wanted.instances]
    if len(wanted.arms) > 1:
        pictures += [
            arms_picture(found, name, pair, log)
            for log in (False, True)
            for pair in reversed(pairs)
            for name in wanted.instances
        ]
    pictures += [distribution_picture(found, arms) for arms in wanted.arms]
    pictures.append(against_epsilon(found))
    if len(wanted.arms) > 1:
        pictures.append(against_arms(found))
    by_arms: dict[int, list[float]] = {}
    for arms, epsilon in wanted.sweeps():
        by_arms.setdefault(arms, []).append(epsilon)
    pictures += [sweep_picture(found, arms, epsilons) for arms, epsilons in by_arms.items()]
    return pictures


def epsilon_picture(found: Findings, name: str, pairs: Sequence[Sequence[float]], log: bool) -> Picture:
    """Five arms, a panel for two epsilons each: the paper's first four figures."""
    drawn = [drawing(found, name, ARMS, pair, log=log) for pair in pairs]
    panels = [panel for panel, _ in drawn]
    return Picture(
        f"{'log' if log else 'paper'}-epsilon-{name}",
        f"{name}, K = {ARMS}" + (", logarithmic axes" if log else ""),
        caption(name, f"{ARMS} arms, two epsilons a panel", found, log),
        panels,
        simulations=unique([one for _, shown in drawn for one in shown]),
    )


def arms_picture(found: Findings, name: str, pair: Sequence[float], log: bool) -> Picture:
    """Two epsilons, a panel for each number of arms: the paper's other eight figures."""
    drawn = [drawing(found, name, arms, pair, log=log, title=f"K = {arms}") for arms in found.evaluation.arms]
    values = " and ".join(f"{epsilon:g}" for epsilon in pair)
    return Picture(
        f"{'log' if log else 'paper'}-arms-{name}-epsilon-" + "-".join(f"{epsilon:g}" for epsilon in pair),
        f"{name}, ε = {values}" + (", logarithmic axes" if log else ""),
        caption(name, f"epsilon = {values}, a panel for each number of arms", found, log),
        [panel for panel, _ in drawn],
        simulations=unique([one for _, shown in drawn for one in shown]),
    )


def drawing(
    found: Findings, name: str, arms: int, epsilons: Sequence[float], *, log: bool, title: str | None = None
) -> tuple[Panel, list[Simulation]]:
    """A panel of regret curves for DP-UCB and DP-SE; the logarithmic one has room for ancestors and lower bounds."""
    lines: list[Line] = []
    shown: list[Simulation] = []
    for epsilon, style in zip(epsilons, STYLES, strict=False):
        ucb, se = found.dp_ucb(name, arms, epsilon), found.dp_se(name, arms, epsilon)
        lines += [curve(ucb, label("DP-UCB", epsilon), ORANGE, style), curve(se, label("DP-SE", epsilon), BLUE, style)]
        shown += [ucb, se]
    if log:
        plain_ucb, plain_se = found.plain("ucb", name, arms), found.plain("se", name, arms)
        lines += [curve(plain_ucb, "UCB (not private)", AMBER), curve(plain_se, "SE (not private)", GREEN)]
        shown += [plain_ucb, plain_se]
        means, moments = plain_ucb.setting.instance.means.tolist(), plain_ucb.setting.checkpoints
        late = [moment for moment in moments if moment >= 100]  # it speaks of long runs
        for epsilon, style in zip(epsilons, STYLES, strict=False):
            bound = regret_lower_bound(means, late, epsilon)
            lines.append(Line(label("lower bound", epsilon), late, bound, BLACK, style, width=0.9))
    title = title or " and ".join(f"ε = {epsilon:g}" for epsilon in epsilons)
    return Panel(title, lines, x_log=log, y_log=log, y_from=1.0 if log else 0.0), shown


def label(policy: str, epsilon: float) -> str:
    """A policy at an epsilon."""
    return f"{policy}, ε = {epsilon:g}"


def caption(name: str, what: str, found: Findings, log: bool) -> str:
    """What a figure of curves shows."""
    more = " With UCB and SE without privacy, and the lower bounds; both axes are logarithmic." if log else ""
    wanted = found.evaluation
    return (
        f"Mean pseudo-regret on {name}, {what}; {wanted.runs} runs of {wanted.horizon:,} pulls. Bands reach from the "
        f"5 % to the 95 % quantile of the runs.{more}"
    )


def distribution_picture(found: Findings, arms: int) -> Picture:
    """The final regret of every run, for each instance and epsilon."""
    wanted = found.evaluation
    panels, shown = [], []
    for name in wanted.instances:
        clouds = []
        for place, epsilon in enumerate(wanted.epsilons):
            ucb, se = found.dp_ucb(name, arms, epsilon), found.dp_se(name, arms, epsilon)
            clouds += [
                Cloud("DP-UCB", place - 0.2, ucb.final, ORANGE, "s"),
                Cloud("DP-SE", place + 0.2, se.final, BLUE, "o"),
            ]
            shown += [ucb, se]
        place = len(wanted.epsilons)
        for policy, shift, colour, marker in (("ucb", -0.2, AMBER, "^"), ("se", 0.2, GREEN, "D")):
            one = found.plain(policy, name, arms)
            clouds.append(Cloud(f"{policy.upper()} (not private)", place + shift, one.final, colour, marker))
            shown.append(one)
        ticks = [(i, f"{epsilon:g}") for i, epsilon in enumerate(wanted.epsilons)] + [(place, "none")]
        panels.append(Panel(name, clouds=clouds, x_label="ε", y_label=FINAL, y_log=True, ticks=ticks))
    return Picture(
        f"distribution-{arms}-arms",
        f"Final regret of every run, K = {arms}",
        f"Each point is one of {wanted.runs} runs of {wanted.horizon:,} pulls; the bars are medians.",
        panels,
        simulations=shown,
    )


def against_epsilon(found: Findings) -> Picture:
    """Final regret against epsilon, with every known form of DP-UCB."""
    wanted = found.evaluation
    panels, shown = [], []
    for name in wanted.instances:
        lines = []
        for preset, marker in zip(PRESETS, MARKERS, strict=False):
            row = [found.dp_ucb(name, ARMS, epsilon, preset) for epsilon in wanted.epsilons]
            lines.append(finals(f"DP-UCB, {preset}", wanted.epsilons, row, PRESET_COLOURS[preset], marker))
            shown += row
        row = [found.dp_se(name, ARMS, epsilon) for epsilon in wanted.epsilons]
        lines.append(finals("DP-SE", wanted.epsilons, row, BLUE, MARKERS[3]))
        shown += row
        means = row[0].setting.instance.means.tolist()
        lines += [flat(found.plain(p, name, ARMS), wanted.epsilons, p) for p in ("se", "ucb")]
        bound = regret_lower_bound(means, wanted.horizon, wanted.epsilons)
        lines.append(Line("lower bound", wanted.epsilons, bound, BLACK, "-", width=0.9))
        ticks = [(epsilon, f"{epsilon:g}") for epsilon in wanted.epsilons]
        panels.append(Panel(name, lines, x_label="ε", y_label=FINAL, x_log=True, y_log=True, ticks=ticks))
    return Picture(
        "against-epsilon",
        f"Final regret against ε, K = {ARMS}",
        f"Mean final pseudo-regret after {wanted.horizon:,} pulls; bands reach from the 5 % to the 95 % quantile. "
        "Three forms of DP-UCB: they differ in a constant, and in which neighbours are hidden.",
        panels,
        simulations=shown,
    )


def against_arms(found: Findings) -> Picture:
    """Final regret against the number of arms."""
    wanted = found.evaluation
    epsilon = 0.25 if 0.25 in wanted.epsilons else wanted.epsilons[0]
    panels, shown = [], []
    for name in wanted.instances:
        rows = {
            "DP-UCB": ([found.dp_ucb(name, arms, epsilon) for arms in wanted.arms], ORANGE),
            "DP-SE": ([found.dp_se(name, arms, epsilon) for arms in wanted.arms], BLUE),
            "SE (not private)": ([found.plain("se", name, arms) for arms in wanted.arms], GREEN),
            "UCB (not private)": ([found.plain("ucb", name, arms) for arms in wanted.arms], AMBER),
        }
        lines = [
            finals(text, wanted.arms, row, colour, marker)
            for (text, (row, colour)), marker in zip(rows.items(), MARKERS, strict=False)
        ]
        for row, _ in rows.values():
            shown += row
        bound = [
            regret_lower_bound(one.setting.instance.means.tolist(), wanted.horizon, epsilon) for one in rows["DP-SE"][0]
        ]
        lines.append(Line("lower bound", wanted.arms, bound, BLACK, "-", width=0.9))
        ticks = [(arms, str(arms)) for arms in wanted.arms]
        panels.append(
            Panel(name, lines, x_label="number of arms K", y_label=FINAL, x_log=True, y_log=True, ticks=ticks)
        )
    return Picture(
        "against-arms",
        f"Final regret against the number of arms, ε = {epsilon:g}",
        f"Mean final pseudo-regret after {wanted.horizon:,} pulls; bands reach from the 5 % to the 95 % quantile.",
        panels,
        simulations=shown,
    )


def finals(text: str, x: Sequence[float], row: Sequence[Simulation], colour: str, marker: str) -> Line:
    """Mean final regrets, with their 5 % to 95 % band."""
    low, mean, high = ([one.bands[key][-1] for one in row] for key in ("q05", "mean", "q95"))
    return Line(text, x, mean, colour, "-", marker, low, high)


def flat(one: Simulation, x: Sequence[float], policy: str) -> Line:
    """A policy that knows no epsilon."""
    return Line(f"{policy.upper()} (not private)", x, [one.mean] * len(x), COLOURS[policy], "--")


def sweep_picture(found: Findings, arms: int, epsilons: Sequence[float]) -> Picture:
    """What DP-UCB's constant does: its regret over DP-SE's, and the runs that it loses on a wrong arm."""
    wanted = found.evaluation
    ratios, stuck, shown = [], [], []
    for name in wanted.instances:
        top: list[Line] = []
        bottom: list[Line] = []
        for epsilon, colour, marker in zip(epsilons, PALETTE, MARKERS, strict=False):
            row = [*found.swept(name, arms, epsilon), found.dp_ucb(name, arms, epsilon)]
            x = [*wanted.constants, wanted.default_constant(arms, epsilon)]
            mine = found.dp_se(name, arms, epsilon)
            top.append(Line(f"ε = {epsilon:g}", x, [one.mean / mine.mean for one in row], colour, "-", marker))
            bottom.append(Line(f"ε = {epsilon:g}", x, [one.failed.sum() for one in row], colour, "-", marker))
            shown += row
        ends = [min(wanted.constants), max(x)]
        top += [
            Line("5 times DP-SE", ends, [CLAIM, CLAIM], BLACK, "--", width=0.9),
            Line("as good as DP-SE", ends, [1, 1], GREY, ":", width=0.9),
        ]
        common: dict[str, Any] = {"x_label": "constant $c$ of the relaxation $c\\,\\ln^{1.5}T/ε$", "x_log": True}
        tick_values = sorted({*[c for c in wanted.constants if c in (2, 3, 5, 8, 12, 21, 50)], round(max(x))})
        ticks = [(value, f"{value:g}") for value in tick_values]
        ratios.append(Panel(name, top, y_label="regret over DP-SE's", y_log=True, ticks=ticks, **common))
        limits: dict[str, Any] = {"y_from": -0.03 * wanted.runs, "y_to": wanted.runs}
        stuck.append(Panel(name, bottom, y_label=f"stuck runs of {wanted.runs}", ticks=ticks, **common, **limits))
    panels = [panel for pair in zip(ratios, stuck, strict=True) for panel in pair]
    return Picture(
        f"sweep-{arms}-arms",
        f"DP-UCB's constant, K = {arms}",
        "Left: DP-UCB's mean final regret over DP-SE's. Right: runs in which a worse arm was pulled most. The last "
        f"constant is the default preset's, about {round(max(x))}. A small constant lets early noise lock the policy "
        "on to a wrong arm; a large one costs regret. Privacy does not depend on it.",
        panels,
        simulations=shown,
    )


def unique(simulations: Sequence[Simulation]) -> list[Simulation]:
    """Each one once, in order of first appearance."""
    return list({id(one): one for one in simulations}.values())

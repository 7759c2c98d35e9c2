"""The paper's twelve figures, and those of the extended evaluation."""

from collections.abc import Sequence
from typing import Any

from discreet.bandits.dp_ucb import PRESETS
from discreet.lab.figures import COLOURS, MARKERS, PALETTE, STYLES, Cloud, Colour, Line, Panel, Picture, curve
from discreet.lab.results import Simulation
from discreet.lab.setting import ARMS
from discreet.reproduction.evaluation import CLAIM, Findings
from discreet.theory import regret_lower_bound

PRESET_COLOURS = dict(zip(PRESETS, (Colour.ORANGE, Colour.PINK, Colour.AMBER), strict=True))
FINAL = "final pseudo-regret"


def evaluation_pictures(found: Findings) -> list[Picture]:
    """Return all pictures of an evaluation, in the order of the report."""
    wanted = found.evaluation
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
        by_arms: dict[int, list[float]] = {}
        for arms, epsilon in wanted.sweeps():
            by_arms.setdefault(arms, []).append(epsilon)
        pictures += [_sweep_picture(found, arms, epsilons) for arms, epsilons in by_arms.items()]
    return pictures


def _epsilon_picture(found: Findings, name: str, pairs: Sequence[Sequence[float]], log: bool) -> Picture:
    """Five arms, a panel for two epsilons each: the paper's first four figures."""
    drawn = [_drawing(found, name, ARMS, pair, log=log) for pair in pairs]
    return Picture(
        f"{'log' if log else 'paper'}-epsilon-{name}",
        f"{name}, K = {ARMS}" + (", logarithmic axes" if log else ""),
        [panel for panel, _ in drawn],
        simulations=_unique(drawn),
    )


def _arms_picture(found: Findings, name: str, pair: Sequence[float], log: bool) -> Picture:
    """Two epsilons, a panel for each number of arms: the paper's other eight figures."""
    drawn = [_drawing(found, name, arms, pair, log=log, title=f"K = {arms}") for arms in found.evaluation.arms]
    values = " and ".join(f"{epsilon:g}" for epsilon in pair)
    return Picture(
        f"{'log' if log else 'paper'}-arms-{name}-epsilon-" + "-".join(f"{epsilon:g}" for epsilon in pair),
        f"{name}, ε = {values}" + (", logarithmic axes" if log else ""),
        [panel for panel, _ in drawn],
        simulations=_unique(drawn),
    )


def _drawing(
    found: Findings, name: str, arms: int, epsilons: Sequence[float], *, log: bool, title: str | None = None
) -> tuple[Panel, list[Simulation]]:
    """A panel of regret curves for DP-UCB and DP-SE; the logarithmic one has room for ancestors and lower bounds."""
    lines: list[Line] = []
    shown: list[Simulation] = []
    for epsilon, style in zip(epsilons, STYLES, strict=False):
        ucb, se = found.dp_ucb(name, arms, epsilon), found.dp_se(name, arms, epsilon)
        lines += [
            curve(ucb, f"DP-UCB, ε = {epsilon:g}", Colour.ORANGE, style),
            curve(se, f"DP-SE, ε = {epsilon:g}", Colour.BLUE, style),
        ]
        shown += [ucb, se]
    if log:
        plain_ucb, plain_se = found.plain("ucb", name, arms), found.plain("se", name, arms)
        lines += [
            curve(plain_ucb, "UCB (not private)", Colour.AMBER),
            curve(plain_se, "SE (not private)", Colour.GREEN),
        ]
        shown += [plain_ucb, plain_se]
        means, moments = plain_ucb.setting.instance.means.tolist(), plain_ucb.setting.checkpoints
        late = [moment for moment in moments if moment >= 100]  # it is a bound for long runs
        for epsilon, style in zip(epsilons, STYLES, strict=False):
            bound = regret_lower_bound(means, late, epsilon)
            lines.append(Line(f"lower bound, ε = {epsilon:g}", late, bound, Colour.BLACK, style, width=0.9))
    title = title or " and ".join(f"ε = {epsilon:g}" for epsilon in epsilons)
    return Panel(title, lines, x_log=log, y_log=log, y_from=1.0 if log else 0.0), shown


def _distribution_picture(found: Findings, arms: int) -> Picture:
    """The final regret of every run, for each instance and epsilon."""
    wanted = found.evaluation
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
    return Picture(
        f"distribution-{arms}-arms",
        f"Final regret of every run, K = {arms}",
        panels,
        simulations=shown,
    )


def _against_epsilon(found: Findings) -> Picture:
    """Final regret against epsilon, with every known form of DP-UCB."""
    wanted = found.evaluation
    panels, shown = [], []
    for name in wanted.instances:
        lines = []
        for preset, marker in zip(PRESETS, MARKERS, strict=False):
            row = [found.dp_ucb(name, ARMS, epsilon, preset) for epsilon in wanted.epsilons]
            lines.append(_finals(f"DP-UCB, {preset}", wanted.epsilons, row, PRESET_COLOURS[preset], marker))
            shown += row
        row = [found.dp_se(name, ARMS, epsilon) for epsilon in wanted.epsilons]
        lines.append(_finals("DP-SE", wanted.epsilons, row, Colour.BLUE, MARKERS[3]))
        shown += row
        means = row[0].setting.instance.means.tolist()
        for policy in ("se", "ucb"):  # they know no epsilon
            flat = [found.plain(policy, name, ARMS).mean] * len(wanted.epsilons)
            lines.append(Line(f"{policy.upper()} (not private)", wanted.epsilons, flat, COLOURS[policy], "--"))
        bound = regret_lower_bound(means, wanted.horizon, wanted.epsilons)
        lines.append(Line("lower bound", wanted.epsilons, bound, Colour.BLACK, "-", width=0.9))
        ticks = [(epsilon, f"{epsilon:g}") for epsilon in wanted.epsilons]
        panels.append(Panel(name, lines, x_label="ε", y_label=FINAL, x_log=True, y_log=True, ticks=ticks))
    return Picture(
        "against-epsilon",
        f"Final regret against ε, K = {ARMS}",
        panels,
        simulations=shown,
    )


def _against_arms(found: Findings) -> Picture:
    """Final regret against the number of arms."""
    wanted = found.evaluation
    epsilon = 0.25 if 0.25 in wanted.epsilons else wanted.epsilons[0]
    panels, shown = [], []
    for name in wanted.instances:
        rows = {
            "DP-UCB": ([found.dp_ucb(name, arms, epsilon) for arms in wanted.arms], Colour.ORANGE),
            "DP-SE": ([found.dp_se(name, arms, epsilon) for arms in wanted.arms], Colour.BLUE),
            "SE (not private)": ([found.plain("se", name, arms) for arms in wanted.arms], Colour.GREEN),
            "UCB (not private)": ([found.plain("ucb", name, arms) for arms in wanted.arms], Colour.AMBER),
        }
        lines = [
            _finals(text, wanted.arms, row, colour, marker)
            for (text, (row, colour)), marker in zip(rows.items(), MARKERS, strict=False)
        ]
        for row, _ in rows.values():
            shown += row
        bound = [
            regret_lower_bound(one.setting.instance.means.tolist(), wanted.horizon, epsilon) for one in rows["DP-SE"][0]
        ]
        lines.append(Line("lower bound", wanted.arms, bound, Colour.BLACK, "-", width=0.9))
        ticks = [(arms, str(arms)) for arms in wanted.arms]
        axes: dict[str, Any] = {"x_label": "number of arms K", "y_label": FINAL, "x_log": True, "y_log": True}
        panels.append(Panel(name, lines, ticks=ticks, **axes))
    return Picture(
        "against-arms",
        f"Final regret against the number of arms, ε = {epsilon:g}",
        panels,
        simulations=shown,
    )


def _finals(text: str, x: Sequence[float], row: Sequence[Simulation], colour: str, marker: str) -> Line:
    """Mean final regrets, with their 5 % to 95 % band."""
    low, mean, high = ([one.bands[key][-1] for one in row] for key in ("q05", "mean", "q95"))
    return Line(text, x, mean, colour, "-", marker, low, high)


def _sweep_picture(found: Findings, arms: int, epsilons: Sequence[float]) -> Picture:
    """DP-UCB's regret over DP-SE's, and the runs that it loses on a wrong arm, against its constant."""
    wanted = found.evaluation
    panels, shown = [], []
    for name in wanted.instances:
        ratios: list[Line] = []
        stuck: list[Line] = []
        for epsilon, colour, marker in zip(epsilons, PALETTE, MARKERS, strict=False):
            row = [*found.swept(name, arms, epsilon), found.dp_ucb(name, arms, epsilon)]
            x = [*wanted.constants, wanted.default_constant(arms, epsilon)]
            mine = found.dp_se(name, arms, epsilon)
            ratios.append(Line(f"ε = {epsilon:g}", x, [one.mean / mine.mean for one in row], colour, "-", marker))
            stuck.append(Line(f"ε = {epsilon:g}", x, [one.failed.sum() for one in row], colour, "-", marker))
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
    return Picture(
        f"sweep-{arms}-arms",
        f"DP-UCB's constant, K = {arms}",
        panels,
        simulations=shown,
    )


def _unique(drawn: Sequence[tuple[Panel, Sequence[Simulation]]]) -> list[Simulation]:
    """Each simulation of some panels once, in order of first appearance."""
    return list({id(one): one for _, shown in drawn for one in shown}.values())

"""Figures of simulations: regret against pulls, and against an option that was swept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

from discreet._display import words
from discreet._pictures import COLOURS, MARKERS, PALETTE, STYLES, Cloud, Line, Panel, Picture, draw, shortened
from discreet.core.errors import ArgumentError
from discreet.lab.results import Simulation
from discreet.lab.setting import Setting, with_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def curve(one: Simulation, label: str, colour: str, style: str = "-") -> Line:
    """Return mean regret by checkpoint, with the band between its 5 % and 95 % quantiles.

    Args:
        one: The simulation to show.
        label: Its entry in the legend.
        colour: A colour of matplotlib.
        style: A line style of matplotlib.
    """
    bands = one.bands
    return Line(label, one.setting.checkpoints, bands["mean"], colour, style, low=bands["q05"], high=bands["q95"])


PULLS_AXIS = "pulls"
_TICKS = 8  # values that were swept over which are all named on the axis


def plot(
    simulations: Sequence[Simulation], ax: Axes | None = None, *, log: bool = False, against: str | None = None
) -> Figure:
    """Draw regret against pulls or against an option that was swept; of rules the samples.

    Args:
        simulations: The simulations to show.
        ax: Axes to draw on; new ones by default.
        log: Make both axes logarithmic.
        against: An option, "horizon", "arms" or "pulls"; by default what was swept, else pulls.
    """
    return draw(picture(simulations, log=log, against=against), ax)


def picture(simulations: Sequence[Simulation], *, log: bool = False, against: str | None = None) -> Picture:
    """Return the picture that fits some simulations.

    Args:
        simulations: The simulations, at least one.
        log: True for logarithmic axes.
        against: The option on the x-axis; by default one that was swept, or else pulls.
    """
    if not simulations:
        raise ArgumentError("there must be at least one simulation to plot, got none")
    chosen = swept_option(simulations) if against is None else against
    if chosen not in (None, PULLS_AXIS):
        return sweep(simulations, chosen, log=log)
    if any(one.setting.is_rule for one in simulations):
        return clouds(simulations)
    return curves(simulations, log=log)


def clouds(simulations: Sequence[Simulation]) -> Picture:
    """Return the samples of each run of rules."""
    shown = [
        Cloud("", place, one.outcome, PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)])
        for place, one in enumerate(simulations)
    ]
    ticks = [(float(place), one.setting.algorithm) for place, one in enumerate(simulations)]
    title = f"samples of each run on {shortened(simulations[0].setting.instance.name)}"
    panel = Panel(title, clouds=shown, ticks=ticks, x_label="", y_label="samples", y_log=True)
    return Picture("samples", "", [panel], columns=1)


def curves(simulations: Sequence[Simulation], *, log: bool = False) -> Picture:
    """Return the picture of mean regret against pulls.

    Args:
        simulations: The simulations to show.
        log: Make both axes logarithmic.
    """
    several = len({one.setting.instance.name for one in simulations}) > 1
    colours = _colours(simulations)
    looks = {policy: _looks(colour) for policy, colour in colours.items()}
    lines = []
    for one in simulations:
        key, label = one.setting.algorithm, one.setting.label if several else one.setting.variant
        lines.append(curve(one, label, *next(looks[key])))
    setting = simulations[0].setting
    title = "" if several else f"{shortened(setting.instance.name)}, K = {len(setting.instance)}"
    return Picture("curves", "", [Panel(title, lines, x_log=log, y_log=log)], columns=1)


def _colours(simulations: Sequence[Simulation]) -> dict[str, str]:
    """Return a colour for each algorithm; the paper's have their own."""
    others = (one.setting.algorithm for one in simulations if one.setting.algorithm not in COLOURS)
    free = (colour for colour in PALETTE if colour not in COLOURS.values())
    return {**COLOURS, **dict(zip(dict.fromkeys(others), cycle(free), strict=False))}


def _looks(colour: str) -> Iterator[tuple[str, str]]:
    """Yield a colour and a style for each variant of a policy: its own colour in all styles, then other colours."""
    others = [other for other in PALETTE if other != colour]
    return cycle(product([colour, *others], STYLES))


# ---------------------------------------------------------------------- sweeps


def dimensions(setting: Setting) -> dict[str, float]:
    """Return what a setting could be swept over: its horizon, its number of arms, and all options that are numbers."""
    numbers = {name: value for name, value in setting.options if type(value) in (int, float)}
    return numbers if setting.is_rule else {**numbers, "horizon": setting.horizon or 0, "arms": len(setting.instance)}


def swept_option(simulations: Sequence[Simulation]) -> str | None:
    """Return the option of which an algorithm has most values, all on one instance; None if none has two."""
    if len({one.setting.instance.name for one in simulations}) > 1:
        return None
    values: dict[str, dict[str, set[float]]] = {}
    for one in simulations:
        for name, value in dimensions(one.setting).items():
            values.setdefault(name, {}).setdefault(one.setting.algorithm, set()).add(value)
    most = {name: max(map(len, by_algorithm.values())) for name, by_algorithm in values.items()}
    found = max(most, key=lambda name: most[name], default=None)
    return found if found is not None and most[found] > 1 else None


def sweep(simulations: Sequence[Simulation], option: str, *, log: bool = False) -> Picture:
    """Return the picture of the mean outcome against an option, with a band from the 5 % to the 95 % quantile.

    Args:
        simulations: The simulations to show. Those without the option are level lines.
        option: The option.
        log: Make both axes logarithmic; by default each is where its values differ by a factor of 8 or more.

    Raises:
        ArgumentError: No simulation has the option.
    """
    lines: dict[str, list[tuple[float, Simulation]]] = {}
    everywhere = sorted({dimensions(one.setting)[option] for one in simulations if option in dimensions(one.setting)})
    if not everywhere:
        raise ArgumentError(f"against must be an option of what was simulated, or 'pulls', got {option!r}")
    for one in simulations:
        places = [dimensions(one.setting)[option]] if option in dimensions(one.setting) else everywhere
        lines.setdefault(_without(simulations, one.setting, option), []).extend((place, one) for place in places)
    colours, drawn = _colours(simulations), []
    looks, markers = {policy: _looks(colour) for policy, colour in colours.items()}, cycle(MARKERS)
    for label, points in lines.items():
        points.sort(key=lambda point: point[0])
        key, found = points[0][1].setting.algorithm, [one.statistics() for _, one in points]
        y, low, high = ([figures[name] for figures in found] for name in ("mean", "q05", "q95"))
        x, level = [place for place, _ in points], len({id(one) for _, one in points}) == 1
        marker = "" if level and len(x) > 1 else next(markers)
        drawn.append(Line(label, x, y, *next(looks[key]), marker, low, high))
    setting = simulations[0].setting
    heights = [height for line in drawn for height in line.y]
    axes: dict[str, Any] = {
        "x_label": {"horizon": "horizon T", "arms": "arms K"}.get(option, option),
        "y_label": "mean samples" if setting.is_rule else "mean pseudo-regret",
        "x_log": log or _is_wide(everywhere),
        "y_log": log or _is_wide(heights),
        "ticks": [(place, words(place)) for place in everywhere] if len(everywhere) <= _TICKS else (),
    }
    return Picture("sweep", "", [Panel(shortened(setting.instance.name), drawn, **axes)], columns=1)


def _without(simulations: Sequence[Simulation], setting: Setting, option: str) -> str:
    """Return a setting's name without an option, and with its horizon and arms only where they differ, too."""
    rest = {name: value for name, value in setting.shown.items() if name != option}
    for name, letter in (("horizon", "T"), ("arms", "K")):
        if name != option and len({dimensions(one.setting).get(name) for one in simulations}) > 1:
            rest[letter] = dimensions(setting)[name]
    return with_options(setting.algorithm, rest)


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) >= 8 * min(values)

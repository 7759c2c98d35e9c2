"""Figures of simulations: regret against pulls, and against an option that was swept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from discreet._pictures import COLOURS, PALETTE, STYLES, Line, Panel, Picture, draw, shortened
from discreet.lab.results import Simulation

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


def plot_curves(simulations: Sequence[Simulation], ax: Axes | None = None, *, log: bool = False) -> Figure:
    """Draw mean regret against pulls for a few simulations.

    Args:
        simulations: The simulations to show.
        ax: Axes to draw on; new ones by default.
        log: Make both axes logarithmic.
    """
    return draw(curves(simulations, log=log), ax)


def curves(simulations: Sequence[Simulation], *, log: bool = False) -> Picture:
    """Return the picture of mean regret against pulls.

    Args:
        simulations: The simulations to show.
        log: Make both axes logarithmic.
    """
    several = len({one.setting.instance.name for one in simulations}) > 1
    others = (one.setting.algorithm for one in simulations if one.setting.algorithm not in COLOURS)
    free = (colour for colour in PALETTE if colour not in COLOURS.values())
    colours = {**COLOURS, **dict(zip(dict.fromkeys(others), cycle(free), strict=False))}
    styles = {policy: cycle(STYLES) for policy in colours}  # variants of a policy differ in style
    lines = []
    for one in simulations:
        key, label = one.setting.algorithm, one.setting.label if several else one.setting.variant
        lines.append(curve(one, label, colours[key], next(styles[key])))
    setting = simulations[0].setting
    title = "" if several else f"{shortened(setting.instance.name)}, K = {len(setting.instance)}"
    return Picture("curves", "", [Panel(title, lines, x_log=log, y_log=log)], columns=1)

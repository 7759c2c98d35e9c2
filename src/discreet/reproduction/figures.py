"""Figures in two halves: plain data that says what is drawn, and a painter that draws it with matplotlib.

Colours are Okabe and Ito's, which people with any kind of colour vision can tell apart; epsilons and policies also
differ in line style or marker. Legends stand outside the panels.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.lab.results import Simulation
from discreet.lab.stopping_results import StoppingRuns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, SKY, AMBER, BLACK, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#777777",
)  # fmt: skip
PALETTE = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY, BLACK)
COLOURS = {"dp-se": BLUE, "dp-ucb": ORANGE, "se": GREEN, "ucb": AMBER}
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PULLS, REGRET = "pulls $t$", "pseudo-regret"
PANEL_WIDTH, PANEL_HEIGHT = 3.4, 2.45  # inches: two panels fill the width of a page
DPI = 160
FONTS = {"font.size": 8.5, "axes.titlesize": 9, "legend.fontsize": 8, "mathtext.fontset": "dejavusans"}
LOOKS: dict[Any, Any] = {
    **FONTS,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
    "svg.hashsalt": "discreet",
}


@dataclass(frozen=True)
class Line:
    """A line, with a band around it if `low` and `high` are given, and markers if it has one."""

    label: str
    x: Any
    y: Any
    colour: str
    style: str = "-"
    marker: str = ""
    low: Any = None
    high: Any = None
    width: float = 1.4


@dataclass(frozen=True)
class Cloud:
    """All values of a group as points around a place on the x-axis, with a bar at their median."""

    label: str
    place: float
    values: Any
    colour: str
    marker: str = "o"
    note: str = ""
    """A word beside the median."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    lines: Sequence[Line] = ()
    clouds: Sequence[Cloud] = ()
    x_label: str = PULLS
    y_label: str = REGRET
    x_log: bool = False
    y_log: bool = False
    y_from: float | None = None
    y_to: float | None = None
    ticks: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True)
class Picture:
    """A figure: its name is its file's, its caption goes into the report."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 2
    stretch: float = 1.0
    """How much wider than usual its panels are."""
    simulations: Sequence[Simulation | StoppingRuns] = field(default=(), compare=False)
    """What it shows, for the table beside it."""


def curve(one: Simulation, label: str, colour: str, style: str = "-") -> Line:
    """Mean regret by checkpoint, with the band between its 5 % and 95 % quantiles."""
    bands = one.bands
    return Line(label, one.setting.checkpoints, bands["mean"], colour, style, low=bands["q05"], high=bands["q95"])


# ---------------------------------------------------------------------- painting


def paint(picture: Picture) -> Figure:
    """Draw a picture."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415  (no pyplot: no windows, no global state)

    rows = -(-len(picture.panels) // picture.columns)
    with mpl.rc_context(LOOKS):
        alone = 1.6 if len(picture.panels) == 1 else 1.0
        size = (alone * picture.stretch * PANEL_WIDTH * picture.columns, alone * PANEL_HEIGHT * rows + 0.75)
        figure = NewFigure(figsize=size, layout="constrained")
        figure.suptitle(picture.title, fontsize=10)
        axes = figure.subplots(rows, picture.columns, squeeze=False).ravel().tolist()
        for ax, panel in zip(axes, picture.panels, strict=False):
            paint_panel(ax, panel)
        for ax in axes[len(picture.panels) :]:
            ax.remove()
        shared_legend(figure, axes, columns=2 * picture.columns)
    return figure


def paint_panel(ax: Axes, panel: Panel) -> None:
    """Draw one panel."""
    from matplotlib.ticker import EngFormatter  # noqa: PLC0415

    for line in panel.lines:
        marks: dict[str, Any] = {"marker": line.marker, "linestyle": line.style, "linewidth": line.width}
        ax.plot(line.x, line.y, color=line.colour, label=line.label, **marks)
        if line.low is not None:
            ax.fill_between(line.x, line.low, line.high, color=line.colour, alpha=0.18, linewidth=0)
    for cloud in panel.clouds:
        aside = np.random.default_rng(0).uniform(-0.1, 0.1, len(cloud.values))  # so that equal values show
        points: dict[str, Any] = {"color": cloud.colour, "alpha": 0.6, "markersize": 3.5, "markeredgewidth": 0}
        ax.plot(cloud.place + aside, cloud.values, cloud.marker, label=cloud.label, **points)
        ax.hlines(np.median(cloud.values), cloud.place - 0.16, cloud.place + 0.16, color=BLACK, linewidth=1.2)
        if cloud.note:
            place = (cloud.place + 0.2, float(np.median(cloud.values)))
            ax.annotate(cloud.note, place, va="center", fontweight="bold", color=cloud.colour)
    ax.set_title(panel.title)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    for axis, logarithmic in ((ax.xaxis, panel.x_log), (ax.yaxis, panel.y_log)):
        if logarithmic:
            getattr(ax, f"set_{axis.axis_name}scale")("log")
        else:
            axis.set_major_formatter(EngFormatter(sep=""))  # 20M, 500k
    ax.set_ylim(bottom=panel.y_from, top=panel.y_to)
    if panel.ticks:
        ax.set_xticks([place for place, _ in panel.ticks], [text for _, text in panel.ticks], minor=False)
    ax.minorticks_off()


def shared_legend(figure: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend below all panels, each label once."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        widest = 0.5 + 0.062 * max(map(len, entries))  # inches of a handle and its label, about
        columns = max(1, min(columns, len(entries), int(figure.get_figwidth() / widest)))
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)


def plot_curves(simulations: Sequence[Simulation], ax: Axes | None = None, *, log: bool = False) -> Axes:
    """Mean regret against pulls for a few simulations, on the given axes or on new ones."""
    several = len({one.setting.instance.name for one in simulations}) > 1
    others = (one.setting.policy for one in simulations if one.setting.policy not in COLOURS)
    free = (colour for colour in PALETTE if colour not in COLOURS.values())
    colours = {**COLOURS, **dict(zip(dict.fromkeys(others), cycle(free), strict=False))}
    styles = {policy: cycle(STYLES) for policy in colours}  # variants of a policy differ in style
    lines = [
        curve(
            one,
            one.setting.label if several else one.setting.variant,
            colours[one.setting.policy],
            next(styles[one.setting.policy]),
        )
        for one in simulations
    ]
    setting = simulations[0].setting
    title = "" if several else f"{shortened(setting.instance.name)}, K = {len(setting.instance)}"
    panel = Panel(title, lines, x_log=log, y_log=log)
    if ax is None:
        return paint(Picture("curves", "", "", [panel], columns=1)).axes[0]
    paint_panel(ax, panel)
    ax.legend()
    return ax


def shortened(text: str, most: int = 48) -> str:
    """A long name cut for a title.

    >>> shortened("Bernoulli(0.3), Uniform(0, 0.8)", 16)
    'Bernoulli(0.3)…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip(", U") + "…"


def write_picture(picture: Picture, folder: Path) -> tuple[str, bytes]:
    """Draw a picture into `folder` as PNG and PDF; gives its name and the PNG."""
    figure = paint(picture)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it has its layout now, which takes long to find
    png = io.BytesIO()
    figure.savefig(png, dpi=DPI, metadata={"Software": None})
    (folder / f"{picture.name}.png").write_bytes(png.getvalue())
    figure.savefig(folder / f"{picture.name}.pdf", metadata={"CreationDate": None})
    return picture.name, png.getvalue()


def inline_picture(draw: Callable[[], Any], dpi: int = 110) -> str:
    """An <img> that carries its picture."""
    png = io.BytesIO()
    draw().savefig(png, dpi=dpi)
    return f'<img alt="regret curves" src="data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}">'

"""Figures in two halves: plain data that says what is drawn, and a painter that draws it with matplotlib.

Colours are Okabe and Ito's, which people with any kind of colour vision can tell apart; epsilons and policies also
differ in line style or marker. Labels stand at the ends of lines, or in a legend below all panels.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._install import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet._chart import Chart


class Colour(StrEnum):
    """Okabe and Ito's colours, and a grey."""

    BLUE = "#0072B2"
    ORANGE = "#D55E00"
    GREEN = "#009E73"
    PINK = "#CC79A7"
    AMBER = "#E69F00"
    SKY = "#56B4E9"
    BLACK = "#000000"
    GREY = "#777777"


PALETTE = tuple(Colour)[:-1]
_NAMED = {
    **{"blue": Colour.BLUE, "red": Colour.ORANGE, "green": Colour.GREEN, "pink": Colour.PINK, "orange": Colour.AMBER},
    **{"yellow": Colour.AMBER, "black": Colour.BLACK},
}
"""The colour of a line whose name is that of a colour."""
COLOURS = {"dp-se": Colour.BLUE, "dp-ucb": Colour.ORANGE, "se": Colour.GREEN, "ucb": Colour.AMBER}
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PULLS, REGRET = "pulls t", "pseudo-regret"
PANEL_WIDTH, PANEL_HEIGHT = 3.4, 2.45  # inches: two panels fill the width of a page
SMALL_WIDTH, SMALL_HEIGHT = 1.3, 1.05
BELOW = -0.125  # where names of groups stand, in heights of a panel
APART = 0.085  # between two labels, in heights of a panel
DPI = 150
_ROOMY, _LEGEND_ROW = 5, 0.17  # rows of a legend for which there is room, and inches of each further one
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LOOKS: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
}

SMALL_LOOKS: dict[Any, Any] = {
    "font.size": 6.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 6,
    "ytick.labelsize": 6,
    "lines.linewidth": 1.1,
}


@dataclass(frozen=True)
class Line:
    """A line, with a band around it if `low` and `high` are given.

    Args:
        label: Its entry in the legend.
        x: Places on the x-axis.
        y: Heights.
        colour: A colour of matplotlib.
        style: A line style of matplotlib.
        marker: A marker of matplotlib; none by default.
        low: Lower end of the band at each place.
        high: Upper end of the band.
        width: Line width in points.
        size: Size of markers in points.
        bars: Draw bars from `low` to `high` instead of a band.
    """

    label: str
    x: Any
    y: Any
    colour: str
    style: str = "-"
    marker: str = ""
    low: Any = None
    high: Any = None
    width: float = 1.4
    size: float = 4.0
    bars: bool = False


@dataclass(frozen=True)
class Cloud:
    """All values of a group as points around a place on the x-axis, with a bar at their median.

    Args:
        label: Its entry in the legend.
        place: The place on the x-axis.
        values: Heights of the points.
        colour: A colour of matplotlib.
        marker: A marker of matplotlib.
        note: Text above the points.
    """

    label: str
    place: float
    values: Any
    colour: str
    marker: str = "o"
    note: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Args:
        title: Text above the axes.
        lines: Lines to draw.
        clouds: Clouds to draw.
        x_label: Name of the x-axis.
        y_label: Name of the y-axis.
        x_log: Make the x-axis logarithmic.
        y_log: Make the y-axis logarithmic.
        y_from: Lower end of the y-axis; by default as the data ask for.
        y_to: Upper end of the y-axis.
        x_to: Upper end of the x-axis, from 0.
        ticks: Places and labels of ticks on the x-axis; by default matplotlib's.
        groups: Groups of ticks, each with its first place, its last place and a name, which stands below them.
        labels_at_ends: Write labels at the ends of lines; else they are in one legend below all panels.
        whole_x: Put ticks of the x-axis at whole numbers.
    """

    title: str
    lines: Sequence[Line] = ()
    clouds: Sequence[Cloud] = ()
    x_label: str = PULLS
    y_label: str = REGRET
    x_log: bool = False
    y_log: bool = False
    y_from: float | None = None
    y_to: float | None = None
    x_to: float | None = None
    ticks: Sequence[tuple[float, str]] = ()
    groups: Sequence[tuple[float, float, str]] = ()
    labels_at_ends: bool = False
    whole_x: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure of several panels.

    Args:
        name: Its file's name without an extension.
        title: Text above all panels.
        panels: The panels, row by row.
        columns: Panels in a row.
        stretch: Factor by which its panels are wider than usual.
        small: Draw small panels on common axes, whose numbers stand at the edges of the page alone.
        simulations: The results that it shows, for the table beside it.
    """

    name: str
    title: str
    panels: Sequence[Panel]
    columns: int = 2
    stretch: float = 1.0
    small: bool = False
    simulations: Sequence[Any] = field(default=(), compare=False)


def colours_of(names: Sequence[object]) -> list[Colour]:
    """Return a colour for each name: where it is that of a colour, that one, so that no green line is called blue.

    >>> [colour.name for colour in colours_of(["A", "green", "red", "B"])]
    ['BLUE', 'GREEN', 'ORANGE', 'PINK']
    """
    named = [_NAMED.get(str(name).lower()) for name in names]
    known = [colour for colour in named if colour is not None]
    if len(names) > len(PALETTE) or len(set(known)) < len(known):  # else each has one of its own
        named, known = [None] * len(names), []
    free = cycle(colour for colour in PALETTE if colour not in known)
    return [next(free) if colour is None else colour for colour in named]


# ---------------------------------------------------------------------- painting


def draw(picture: Picture, ax: Axes | None = None) -> Figure:
    """Return a picture as a figure of matplotlib, which a notebook shows at the end of the cell.

    Args:
        picture: The picture.
        ax: Axes for its first panel; by default all of it is drawn in a new figure.
    """
    if ax is None:
        return paint(picture).show_in_notebook()
    _paint_panel(ax, picture.panels[0])
    if not picture.panels[0].labels_at_ends:
        ax.legend()
    figure: Any = ax.figure
    return figure  # type: ignore[no-any-return]


def png_of(picture: Picture) -> bytes:
    """Return a picture as the bytes of a PNG file, for `discreet._display.Page`."""
    return paint(picture).png()


def paint(picture: Picture) -> Chart:
    """Return a picture as a figure of matplotlib."""
    with needs("a picture", "lab"):
        import matplotlib as mpl  # noqa: PLC0415

        from discreet._chart import Chart as NewFigure  # noqa: PLC0415

    rows, small = -(-len(picture.panels) // picture.columns), picture.small
    width, height = (SMALL_WIDTH, SMALL_HEIGHT) if small else (PANEL_WIDTH, PANEL_HEIGHT)
    with mpl.rc_context({**LOOKS, **(SMALL_LOOKS if small else {})}):
        alone = 1.6 if len(picture.panels) == 1 else 1.0
        size = (alone * picture.stretch * width * picture.columns, alone * height * rows + 0.75)
        figure = NewFigure(figsize=size, layout="constrained")
        figure.suptitle(picture.title, fontsize=10)
        axes = figure.subplots(rows, picture.columns, squeeze=False, sharex=small, sharey=small).ravel().tolist()
        for ax, panel in zip(axes, picture.panels, strict=False):
            _paint_panel(ax, panel)
        for ax in axes[len(picture.panels) :]:
            ax.remove()
        shared = [ax for ax, panel in zip(axes, picture.panels, strict=False) if not panel.labels_at_ends]
        rows = _shared_legend(figure, shared, columns=2 * picture.columns)
        figure.set_figheight(size[1] + max(0, rows - _ROOMY) * _LEGEND_ROW)  # a long legend does not eat the panels
    return figure


def _paint_panel(ax: Axes, panel: Panel) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator  # noqa: PLC0415

    for line in panel.lines:
        marks: dict[str, Any] = {"marker": line.marker, "linestyle": line.style, "linewidth": line.width}
        marks["markersize"] = line.size
        ax.plot(line.x, line.y, color=line.colour, label=line.label or "_", **marks)
        if line.bars:
            ax.vlines(line.x, line.low, line.high, color=line.colour, linewidth=1.0, alpha=0.6)
        elif line.low is not None:
            ax.fill_between(line.x, line.low, line.high, color=line.colour, alpha=0.18, linewidth=0)
    for cloud in panel.clouds:
        _paint_cloud(ax, cloud)
    ax.set_title(panel.title, y=1.0)  # given, so that its place is not looked for at each step of the layout
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    for axis, logarithmic in ((ax.xaxis, panel.x_log), (ax.yaxis, panel.y_log)):
        if logarithmic:
            getattr(ax, f"set_{axis.axis_name}scale")("log")
            axis.set_major_formatter(FuncFormatter(_power_of_ten))
        else:
            axis.set_major_formatter(FuncFormatter(partial(_short, EngFormatter(sep=""))))  # 20M, 500k, 0.25
    if panel.whole_x:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        ends = [place for line in panel.lines for place in line.x]
        ax.set_xlim(min(ends, default=1) - 0.5, max(ends, default=1) + 0.5)
    ax.set_ylim(bottom=panel.y_from, top=panel.y_to)
    if panel.x_to is not None:
        ax.set_xlim(0, panel.x_to)
    if panel.ticks:
        ax.set_xticks([place for place, _ in panel.ticks], [text for _, text in panel.ticks], minor=False)
    for first, last, name in panel.groups:
        _paint_group(ax, first, last, name)
    ax.minorticks_off()
    if panel.labels_at_ends:
        _paint_labels(ax, [line for line in panel.lines if line.label])


def _paint_labels(ax: Axes, lines: Sequence[Line]) -> None:
    """Write each label beside its line's end, or beside the upper corner where the line leaves the panel."""
    end, (bottom, top) = ax.get_xlim()[1], ax.get_ylim()
    heights = [float(np.interp(end, line.x, line.y) - bottom) / (top - bottom) for line in lines]
    heights = [min(height, 1.0) for height in heights]
    beside: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False}  # in widths and heights of the panel
    for line, height, place in zip(lines, heights, spread_out(heights, APART), strict=True):
        ax.plot([1.0, 1.04], [height, place], color=line.colour, linewidth=0.6, **beside)
        ax.text(1.05, place, line.label, color=line.colour, va="center", **beside)


def spread_out(heights: Sequence[float], apart: float) -> list[float]:
    """Return heights in the same order that are at least so far apart, each near its own; of equals the first is above.

    Args:
        heights: Where each would like to be.
        apart: The least distance.

    >>> [round(place, 2) for place in spread_out([0.5, 0.0, 0.02], 0.1)]
    [0.5, -0.04, 0.06]
    """
    places = list(heights)
    order = sorted(range(len(places)), key=lambda index: (places[index], -index))
    for _ in range(100):
        for low, high in pairwise(order):
            lack = apart - (places[high] - places[low])
            if lack > 1e-9:
                places[low], places[high] = places[low] - lack / 2, places[high] + lack / 2
    return places


def _paint_cloud(ax: Axes, cloud: Cloud) -> None:
    aside = np.random.default_rng(0).uniform(-0.1, 0.1, len(cloud.values))  # so that equal values show
    points: dict[str, Any] = {"color": cloud.colour, "alpha": 0.6, "markersize": 3.5, "markeredgewidth": 0}
    ax.plot(cloud.place + aside, cloud.values, cloud.marker, label=cloud.label, **points)
    ax.hlines(np.median(cloud.values), cloud.place - 0.16, cloud.place + 0.16, color=Colour.BLACK, linewidth=1.2)
    if cloud.note:  # above all points, and above a line at 1 that may pass there
        place = (cloud.place, max(float(np.max(cloud.values)), 1.0))
        looks: dict[str, Any] = {"ha": "center", "va": "bottom", "fontweight": "bold", "color": cloud.colour}
        ax.annotate(cloud.note, place, xytext=(0, 4), textcoords="offset points", **looks)


def _paint_group(ax: Axes, first: float, last: float, name: str) -> None:
    """Draw a line below some ticks, with a name under it."""
    below: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "annotation_clip": False}
    ends = {"arrowstyle": "-", "color": Colour.GREY, "linewidth": 1.0}
    ax.annotate("", (first - 0.35, BELOW), (last + 0.35, BELOW), arrowprops=ends, **below)
    ax.annotate(name, ((first + last) / 2, BELOW), (0, -3), textcoords="offset points", ha="center", va="top", **below)


def shortened(text: str, most: int = 48) -> str:
    """Return a name, cut to a length that fits a title.

    Args:
        text: The name.
        most: Largest number of characters.

    >>> shortened("Bernoulli(0.3), Uniform(0, 0.8)", 16)
    'Bernoulli(0.3)…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip(", U") + "…"


def _short(large: Callable[[float, int], str], value: float, place: int) -> str:
    """Label a tick: thousands and more with a letter, others as they are."""
    return large(value, place) if abs(value) >= 1000 else f"{value:.6g}"


def _power_of_ten(value: float, _: int) -> str:
    """Label a tick of a logarithmic axis in plain text, which takes a tenth of the time of matplotlib's formulas."""
    return "10" + str(round(math.log10(value))).translate(SUPERSCRIPTS)


def _shared_legend(figure: Figure, axes: Sequence[Axes], columns: int) -> int:
    """Add one legend below all panels, each label once, and return the number of its rows."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        widest = 0.5 + 0.062 * max(map(len, entries))  # inches of a handle and its label, about
        columns = max(1, min(columns, len(entries), int(figure.get_figwidth() / widest)))
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)
    return -(-len(entries) // columns)


def write_picture(picture: Picture, folder: Path, printed: bool = True) -> bytes:
    """Draw a picture into a folder as PNG and PDF.

    Args:
        picture: The picture.
        folder: An existing folder.
        printed: False to leave out the PDF, which takes as long as the PNG.

    Returns:
        The content of the PNG file.
    """
    figure = paint(picture)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  (`paint` says if it is missing)

    figure.set_dpi(DPI)
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")  # it has its layout now: else it would be drawn a second time to find it
    png = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(png, metadata={"Software": None})  # `savefig` would draw it twice
    content = _fewer_colours(png) if picture.small else png.getvalue()
    (folder / f"{picture.name}.png").write_bytes(content)
    if printed:
        figure.savefig(folder / f"{picture.name}.pdf", metadata={"CreationDate": None})
    return content


def _fewer_colours(png: io.BytesIO) -> bytes:
    """Return a picture in 48 colours, which takes a third of the room: many small panels make a large file."""
    from PIL import Image  # noqa: PLC0415  (matplotlib needs it too)

    smaller = io.BytesIO()
    Image.open(png).convert("RGB").quantize(48).save(smaller, "png", optimize=True)
    return smaller.getvalue()

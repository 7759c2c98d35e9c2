"""The picture of a forecast: people against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet._install import needs
from discreet._pictures import Colour

if TYPE_CHECKING:
    from discreet._chart import Chart
    from discreet.forecasting.forecast import Forecast

_LOOKS: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}


def draw(forecast: Forecast) -> Chart:
    """Return a figure: the mean with a band up to what 95 % of runs take at most, and the promise as a dashed line.

    Args:
        forecast: The forecast.
    """
    with needs("a picture", "lab"):
        import matplotlib as mpl  # noqa: PLC0415
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: PLC0415

        from discreet._chart import Chart  # noqa: PLC0415

    rows = sorted(forecast.outlooks, key=lambda row: row.epsilon)
    epsilons = [row.epsilon for row in rows]
    with mpl.rc_context(_LOOKS):
        figure = Chart(figsize=(5.6, 3.6), layout="constrained", dpi=150)
        axes = figure.subplots()
        if forecast.runs:
            low = [row.median or 0 for row in rows]
            high = [row.high or 0 for row in rows]
            axes.fill_between(epsilons, low, high, color=Colour.BLUE, alpha=0.2, lw=0, label="median to 95 % of runs")
            axes.plot(epsilons, [row.mean or 0 for row in rows], "o-", color=Colour.BLUE, label="mean")
        if all(row.worst_case is not None for row in rows):
            worst = [row.worst_case or 0 for row in rows]
            axes.plot(epsilons, worst, "s--", color=Colour.ORANGE, ms=4, label="promised at most")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.xaxis.set_minor_locator(NullLocator())
        scales = [axes.yaxis]
        axes.set_xlabel("epsilon: less is more private")
        axes.set_ylabel("people")
        if forecast.per_day is not None:
            per_day: Any = forecast.per_day
            functions: Any = (lambda people: people / per_day, lambda day: day * per_day)
            days = axes.secondary_yaxis("right", functions=functions)
            days.set_ylabel(f"days at {per_day:,.6g} people a day")
            days.spines["right"].set_visible(True)
            scales.append(days.yaxis)
        for scale in scales:
            scale.set_major_locator(LogLocator(subs=(1, 2, 5)))
            scale.set_major_formatter(FuncFormatter(_count))
            scale.set_minor_formatter(NullFormatter())
        first, _, rest = forecast.question.partition(", wrong")
        axes.set_title(f"{first[0].upper()}{first[1:]},\nwrong{rest} ({forecast.algorithm})", fontsize=9, loc="left")
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def _count(number: float, _: object = None) -> str:
    """Return a tick's label in full digits up to a million, and short from there on."""
    if number >= 1e6:
        return f"{number / 1e6:g} million"
    return f"{number:,.0f}" if number >= 1 else f"{number:g}"

"""Means with their intervals over time, and where arms could be told from the control."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet._install import needs
from discreet._pictures import PALETTE, STYLES, colours_of
from discreet.core.errors import ArgumentError
from discreet.core.plans import Arm

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.inference.summary import Summary

_SHOWN = 100  # looks with at least a hundredth of the rewards are shown as a whole
_BESIDE = 1.06  # bars of arms with one look stand beside each other, by this factor


class Band(NamedTuple):
    """An arm's means and intervals at looks.

    Attributes:
        arm: The arm.
        rewards: The number of rewards of all arms that were released up to each look.
        means: The released means.
        lower: The lower ends of the intervals.
        upper: The upper ends.
    """

    arm: Arm
    rewards: list[int]
    means: list[float]
    lower: list[float]
    upper: list[float]


class Decision(NamedTuple):
    """The look at which an arm could be told from the control.

    Attributes:
        arm: The arm.
        rewards: The number of rewards of all arms that were released up to it.
        better: True if it is the better one.
    """

    arm: Arm
    rewards: int
    better: bool


def bands(seen: Summary) -> list[Band]:
    """Return each arm's means and intervals at some looks.

    Args:
        seen: The summary.
    """
    found = []
    for arm in seen.arms:
        band = Band(arm, [], [], [], [])
        for epoch in seen.looks:
            blocks = seen.blocks(arm, epoch)
            if not len(blocks) or (band.rewards and blocks.epochs[-1] != epoch and epoch != seen.looks[-1]):
                continue  # nothing new
            lower, upper = seen.interval(arm, epoch=epoch)
            band.rewards.append(_rewards(seen, epoch))
            band.means.append(seen.mean_at(arm, epoch))
            band.lower.append(lower)
            band.upper.append(upper)
        found.append(band)
    return found


def decisions(seen: Summary) -> list[Decision]:
    """Return where arms could be told from the control: the first look at which they could not be equally good.

    Args:
        seen: The summary.
    """
    found = []
    level = math.log(2 / (1 - seen.level))
    for arm in seen.arms if seen.control is not None else ():
        if arm == seen.control or seen.is_apart(arm, seen.control):
            continue
        for epoch, (more, less) in seen.difference(arm).history():
            if max(more, less) >= level:
                found.append(Decision(arm, _rewards(seen, epoch), more > less))
                break
    return found


def _rewards(seen: Summary, epoch: int) -> int:
    return sum(seen.blocks(arm, epoch).rewards for arm in seen.arms)


def plot(seen: Summary, ax: Axes | None = None) -> Figure:
    """Draw the bands, and a line where each decision was made, and return the figure.

    Args:
        seen: The summary.
        ax: Where to draw; by default in a new figure.

    Raises:
        ArgumentError: Nothing was released yet.
    """
    with needs("a picture", "lab"):
        from discreet._chart import Chart  # noqa: PLC0415
    if not seen.looks:
        raise ArgumentError("there is nothing to draw: nothing was released yet")
    if ax is None:
        chart = Chart(figsize=(6.4, 3.9), layout="constrained")
        _paint(seen, chart.add_subplot())
        chart.legend(loc="outside lower center", ncols=4, frameon=False)  # where no decision is marked
        return chart.show_in_notebook()
    _paint(seen, ax)
    ax.legend(frameon=False, loc="best")
    figure: Any = ax.figure
    return figure  # type: ignore[no-any-return]


def _paint(seen: Summary, ax: Axes) -> None:
    heights, drawn = [], bands(seen)
    colours = colours_of([band.arm for band in drawn])
    for place, band in enumerate(drawn):
        if not band.rewards:
            continue
        colour, style = colours[place], STYLES[place // len(PALETTE) % len(STYLES)]
        label = f"{band.arm} (control)" if band.arm == seen.control and seen.control is not None else str(band.arm)
        if len(band.rewards) == 1:  # a band of one look has no width
            at = band.rewards[0] * _BESIDE ** (place - (len(drawn) - 1) / 2)
            ax.plot([at, at], [band.lower[0], band.upper[0]], color=colour, marker="_", markersize=8, linewidth=1.5)
            ax.plot([at], band.means, style, color=colour, marker="o", markersize=5, label=label)
        else:
            ax.fill_between(band.rewards, band.lower, band.upper, color=colour, alpha=0.15, linewidth=0)
            for edge in (band.lower, band.upper):
                ax.plot(band.rewards, edge, color=colour, linewidth=0.6, alpha=0.6)
            ax.plot(band.rewards, band.means, style, color=colour, marker="o", markersize=3, label=label)
        late = [place for place, rewards in enumerate(band.rewards) if rewards >= band.rewards[-1] / _SHOWN]
        heights += [column[place] for column in (band.lower, band.upper) for place in late]
    _mark(seen, ax)
    _limits(seen, ax, heights)
    ax.set_xscale("log")
    if len(seen.looks) == 1:
        rewards = _rewards(seen, seen.looks[0])
        ax.set_xlim(rewards / 2, rewards * 2)
        ax.set_xticks([rewards], [f"{rewards:,}"])
        ax.minorticks_off()
    ax.set_xlabel("rewards of all arms that were released")
    ax.set_ylabel("mean reward")
    ax.set_title(f"means with intervals of level {seen.level:g}, valid at all looks together", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.5)


def _mark(seen: Summary, ax: Axes) -> None:
    """Draw a line at each decision, with what was decided; labels of equal places stand below each other."""
    first, last = (_rewards(seen, epoch) for epoch in (seen.looks[0], seen.looks[-1]))
    for place, (arm, rewards, better) in enumerate(sorted(decisions(seen), key=lambda one: one.rewards)):
        ax.axvline(rewards, color="#777777", linestyle=":", linewidth=1)
        words = f"{arm} {'beats' if better else 'is worse than'} {seen.control}"
        inwards = 1 if rewards**2 < first * last else -1  # the side of the line with more room, on a logarithmic axis
        ax.annotate(
            words, (rewards, 0.97 - 0.07 * (place % 12)), xycoords=("data", "axes fraction"), xytext=(4 * inwards, 0),
            textcoords="offset points", ha="left" if inwards > 0 else "right", va="top", fontsize="small",
            color="#333333", bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1},
        )  # fmt: skip


def _limits(seen: Summary, ax: Axes, heights: list[float]) -> None:
    """Show the later looks as a whole; earlier intervals go beyond, or later ones could not be told apart."""
    low, high = min(heights), max(heights)
    room = 0.08 * (high - low)
    ax.set_ylim(max(low - room, seen.grid.low - room), min(high + room, seen.grid.high + room))

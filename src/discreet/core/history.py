"""Released means of the arms with their radii, and their picture over the epochs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from discreet._pictures import MARKERS, Line, Panel, Picture, colours_of
from discreet.core.grid import Grid
from discreet.core.plans import Arm
from discreet.core.probability.tails import hoeffding_radius
from discreet.core.releases import Kind, Release

LEVEL = math.log(2 / 0.05)  # a radius that holds on both sides with probability 95 %
_FEW = 200  # epochs that are shown one by one; of more, running means at about as many times
_KINDS = (Kind.TOTAL, Kind.NODE)


class Mean(NamedTuple):
    """The released mean of some rewards of an arm.

    Attributes:
        epoch: The epoch in which it was released.
        arm: The arm.
        rewards: The number of rewards in it.
        mean: Their noisy mean.
        radius: The arm's mean lies within this of it with probability 95 %, for sampling and noise together.
    """

    epoch: int
    arm: Arm
    rewards: int
    mean: float
    radius: float


def mean_of(releases: Sequence[Release], grid: Grid, epoch: int | None = None) -> Mean | None:
    """Return the mean of all rewards of releases of one arm that share no reward; None where they say none.

    The radius takes every noise to be as large as the largest of them.

    Args:
        releases: Releases of totals, in order.
        grid: The grid of the rewards.
        epoch: The epoch that it stands for; by default the last release's.
    """
    rewards = sum(one.rewards for one in releases)
    if not rewards:
        return None
    last, noisy = releases[-1], [one.scale for one in releases if one.scale > 0]
    inverse = grid.width / max(noisy, default=grid.width)
    radius = hoeffding_radius(rewards, len(noisy), inverse, LEVEL) / rewards * grid.width * grid.step
    steps = sum(int(one.steps) for one in releases)
    return Mean(last.epoch if epoch is None else epoch, last.arm, rewards, grid.mean(steps, rewards), radius)


def means(ledger: Iterable[Release], grid: Grid) -> Iterator[Mean]:
    """Yield the mean that each release of a total says by itself.

    Args:
        ledger: The releases.
        grid: The grid of the rewards.

    >>> from discreet import DPSuccessiveElimination, SimulatedNoise, Totals
    >>> epochs = Totals(DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000), SimulatedNoise(7))
    >>> _ = epochs.close_steps({"A": 1535 << 20, "B": 0})
    >>> [(one.arm, round(one.mean, 3), round(one.radius, 3)) for one in means(epochs.ledger, epochs.algorithm.grid)]
    [('A', 1.0, 0.035), ('B', -0.0, 0.035)]
    """
    for release in ledger:
        found = mean_of([release], grid) if release.kind in _KINDS else None
        if found is not None:
            yield found


def latest_means(ledger: Sequence[Release], grid: Grid) -> list[Mean]:
    """Return each arm's last mean of its own, by the last releases of a ledger.

    Args:
        ledger: The releases.
        grid: The grid of the rewards.
    """
    return list({one.arm: one for one in means(ledger[-_FEW:], grid)}.values())


def running_means(ledger: Iterable[Release], grid: Grid, epochs: int) -> Iterator[Mean]:
    """Yield each arm's mean of all its rewards so far, at each epoch or, of many, at about two hundred.

    A release takes the place of those before it whose rewards it covers, as a node of a tree does.

    Args:
        ledger: The releases.
        grid: The grid of the rewards.
        epochs: The number of epochs that have closed.
    """
    few = range(1, epochs + 1)
    times = few if epochs <= _FEW else {round(epochs ** (mark / _FEW)) for mark in range(_FEW + 1)}
    standing: dict[Arm, list[Release]] = {}
    shown = 0
    for release in ledger:
        if release.kind not in _KINDS:
            continue
        if release.epoch > shown:
            passed = any(time in times for time in range(max(shown, 1), release.epoch))
            yield from _of_each(standing, grid) if passed else ()
            shown = release.epoch
        own, first = standing.setdefault(release.arm, []), release.spans[0][1]
        while own and own[-1].spans[0][1] >= first:
            own.pop()
        own.append(release)
    yield from _of_each(standing, grid)


def _of_each(standing: dict[Arm, list[Release]], grid: Grid) -> Iterator[Mean]:
    epoch = max((own[-1].epoch for own in standing.values()), default=0)
    for own in standing.values():
        found = mean_of(own, grid, epoch)
        if found is not None:
            yield found


def picture(ledger: Sequence[Release], grid: Grid, epochs: int, viable: Sequence[Arm] | None = None) -> Picture:
    """Return the released mean of each arm over the epochs, with its radius; a cross where an arm has gone.

    Args:
        ledger: The releases.
        grid: The grid of the rewards.
        epochs: The number of epochs that have closed.
        viable: The arms that have not gone; by default those that the last releases are about.
    """
    many = epochs > _FEW
    found: dict[Arm, list[Mean]] = {}
    for one in running_means(ledger, grid, epochs) if many else means(ledger, grid):
        found.setdefault(one.arm, []).append(one)
    title = "released means of all rewards so far" if many else "released means of each epoch"
    return picture_of(found, grid, title, viable)


def picture_of(
    found: Mapping[Arm, Sequence[Mean]],
    grid: Grid,
    title: str,
    viable: Sequence[Arm] | None = None,
    best: Arm = None,
) -> Picture:
    """Return means of each arm over the epochs, with their radii; a cross where an arm has gone.

    Args:
        found: The means of each arm, in order.
        grid: The grid of the rewards.
        title: What means they are.
        viable: The arms that have not gone; by default those that the last means are of.
        best: The arm that was found to be the best, if any.
    """
    found = {arm: own for arm, own in found.items() if own}
    many = max((own[-1].epoch for own in found.values()), default=0) > _FEW
    last = max((own[-1].epoch for own in found.values()), default=0)
    stay = {arm for arm, own in found.items() if (own[-1].epoch == last if viable is None else arm in viable)}
    lines: list[Line] = []
    colours = colours_of(list(found))
    for index, (arm, own) in enumerate(found.items()):
        colour, marker = colours[index], "" if many else MARKERS[index % len(MARKERS)]
        x, y = [one.epoch for one in own], [one.mean for one in own]
        low, high = ([one.mean + sign * one.radius for one in own] for sign in (-1, 1))
        more = " (gone)" if arm not in stay else " (best)" if best is not None and arm == best else ""
        label = ("mean" if arm is None else str(arm)) + more
        lines.append(Line(label, x, y, colour, marker=marker, low=low, high=high, bars=not many))
        if arm not in stay:
            lines.append(Line("", x[-1:], y[-1:], colour, style="", marker="x", size=9))
    axes: dict[str, Any] = {"x_label": "epoch", "y_label": "mean reward", "x_log": many, "whole_x": not many}
    axes |= _in_sight([own[-1] for own in found.values()], lines)
    return Picture("means", "", [Panel(f"{title}, with 95 % radii", lines, **axes)], columns=1)


def _in_sight(last: Sequence[Mean], lines: Sequence[Line]) -> dict[str, float]:
    """Return the ends of the y-axis where early means of few rewards, which may be far off, would hide the last ones.

    Args:
        last: The last mean of each arm.
        lines: The lines to draw.
    """
    if not last:
        return {}
    bottom, top = min(one.mean - one.radius for one in last), max(one.mean + one.radius for one in last)
    room = 2 * (top - bottom)
    values = [bound for line in lines if line.low is not None for bound in (*line.low, *line.high)]
    ends = {"y_from": bottom - room} if min(values) < bottom - room else {}
    return ends | ({"y_to": top + room} if max(values) > top + room else {})

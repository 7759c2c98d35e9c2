"""The chart of noisy means as plain data; `board.js` paints it, and a table has the same numbers."""

from collections.abc import Sequence
from typing import Any

from discreet.service.dashboard.summaries import leader
from discreet.service.messages import EpochView, ExperimentView

HUES = 8  # colours and marks that the style sheet has; after these they begin again
MOST = 60  # epochs in the picture and in tables; the API has them all
UNNAMED = "mean"


def recent(epochs: Sequence[EpochView]) -> list[EpochView]:
    """Return the newest epochs, as many as a page can hold."""
    return list(epochs[-MOST:])


def chart(view: ExperimentView, epochs: Sequence[EpochView]) -> dict[str, Any] | None:
    """Return each arm's noisy means and radii by epoch, and the line that arms had to reach; None without releases.

    Args:
        view: The experiment.
        epochs: Its epochs.
    """
    shown = [epoch for epoch in recent(epochs) if epoch.releases]
    if not shown:
        return None
    return {
        "epochs": [epoch.number for epoch in shown],
        "series": [_series(name, index, shown) for index, name in enumerate(_names(view))],
        "line": [_line(epoch) for epoch in shown],
    }


def hue(index: int) -> int:
    """Return the number of the colour of the arm with an index."""
    return index % HUES


def _names(view: ExperimentView) -> list[str | None]:
    return [arm.name for arm in view.arms] or [None]


def _series(name: str | None, index: int, epochs: Sequence[EpochView]) -> dict[str, Any]:
    own = [next((r for r in epoch.releases if r.arm == name), None) for epoch in epochs]
    return {
        "name": name or UNNAMED,
        "hue": hue(index),
        "means": [None if release is None else release.mean for release in own],
        "radii": [None if release is None else release.radius for release in own],
    }


def _line(epoch: EpochView) -> float | None:
    best = leader(epoch)
    return None if best is None or epoch.threshold is None else best.mean - epoch.threshold

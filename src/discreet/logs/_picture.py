"""The picture of an answer: noisy means over epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet._pictures import PALETTE

if TYPE_CHECKING:
    from discreet._chart import Chart


def draw(answer: Any) -> Chart:
    """Return a picture of an answer's noisy means, with radii, over the epochs.

    Args:
        answer: The answer.
    """
    from discreet._chart import Chart  # noqa: PLC0415  (needs matplotlib)

    figure = Chart(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for index, arm in enumerate(answer.used):
        points = answer.estimates(arm)
        if not points:
            continue
        epochs, means, radii = zip(*points, strict=True)
        colour = PALETTE[index % len(PALETTE)]
        best = answer.best_arm is not None and arm == answer.best_arm
        label = "mean" if arm is None else f"{arm} (best)" if best else str(arm)
        axes.plot(epochs, means, color=colour, marker="o", markersize=3, linewidth=2.5 if best else 1.2, label=label)
        if len(points) == 1:
            axes.errorbar(epochs, means, radii, color=colour, capsize=3)
        lower = [mean - radius for mean, radius in zip(means, radii, strict=True)]
        upper = [mean + radius for mean, radius in zip(means, radii, strict=True)]
        axes.fill_between(epochs, lower, upper, color=colour, alpha=0.12, linewidth=0)
    last = [point[1] for arm in answer.used for point in answer.estimates(arm)[-1:]]
    if last:
        room = max(max(last) - min(last), 0.1 * max(map(abs, last)), 1e-12)
        axes.set_ylim(min(last) - 2 * room, max(last) + 2 * room)
        axes.legend(frameon=False)
    axes.set_xlabel("epoch")
    axes.set_ylabel("noisy mean, and its radius")
    axes.set_title(answer.claim, fontsize=9, wrap=True)
    return figure

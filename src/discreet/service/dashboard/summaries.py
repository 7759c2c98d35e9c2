"""What was found out, and why an arm went: sentences made of released numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.service.dashboard.formatting import apart, figure, listed, plural
from discreet.service.http.messages import EpochView, ExperimentView, ReleaseView

MOST_NAMED = 6


@dataclass(frozen=True)
class Elimination:
    """An arm that went: when, and why."""

    arm: str
    epoch: int
    at: float | None
    words: str


def eliminations(epochs: Sequence[EpochView]) -> list[Elimination]:
    """Every arm that went, first to last."""
    return [
        Elimination(arm, epoch.number, epoch.closed_at, _why(arm, epoch))
        for epoch in epochs
        for arm in epoch.eliminated
    ]


def leader(epoch: EpochView) -> ReleaseView | None:
    """The arm with the highest noisy mean of an epoch."""
    return max((r for r in epoch.releases if r.arm is not None), key=lambda release: release.mean, default=None)


def _why(arm: str, epoch: EpochView) -> str:
    best = leader(epoch)
    own = next((release for release in epoch.releases if release.arm == arm), None)
    after = f"after epoch {epoch.number}"
    if own is None or best is None or best is own:
        return f"{arm} was dropped {after}."
    gap = best.mean - own.mean
    if epoch.threshold is None:
        return f"{arm} was {figure(gap, 2)} behind {best.arm}, more than noise and chance explain, {after}."
    if gap <= epoch.threshold:
        return f"{arm} was dropped {after}, {figure(gap, 2)} behind {best.arm}."
    behind, threshold = apart(gap, epoch.threshold)
    return f"{arm} was {behind} behind {best.arm}, more than the threshold {threshold}, {after}."


def headline(view: ExperimentView) -> str:
    """Where the experiment stands, in one sentence."""
    if view.state == "draft":
        return "A draft: nobody is assigned, and nothing has been charged to the budget."
    if view.kind == "rule":
        return _of_a_rule(view)
    still = [arm.name or "" for arm in view.arms if arm.viable]
    if len(still) == 1:
        return f"{still[0]} is the best arm{_surely(view)}."
    if view.settled and view.best is not None:
        others = [name for name in still if name != view.best]
        return f"Nothing is left to find out: {view.best} leads, and {_named(others)} could not be told from it."
    if len(still) == len(view.arms):
        found = "Both arms are still in." if len(still) == 2 else f"All {plural(len(still), 'arm')} are still in."
    else:
        found = f"{_named(still)} are still in, out of {plural(len(view.arms), 'arm')}."
    return f"{found} {_pace(view)}"


def _named(arms: Sequence[str]) -> str:
    return listed(arms) if len(arms) <= MOST_NAMED else plural(len(arms), "arm")


def _of_a_rule(view: ExperimentView) -> str:
    if view.answer:
        return view.answer if view.answer.endswith(".") else f"{view.answer}."
    if view.estimate is not None:
        return f"The mean is {figure(view.estimate)}."
    return f"The mean is not known well enough yet. {_pace(view)}"


def _pace(view: ExperimentView) -> str:
    if view.state == "paused":
        return "The experiment is paused."
    if view.state in ("stopped", "archived"):
        return "The experiment was ended before it was settled."
    return f"Epoch {view.epoch.number} is open." if view.epoch is not None else "The next epoch is about to open."


def _surely(view: ExperimentView) -> str:
    beta = view.options.get("beta")
    if isinstance(beta, int | float) and 0 < beta < 1:
        return f", with probability {figure(1 - beta, 4)} or more"
    return ""

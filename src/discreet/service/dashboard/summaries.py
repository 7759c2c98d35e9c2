"""Sentences about an experiment, and its chart: what was found out, why an arm was dropped, when its epoch will close.

The chart of noisy means is plain data; `board.js` paints it, and a table has the same numbers.

Only public numbers go in: what was released, when the epoch opened, the numbers of slots that are dealt and planned,
and the window. Rewards and their arrival have no part in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet._wording import duration, plural
from discreet.service.dashboard.formatting import apart, figure, listed, whole
from discreet.service.messages import EpochView, ExperimentView, ReleaseView, Summary

MOST_NAMED = 6
FEWEST = 10  # a rate from fewer assignments than this would jump about
HUES = 8  # colours and marks that the style sheet has; after these they begin again
MOST = 60  # epochs in the picture and in tables; the API has them all
UNNAMED = "mean"


@dataclass(frozen=True)
class Elimination:
    """An arm that was dropped.

    Args:
        arm: The arm's name.
        epoch: The epoch at whose end it was dropped.
        at: When that was.
        words: Why it was dropped.
    """

    arm: str
    epoch: int
    at: float | None
    words: str


def eliminations(epochs: Sequence[EpochView], *, tested: bool = False) -> list[Elimination]:
    """Return every arm that was dropped, first to last.

    Args:
        epochs: The epochs.
        tested: True for a test of arms, which drops those whose question is answered.
    """
    return [
        Elimination(arm, epoch.number, epoch.closed_at, _why(arm, epoch) if not tested else _given_up(arm, epoch))
        for epoch in epochs
        for arm in epoch.eliminated
    ]


def leader(epoch: EpochView) -> ReleaseView | None:
    """Return the release of the arm with the highest noisy mean of an epoch."""
    return max((r for r in epoch.releases if r.arm is not None), key=lambda release: release.mean, default=None)


def _given_up(arm: str, epoch: EpochView) -> str:
    return f"{arm} is no longer one that may be preferred, after look {epoch.number}."


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
    """Return the standing of an experiment in one sentence."""
    if view.test_until is not None:
        return "A draft with a test: the test’s units are not protected, and nothing has been charged to the budget."
    if view.state == "draft":
        return "A draft: nobody is assigned, and nothing has been charged to the budget."
    if view.kind == "rule" or view.verdicts:
        return _of_a_rule(view) if view.kind == "rule" else _of_a_test(view)
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


def _of_a_test(view: ExperimentView) -> str:
    return f"{view.answer} {_pace(view)}" if "open" in view.verdicts.values() else str(view.answer)


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


# ---------------------------------------------------------------------- the open epoch


@dataclass(frozen=True)
class Progress:
    """The open epoch in numbers and words.

    Args:
        dealt: The number of slots that are dealt.
        quota: The number of all slots.
        closes_at: When it will close: expected, or known once all slots are dealt.
        words: The same in words.
    """

    dealt: int
    quota: int
    closes_at: float | None
    words: str

    @property
    def share(self) -> float:
        """The part of the quota that is dealt, in percent."""
        return min(100.0, 100.0 * self.dealt / self.quota) if self.quota else 100.0


def per_second(epoch: EpochView, now: float) -> float | None:
    """Return the number of assignments a second in an epoch so far; None if there are too few.

    Args:
        epoch: The epoch.
        now: The time.
    """
    until = now if epoch.full_at is None else epoch.full_at
    elapsed = until - epoch.opened_at
    return epoch.dealt / elapsed if epoch.dealt >= FEWEST and elapsed > 0 else None


def progress(view: ExperimentView, now: float) -> Progress | None:
    """Return the progress of an experiment's open epoch, if it has one.

    Args:
        view: The experiment.
        now: The time.
    """
    epoch = view.epoch
    if epoch is None or epoch.state != "open":
        return None
    closes_at, words = _outlook(view, epoch, now)
    return Progress(epoch.dealt, epoch.quota, closes_at, words)


def _outlook(view: ExperimentView, epoch: EpochView, now: float) -> tuple[float | None, str]:
    if not epoch.learns:
        return None, "This epoch learns nothing: it takes no rewards and releases nothing."
    if view.source == "totals":
        return None, "It closes when its totals are handed in."
    if view.state == "paused":
        return None, "Paused: nobody is assigned and nothing closes until it goes on."
    if epoch.full_at is not None:
        return _waiting(epoch, epoch.full_at + view.window, now)
    left = max(0, epoch.quota - epoch.dealt)
    rate = per_second(epoch, now)
    if rate is None:
        few = "nobody has been assigned yet" if epoch.dealt == 0 else f"only {epoch.dealt} were assigned so far"
        return None, f"When it will close cannot be said yet: {few}."
    return now + left / rate + view.window, (
        f"{whole(left)} more to assign at {_rate(rate)}, as in this epoch so far, and then the {duration(view.window)} "
        "that the last reward may take."
    )


def _waiting(epoch: EpochView, full_and_window: float, now: float) -> tuple[float | None, str]:
    due_at = full_and_window if epoch.due_at is None else epoch.due_at
    if due_at <= now:
        return None, "All are assigned, and every reward had its time: it closes any moment."
    return due_at, "All are assigned. Rewards that are still on their way have until then."


def _rate(per_second: float) -> str:
    for unit, seconds in (("a second", 1.0), ("a minute", 60.0), ("an hour", 3600.0)):
        if per_second * seconds >= 10:
            return f"{whole(per_second * seconds)} {unit}"
    return plural(max(1, round(per_second * 86400)), "assignment") + " a day"


# ---------------------------------------------------------------------- the chart


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
        "series": [_series(arm.name, index, shown) for index, arm in enumerate(view.arms)],
        "line": [_line(epoch) for epoch in shown],
    }


def lifts(view: ExperimentView, seen: Summary) -> dict[str, Any] | None:
    """Return each arm's lift or difference at looks, or a rule's mean, with its intervals; None without any.

    Args:
        view: The experiment.
        seen: Its summary.
    """
    hues = {arm.name: hue(index) for index, arm in enumerate(view.arms)}
    drawn = [arm.name for arm in view.arms if any(one.name == arm.name for look in seen.looks for one in look.arms)]
    if not drawn:
        return None
    by_look = [{one.name: one for one in look.arms} for look in seen.looks]
    return {
        "epochs": [look.epoch for look in seen.looks],
        "percent": seen.control is not None and seen.relative,
        "control": seen.control,
        "series": [
            {
                "name": name or UNNAMED,
                "hue": hues[name],
                "ends": [None if name not in look else [look[name].lower, look[name].upper] for look in by_look],
                "values": [None if name not in look else look[name].value for look in by_look],
            }
            for name in drawn
        ],
    }


def hue(index: int) -> int:
    """Return the number of the colour of the arm with an index."""
    return index % HUES


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

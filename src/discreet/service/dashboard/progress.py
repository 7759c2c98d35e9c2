"""How far the open epoch is, and when it will probably close.

Only public numbers go in: when the epoch opened, how many were dealt, how many are planned, and the window. Rewards and
their arrival have no part in it, so watching this tells nothing about them.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.service.dashboard.formatting import plural, span, whole
from discreet.service.http.messages import EpochView, ExperimentView

FEWEST = 10  # a rate from fewer assignments than this would jump about


@dataclass(frozen=True)
class Progress:
    """The open epoch in numbers and words."""

    dealt: int
    quota: int
    closes_at: float | None
    """Expected, or known once all are dealt."""
    words: str

    @property
    def share(self) -> float:
        """Of the quota, in percent."""
        return min(100.0, 100.0 * self.dealt / self.quota) if self.quota else 100.0


def per_second(epoch: EpochView, now: float) -> float | None:
    """The traffic in an epoch so far, once there is enough to speak of."""
    until = now if epoch.full_at is None else epoch.full_at
    elapsed = until - epoch.opened_at
    return epoch.dealt / elapsed if epoch.dealt >= FEWEST and elapsed > 0 else None


def progress(view: ExperimentView, now: float) -> Progress | None:
    """Of an experiment's open epoch, if it has one."""
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
        f"{whole(left)} more to assign at {_rate(rate)}, as in this epoch so far, and then the {span(view.window)} "
        "that the last reward may take."
    )


def _waiting(epoch: EpochView, full_and_window: float, now: float) -> tuple[float | None, str]:
    ripe_at = full_and_window if epoch.ripe_at is None else epoch.ripe_at
    if ripe_at <= now:
        return None, "All are assigned, and every reward had its time: it closes any moment."
    return ripe_at, "All are assigned. Rewards that are still on their way have until then."


def _rate(per_second: float) -> str:
    for unit, seconds in (("a second", 1.0), ("a minute", 60.0), ("an hour", 3600.0)):
        if per_second * seconds >= 10:
            return f"{whole(per_second * seconds)} {unit}"
    return plural(max(1, round(per_second * 86400)), "assignment") + " a day"

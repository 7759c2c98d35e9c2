"""The status of a `Bandit`: its open epoch, what it waits for, and when that ends."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from discreet._display import Page, Shown, page_of
from discreet.core.plans import Arm, Plan
from discreet.drivers.open_epoch import OpenEpoch
from discreet.drivers.windows import Window


@dataclass(frozen=True)
class Status(Shown):
    """The status of a `Bandit`.

    All of it follows from releases and from what was asked, and may be published, except `outstanding`: how many people
    have answered says something about each of them.

    Args:
        epoch: The number of the open epoch; None when nothing is left to pull.
        planned: The number of its planned pulls.
        handed_out: How many of them were handed out.
        outstanding: How many of those have no reward yet, and still wait for one. Do not publish it.
        closes_at: When the epoch closes at the latest, at the first `ask` from then on: a time of day, or by a clock of
            your own its seconds, or by a window in tickets their number. None while pulls are still to be handed out,
            since the window of the last one has not begun; and None without a window.
        waits_for: What has to happen before the epoch closes, in words.
        served: The number of tickets that were handed out, ever.
        learned: The number of pulls that it has learned from.
        best_arm: The arm to prefer by what was released.
    """

    epoch: int | None
    planned: int
    handed_out: int
    outstanding: int
    closes_at: datetime | float | None
    waits_for: str
    served: int
    learned: int
    best_arm: Arm

    def _page(self) -> Page:
        facts = {
            name.replace("outstanding", "outstanding, not to be published"): value
            for name, value in page_of(self).facts.items()
        }
        return Page("status", facts)

    def __str__(self) -> str:
        where = "finished" if self.epoch is None else f"epoch {self.epoch}"
        return (
            f"{where}: {self.waits_for}. {self.served:,} served, {self.learned:,} learned from; best arm by what was "
            f"released: {self.best_arm!r}"
        )

    @staticmethod
    def of(policy: Any, plan: Plan | None, epoch: OpenEpoch, window: Window | None, now: float | None) -> "Status":
        """Return the status of a `Bandit`.

        Args:
            policy: Its policy.
            plan: The open plan.
            epoch: The open epoch.
            window: Its window.
            now: The time.
        """
        closes_at = epoch.closes_at
        return Status(
            epoch=None if plan is None else epoch.number,
            planned=epoch.size,
            handed_out=epoch.handed_out,
            outstanding=len(epoch.open_places(now)),
            closes_at=None if closes_at is None or window is None else window.moment(closes_at),
            waits_for="nothing is left to learn" if plan is None else _waits_for(epoch, window, now),
            served=epoch.issued,
            learned=_learned(policy),
            best_arm=policy.best_arm,
        )


def _waits_for(epoch: OpenEpoch, window: Window | None, now: float | None) -> str:
    left = epoch.size - epoch.handed_out
    out = (
        f"{left:,} more of {epoch.size:,} pulls are to be handed out" if left else f"all {epoch.size:,} are handed out"
    )
    if not epoch.learns:
        return f"{out}; their rewards are not used"
    if window is None or now is None:
        return f"{out}; it closes with their last reward (see open_tickets)"
    if epoch.closes_at is None:
        return f"{out}; it closes {window} after the last one"
    if now >= epoch.closes_at:
        return f"{out}, and their windows have passed: it closes at the next ask"
    return f"{out}; it closes at the first ask {window.until(epoch.closes_at)}"


def _learned(policy: Any) -> int:
    """Return the number of pulls in epochs that were released; of a public policy, whose ledger is empty, of all."""
    last: dict[Arm, int] = {}
    for release in policy.ledger:
        for arm, _, until in release.spans:
            last[arm] = max(last.get(arm, 0), until)
    return sum(last.values()) if last else int(policy.time)

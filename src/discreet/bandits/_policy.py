"""The one idea: a policy plans an epoch, waits for its exact totals, releases them once, and plans again.

    plan()          -> how often to pull each arm next, from what was already released
    close(totals)   -> take the epoch's exact integer totals, release them with noise, decide

A policy has no I/O, no clock and no threads. Drivers (ask/tell, simulator, service, log aggregation) fill
the epochs; each policy is written once and serves them all.
"""

from __future__ import annotations

import math
import os
import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError, FinishedError, PrivacyError
from discreet.core.grid import Grid
from discreet.core.privacy import Arm, Release

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to sample in the next epoch: public, since it follows from what was released.

    `learns` is False for pulls whose rewards decide nothing: the last arm being pulled to the end of the
    horizon, or an epoch that the horizon cuts short. Their rewards need not be collected at all.
    """

    epoch: int
    pulls: Mapping[Arm, int]
    learns: bool = True

    @property
    def size(self) -> int:
        """The number of pulls in the epoch."""
        return sum(self.pulls.values())


class Policy(Algorithm):
    """The base of all bandits.

    A subclass writes `_plan` (pulls by arm number), `_close` (exact totals by arm number) and its formulas.
    `plan`, `close` and what they change are locked, so a reader in another thread sees whole epochs.
    """

    kind = "policy"

    def __init__(self, arms: Iterable[Arm], *, low: float = 0.0, high: float = 1.0, horizon: int | None = None) -> None:
        super().__init__()
        self.arms = check_arms(arms)
        self.grid = Grid(low, high)
        self.low, self.high = self.grid.low, self.grid.high
        self.horizon = None if horizon is None else checks.whole("horizon", horizon)
        if self.horizon is not None and self.horizon < len(self.arms):
            raise ArgumentError(f"horizon must allow one pull of each of the {len(self.arms)} arms, got {self.horizon}")
        self.epoch = 0
        self.time = 0
        self._pulls = [0] * len(self.arms)
        self._numbers = {arm: number for number, arm in enumerate(self.arms)}
        self._open: dict[int, int] | None = None  # the open epoch's pulls, by arm number
        self._learns = False
        self._driven = False
        self._recorded: list[Release] = []
        self._lock = threading.RLock()

    # ------------------------------------------------------------------ what a driver calls

    def plan(self) -> Plan | None:
        """The open epoch's pulls; None when there is nothing left to sample. The same until `close`."""
        with self._lock:
            pulls = self._open_epoch_pulls()
            if pulls is None:
                return None
            return Plan(self.epoch + 1, {self.arms[arm]: count for arm, count in pulls.items()}, self._learns)

    def _open_epoch_pulls(self) -> dict[int, int] | None:
        """The open epoch's pulls by arm number, planned now if they are not yet."""
        if self._open is None:
            self._same_process()
            pulls, self._learns = self._plan()
            self._open = pulls or None
        return self._open

    def close(self, totals: Mapping[Arm, int] | None = None) -> tuple[Release, ...]:
        """Close the open epoch with each planned arm's exact total in grid units; gives what it released.

        A plan that does not learn takes no totals, and releases nothing.
        """
        if self._driven:
            raise PrivacyError("a Bandit drives this policy and closes its epochs; tell the rewards to the Bandit")
        return self._close_epoch(totals)

    def _close_epoch(self, totals: Mapping[Arm, int] | None) -> tuple[Release, ...]:
        with self._lock:
            self._same_process()
            pulls = self._open_epoch_pulls()
            if pulls is None:
                raise FinishedError(f"this {self.key} has finished after {self.time} pulls: there is no epoch to close")
            exact = self._check_totals(pulls, totals) if self._learns else {}
            self.epoch += 1
            for arm, count in pulls.items():
                self._pulls[arm] += count
                self.time += count
            self._open = None
            self._recorded = []
            if self._learns:
                self._close(exact)
            return tuple(self._recorded)

    # ------------------------------------------------------------------ what anybody may read

    @property
    def pulls(self) -> dict[Arm, int]:
        """How often each arm was pulled in closed epochs: public, since it was planned."""
        return dict(zip(self.arms, self._pulls, strict=True))

    @property
    def finished(self) -> bool:
        """True when there is nothing left to sample."""
        with self._lock:
            return self._open_epoch_pulls() is None

    @property
    @abstractmethod
    def best_arm(self) -> Arm:
        """The arm to prefer by what was released so far; None before the first release."""

    @property
    def remaining(self) -> int | None:
        """Pulls left before the horizon; None without a horizon."""
        return None if self.horizon is None else self.horizon - self.time

    # ------------------------------------------------------------------ what a policy writes

    @abstractmethod
    def _plan(self) -> tuple[dict[int, int], bool]:
        """Pulls by arm number (empty: finished), and whether their rewards will be used."""

    @abstractmethod
    def _close(self, totals: dict[int, int]) -> None:
        """Release and decide, from exact totals by arm number."""

    def _record(
        self, what: str, arms: list[int], *, count: int, scale: float, epsilon: float, units: int | None = None
    ) -> None:
        """Write a release of the last `count` rewards of these arms; `units` and `scale` are in grid units."""
        self._enter(
            Release(
                epoch=self.epoch,
                what=what,
                spans=tuple((self.arms[arm], self._pulls[arm] - count + 1, self._pulls[arm]) for arm in arms),
                value=None if units is None else self.grid.mean(units, count) * count,
                units=units,
                scale=scale * self.grid.step,
                epsilon=epsilon,
                simulated=self.simulated,
            )
        )

    def _enter(self, entry: Release) -> None:
        """Add an entry to the ledger; an entry of the same rewards that has only grown takes its old place."""
        grown = entry.units is None and self._ledger and continues(self._ledger[-1], entry)
        if grown:
            self._ledger[-1] = entry
        else:
            self._ledger.append(entry)
        self._recorded.append(entry)

    # ------------------------------------------------------------------ saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, atomically; the file is not kept up to date.

        Whoever drives a policy by hand saves it after `close` and before showing what that released: a file
        that lies behind would, after a crash, use the same noise on other rewards.
        """
        if self._driven:
            raise PrivacyError("a Bandit drives this policy; save the Bandit, which knows the open epoch's tickets")
        super().save(path)

    def _dump(self) -> dict[str, Any]:
        with self._lock:
            return {
                **super()._dump(),
                "epoch": self.epoch,
                "time": self.time,
                "pulls": list(self._pulls),
                "open": None if self._open is None else [[arm, count] for arm, count in self._open.items()],
                "learns": self._learns,
            }

    def _revive(self, saved: dict[str, Any]) -> None:
        super()._revive(saved)
        self.epoch, self.time = int(saved["epoch"]), int(saved["time"])
        self._pulls = [int(count) for count in saved["pulls"]]
        self._open = None if saved["open"] is None else {int(arm): int(count) for arm, count in saved["open"]}
        self._learns = bool(saved["learns"])
        planned, arms = self._open or {}, range(len(self.arms))
        fits = len(self._pulls) == len(arms) and set(planned) <= set(arms)
        counts = min((self.epoch, *self._pulls, *(count - 1 for count in planned.values()))) >= 0
        if not fits or not counts or self.time != sum(self._pulls):
            raise ArgumentError("the saved epoch does not fit the saved arms")

    def _fresh(self) -> bool:
        return super()._fresh() and self.epoch == 0 and self._open is None

    # ------------------------------------------------------------------ checks

    def _check_totals(self, pulls: dict[int, int], totals: Any) -> dict[int, int]:
        """Exact totals by arm number. Messages name the arm but not its total, which is secret."""
        planned = [self.arms[arm] for arm in pulls]
        if not isinstance(totals, Mapping) or set(totals) != set(planned):
            got = f"totals of {list(totals)!r}" if isinstance(totals, Mapping) else f"a {type(totals).__name__}"
            raise ArgumentError(f"close needs the total of each planned arm {planned!r} as a mapping, got {got}")
        remedy = " grid units; use policy.grid.total(rewards)"
        return {
            arm: checks.secret(
                f"the total of arm {self.arms[arm]!r}", totals[self.arms[arm]], 0, count * self.grid.width, remedy
            )
            for arm, count in pulls.items()
        }


def continues(before: Release, after: Release) -> bool:
    """Whether one entry is the other one grown: the same kind of release of rewards that start at the same place."""
    starts = [(arm, first) for arm, first, _ in before.spans]
    return before.units is None and starts == [(arm, first) for arm, first, _ in after.spans]


def check_arms(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    """At least two different names; any JSON scalar is a name.

    >>> check_arms(["A", "B", "A"])
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: arms must be different, got 'A' twice
    """
    if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
        raise ArgumentError(f"arms must be a list of names such as ['A', 'B'], got {arms!r}")
    names = tuple(arm.item() if isinstance(arm, np.generic) else arm for arm in arms)
    if len(names) < 2:
        raise ArgumentError(f"arms must be at least two, got {list(names)!r}")
    seen: set[Arm] = set()
    for name in names:
        scalar = name is None or isinstance(name, str | int | float)
        if not scalar or (isinstance(name, float) and not math.isfinite(name)):
            raise ArgumentError(f"an arm must be a string, a finite number, a boolean or None, got {name!r}")
        if name in seen:
            raise ArgumentError(f"arms must be different, got {name!r} twice")
        seen.add(name)
    return names


def cut_short(pulls: Mapping[Key, int], budget: int) -> dict[Key, int]:
    """The pulls that fit into a budget when arms take turns.

    >>> cut_short({0: 10, 1: 10, 2: 1}, 8)
    {0: 4, 1: 3, 2: 1}
    """
    taken = dict.fromkeys(pulls, 0)
    open_arms = [arm for arm, count in pulls.items() if count]
    budget = min(budget, sum(pulls.values()))
    while budget:
        room = min(pulls[arm] - taken[arm] for arm in open_arms)
        share = max(1, min(budget // len(open_arms), room))
        for arm in open_arms[: budget if budget < len(open_arms) else None]:
            taken[arm] += share
            budget -= share
        open_arms = [arm for arm in open_arms if taken[arm] < pulls[arm]]
    return {arm: count for arm, count in taken.items() if count}

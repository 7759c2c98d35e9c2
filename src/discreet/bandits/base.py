"""The one idea: a policy plans an epoch, waits for its exact totals, releases them once, and plans again.

    plan()          -> how often to pull each arm next, from what was already released
    close(totals)   -> take the epoch's exact integer totals, release them with noise, decide

A policy has no I/O, no clock and no threads. Drivers (ask/tell, simulator, service, log aggregation) fill
the epochs; each policy is written once and serves them all.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from discreet import checks, state
from discreet.errors import ArgumentError, FinishedError, StateError
from discreet.grid import Grid
from discreet.guard import Guarded
from discreet.noise import Noise, noise_state, restore_noise, rewind_noise
from discreet.options import Configured
from discreet.privacy import Arm, Privacy, Release, not_private, release_state, restore_release


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


class Policy(Configured, Guarded, ABC):
    """The base of all bandits.

    A subclass writes `_plan` (pulls by arm number), `_close` (exact totals by arm number) and its formulas.
    """

    key: ClassVar[str]
    """The short name, for the registry and the command line."""

    noise: Noise | None = None

    def __init__(self, arms: Iterable[Arm], *, low: float = 0.0, high: float = 1.0, horizon: int | None = None) -> None:
        self.arms = check_arms(arms)
        self.grid = Grid(low, high)
        self.low, self.high = self.grid.low, self.grid.high
        self.horizon = None if horizon is None else checks.whole("horizon", horizon)
        if self.horizon is not None and self.horizon < len(self.arms):
            raise ArgumentError(f"horizon must allow one pull of each of the {len(self.arms)} arms, got {self.horizon}")
        self.epoch = 0
        self.time = 0
        self._pulls = [0] * len(self.arms)
        self._ledger: list[Release] = []
        self._numbers = {arm: number for number, arm in enumerate(self.arms)}
        self._planned: Plan | None = None
        self._guard()

    # ------------------------------------------------------------------ what a driver calls

    def plan(self) -> Plan | None:
        """The open epoch's pulls; None when there is nothing left to sample. The same until `close`."""
        if self._planned is None:
            self._same_process()
            pulls, learns = self._plan()
            if pulls:
                named = {self.arms[number]: count for number, count in pulls.items()}
                self._planned = Plan(self.epoch + 1, named, learns)
        return self._planned

    def close(self, totals: Mapping[Arm, int] | None = None) -> tuple[Release, ...]:
        """Close the open epoch with each planned arm's exact total in grid units; gives what it released.

        A plan that does not learn takes no totals, and releases nothing.
        """
        self._same_process()
        plan = self.plan()
        if plan is None:
            raise FinishedError(f"this {self.key} has finished after {self.time} pulls: there is no epoch to close")
        exact = self._check_totals(plan, totals) if plan.learns else {}
        before = len(self._ledger)
        self.epoch += 1
        self.time += plan.size
        for arm, count in plan.pulls.items():
            self._pulls[self._numbers[arm]] += count
        self._planned = None
        if plan.learns:
            self._close(exact)
        return tuple(self._ledger[before:])

    # ------------------------------------------------------------------ what anybody may read

    @property
    def simulated(self) -> bool:
        """True when seeded noise, or no noise at all, is used: nothing here is private."""
        return self.noise is None or self.noise.simulated

    @property
    def privacy(self) -> Privacy:
        """What is promised, about which unit, and why."""
        return not_private()

    @property
    def ledger(self) -> tuple[Release, ...]:
        """Everything that was released so far, in order."""
        return tuple(self._ledger)

    @property
    def pulls(self) -> dict[Arm, int]:
        """How often each arm was pulled in closed epochs: public, since it was planned."""
        return dict(zip(self.arms, self._pulls, strict=True))

    @property
    def finished(self) -> bool:
        """True when there is nothing left to sample."""
        return self.plan() is None

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

    def _progress(self) -> dict[str, Any]:
        """What the policy itself must remember in a saved state."""
        return {}

    def _restore(self, progress: dict[str, Any]) -> None:
        """Go on from what `_progress` gave."""

    def _record(
        self, what: str, arms: list[int], *, count: int, scale: float, epsilon: float, units: int | None = None
    ) -> Release:
        """Write a release of the last `count` rewards of these arms; `units` and `scale` are in grid units."""
        entry = Release(
            epoch=self.epoch,
            what=what,
            spans=tuple((self.arms[arm], self._pulls[arm] - count + 1, self._pulls[arm]) for arm in arms),
            value=None if units is None else self.grid.mean(units, count) * count,
            units=units,
            scale=scale * self.grid.step,
            epsilon=epsilon,
            simulated=self.simulated,
        )
        self._ledger.append(entry)
        return entry

    # ------------------------------------------------------------------ saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, atomically. Mid-epoch states are as sensitive as the rewards (see `discreet.state`)."""
        self._same_process()
        state.write(path, "policy", self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The policy that was saved in a file."""
        policy = policy_from_state(state.read(path, "policy"))
        if not isinstance(policy, cls):
            raise StateError(f"{path} holds a {type(policy).__name__}, not a {cls.__name__}")
        return policy

    def state(self) -> dict[str, Any]:
        """Everything needed to go on elsewhere, as JSON values."""
        plan = self._planned
        return {
            "policy": self.key,
            "options": self.options(),
            "noise": None if self.noise is None else noise_state(self.noise),
            "epoch": self.epoch,
            "time": self.time,
            "pulls": list(self._pulls),
            "plan": plan and {"pulls": [[arm, n] for arm, n in plan.pulls.items()], "learns": plan.learns},
            "ledger": [release_state(entry) for entry in self._ledger],
            "progress": self._progress(),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Put a saved state into a freshly built policy of the same options."""
        self.epoch, self.time = int(saved["epoch"]), int(saved["time"])
        self._pulls = [int(count) for count in saved["pulls"]]
        self._ledger = [restore_release(entry) for entry in saved["ledger"]]
        self._restore(saved["progress"])
        if saved["plan"] is not None:
            pulls = {arm: int(count) for arm, count in saved["plan"]["pulls"]}
            self._planned = Plan(self.epoch + 1, pulls, bool(saved["plan"]["learns"]))

    # ------------------------------------------------------------------ checks

    def _check_totals(self, plan: Plan, totals: Mapping[Arm, int] | None) -> dict[int, int]:
        if totals is None or set(totals) != set(plan.pulls):
            got = "nothing" if totals is None else f"totals of {list(totals)!r}"
            raise ArgumentError(f"close needs the total of each planned arm {list(plan.pulls)!r}, got {got}")
        exact = {}
        for arm, count in plan.pulls.items():
            total = checks.whole(f"the total of arm {arm!r}", totals[arm], at_least=0)
            if total > count * self.grid.width:
                raise ArgumentError(
                    f"the total of arm {arm!r} must lie in [0, {count * self.grid.width}] grid units for {count} "
                    f"pulls, got {total}; use policy.grid to encode rewards"
                )
            exact[self._numbers[arm]] = total
        return exact


def policy_from_state(saved: dict[str, Any]) -> Policy:
    """Rebuild a policy; all or nothing."""
    from discreet.registry import POLICIES  # noqa: PLC0415  (the registry knows the policies, not they it)

    try:
        if saved["policy"] not in POLICIES:
            raise StateError(f"the state holds a policy {saved['policy']!r} that is not registered here")
        options = dict(saved["options"])
        if saved["noise"] is not None:
            options["noise"] = restore_noise(saved["noise"])
        policy: Policy = POLICIES[saved["policy"]](**options)
        policy.restore(saved)
        if policy.noise is not None:
            rewind_noise(policy.noise, saved["noise"])  # building the policy drew from it
    except (KeyError, TypeError, IndexError, AttributeError, ArgumentError) as error:
        raise StateError(f"the state does not describe a policy: {error!r}") from error
    return policy


def check_arms(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    """At least two different names; any JSON scalar is a name.

    >>> check_arms(["A", "B", "A"])
    Traceback (most recent call last):
        ...
    discreet.errors.ArgumentError: arms must be different, got 'A' twice
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


def cut_short(pulls: dict[int, int], budget: int) -> dict[int, int]:
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

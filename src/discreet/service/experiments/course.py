"""An experiment's algorithm between two epochs: built from its description and from JSON, used once, kept as JSON.

What is kept holds nothing but what was released. Noise that was drawn and not used is left out: it has masked nothing
yet, so a later draw serves as well, and nobody who reads the database can subtract it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from discreet.bandits._policy import Policy
from discreet.core.errors import PrivacyError
from discreet.core.grid import Grid
from discreet.core.privacy import Arm, Release
from discreet.core.registry import POLICIES, RULES, rebuild
from discreet.stopping._rule import StoppingRule

_READY = "ready"  # what a mechanism calls its unused draws


class Pulls(NamedTuple):
    """What an epoch needs of each arm, by its number, and whether rewards decide anything."""

    by_arm: dict[int, int]
    learns: bool

    @property
    def size(self) -> int:
        """The assignments of the epoch."""
        return sum(self.by_arm.values())


class Course(Protocol):
    """What a bandit and a running mean look like from the service."""

    @property
    def epoch(self) -> int:
        """How many epochs were closed."""
        ...

    @property
    def grid(self) -> Grid:
        """What rewards are rounded to."""
        ...

    def plan(self) -> Pulls | None:
        """What the open epoch needs; None when nothing is left to find out. Its noise is drawn now."""
        ...

    def close(self, totals: Mapping[int, int]) -> tuple[Release, ...]:
        """Take the open epoch's exact totals by arm number, and release them."""
        ...

    def state(self) -> dict[str, Any]:
        """All that must be kept: nothing but what was released."""
        ...

    @property
    def viable(self) -> set[int]:
        """The arms that may still be the best."""
        ...

    @property
    def best(self) -> int | None:
        """The arm to prefer by what was released."""
        ...

    @property
    def threshold(self) -> float | None:
        """How far behind an arm may lie in the open epoch, in rewards, where there is such a number."""
        ...

    @property
    def epoch_epsilon(self) -> float:
        """What the open epoch costs a unit that is in it."""
        ...

    @property
    def answer(self) -> tuple[float | None, str] | None:
        """What a stopping rule that has ended says."""
        ...


class BanditCourse:
    """A policy. Arms are known by their numbers here; their names are the experiment's business."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    @property
    def epoch(self) -> int:
        """How many epochs were closed."""
        return self._policy.epoch

    @property
    def grid(self) -> Grid:
        """What rewards are rounded to."""
        return self._policy.grid

    def plan(self) -> Pulls | None:
        """What the open epoch needs; None when nothing is left to find out."""
        plan = self._policy.plan()
        return None if plan is None else Pulls(_numbered(plan.pulls), plan.learns)

    def close(self, totals: Mapping[int, int]) -> tuple[Release, ...]:
        """Take the open epoch's exact totals, and release them."""
        exact: dict[Arm, int] = dict(totals.items())
        return self._policy.close(exact)

    def state(self) -> dict[str, Any]:
        """All that must be kept."""
        return _without_noise(self._policy)

    @property
    def viable(self) -> set[int]:
        """The arms that may still be the best; all of them, for a policy that drops none."""
        return set(_numbered(dict.fromkeys(getattr(self._policy, "viable", self._policy.arms), 0)))

    @property
    def best(self) -> int | None:
        """The arm to prefer by what was released."""
        best = self._policy.best_arm
        return None if best is None else int(best)

    @property
    def threshold(self) -> float | None:
        """Algorithm 3's 2 h + 2 c of the open epoch, in rewards."""
        threshold = getattr(self._policy, "threshold", None)
        if threshold is None or len(self.viable) < 2:
            return None
        return float(threshold(self.epoch + 1, len(self.viable))) * self.grid.width * self.grid.step

    @property
    def epoch_epsilon(self) -> float:
        """What the open epoch costs a unit that is in it."""
        by_epoch = getattr(self._policy, "epoch_epsilon", None)
        return self._policy.epsilon if by_epoch is None else float(by_epoch(self.epoch + 1))

    @property
    def answer(self) -> tuple[float | None, str] | None:
        """A bandit gives none."""
        return None


class MeanCourse:
    """A stopping rule: one arm, number 0."""

    threshold = None

    def __init__(self, rule: StoppingRule) -> None:
        self._rule = rule

    @property
    def epoch(self) -> int:
        """How many blocks were released."""
        return self._rule.ledger[-1].epoch if self._rule.ledger else 0

    @property
    def grid(self) -> Grid:
        """What samples are rounded to."""
        return self._rule.grid

    def plan(self) -> Pulls | None:
        """The samples of the next block; None when the rule has halted or could not with those that are left."""
        count = self._rule.plan()
        whole = count == self._rule._until_test()  # a block that the cap cuts short is never released
        return Pulls({0: count}, learns=True) if count and whole else None

    def close(self, totals: Mapping[int, int]) -> tuple[Release, ...]:
        """Take the open block's exact total, and release it."""
        before = len(self._rule.ledger)
        self._rule.close(totals[0])
        return self._rule.ledger[before:]

    def state(self) -> dict[str, Any]:
        """All that must be kept."""
        return _without_noise(self._rule)

    @property
    def viable(self) -> set[int]:
        """There is one stream."""
        return {0}

    @property
    def best(self) -> int | None:
        """There is nothing to prefer."""
        return None

    @property
    def epoch_epsilon(self) -> float:
        """Every block costs those in it the same."""
        return self._rule.epsilon

    @property
    def answer(self) -> tuple[float | None, str] | None:
        """The mean and its promise, once the rule has ended."""
        if self.plan() is not None:
            return None
        return self._rule.result.estimate, str(self._rule.result)


def begin(kind: str, name: str, arms: int, options: Mapping[str, Any]) -> Course:
    """A new course. Arms are numbers from 0."""
    if kind == "policy":
        return BanditCourse(POLICIES[name](range(arms), **options))
    return MeanCourse(RULES[name](**options))


def resume(kind: str, state: dict[str, Any]) -> Course:
    """The course that `state` was taken from."""
    if kind == "policy":
        return BanditCourse(rebuild("policy", state))
    return MeanCourse(rebuild("stopping rule", state))


def _numbered(by_arm: Mapping[Any, int]) -> dict[int, int]:
    return {int(arm): count for arm, count in by_arm.items()}


def _without_noise(algorithm: Policy | StoppingRule) -> dict[str, Any]:
    """A state as public as the releases."""
    if not algorithm.open_book or algorithm.simulated or algorithm.noise is None:
        raise PrivacyError(f"{algorithm.key} cannot be kept in a database: it is not an open book")
    state: dict[str, Any] = _emptied(algorithm._dump())
    if isinstance(algorithm, Policy):
        state["open"] = None  # planned again from the releases when it is needed
    return state


def _emptied(value: Any) -> Any:
    """A state with all unused draws left out."""
    if isinstance(value, dict):
        return {key: [] if key == _READY else _emptied(part) for key, part in value.items()}
    return [_emptied(part) for part in value] if isinstance(value, list | tuple) else value

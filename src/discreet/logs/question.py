"""What is asked of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.core.errors import ArgumentError
from discreet.service.http.messages import Contribution, PlanView

Engine = Literal["duckdb", "polars"]


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a log are called. Without `arm`, all rows belong to the only arm that is planned."""

    assignment: str = "assignment"
    unit: str = "unit"
    arm: str | None = "arm"
    time: str = "time"
    reward: str = "reward"


@dataclass(frozen=True, slots=True)
class Question:
    """A plan to fill from a span of time: after `after` and before `before`, both left out of it.

    `contribution` says how often a unit counts: once in each epoch, once ever, or (None) as often as it is assigned.
    """

    plan: PlanView
    columns: Columns = Columns()
    after: int | float | None = None
    before: int | float | None = None
    default_reward: float | None = None
    contribution: Contribution | None = "each-epoch"

    def __post_init__(self) -> None:
        plan = self.plan
        if not plan.learns or not any(plan.pulls.values()):
            raise ArgumentError(f"epoch {plan.epoch} needs no rewards: there is nothing to add up")
        if self.columns.arm is None and len(plan.pulls) > 1:
            raise ArgumentError(f"columns must name an arm column: epoch {plan.epoch} has {len(plan.pulls)} arms")
        default = self.default_reward
        if default is not None and not plan.low <= default <= plan.high:
            raise ArgumentError(f"default_reward must lie in [{plan.low}, {plan.high}], got {default!r}")
        if max(plan.pulls.values()) * plan.width >= 2**63:
            raise ArgumentError(f"epoch {plan.epoch} is too long for sums of 64 bits")

    def check_start(self, after: object) -> None:
        """Refuse to begin at the beginning, where the epochs before have been."""
        if after is None and self.plan.epoch > 1:
            raise ArgumentError(
                f"after must be the `until` of epoch {self.plan.epoch - 1}: "
                "without it, contributions of earlier epochs would be used again"
            )

    @property
    def default(self) -> float:
        """What a contribution without a reward counts as."""
        return self.plan.low if self.default_reward is None else self.default_reward

    @property
    def only_arm(self) -> str | None:
        """The arm of every row, where the log has no column for it."""
        return next(iter(self.plan.pulls)) if self.columns.arm is None else None

    @property
    def wanted(self) -> list[str]:
        """The columns that are read."""
        names = [self.columns.assignment, self.columns.time, self.columns.reward]
        if self.columns.arm is not None:
            names.append(self.columns.arm)
        if self.contribution is not None:
            names.append(self.columns.unit)
        return names


@dataclass(frozen=True, slots=True)
class Found:
    """An answer for one arm: how many contributions were taken, their total in units, and the time of the last."""

    arm: str
    count: int
    units: int
    last: int | float

    def __repr__(self) -> str:
        return f"Found({self.arm!r}, {self.count})"  # and not the total

"""A question to a log, and its answer."""

from dataclasses import dataclass, field

from discreet.core.errors import ArgumentError
from discreet.service.messages import Contribution, PlanView


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of a log's columns.

    Args:
        assignment: The id of the assignment that a row belongs to.
        unit: The unit that was assigned.
        arm: The arm. None if the log has no such column: then all rows belong to the plan's only arm.
        time: The time of the row.
        reward: The reward, or NULL.
    """

    assignment: str = "assignment"
    unit: str = "unit"
    arm: str | None = "arm"
    time: str = "time"
    reward: str = "reward"


@dataclass(frozen=True, slots=True)
class Question:
    """A plan, and the contributions that may be used for it.

    Args:
        plan: The contributions of each arm, and the grid.
        columns: The names of the log's columns.
        after: Contributions must be later than this time.
        before: Contributions must be earlier than this time.
        default_reward: The reward of a contribution without one. By default the lower end of the range.
        contribution: "each-epoch" if a unit counts once in an epoch, "once" if it counts once ever, None if every
            assignment counts.
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
        """Raise `ArgumentError` if a later epoch would begin at the start of the log, which was used before."""
        if after is None and self.plan.epoch > 1:
            raise ArgumentError(
                f"after must be the `until` of epoch {self.plan.epoch - 1}: "
                "without it, contributions of earlier epochs would be used again"
            )

    @property
    def default(self) -> float:
        """The reward of a contribution without one."""
        return self.plan.low if self.default_reward is None else self.default_reward

    @property
    def only_arm(self) -> str | None:
        """The arm of all rows if the log has no column for it, else None."""
        return next(iter(self.plan.pulls)) if self.columns.arm is None else None

    @property
    def wanted(self) -> list[str]:
        """The names of the columns that are read."""
        names = [self.columns.assignment, self.columns.time, self.columns.reward]
        if self.columns.arm is not None:
            names.append(self.columns.arm)
        if self.contribution is not None:
            names.append(self.columns.unit)
        return names


@dataclass(frozen=True, slots=True)
class ArmTotal:
    """The answer for one arm. Its total is never printed.

    Args:
        arm: The arm.
        count: The number of contributions in the total.
        steps: The exact total in grid steps.
        last: The time of the last contribution.
    """

    arm: str
    count: int
    steps: int = field(repr=False)
    last: int | float

"""Epochs by hand: for whoever adds rewards up elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.coins import counted
from discreet.core.errors import ArgumentError, FinishedError
from discreet.core.plans import Arm, Plan
from discreet.core.releases import Release
from discreet.core.statistics import Statistic
from discreet.drivers._base import Driver


@dataclass(frozen=True, slots=True)
class Sum:
    """The exact sum of some rewards, such as a number of clicks. It is secret, and not shown.

    Args:
        total: The sum of the rewards, in the unit of the rewards.
        rewards: The number of rewards.
    """

    total: float
    rewards: int

    def __repr__(self) -> str:
        return f"Sum(..., rewards={self.rewards!r})"


class Totals(Driver):
    """Returns an algorithm's plans, and takes the rewards of each planned arm, or their sum.

    Args:
        algorithm: A policy or a stopping rule. The driver works on a copy.
        noise: A simulated source for studies and tests; by default private noise.

    >>> import discreet
    >>> policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> epochs = Totals(policy, noise=discreet.SimulatedNoise(7))
    >>> epochs.plan().pulls
    {'A': 1535, 'B': 1535}
    >>> [release.arm for release in epochs.close({"A": Sum(1200, rewards=1535), "B": Sum(17, rewards=1535)})]
    ['A', 'B']
    >>> epochs.algorithm.viable
    ('A',)
    """

    kind = "totals"

    def plan(self) -> Plan | None:
        """Return what to sample next, up to the next test unless each reward has one; None when nothing is left."""
        plan = self._plan
        return plan.until(1) if plan is not None and plan.spaced else plan

    def close(self, rewards: Mapping[Arm, Any] | None = None) -> tuple[Release, ...]:
        """Close the open epoch with rewards, or with sums of them.

        Args:
            rewards: Of each planned arm a `Sum`, where rewards are whole numbers or otherwise on the grid; or a list or
                an array of the rewards themselves. None for a plan without a query.

        Returns:
            What was released.

        Raises:
            FinishedError: There is no epoch to close.
            ArgumentError: The rewards are not those of the plan, or a plain number. Nothing has changed.
            OSError: The file could not be written, so nothing was released.
        """
        plan = self.plan()
        if rewards is None or plan is None or plan.query is None:
            return self.close_steps(rewards)
        if not isinstance(rewards, Mapping) or rewards.keys() != plan.pulls.keys():
            got = list(rewards) if isinstance(rewards, Mapping) else type(rewards).__name__
            raise ArgumentError(f"rewards must have each planned arm of {list(plan.pulls)!r}, got {got!r}")
        return self.close_steps({arm: self._steps(plan, arm, given) for arm, given in rewards.items()})

    def close_steps(self, totals: Mapping[Arm, Any] | None = None) -> tuple[Release, ...]:
        """Close the open epoch with totals that were added up on the grid.

        Args:
            totals: Each planned arm's exact total in grid steps, as `grid.total(rewards)` returns it; None for a plan
                without a query.

        Returns:
            What was released.

        Raises:
            FinishedError: There is no epoch to close.
            ArgumentError: The totals are not those of the plan. Nothing has changed.
            OSError: The file could not be written, so nothing was released.
        """
        self._check_process()
        plan = self.plan()
        if plan is None:
            algorithm = self._algorithm
            pulls = sum(algorithm.taken.values())
            raise FinishedError(f"this {algorithm.key} has finished after {pulls} pulls: there is no epoch to close")
        with self._commit():
            return self._close(plan, totals)

    def _steps(self, plan: Plan, arm: Arm, given: Any) -> Any:
        """Return an arm's statistic on the grid, as a curator takes it."""
        grid, count = self._algorithm.grid, plan.pulls[arm]
        if isinstance(given, Sum):
            if plan.many_tests or plan.statistic is not Statistic.TOTAL:
                raise ArgumentError(f"this {self._algorithm.key} needs the rewards of {arm!r} one by one, got a sum")
            if given.rewards != count:
                raise ArgumentError(f"arm {arm!r} needs the sum of {count:,} rewards, got one of {given.rewards!r}")
            return grid.steps_of(given.total, count)
        if isinstance(given, list | tuple) or (hasattr(given, "__array__") and np.ndim(given) == 1):
            steps = grid.encode_checked(grid.check_array(given), self._noise).astype(np.int64)
            if steps.size != count:
                raise ArgumentError(f"arm {arm!r} needs {count:,} rewards, got {steps.size:,}")
            steps = counted(plan.statistic, steps, grid.width, self._noise)
            if plan.many_tests:
                return steps
            sums = plan.statistic.accumulator(grid.width)
            sums.add(steps)
            return sums.values if len(sums.values) > 1 else sums.values[0]
        raise ArgumentError(
            f"arm {arm!r} needs Sum(total, rewards={count}), such as a number of clicks, or a list of its rewards, got "
            f"a {type(given).__name__}: it may be a sum of rewards or of grid steps (those are for close_steps)"
        )

    def _open_state(self) -> dict[str, Any]:
        return {}

    def _restore_open(self, state: dict[str, Any]) -> None:
        pass

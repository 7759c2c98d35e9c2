"""The base class of mechanisms."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.noise import Noise, scale_for
from discreet.core.plans import Arm, Plan, Query
from discreet.core.releases import Release


class Mechanism(ABC):
    """Answers the queries of one series.

    It checks all of its input, then draws noise, then changes what it holds: a refused total changes nothing. Noise is
    drawn at the release. None that masks a released number is kept.

    Args:
        query: The first query of the series.
        arms: All arms of the run.
        grid: The grid that rewards are rounded to.
        noise: The source of noise; None without a promise.
    """

    def __init__(self, query: Query, arms: tuple[Arm, ...], grid: Grid, noise: Noise | None) -> None:
        self.arms, self.grid, self.width = arms, grid, grid.width
        self.noise = noise
        self.simulated = noise is not None and noise.simulated

    @abstractmethod
    def answer(self, plan: Plan, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]) -> tuple[Release, ...]:
        """Draw noise, and release what a plan's query asks for.

        Args:
            plan: A plan of this series.
            totals: Each planned arm's exact statistic: an integer, the parts of a statistic, or an array of totals
                between tests.
            taken: The number of rewards of each arm before this plan.
        """

    def state(self) -> dict[str, Any]:
        """Return what must outlive the process, as JSON values. It is secret, and empty when nothing is open."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027  (some mechanisms keep nothing)
        """Go on from a saved state."""

    def _check_scale(self, sensitivity: int, epsilon: float) -> None:
        """Refuse a price that no noise is large or small enough for, before anything is drawn or changed."""
        if self.noise is not None:
            scale_for(sensitivity, epsilon)

    def _draw(self, sensitivity: int, epsilon: float, count: int) -> tuple[list[int], float]:
        """Return fresh noise for `count` numbers of a sensitivity, each released at epsilon, and its scale."""
        if self.noise is None:
            return [0] * count, 0.0
        scale = scale_for(sensitivity, epsilon)
        return self.noise.draws(scale, count).tolist(), scale

    def _check_arms(self, plan: Plan, totals: Any) -> None:
        """Refuse totals that are not those of the planned arms."""
        if not (type(totals) is dict or isinstance(totals, Mapping)) or totals.keys() != plan.pulls.keys():
            got = f"totals of {list(totals)!r}" if isinstance(totals, Mapping) else f"a {type(totals).__name__}"
            raise ArgumentError(f"totals must be a mapping with each planned arm of {list(plan.pulls)!r}, got {got}")

    def _check_total(self, arm: Arm, total: Any, largest: int) -> int:
        """Return an exact total between 0 and the largest. The message of a refusal does not contain the total."""
        if type(total) is int and 0 <= total <= largest:  # nearly always, and quicker than preparing a message
            return total
        remedy = " grid steps; use grid.total(rewards)"
        return checks.secret(f"the total of arm {arm!r}", total, 0, largest, remedy)

"""Noisy totals: the Laplace mechanism on each arm's statistic."""

from collections.abc import Mapping
from typing import Any

from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.plans import Arm, Plan, Query, TotalsQuery
from discreet.core.releases import Kind, Release
from discreet.core.statistics import Statistic
from discreet.mechanisms._mechanism import Mechanism

_TOTAL, _SUM = Kind.TOTAL, Statistic.TOTAL  # looked up once: it takes longer than comparing them
_new_tuple = tuple.__new__  # quicker than calling a named tuple's class


class NoisyTotals(Mechanism):
    """Releases each planned arm's statistic once, with discrete Laplace noise of scale sensitivity/epsilon.

    Private because each reward enters one statistic, and for integers x, x' with |x - x'| <= d and every output y,
    Pr[x + N = y] / Pr[x' + N = y] = exp((|y - x'| - |y - x|)/s) <= exp(d/s) = exp(epsilon), with s = d/epsilon. The
    prices of a statistic's parts add up. The exact sum of an arm that is held stays here until a later query of the
    series releases it.

    Args:
        query: The first query of the series.
        arms: All arms of the run.
        grid: The grid that rewards are rounded to.
        noise: The source of noise; None without a promise.
    """

    def __init__(self, query: Query, arms: tuple[Arm, ...], grid: Grid, noise: Noise | None) -> None:
        super().__init__(query, arms, grid, noise)
        self._held: dict[Arm, tuple[int, int]] = {}  # exact total and count of arms that wait

    def answer(self, plan: Plan, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]) -> tuple[Release, ...]:
        """Release the statistic of each planned arm that is not held.

        Args:
            plan: A plan of this series.
            totals: Each planned arm's exact statistic.
            taken: The number of rewards of each arm before this plan.
        """
        epoch, pulls, query, statistic = plan
        assert isinstance(query, TotalsQuery)
        self._check_arms(plan, totals)
        if statistic is not _SUM:
            return self._answer_parts(plan, query, totals, taken)
        epsilons, held, _ = query
        if len(epsilons) != 1 or (held and not held <= pulls.keys()):
            raise ArgumentError(f"a query of totals has one price, and holds planned arms, got {query!r}")
        (epsilon,), width, simulated = epsilons, self.width, self.simulated
        exact = {}
        for arm, count in pulls.items():
            exact[arm] = self._check_total(arm, totals[arm], count * width), count
        noises, scale = self._draw(width, epsilon, len(exact) - len(held))
        if held or self._held:
            exact = self._without_held(exact, held)
        released = []
        for index, (arm, (total, count)) in enumerate(exact.items()):
            end = taken[arm] + pulls[arm]
            span = (arm, end - count + 1, end)
            fields = epoch, _TOTAL, (span,), total + noises[index], scale, epsilon, simulated, 0, False
            released.append(_new_tuple(Release, fields))
        return tuple(released)

    def _without_held(self, exact: dict[Arm, tuple[int, int]], held: frozenset[Arm]) -> dict[Arm, tuple[int, int]]:
        """Return total and count of each arm that is released now, with what was held of it. Keep those of the rest."""
        for arm, (total, count) in exact.items():
            before, earlier = self._held.pop(arm, (0, 0))
            exact[arm] = before + total, earlier + count
        self._held |= {arm: exact.pop(arm) for arm in held}
        return exact

    def _answer_parts(
        self, plan: Plan, query: TotalsQuery, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]
    ) -> tuple[Release, ...]:
        """Release a statistic of several parts, each with noise of its own."""
        statistic, width = plan.statistic, self.width
        names, sensitivities, prices = statistic.parts, statistic.sensitivities(width), query.epsilons
        if len(prices) != len(names) or query.held or self._held:
            raise ArgumentError(f"a query of {', '.join(names)} has a price for each, and holds no arm, got {query!r}")
        parts = list(zip(names, sensitivities, prices, strict=True))
        if any(not isinstance(totals[arm], tuple | list) or len(totals[arm]) != len(parts) for arm in plan.pulls):
            raise ArgumentError(f"a total must be the {len(parts)} parts {', '.join(names)} of each arm")
        for _, sensitivity, epsilon in parts:
            self._check_scale(sensitivity, epsilon)
        exact = {
            arm: [
                self._check_total(arm, part, largest)
                for part, largest in zip(totals[arm], statistic.largest(width, count), strict=True)
            ]
            for arm, count in plan.pulls.items()
        }
        released = []
        for arm, values in exact.items():
            span = (arm, taken[arm] + 1, taken[arm] + plan.pulls[arm])
            for (part, sensitivity, epsilon), value in zip(parts, values, strict=True):
                (noise,), scale = self._draw(sensitivity, epsilon, 1)
                released.append(Release(plan.epoch, part, (span,), value + noise, scale, epsilon, self.simulated))
        return tuple(released)

    def state(self) -> dict[str, Any]:
        """Return the exact sums of held arms."""
        return {"held": [[arm, *sums] for arm, sums in self._held.items()]} if self._held else {}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self._held = {arm: (int(total), int(count)) for arm, total, count in state["held"]}

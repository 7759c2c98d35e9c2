"""Samples as they are, for algorithms that are not private."""

import math
from collections.abc import Mapping
from typing import Any

from discreet.core.plans import Arm, Plan
from discreet.core.releases import Kind, Release
from discreet.mechanisms._mechanism import Mechanism


class Samples(Mechanism):
    """Hands over samples. The curator refuses it where anything is promised, since its price is infinite."""

    def answer(self, plan: Plan, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]) -> tuple[Release, ...]:
        """Hand over each planned arm's samples.

        Args:
            plan: A plan of this series.
            totals: Each planned arm's exact statistic.
            taken: The number of rewards of each arm before this plan.
        """
        self._check_arms(plan, totals)
        released = []
        for arm, count in plan.pulls.items():
            span = (arm, taken[arm] + 1, taken[arm] + count)
            released.append(Release(plan.epoch, Kind.SAMPLES, (span,), totals[arm], 0.0, math.inf, self.simulated))
        return tuple(released)

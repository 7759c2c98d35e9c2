"""A private test of arms against a control with a few planned looks, for rewards of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from discreet._wording import about
from discreet.core.options import Probability
from discreet.core.probability.whole_noise import whole
from discreet.core.registry import register
from discreet.sequential._designs import LeadDesign, check_levels
from discreet.sequential._planned_looks import LooksPlan, looks_plan
from discreet.sequential._two_sample import TwoSampleTest
from discreet.sequential._two_sample_runs import runs_of
from discreet.sequential.forecast import TestForecast, outlook

RUNS = 4000  # of a forecast of several arms


class PlannedLook(NamedTuple):
    """A planned look at one arm and the control.

    Attributes:
        number: The look's number, from 1.
        rewards: The rewards of each arm up to it.
        shows_from: The least difference of released rates that shows the arm better, at the expected rate.
        gives_up_at: The largest difference at which the arm is given up.
        ended_if_null: The chance that it has ended by then if the arm is no better than the null hypothesis allows.
        ended_if_effect: The same if the arm is better by the effect.
    """

    number: int
    rewards: int
    shows_from: float
    gives_up_at: float | None
    ended_if_null: float
    ended_if_effect: float


@register
@dataclass(kw_only=True)
class DPTwoSampleTest(TwoSampleTest):
    """An A/B test: is an arm better than the control? With a few planned looks, for rewards of 0 and 1.

    Arms get equally many rewards, and after each block the noisy total of each is released once. An arm passes at the
    first look at which its lead over the control reaches a limit; limits come from the exact law of released totals
    (binomial counts and noise) by a first-passage recursion, at the pooled mean nearest to 1/2 that is not ruled out.
    An arm that lies far behind is given up, which alpha does not depend on. The number of looks and their size are the
    cheapest of a few that have the power. At epsilon = 1 this takes fewer people on average than the usual test with
    one look and no privacy.

    The promise, for arms whose rewards are 0 or 1 (`low` or `high`) with means that stay: the chance that any arm
    passes whose mean is not above the control's minus `margin` is at most `alpha`, whatever the rates. An arm that is
    better by `effect` passes with probability 1 - `beta` if the control's rate is `base_rate`. Several arms share alpha
    (Holm), and each has that power at least. Proved in docs/proofs/sequential-tests.md. If means drift, nothing is
    promised: take `dp-ab-open` with drifting=True.

    Private because each reward is in one block of one arm, whose total is released once; the blocks were fixed in
    advance.

    Args:
        arms: The names of the arms; the first one is the control.
        epsilon: The largest privacy loss of one reward, above 0.
        base_rate: The control's rate that is expected. If it is wrong, alpha still holds, but not the power.
        effect: The smallest difference of rates that is worth finding: 0.003 from 3 % to 3.3 %.
        margin: How much worse than the control an arm may be and still pass: above 0 for a test of non-inferiority.
        alpha: The largest chance that any arm passes that should not.
        beta: The chance of missing an arm that is better by `effect`.
        low: The least reward.
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Sum, Totals
    >>> test = DPTwoSampleTest(["A", "B"], epsilon=1.0, base_rate=0.03, effect=0.006)
    >>> epochs = Totals(test, noise=SimulatedNoise(seed=1))
    >>> while (plan := epochs.plan()):
    ...     clicks = {arm: int({"A": 0.03, "B": 0.036}[arm] * count) for arm, count in plan.pulls.items()}
    ...     _ = epochs.close({arm: Sum(clicks[arm], rewards=count) for arm, count in plan.pulls.items()})
    >>> print(epochs.algorithm.claim)
    B is better than A (that any arm passes which should not has a chance of 0.05 at most)
    >>> epochs.algorithm.verdicts, epochs.algorithm.time, round(epochs.algorithm.p_value("B"), 3)
    ({'B': 'shown'}, 18656, 0.017)
    """

    key = "dp-ab"
    fixed_blocks = True

    beta: Probability = 0.2
    _differences: list[list[int]] = field(init=False, repr=False, default_factory=list)  # by arm, at each look
    _pooled_at: list[float] = field(init=False, repr=False, default_factory=list)  # by arm, at its last look

    def _start(self) -> None:
        super()._start()
        check_levels(self.arm_alpha, self.beta)
        self._differences, self._pooled_at = [[] for _ in self.arms], [0.0] * len(self.arms)

    @property
    def schedule(self) -> LooksPlan:
        """The looks and their limits, as computed in advance."""
        asked = self.base_rate, self.effect, self.margin, self.arm_alpha, self.beta
        return looks_plan(LeadDesign(*asked, self.epsilon, self.grid.width))

    @property
    def block(self) -> int:
        """The rewards of each arm between two looks."""
        return self.schedule.block

    def _see(self, steps: dict[int, int]) -> None:
        width = self.grid.width
        control = whole(steps[0], width)
        for arm in self._open:
            before = self._differences[arm][-1] if self._differences[arm] else 0
            self._differences[arm].append(before + whole(steps[arm], width) - control)
            self._pooled_at[arm] = self._pooled(arm)

    def _judge(self, arm: int, steps: int, look: int) -> bool | None:
        schedule, lead = self.schedule, self._differences[arm][-1]
        if lead >= schedule.limit(look, self._pooled_at[arm]):
            return True
        if look == schedule.looks or lead <= schedule.give_up[look - 1]:
            return False
        return None

    def _passes(self, arm: int, level: float) -> bool:
        schedule, found = self.schedule, self._differences[arm]
        if len(found) < schedule.looks:  # given up earlier, or not there yet
            return False
        return found[-1] >= schedule.limit(schedule.looks, self._pooled_at[arm], level - self.arm_alpha)

    # ------------------------------------------------------------------ what may be said

    def p_value(self, arm: object = None) -> float | None:
        """Return an arm's p-value, by itself: at most alpha/(K-1) where it has passed by its own part of alpha.

        It is None while the arm is open.

        It is the chance, at the edge of the null hypothesis, to reach a limit sooner, or so large a lead at this look.

        Args:
            arm: The arm; by default the only one beside the control, or the last one.
        """
        index = self._at(arm)
        if not index or index in self._open:
            return None
        return self.schedule.p_value(self._differences[index], self._pooled_at[index])

    def interval(self, arm: object = None) -> tuple[float, float] | None:
        """Return the differences from the control, as shares of the range, that are not ruled out; None while open.

        Each end is wrong with the chance that `confidence` leaves, and the lower one lies above -margin exactly if the
        arm passed.

        Args:
            arm: The arm; by default the only one beside the control, or the last one.
        """
        index = self._at(arm)
        if not index or index in self._open:
            return None
        more = self.alpha - self.arm_alpha if self._shared(index) else 0.0
        return self.schedule.interval(self._differences[index], self._pooled_at[index], more)

    def confidence(self, arm: object = None) -> float:
        """Return the confidence of an arm's interval: 1 - 2 alpha/(K-1), or 1 - 2 alpha if others left it their part.

        Args:
            arm: The arm; by default the only one beside the control, or the last one.
        """
        return 1 - 2 * (self.alpha if self._shared(self._at(arm)) else self.arm_alpha)

    def _shared(self, arm: int) -> bool:
        """Return True if an arm has passed by the part of alpha that others have left."""
        found = self._differences[arm]
        return arm in self._shown and found[-1] < self.schedule.limit(len(found), self._pooled_at[arm])

    def _at(self, arm: object) -> int:
        return len(self.arms) - 1 if arm is None else self._index[arm]  # type: ignore[index]

    @property
    def looks(self) -> tuple[PlannedLook, ...]:
        """The planned looks at one arm and the control."""
        plan, base = self.schedule, self.base_rate
        ended = [np.cumsum(sum(plan.course(base, rate))) for rate in self._rates]
        found = []
        for number in range(1, plan.looks + 1):
            count = number * plan.block
            give_up = plan.give_up[number - 1] / count if number < plan.looks else None
            limit = plan.limit(number, count * (2 * base + self.effect)) / count
            found.append(PlannedLook(number, count, limit, give_up, *(float(each[number - 1]) for each in ended)))
        return tuple(found)

    @property
    def _rates(self) -> tuple[float, float]:
        """An arm's rate at the edge of the null hypothesis, and with the effect."""
        return self.base_rate - self.margin, self.base_rate + self.effect

    def forecast(self, per_day: float | None = None) -> TestForecast:
        """Return how many people it takes, of all arms together, if nothing is there and if one arm has the effect.

        Args:
            per_day: The number of people a day, of all arms together, for a forecast in days.

        Raises:
            ArgumentError: `per_day` is not above 0.

        >>> test = DPTwoSampleTest(["A", "B"], epsilon=1.0, alpha=0.05, beta=0.2, base_rate=0.03, effect=0.003)
        >>> print(test.forecast(per_day=5_000))  # doctest: +ELLIPSIS
        whether B beats A, from a rate of 0.03, looking for +0.003; ..., epsilon = 1: dp-ab
          if                    people, mean  median  95 % of runs  at most  chance to show it  days, mean  days, ...
          no arm is better            63,200  67,000       100,000  100,428  3.92 %                     13 ...
          B is better by 0.003        71,200  67,000       100,000  100,428  80.6 %                     15 ...
        ...
        """
        plan, count = self.schedule, len(self.arms)
        most, rows = plan.block * plan.looks * count, []
        for said, rate in zip(self._supposed, self._rates, strict=True):
            if count == 2:
                shown, ended = plan.course(self.base_rate, rate)
                sizes, chances = 2 * plan.block * np.arange(1, plan.looks + 1), shown + ended
                rows.append(outlook(said, (sizes, chances), float(shown.sum()), per_day, most))
                continue
            rates = [self.base_rate, *[self._rates[0]] * (count - 2), rate]
            runs = runs_of(plan, rates, RUNS, np.random.default_rng(_SEED))
            passed = runs.shown[:, -1] if rate != self._rates[0] else runs.shown.any(axis=1)
            rows.append(outlook(said, (runs.people, np.ones(RUNS)), float(passed.mean()), per_day, most))
        how = "Computed from the exact law of released totals" if count == 2 else f"Simulated {RUNS:,} times"
        notes = (
            f"{how}, {self._forecast_for}",
            "False alarms stay as rare whatever the rates; the chance to show an effect is for these.",
            f"The usual test with one look and no privacy would take {about(self.usual * count)} people.",
        )
        return TestForecast(f"{self.question}: {self.key}", tuple(rows), per_day, notes)


_SEED = 20

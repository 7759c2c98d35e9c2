"""A private test of arms against a control that may be looked at for ever, for rewards of any law in a range."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from discreet.core.errors import ArgumentError
from discreet.core.options import Count, Flag, Probability
from discreet.core.plans import Plan
from discreet.core.registry import register
from discreet.sequential._joint import Joint, OpenRule
from discreet.sequential._two_sample import TwoSampleTest
from discreet.sequential._two_sample_runs import open_runs_of
from discreet.sequential.forecast import Outlook, TestForecast, outlook

_PARTS = 8  # blocks in the usual fixed size
_NOISE = 3.0  # a block's rewards vary at least so much, in units of 1/epsilon^2
_LARGEST = 700.0  # the logarithm of a large float
_RUNS, _SEED = 400, 20  # of a forecast


@register
@dataclass(kw_only=True)
class DPOpenEndedTest(TwoSampleTest):
    """An A/B test without an end: is an arm better than the control? At any number of looks, for any rewards.

    Arms get equally many rewards, and after each block the noisy total of each is released once. Joint evidence of both
    arms against "the arm is at most as good as the control" is computed after each block, and the arm passes when it
    reaches m/alpha, with m the number of arms that have not passed (Holm); where means may drift, (K-1)/alpha. With
    `beta`, evidence against "the arm is better by the effect" gives it up at 1/beta.

    The promise, for rewards of any law in the range: the chance that any arm ever passes whose mean is not above the
    control's minus `margin` is at most `alpha`, however long it goes on. An arm that is better by `effect` is given up
    with probability `beta` at most. Means must stay; with drifting=True they may move, and the statement is about the
    averages so far. `dp-ab` takes fewer people where rewards are 0 or 1. Proved in docs/proofs/sequential-tests.md.

    Private because each reward is in one block of one arm, whose total is released once; the blocks were fixed in
    advance.

    Args:
        arms: The names of the arms; the first one is the control.
        epsilon: The largest privacy loss of one reward, above 0.
        base_rate: The control's mean that is expected, as a share of the range. If it is wrong, both errors still hold.
        effect: The smallest difference of means that is worth finding, as a share of the range.
        margin: How much worse than the control an arm may be and still pass: above 0 for a test of non-inferiority.
        alpha: The largest chance that any arm passes that should not.
        beta: The largest chance of giving up an arm that is better by `effect`; None never to give up.
        drifting: True if means may change during the test.
        max_pulls: Where the test ends without a verdict: no block that goes beyond is begun.
        low: The least reward.
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Sum, Totals
    >>> test = DPOpenEndedTest(["A", "B"], epsilon=1.0, base_rate=0.03, effect=0.006)
    >>> epochs = Totals(test, noise=SimulatedNoise(seed=1))
    >>> while (plan := epochs.plan()):
    ...     clicks = {arm: int({"A": 0.03, "B": 0.036}[arm] * count) for arm, count in plan.pulls.items()}
    ...     _ = epochs.close({arm: Sum(clicks[arm], rewards=count) for arm, count in plan.pulls.items()})
    >>> epochs.algorithm.verdicts, epochs.algorithm.time, epochs.algorithm.p_value("B") < 0.05
    ({'B': 'shown'}, 35620, True)
    """

    key = "dp-ab-open"
    fixed_blocks = True

    beta: Probability | None = 0.2
    drifting: Flag = False
    max_pulls: Count | None = None
    _evidence: list[float] = field(init=False, repr=False, default_factory=list)  # by arm: its logarithm now
    _most: list[float] = field(init=False, repr=False, default_factory=list)  # by arm: the largest so far

    def _start(self) -> None:
        super()._start()
        if self.beta is not None and self.effect <= 0:
            raise ArgumentError(f"effect must be above 0 to give up arms without it, got {self.effect!r}; or beta=None")
        self._evidence, self._most = [0.0] * len(self.arms), [0.0] * len(self.arms)

    # ------------------------------------------------------------------ the test

    @property
    def block(self) -> int:
        """The rewards of each arm between two looks."""
        base = self.base_rate
        return math.ceil(max(self.usual / _PARTS, _NOISE / (self.epsilon**2 * base * (1 - base))))

    def _plan(self) -> Plan | None:
        plan = super()._plan()
        if plan is not None and self.max_pulls is not None and self.time + plan.size > self.max_pulls:
            return None
        return plan

    @property
    def rule(self) -> OpenRule:
        """The evidence for and against an arm, and how much of it decides."""
        drift = self.base_rate if self.drifting else None
        effect, width = self.effect + self.margin, self.grid.width
        better = Joint(effect, -self.margin, self.epsilon, width, drift)
        lacks = Joint(effect, -self.effect, self.epsilon, width, drift)
        return OpenRule(self.block, better, self.arm_alpha, lacks, self.beta)

    def _judge(self, arm: int, steps: int, look: int) -> bool | None:
        width, rule = self.grid.width, self.rule
        totals = np.array([self._steps[arm] / width]), np.array([self._steps[0] / width])
        evidence = float(rule.better.log_evidence(*totals, self.pulls[arm], look)[0])
        self._evidence[arm], self._most[arm] = evidence, max(self._most[arm], evidence)
        if evidence >= -math.log(self.arm_alpha):
            return True
        return False if rule.gives_up(*totals, look)[0] else None

    def _passes(self, arm: int, level: float) -> bool:
        return not self.drifting and self._most[arm] >= -math.log(level)

    # ------------------------------------------------------------------ what may be said

    def e_value(self, arm: object = None) -> float:
        """Return the evidence that an arm is better, now: ever 1/a or more with a chance of a at most if it is not.

        Args:
            arm: The arm; by default the last one.
        """
        return math.exp(min(self._evidence[self._at(arm)], _LARGEST))

    def p_value(self, arm: object = None) -> float:
        """Return an arm's p-value, which is valid at all looks together; where means drift, at this look.

        Args:
            arm: The arm; by default the last one.
        """
        return min(1.0, math.exp(-(self._evidence if self.drifting else self._most)[self._at(arm)]))

    def _at(self, arm: object) -> int:
        return len(self.arms) - 1 if arm is None else self._index[arm]  # type: ignore[index]

    def forecast(self, per_day: float | None = None) -> TestForecast:
        """Return how many people it takes, of all arms together, if nothing is there and if one arm has the effect.

        Args:
            per_day: The number of people a day, of all arms together, for a forecast in days.

        Raises:
            ArgumentError: `per_day` is not above 0.

        >>> test = DPOpenEndedTest(["A", "B"], epsilon=1.0, base_rate=0.03, effect=0.006)
        >>> print(test.forecast(per_day=5_000))  # doctest: +ELLIPSIS
        whether B beats A, from a rate of 0.03, looking for +0.006; ..., epsilon = 1: dp-ab-open
          if                    people, mean  median  95 % of runs  chance to show it  days, mean  days, 95 % of runs
          no arm is better            16,600  13,700        41,100  1.5 %                       4                   9
          B is better by 0.006        25,500  21,900        54,800  88 %                        6                  11
        Simulated 400 times, for rewards of 0 and 1 and a control at 0.03; people are those of all arms.
        """
        rows = list[Outlook]()
        worse, better = self._supposed
        if self.beta is not None:
            rows.append(self._outlook(worse, self.base_rate - self.margin, per_day))
        rows.append(self._outlook(better, self.base_rate + self.effect, per_day))
        notes = (
            f"Simulated {_RUNS:,} times, {self._forecast_for}",
            *(() if self.beta else ("If nothing is there, it goes on for ever: give beta to have it give up.",)),
        )
        return TestForecast(f"{self.question}: {self.key}", tuple(rows), per_day, notes)

    def _outlook(self, said: str, rate: float, per_day: float | None) -> Outlook:
        others = [self.base_rate - self.margin] * (len(self.arms) - 2)
        runs = open_runs_of(self.rule, [self.base_rate, *others, rate], _RUNS, np.random.default_rng(_SEED))
        return outlook(said, (runs.people, np.ones(_RUNS)), float(runs.shown[:, -1].mean()), per_day, self.max_pulls)

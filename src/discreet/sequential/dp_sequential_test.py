"""A private sequential test between two means of one stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.noise import scale_for
from discreet.core.options import Flag, Positive, Probability, Real
from discreet.core.plans import Plan, TotalsQuery
from discreet.core.privacy import Privacy, Theorem
from discreet.core.probability.whole_noise import whole
from discreet.core.registry import register
from discreet.core.releases import Release
from discreet.drivers.stream import StoppingResult
from discreet.sequential._chernoff import ChernoffPlan, chernoff_plan
from discreet.sequential._designs import MeanDesign, check_levels
from discreet.sequential._simple import Course, SimplePlan, simple_plan
from discreet.sequential._simulated import course_of
from discreet.sequential.forecast import TestForecast, outlook
from discreet.stopping import StoppingRule

_SHOWN = 8  # looks in `looks`


class Look(NamedTuple):
    """A look of a test: after how many samples it is, and how likely the test has ended by then.

    Attributes:
        number: The look's number, from 1.
        samples: The number of samples up to it.
        ended_if_null: The chance that the test has ended if the null hypothesis is true.
        ended_if_alternative: The same if the alternative is true.
    """

    number: int
    samples: int
    ended_if_null: float
    ended_if_alternative: float


@register
@dataclass(kw_only=True)
class DPSequentialTest(StoppingRule):
    """Decides between two means of one stream, "at most `null`" and "at least `alternative`", as soon as it can.

    After each block its noisy total is released once. For samples of 0 and 1 (`binary`) the law of a released total is
    known exactly: the logarithms of the likelihood ratios of all totals are added up, and the test ends when the sum
    leaves an interval, whose ends were computed so that both errors are kept and hardly anything is left of them. With
    binary=False samples may have any law in the range: the test adds up factors of evidence against each hypothesis
    (Chernoff), which takes up to twice as many samples, and the errors hold at any look, also of a test that goes on
    for ever.

    The promise: if the mean is at most `null`, it decides for the alternative with probability `alpha` at most; if the
    mean is at least `alternative`, it decides for the null hypothesis with probability `beta` at most. For means in
    between nothing is promised. If `alternative` is below `null`, the sides are exchanged. The mean may drift on its
    side; with binary=False the promise is about the average mean so far. Proved in docs/proofs/sequential-tests.md.

    Private because each sample is in one block, whose total is released once; the blocks were fixed in advance.

    Args:
        null: The mean under the null hypothesis.
        alternative: The mean under the alternative.
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The largest chance of deciding for the alternative if the null hypothesis is true.
        beta: The largest chance of deciding for the null hypothesis if the alternative is true.
        binary: True if all samples are 0 or 1 (`low` or `high`), which is quicker; False for any in the range.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample, by default 0.
        high: The largest sample, by default 1.
        max_samples: It ends without a verdict after this many.

    Attributes:
        verdict: "alternative" or "null"; None before it has decided.
        estimate: The mean that it has decided for.

    >>> import numpy as np
    >>> from discreet import SimulatedNoise
    >>> test = DPSequentialTest(null=0.03, alternative=0.04, epsilon=1.0, alpha=0.05, beta=0.05)
    >>> clicks = np.random.default_rng(1).random(100_000) < 0.04
    >>> print(test.run(clicks, noise=SimulatedNoise(seed=1)))  # doctest: +ELLIPSIS
    the mean is above 0.03: decided for 0.04 ..., from ... samples (epsilon = 1, simulated)
    """

    key = "dp-test"
    reason = "each sample enters the noisy total of one block: parallel composition of Laplace mechanisms"
    theorem = Theorem.REWARDS
    fixed_blocks = True

    alpha: Probability = 0.05
    beta: Probability = 0.05
    null: Real
    alternative: Real
    epsilon: Positive
    binary: Flag = True
    verdict: str | None = field(init=False, repr=False, default=None)
    _scores: list[int] = field(init=False, repr=False, default_factory=list)  # after each look; binary samples alone
    _evidence: list[list[float]] = field(init=False, repr=False, default_factory=list)  # for and against, at each look

    def _start(self) -> None:
        super()._start()
        check_levels(self.alpha, self.beta)
        low, high = self.grid.low, self.grid.high
        for name in ("null", "alternative"):
            value = getattr(self, name)
            if not low < value < high:
                raise ArgumentError(f"{name} must lie between {low:g} and {high:g}, got {value!r}")
        if self.null == self.alternative:
            raise ArgumentError(f"alternative must differ from null, got {self.alternative!r} for both")
        scale_for(self.grid.width, self.epsilon)  # refuses an epsilon that no noise is large or small enough for

    @cached_property
    def grid(self) -> Grid:
        """The grid that samples are rounded to."""
        if self.radius is None and self.low is None and self.high is None:
            return Grid(0.0, 1.0)
        return super().grid

    # ------------------------------------------------------------------ the test

    @property
    def _falls(self) -> bool:
        """True if the alternative is the smaller mean: then 1 minus each sample is tested."""
        return self.alternative < self.null

    @property
    def _means(self) -> tuple[float, float]:
        """The two means, of samples rescaled to [0, 1]; turned over if the alternative is the smaller one."""
        grid = self.grid
        shares = [(mean - grid.low) / (grid.high - grid.low) for mean in (self.null, self.alternative)]
        return (1 - shares[0], 1 - shares[1]) if self._falls else (shares[0], shares[1])

    @property
    def schedule(self) -> SimplePlan | ChernoffPlan:
        """The blocks and thresholds, as computed in advance."""
        design = MeanDesign(*self._means, self.alpha, self.beta, self.epsilon, self.grid.width)
        return simple_plan(design) if self.binary else chernoff_plan(design)

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        return self._plan_until(self.schedule.rewards(self.epoch + 1), TotalsQuery((self.epsilon,)))

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        self.samples += plan.size
        if not releases:
            return
        steps, width = releases[0].steps, self.grid.width
        if self._falls:
            steps = plan.size * width - steps
        above, below = self._add(steps, plan.size)
        if above or below:
            self.verdict = "alternative" if above else "null"
            self.estimate = self.alternative if above else self.null
            self.halted = True

    def _add(self, steps: int, count: int) -> tuple[bool, bool]:
        """Take a block's total into account, and return whether it is enough for the alternative, and for the null."""
        schedule, width = self.schedule, self.grid.width
        if isinstance(schedule, SimplePlan):
            before = self._scores[-1] if self._scores else 0
            score = before + schedule.block(self.epoch - 1).score(whole(steps, width))
            self._scores.append(score)
            return score >= schedule.upper, score <= -schedule.lower
        up, down = self._evidence[-1] if self._evidence else (0.0, 0.0)
        up += float(schedule.up_factor(steps / width, count))
        down += float(schedule.down_factor(steps / width, count))
        self._evidence.append([up, down])
        return up >= -math.log(self.alpha), down >= -math.log(self.beta)

    # ------------------------------------------------------------------ what may be said

    @property
    def p_value(self) -> float | None:
        """The p-value against the null hypothesis, at most `alpha` where it decides for the alternative.

        Of 0/1 samples it is the chance, if the mean is `null`, to end at an earlier look for the alternative, or to be
        as far at the last one; None before the end. Of others it is 1 over the largest evidence so far.
        """
        if not self.binary:
            return min(1.0, math.exp(-max((up for up, _ in self._evidence), default=0.0)))
        if not self.halted or not isinstance(self.schedule, SimplePlan):
            return None
        return self.schedule.chance_beyond(len(self._scores), self._scores[-1])

    @property
    def e_value(self) -> float | None:
        """The evidence against the null hypothesis now; None for 0/1 samples, whose thresholds are exact instead."""
        return None if self.binary else math.exp(min(self._evidence[-1][0], 700.0)) if self._evidence else 1.0

    @property
    def looks(self) -> tuple[Look, ...]:
        """The first looks of the test, with the chances that it has ended by then. They cost nothing to ask for."""
        ended = [np.cumsum(course.above + course.below) for course in self._courses()]
        found = []
        for number in range(1, _SHOWN + 1):
            chances = [float(each[min(number, len(each)) - 1]) for each in ended]
            found.append(Look(number, self.schedule.rewards(number), *chances))
            if min(chances) > 1 - 1e-6:
                break
        return tuple(found)

    def _courses(self) -> tuple[Course, Course]:
        """Return the course under the null hypothesis and under the alternative."""
        schedule = self.schedule
        if isinstance(schedule, SimplePlan):
            return schedule.under_null, schedule.under_alternative
        return course_of(schedule, schedule.design.null), course_of(schedule, schedule.design.alternative)

    def forecast(self, per_day: float | None = None) -> TestForecast:
        """Return how many samples it takes under each hypothesis.

        Args:
            per_day: The number of samples a day, for a forecast in days.

        Raises:
            ArgumentError: `per_day` is not above 0.

        >>> test = DPSequentialTest(null=0.03, alternative=0.04, epsilon=1.0, alpha=0.05, beta=0.05)
        >>> print(test.forecast(per_day=500))  # doctest: +NORMALIZE_WHITESPACE
        a mean above 0.03 (0.04 against 0.03), wrong with probability 0.05 and 0.05 at most, epsilon = 1: dp-test
          if                people, mean  median  95 % of runs  chance to show it  days, mean  days, 95 % of runs
          the mean is 0.03         2,220   1,680         5,030  4.98 %                      5                  11
          the mean is 0.04         2,080   1,680         4,470  95.3 %                      5                   9
        Computed from the exact law of released totals, for samples of 0 and 1.
        """
        rows = []
        for name, course in zip(("null", "alternative"), self._courses(), strict=True):
            ends = course.above + course.below
            sizes = [self.schedule.rewards(number) for number in range(1, len(ends) + 1)]
            mean, shown = getattr(self, name), float(course.above.sum() / ends.sum())
            rows.append(outlook(f"the mean is {mean:g}", (sizes, ends), shown, per_day, self.max_samples))
        how = (
            "Computed from the exact law of released totals, for samples of 0 and 1."
            if self.binary
            else "Simulated, for samples of 0 and 1; samples that vary less take as many, or fewer."
        )
        return TestForecast(f"{self.question}: {self.key}", tuple(rows), per_day, (how,))

    @property
    def question(self) -> str:
        """The question of the test, in words."""
        than = "below" if self._falls else "above"
        return (
            f"a mean {than} {self.null:g} ({self.alternative:g} against {self.null:g}), wrong with probability "
            f"{self.alpha:g} and {self.beta:g} at most, epsilon = {self.epsilon:g}"
        )

    def is_wrong(self, estimates: Any, mean: float) -> Any:
        """Return, for each estimate, True if it is the verdict for a hypothesis that the mean contradicts.

        Args:
            estimates: The means that were decided for, as an array.
            mean: The true mean.
        """
        for_alternative = np.abs(estimates - self.alternative) < np.abs(estimates - self.null)
        null_true = mean >= self.null if self._falls else mean <= self.null
        alternative_true = mean <= self.alternative if self._falls else mean >= self.alternative
        return (for_alternative & null_true) | (~for_alternative & alternative_true)

    def result(self, samples: int, reason: str, privacy: Privacy) -> StoppingResult:
        """Return the result of a run.

        Args:
            samples: The number of samples that were taken.
            reason: Why it ended, in words.
            privacy: What is promised to whom.
        """
        answer = (self.halted, self.estimate, samples, self.alpha, self.beta, reason, privacy, self.ledger)
        return SequentialResult(*answer, self.verdict, self.claim)

    @property
    def claim(self) -> str | None:
        """The verdict in words; None before it has decided."""
        if self.verdict is None:
            return None
        above, below = ("below", "above") if self._falls else ("above", "below")
        if self.verdict == "alternative":
            side, other, error = f"{above} {self.null:g}", self.null, self.alpha
        else:
            side, other, error = f"{below} {self.alternative:g}", self.alternative, self.beta
        decided = f"decided for {self.estimate:g} against {other:g}"
        return f"the mean is {side}: {decided}, which is wrong with probability {error:g} at most"


@dataclass(frozen=True)
class SequentialResult(StoppingResult):
    """The result of a sequential test: a verdict with its promise, or that it was not reached.

    Args:
        reached: True if the test has decided.
        estimate: The mean that it has decided for.
        samples: The number of samples that were taken.
        alpha: The largest chance of deciding for the alternative if the null hypothesis is true.
        beta: The largest chance of deciding for the null hypothesis if the alternative is true.
        reason: Why it ended, in words.
        privacy: What is promised to whom.
        ledger: All that was released.
        verdict: "alternative" or "null"; None if it was not reached.
        claim: The verdict in words.
    """

    verdict: str | None
    claim: str | None

    def __str__(self) -> str:
        if self.claim is None:
            return super().__str__()
        note = ", simulated" if self.simulated else ""
        return f"{self.claim}, from {self.samples:,} samples (epsilon = {self.epsilon:g}{note})"

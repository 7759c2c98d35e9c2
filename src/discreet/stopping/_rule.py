"""The base class of stopping rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.options import Count, Positive, Probability, Real
from discreet.core.plans import Arm, Plan, Query
from discreet.core.privacy import Privacy
from discreet.core.releases import Release
from discreet.core.statistics import Statistic
from discreet.drivers.stream import StoppingResult, Stream


@dataclass(kw_only=True)
class StoppingRule(Algorithm):
    """Samples one stream until its mean is known within a factor 1 +- alpha, with probability 1 - beta.

    A subclass writes `_plan` and `_learn`, which set `samples`, `halted` and `estimate`.

    Args:
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        radius: Samples lie in [-radius, radius], the paper's [-R, R]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many, for streams such as one of mean 0.

    Attributes:
        samples: The number of samples that were decided about.
        halted: True when the rule has reached its promise.
        estimate: The estimated mean; None before it has halted.
    """

    family = "rule"

    alpha: Probability
    beta: Probability
    radius: Positive | None = None
    low: Real | None = None
    high: Real | None = None
    max_samples: Count | None = None
    samples: int = field(init=False, repr=False, default=0)
    halted: bool = field(init=False, repr=False, default=False)
    estimate: float | None = field(init=False, repr=False, default=None)

    def _start(self) -> None:
        _ = self.grid  # checks the range

    @cached_property
    def grid(self) -> Grid:
        """The grid that samples are rounded to."""
        if self.radius is not None:
            if self.low is not None or self.high is not None:
                raise ArgumentError(f"give radius, or low and high, not both; got radius={self.radius!r}")
            return Grid(-self.radius, self.radius)
        if self.low is None or self.high is None:
            given = f"low={self.low!r}, high={self.high!r}"
            raise ArgumentError(f"give the samples' range as radius, or as low and high; got {given}")
        return Grid(self.low, self.high)

    @property
    def taken(self) -> dict[Arm, int]:
        """The number of samples that were decided about, of the one arm None."""
        return {None: self.samples}

    @property
    def finished(self) -> bool:
        """True when it has halted, or has all the samples that it may take."""
        return self.halted or (self.max_samples is not None and self.samples >= self.max_samples)

    def _standing(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        return ("samples", "halted", "estimate"), [(self.samples, self.halted, self.estimate)]

    def run(self, stream: Any, noise: Noise | None = None, *, clip: bool = False) -> StoppingResult:
        """Read a stream until the rule halts, its cap is reached or the stream ends. The rule itself stays as it is.

        Args:
            stream: Numbers, arrays, or an iterable of either.
            noise: A simulated source for studies and tests; by default private noise.
            clip: True to move samples outside of the range to its ends, instead of refusing them.

        Returns:
            The estimate with its promise and its ledger, or that it was not reached.
        """
        return Stream(self, noise, clip=clip).run(stream)

    def result(self, samples: int, reason: str, privacy: Privacy) -> StoppingResult:
        """Return the result of a run.

        Args:
            samples: The number of samples that were taken.
            reason: Why it ended, in words.
            privacy: What is promised to whom.
        """
        return StoppingResult(self.halted, self.estimate, samples, self.alpha, self.beta, reason, privacy, self.ledger)

    def is_wrong(self, estimates: Any, mean: float) -> Any:
        """Return, for each estimate, True if it breaks the rule's promise: it is off by more than alpha |mean|.

        Args:
            estimates: The estimates, as an array.
            mean: The true mean.
        """
        return abs(estimates - mean) > self.alpha * abs(mean)

    def _plan_until(self, end: int, query: Query, statistic: Statistic = Statistic.TOTAL) -> Plan:
        """Return a plan of all samples up to number `end`; up to the cap, where nothing is decided, if that is less."""
        count = end - self.samples
        if self._at_most(count) < count:
            return Plan(self.epoch + 1, {None: self._at_most(count)})
        return Plan(self.epoch + 1, {None: count}, query, statistic)

    def _learn_tests(self, plan: Plan, releases: Sequence[Release]) -> None:
        """Halt if the last test has, with the mean of the total that was released then."""
        if not releases:
            self.samples += plan.size
            return
        tests, *totals = releases
        self.samples, self.halted = tests.rewards, tests.above
        if totals:
            self.estimate = self.grid.mean(totals[0].steps, self.samples)

    def _at_most(self, count: int) -> int:
        """Return the count, or the number of samples that it may still take if that is less."""
        return count if self.max_samples is None else min(count, self.max_samples - self.samples)

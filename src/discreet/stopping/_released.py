"""The base class of stopping rules that release instead of testing in secret: blocks, windows of blocks, one level."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import scale_for
from discreet.core.options import Count, Positive
from discreet.core.plans import Plan, TotalsQuery
from discreet.core.probability.tails import hoeffding_radius
from discreet.core.releases import Release
from discreet.core.statistics import Statistic
from discreet.stopping._rule import StoppingRule

_LEAST = 64  # samples in the first window, so that rounding to whole pairs hardly matters
_LONGEST = 1e6  # the largest ratio of a window's last block to its first
_FINEST = 1e-9  # the least alpha
_MOST = 2**50  # samples, after which there are no more tests: nobody has that many
_CELLS = 50  # of the phase, in the search for the worst one


def _check_growth(name: str, value: Any) -> float:
    number = checks.real(name, value)
    if not 1.05 <= number <= 10:
        raise ArgumentError(f"{name} must lie between 1.05 and 10, got {value!r}")
    return number


Growth = Annotated[float, _check_growth]


@dataclass(kw_only=True)
class ReleasedRule(StoppingRule):
    """Releases the noisy total of block after block, and halts when the last few of them know the mean well enough.

    Blocks grow by the factor `growth`, and after each one the last few (`blocks_per_test`) are a test: n samples with
    the noisy mean m, which lies above the mean by more than a radius r with a chance of e^-L at most, and likewise
    below. The rule halts at the first test with r <= alpha |m| (and a trifle for rounding), and returns the number that
    is within a factor 1 +- alpha of all means in [|m| - r, |m| + r], with the sign of m: |m| - alpha r.

    The level L does not grow with the number of tests. A test long before the right one would have to be wrong by
    many radii to halt, and one long after it to be wrong by many to fail; so the chances of failure add up to a few
    times e^-L (`failure_bound`, proved in docs/proofs/released-rules.md), and L is the least that makes it beta.

    Private because each sample is in one block, which is released once; what is tested was released before. A block
    that is not full is never released.

    A subclass writes `radius_of`. One that releases more than totals has another `statistic`, `epsilons` for its parts,
    and a `mean_beta`.

    Args:
        epsilon: The largest privacy loss of one sample, above 0.
        alpha: The relative error of the estimate.
        beta: The probability that the error is larger.
        growth: The factor by which blocks grow, between 1.05 and 10.
        window: The number of blocks that a test adds up; by default 5 to 8, more where noises weigh less.
        radius: Samples lie in [-radius, radius]; or give `low` and `high`.
        low: The least sample.
        high: The largest sample.
        max_samples: It ends without an estimate after this many.
    """

    statistic: ClassVar[Statistic] = Statistic.TOTAL
    """The numbers that are released of a block. The last one is its total."""
    fixed_blocks: ClassVar[bool] = True

    epsilon: Positive
    growth: Growth = 1.5
    window: Count | None = None
    _released: list[list[int]] = field(init=False, repr=False, default_factory=list)  # of the last blocks: their parts

    def _start(self) -> None:
        super()._start()
        window, longest = self.blocks_per_test, math.log(_LONGEST)
        if window * math.log(self.growth) > longest:
            most = int(longest / math.log(self.growth))
            raise ArgumentError(f"window must be at most {most} for a growth of {self.growth:g}, got {window!r}")
        if self.alpha < _FINEST:
            raise ArgumentError(f"alpha must be at least {_FINEST:g} for this rule, got {self.alpha!r}")
        for epsilon in self.epsilons:
            scale_for(self.grid.width, epsilon)  # refuses an epsilon that no noise is large or small enough for

    # ------------------------------------------------------------------ the formulas of a rule

    @abstractmethod
    def radius_of(self, sums: Sequence[float], count: int, test: int) -> float:
        """Return how far a window's noisy total may lie from its mean, with samples rescaled to [0, 1].

        Args:
            sums: The released parts of the window's statistic; the total is the last one.
            count: The number of its samples.
            test: The test's number, from 1.
        """

    @property
    def mean_beta(self) -> float:
        """The chance of failure that the means may use up."""
        return self.beta

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The price of each part of the statistic. The last one is the total's."""
        return (self.epsilon,)

    @property
    def mean_epsilon(self) -> float:
        """The price of a block's total."""
        return self.epsilons[-1]

    # ------------------------------------------------------------------ blocks and windows

    @cached_property
    def blocks_per_test(self) -> int:
        """The number of blocks in a window: as given, or five where noises weigh as much as samples, and up to eight.

        A longer window leaves fewer samples out, and adds more noises. Where epsilon is large and alpha small, noises
        weigh little. Eight blocks leave hardly any samples out.
        """
        if self.window is not None:
            return self.window
        return min(8, 5 + round(math.log(max(1.0, self.epsilon / self.alpha)) / (2 * math.log(self.growth))))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The number of samples up to the end of each block, from 0 on.

        The first window is so long that the noises alone leave a radius of about alpha times the largest mean there
        is: no test before that could end well.
        """
        grid, window = self.grid, self.blocks_per_test
        largest = max(abs(grid.floor), abs(grid.floor + grid.width)) / grid.width
        level = self._level_of(block_ends(self.growth, window, _LEAST))
        noises = hoeffding_radius(0, window, self.mean_epsilon, level)
        return block_ends(self.growth, window, math.ceil(noises / (self.alpha * largest)))

    @cached_property
    def level(self) -> float:
        """The level L of the tests."""
        return self._level_of(self.ends)

    def _level_of(self, ends: tuple[int, ...]) -> float:
        """Return the level for blocks, by the number of tests and the least factor by which windows grow."""
        counts = [last - first for first, last in zip(ends, ends[self.blocks_per_test :], strict=False)]
        slowest = min(after / before for before, after in pairwise(counts))
        return least_level(self.alpha, math.sqrt(slowest), len(counts), self.mean_beta)

    @cached_property
    def _query(self) -> TotalsQuery:
        return TotalsQuery(self.epsilons)

    def _plan(self) -> Plan | None:
        if self.finished:
            return None
        if self.epoch + 1 >= len(self.ends):
            return Plan(self.epoch + 1, {None: self._at_most(_MOST)})
        return self._plan_until(self.ends[self.epoch + 1], self._query, self.statistic)

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        self.samples += plan.size
        if not releases:
            return
        window = self.blocks_per_test
        self._released = [*self._released, [release.steps for release in releases]][-window:]
        test = self.epoch - window + 1
        if test > 0:
            sums = [sum(part) / self.grid.width for part in zip(*self._released, strict=True)]
            self.estimate = self._answer(sums, self.samples - self.ends[self.epoch - window], test)
            self.halted = self.estimate is not None

    def _answer(self, sums: Sequence[float], count: int, test: int) -> float | None:
        """Return what a test says about the mean; None if it does not know it well enough."""
        mean = self.grid.mean(sums[-1] * self.grid.width, count)
        radius = self.radius_of(sums, count, test) / count * self.grid.width * self.grid.step
        if radius + self.rounding <= self.alpha * abs(mean):
            return math.copysign(abs(mean) - self.alpha * radius, mean)
        return None

    @property
    def rounding(self) -> float:
        """The allowance for samples that are rounded to the grid: (1 + alpha) times what that may move their mean."""
        return (1 + self.alpha) * self.grid.rounding

    def forecast(self, mean: float, variance: float | None = None) -> int | None:
        """Return about how many samples it takes: where it halts when each release is what it is on average.

        Args:
            mean: The mean of the samples.
            variance: Their variance; by default the largest, of samples at the ends of the range.

        Returns:
            The number of samples; None if it never halts.

        Raises:
            ArgumentError: No samples in the range have this mean and variance.

        >>> from discreet import DPBernstein
        >>> rule = DPBernstein(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1)
        >>> rule.forecast(0.01), rule.forecast(0.5), rule.forecast(0.5, variance=0.001), rule.forecast(0.0)
        (148658, 1140, 1140, None)
        """
        low, width = self.grid.low, self.grid.high - self.grid.low
        share = (checks.real("mean", mean) - low) / width
        if not 0 <= share <= 1:
            raise ArgumentError(f"mean must lie in [{low}, {self.grid.high}], got {mean!r}")
        largest = share * (1 - share)
        spread = largest if variance is None else checks.real("variance", variance) / width**2
        if not 0 <= spread <= largest * (1 + 1e-9):
            raise ArgumentError(f"variance must lie in [0, {largest * width**2:g}] for this mean, got {variance!r}")
        return self.typical(share, spread)

    def typical(self, mean: float, variance: float, most: float = math.inf) -> int | None:
        """Return what `forecast` does, for samples rescaled to [0, 1] and without its checks.

        Args:
            mean: The mean of the samples.
            variance: Their variance.
            most: The most samples that are of interest.

        Returns:
            The number of samples; None if it is larger, or if it never halts.
        """
        on_average = {"squares": variance, "total": mean}  # a pair's squared difference is twice the variance
        for test, (count, end) in enumerate(self._windows(), 1):
            if end > most:
                break
            if self._answer([on_average[part] * count for part in self.statistic.parts], count, test) is not None:
                return end
        return None

    def _windows(self) -> Iterator[tuple[int, int]]:
        """Yield the number of samples of each window, and the number up to its end."""
        for first, last in zip(self.ends, self.ends[self.blocks_per_test :], strict=False):
            yield last - first, last


def block_ends(growth: float, window: int, first_window: int) -> tuple[int, ...]:
    """Return the number of samples up to the end of each block, from 0 on. All of them are even.

    Args:
        growth: The factor by which blocks grow.
        window: The number of blocks in a window.
        first_window: The least number of samples in the first window.

    >>> block_ends(2.0, 2, 64)[:6]
    (0, 22, 64, 150, 320, 662)
    """
    shortest = 2 * (growth**window - 1) / (growth - 1)  # or the first blocks would be shorter than a pair
    unit = max(first_window, _LEAST, shortest) / (growth**window - 1)
    most = math.log(_MOST / unit) / math.log(growth)
    return tuple(2 * math.ceil(unit * (growth**block - 1) / 2) for block in range(max(int(most), window + 1) + 1))


@cache
def least_level(alpha: float, step: float, tests: int, beta: float) -> float:
    """Return the least level at which the chances of failure add up to beta at most.

    Args:
        alpha: The relative error of the estimate.
        step: The least factor by which |mean| in units of the true radius grows from one test to the next.
        tests: The number of tests.
        beta: The probability that the error is larger.

    >>> round(least_level(0.1, 1.5**0.5, 80, 0.05), 2)
    4.16
    """
    low, high = 0.0, 1.0
    while failure_bound(high, alpha, step, tests) > beta:
        high *= 2
    for _ in range(50):
        level = (low + high) / 2
        if failure_bound(level, alpha, step, tests) > beta:
            low = level
        else:
            high = level
    return high


def failure_bound(level: float, alpha: float, step: float, tests: int) -> float:
    """Return a bound on the sum of the chances of a wrong answer over all tests.

    At test k let u_k be |mean| in units of the true radius; it grows by the factor `step` at least from one test to
    the next. To halt with too large an answer takes an error of alpha (u + 1) radii, or of 1/alpha - u, whichever
    is more; with too small a one alpha u/(1 + alpha), from u = (1 + alpha)/alpha on; with the wrong sign 1/alpha.
    An error of c radii has a chance of e^-cL. The sums are largest at some phase of u_k, which is searched for in
    cells, each taken at its worse end.

    Args:
        level: The level L.
        alpha: The relative error of the estimate.
        step: The least factor by which u_k grows.
        tests: The number of tests.
    """
    number = np.arange(tests)
    too_small = np.exp(-level * step**number).sum()
    wrong_sign = tests * math.exp(-level / alpha)
    phases = np.linspace(0.0, 1.0, _CELLS + 1)[:, None]
    after = np.exp(-level * ((1 - alpha) * step ** (phases[:-1] + number) + alpha)).sum(axis=1)
    shares = step ** (phases[1:] - 1 - number)
    before = np.exp(-level * (shares + -np.expm1((phases[1:] - 1 - number) * math.log(step)) / alpha)).sum(axis=1)
    return float((after + before).max() + too_small + wrong_sign)

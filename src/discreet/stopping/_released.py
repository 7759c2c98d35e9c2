"""What the stopping rules share that release instead of testing in secret: blocks, windows of blocks, one level."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import ArgumentError, StateError
from discreet.core.noise import Noise
from discreet.core.privacy import Release
from discreet.core.tails import hoeffding_radius
from discreet.mechanisms.laplace import LaplaceMechanism
from discreet.stopping._rule import Floats, StoppingRule

_LEAST = 64  # samples in the first window, so that rounding to whole pairs hardly matters
_LONGEST = 1e6  # how many times the first block the last one of a window may be
_FINEST = 1e-9  # what alpha may be at least
_MOST = 2**50  # samples, after which there are no more tests: nobody has so many
_CELLS = 50  # of the phase, in the search for the worst one


class ReleasedRule(StoppingRule):
    """Releases the noisy total of block after block, and halts when the last few of them know the mean well enough.

    Blocks grow by the factor `growth`, and after each one the last `window` of them are a test: n samples with the
    noisy mean m, which lies above the mean by more than a radius r with a chance of e^-L at most, and likewise below.
    The rule halts at the first test with r <= alpha |m| (and a trifle for rounding), and returns the number that is
    within a factor 1 +- alpha of all means in [|m| - r, |m| + r], with the sign of m: |m| - alpha r.

    The level L does not grow with the number of tests. A test long before the right one would have to be wrong by
    many radii to halt, and one long after it to be wrong by many to fail; so the chances of failure add up to a few
    times e^-L (`failure_bound`, proved in docs/proofs/released-rules.md), and L is the least that makes it beta.

    Private because each sample is in one block, which is released once; what is tested was released before. A block
    that is not full is never released.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        alpha: float,
        beta: float,
        growth: float,
        window: int | None,
        radius: float | None,
        low: float | None,
        high: float | None,
        max_samples: int | None,
        clip: bool,
        noise: Noise | None,
    ) -> None:
        super().__init__(alpha=alpha, beta=beta, radius=radius, low=low, high=high, max_samples=max_samples, clip=clip)
        self.epsilon = checks.positive("epsilon", epsilon)
        self.growth = checks.real("growth", growth)
        if not 1.05 <= self.growth <= 10:
            raise ArgumentError(f"growth must lie between 1.05 and 10, got {growth!r}")
        self.window = self._default_window() if window is None else checks.whole("window", window)
        if self.window * math.log(self.growth) > math.log(_LONGEST):
            most = int(math.log(_LONGEST) / math.log(self.growth))
            raise ArgumentError(f"window must be at most {most} for a growth of {self.growth:g}, got {window!r}")
        if self.alpha < _FINEST:
            raise ArgumentError(f"alpha must be at least {_FINEST:g} for this rule, got {alpha!r}")
        self._laplace = LaplaceMechanism(self.grid.width, self.mean_epsilon, noise)
        self.noise = self._laplace.noise
        self._totals: list[int] = []  # the released totals of the last blocks, in grid units
        self._squares: list[int] = []  # and those of squared differences, of a rule that releases them
        self._blocks = 0
        self._sum = 0  # of the open block: exact and secret
        self._ends, self.level = self._schedule()

    # ------------------------------------------------------------------ what a rule writes

    @abstractmethod
    def radius_of(self, total: float, squares: float, count: int, test: int) -> float:
        """How far a window's noisy total may lie from its mean at a test, with samples rescaled to [0, 1]."""

    @property
    def mean_beta(self) -> float:
        """The chance of failure that the means may use up."""
        return self.beta

    @property
    def mean_epsilon(self) -> float:
        """The epsilon of the totals."""
        return self.epsilon

    # ------------------------------------------------------------------ blocks and windows

    def _default_window(self) -> int:
        """Five blocks where noises weigh as much as samples, and more where epsilon is large and alpha small.

        A longer window leaves fewer samples out, and adds more noises. Eight blocks leave hardly any out.
        """
        return min(8, 5 + round(math.log(max(1.0, self.epsilon / self.alpha)) / (2 * math.log(self.growth))))

    def _schedule(self) -> tuple[tuple[int, ...], float]:
        """The ends of all blocks, and the level.

        The first window is so long that the noises alone leave a radius of about alpha times the largest mean there
        is: no test before that could end well.
        """
        largest = max(abs(self.grid.floor), abs(self.grid.floor + self.grid.width)) / self.grid.width
        level = self._level(block_ends(self.growth, self.window, _LEAST))
        noises = hoeffding_radius(0, self.window, self.mean_epsilon, level)
        ends = block_ends(self.growth, self.window, math.ceil(noises / (self.alpha * largest)))
        return ends, self._level(ends)

    def _level(self, ends: tuple[int, ...]) -> float:
        """The level for a schedule, by its number of tests and the least factor by which its windows grow."""
        counts = [last - first for first, last in zip(ends, ends[self.window :], strict=False)]
        slowest = min(after / before for before, after in pairwise(counts))
        return least_level(self.alpha, math.sqrt(slowest), len(counts), self.mean_beta)

    @property
    def tests(self) -> int:
        """How many tests there were."""
        return max(0, self._blocks - self.window + 1)

    def _until_test(self) -> int:
        return self._ends[self._blocks + 1] - self.samples if self._blocks + 1 < len(self._ends) else _MOST

    def _absorb(self, units: Floats) -> None:
        while units.size and not self._halted:
            block = units[: self._until_test()]
            units = units[block.size :]
            self._fill(block)

    def _fill(self, units: Floats) -> None:
        """Put samples into the open block."""
        self._take(int(units.sum()), units.size)

    def _take(self, total: int, count: int) -> None:
        full = count == self._until_test()
        self._sum += total
        self.samples += count
        if full:
            self._release()
            self._blocks += 1
            if self.tests:
                self._test()

    def _release(self) -> None:
        """Release the block that is full, and begin the next."""
        units = self._laplace.release(self._sum)
        count = self.samples - self._ends[self._blocks]
        value = self.grid.mean(units, count) * count
        self._record("block total", units, value, self._laplace.scale * self.grid.step, self.mean_epsilon)
        self._totals = [*self._totals, units][-self.window :]
        self._sum = 0
        self._laplace.prepare(1)

    def _record(self, what: str, units: int, value: float, scale: float, epsilon: float) -> None:
        spans = ((None, self._ends[self._blocks] + 1, self.samples),)
        self._ledger.append(Release(self._blocks + 1, what, spans, value, units, scale, epsilon, self.simulated))

    def _test(self) -> None:
        count, width = self.samples - self._ends[self._blocks - self.window], self.grid.width
        answer = self._answer(sum(self._totals) / width, sum(self._squares) / width, count, self.tests)
        if answer is not None:
            self._halted, self._estimate = True, answer

    def _answer(self, total: float, squares: float, count: int, test: int) -> float | None:
        """What a test says about the mean; None if it does not know it well enough."""
        mean = self.grid.mean(total * self.grid.width, count)
        radius = self.radius_of(total, squares, count, test) / count * self.grid.width * self.grid.step
        if radius + self.rounding <= self.alpha * abs(mean):
            return math.copysign(abs(mean) - self.alpha * radius, mean)
        return None

    @property
    def rounding(self) -> float:
        """What makes up for samples that are rounded to the grid: (1 + alpha) times half a step."""
        return (1 + self.alpha) * self.grid.step / 2

    def forecast(self, mean: float, variance: float | None = None) -> int | None:
        """About how many samples it takes if they have this mean and variance; None if it never halts.

        It is where the rule halts when each release is what it is on average. Without a variance it is for samples
        at the ends of the range, whose variance is the largest.

        >>> from discreet import DPBernstein
        >>> rule = DPBernstein(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1)
        >>> rule.forecast(0.01), rule.forecast(0.5), rule.forecast(0.5, variance=0.001), rule.forecast(0.0)
        (148658, 1140, 1140, None)
        """
        low, width = self.grid.low, self.grid.high - self.grid.low
        place = (checks.real("mean", mean) - low) / width
        if not 0 <= place <= 1:
            raise ArgumentError(f"mean must lie in [{low}, {self.grid.high}], got {mean!r}")
        largest = place * (1 - place)
        spread = largest if variance is None else checks.real("variance", variance) / width**2
        if not 0 <= spread <= largest * (1 + 1e-9):
            raise ArgumentError(f"variance must lie in [0, {largest * width**2:g}] for this mean, got {variance!r}")
        for test, (first, last) in enumerate(zip(self._ends, self._ends[self.window :], strict=False), 1):
            count = last - first
            if self._answer(place * count, spread * count, count, test) is not None:
                return last
        return None

    def _progress(self) -> dict[str, Any]:
        laplace = self._laplace._state()
        end = self.samples + self._until_test()
        return {"totals": list(self._totals), "blocks": self._blocks, "end": end, "sum": self._sum, "laplace": laplace}

    def _restore(self, progress: dict[str, Any]) -> None:
        self._totals = [int(units) for units in progress["totals"]]
        self._blocks, self._sum = int(progress["blocks"]), int(progress["sum"])
        if progress["end"] != self.samples + self._until_test():
            raise StateError("the state's open block ends elsewhere than here: it comes from another version")
        self._laplace._restore(progress["laplace"])


def block_ends(growth: float, window: int, first_window: int) -> tuple[int, ...]:
    """Where blocks end, from 0 on: windows of so many blocks have `first_window` samples, then `growth` times as many.

    >>> block_ends(2.0, 2, 64)[:6]
    (0, 22, 64, 150, 320, 662)
    """
    shortest = 2 * (growth**window - 1) / (growth - 1)  # or the first blocks would be shorter than a pair
    unit = max(first_window, _LEAST, shortest) / (growth**window - 1)
    most = math.log(_MOST / unit) / math.log(growth)
    return tuple(2 * math.ceil(unit * (growth**block - 1) / 2) for block in range(max(int(most), window + 1) + 1))


@cache
def least_level(alpha: float, step: float, tests: int, beta: float) -> float:
    """The least level at which the chances of failure add up to beta at most.

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
    """What the chances of a wrong answer add up to at most, over all tests, at a level.

    At test k let u_k be |mean| in units of the true radius; it grows by the factor `step` at least from one test to
    the next. To halt with too large an answer takes an error of alpha (u + 1) radii, or of 1/alpha - u, whichever
    is more; with too small a one alpha u/(1 + alpha), from u = (1 + alpha)/alpha on; with the wrong sign 1/alpha.
    An error of c radii has a chance of e^-cL. The sums are largest at some phase of u_k, which is searched for in
    cells, each taken at its worse end.
    """
    number = np.arange(tests)
    too_small = np.exp(-level * step**number).sum()
    wrong_sign = tests * math.exp(-level / alpha)
    phases = np.linspace(0.0, 1.0, _CELLS + 1)[:, None]
    after = np.exp(-level * ((1 - alpha) * step ** (phases[:-1] + number) + alpha)).sum(axis=1)
    shares = step ** (phases[1:] - 1 - number)
    before = np.exp(-level * (shares + -np.expm1((phases[1:] - 1 - number) * math.log(step)) / alpha)).sum(axis=1)
    return float((after + before).max() + too_small + wrong_sign)

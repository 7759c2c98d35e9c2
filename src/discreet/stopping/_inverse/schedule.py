"""The tests of inverse sampling: when they are, their levels, and what a test that halts says about the mean."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from discreet._growing import GrowingList
from discreet.stopping._inverse.first_passage import COARSE, FirstPassage

LAST = 2**50
"""Rewards after which there are no more tests: nobody has that many."""
_REST = 1e-4  # of beta: what is left out of the recursion, and its rounding errors
_RESERVE = 0.05  # of alpha: how far the bounds on an estimate are kept apart, or by so many steps of a level,
_STEPS, _LEAST = 2.0, 0.025  # if that is less, and by this at least
_FASTER = 0.9  # of what that saves, by which times may grow faster for as many samples
_AGILITY = 0.33  # how fast levels are adjusted to that, and at most:
_FASTEST = 0.3  # in powers of the times' growth: a level must not outrun the sums
_QUIET = 0.2  # of what the noises add to a level: values of the level's noise are rounded to this at first
_TRIAL = 1.7  # up to this many times the first test, no level may be beyond reach, or the first one
_LATER = 1.15  # comes later by this factor
_HIGHER = 1.1  # levels end where the normal approximation would for about so many times the variance
_BELOW = 0.3  # of alpha: the recursion follows sums of means lower by this part than the least that matters,
_HOPELESS = 12.0  # and to where a test lacks so many scales of its noise, and the logarithm of how many tests


@dataclass(frozen=True, slots=True)
class InverseTest:
    """One test.

    Attributes:
        count: The number of 0/1 rewards before it.
        level: What their noisy sum must reach: a whole number, less a half where noises are no whole numbers.
        estimate: What their mean is said to be, if it halts.
    """

    count: int
    level: float
    estimate: float


class Schedule:
    """All tests for an alpha, a beta and an epsilon.

    The estimates fall from test to test. Let `late` and `early` be the bounds of `FirstPassage`. The estimate e of a
    test is at least (1 - alpha) times the mean at which no test before it has halted with a chance of beta/2, and at
    most (1 + alpha) times the mean at which one up to it has halted with a chance of beta/2. So for
    every mean the chance of an estimate that is too low, and of one that is too high, is at most beta/2 each. That is
    the whole promise; it holds whatever the levels are (docs/proofs/inverse-sampling.md).

    Levels only decide how many samples it takes. They follow the variance: a level S with
    (alpha S)^2 = z^2 S (1 - S/n) + d^2, where d stands for the noises, times a factor that is adjusted
    slowly, so that the two bounds on the estimate stay a trifle apart. Where they have come too close, the level is the
    least that allows the least estimate.

    Args:
        alpha: The relative error of an estimate.
        beta: The probability that it is larger.
        epsilon: The inverse of the noises' scale; infinite without noise.
        parts: The number of grid steps in a reward of 1. Noises are whole numbers of steps.
    """

    def __init__(self, alpha: float, beta: float, epsilon: float, parts: int = 1) -> None:
        self.alpha, self.epsilon, self._parts = alpha, epsilon, parts
        self._rest = _REST * beta
        self.chance = (beta - 8 * self._rest) / 2
        """The chance of an estimate that is too low, and of one that is too high."""
        z = -NormalDist().inv_cdf(beta / 2)
        self._squares = (z / alpha) ** 2
        self._noise = 0.0 if math.isinf(epsilon) else ((0.5 - math.log(self.chance)) / (epsilon * z)) ** 2
        self.highest = self._shape(LAST)
        """About the highest level, that of the rarest rewards."""
        coarse = min(COARSE * math.sqrt(self.highest), _QUIET * z * math.sqrt(self._noise))
        self._unit = max(1.0, float(round(coarse))) if parts == 1 else coarse
        self._reserve = min(_RESERVE, max(_LEAST, _STEPS / (alpha * self._squares)))
        share = self._noise / (self._noise + self.highest)
        saved = _FASTER * alpha * (_RESERVE - self._reserve)
        self.growth = 1 + (alpha / 20 + saved) * (1 + share)
        """The factor between the times of two tests."""
        self._hopeless = (_HOPELESS - math.log(self.growth - 1)) / epsilon
        self.tests = GrowingList(self._tests())
        """The tests, made one after the other as they are asked for."""

    def _passage(self) -> FirstPassage:
        """Return a recursion before its first test."""
        return FirstPassage(self.epsilon, self._rest, self._unit, self._parts)

    def _shape(self, count: int, times: float = 1.0) -> float:
        """Return the level that the normal approximation asks for, with so many times the variance of rewards."""
        squares = times * self._squares
        slope = 1 + squares / count
        return (squares + math.sqrt(squares * (squares + 4 * slope * self._noise))) / (2 * slope)

    def typical(self, mean: float) -> int:
        """Return about how many rewards it takes, without computing levels.

        Args:
            mean: The mean of the rewards, above 0.
        """
        low, high = 1, LAST
        while high - low > 1:
            middle = (low + high) // 2
            reached = mean * middle >= self._shape(middle, _HIGHER)
            low, high = (low, middle) if reached else (middle, high)
        return high

    def _tests(self) -> Iterator[InverseTest]:
        """Yield one test after the other, from a first one that leaves later tests room."""
        first = self._first_count()
        while True:
            begun, tests = [], self._tests_from(first)
            for test in tests:
                begun.append(test)
                if test.level > test.count or test.count > _TRIAL * first:
                    break
            if test.level <= test.count and self._falls(begun[0], test):
                break
            first = math.ceil(_LATER * first)
        yield from begun
        yield from tests

    def _falls(self, first: InverseTest, last: InverseTest) -> bool:
        """Return True if the part of rewards that must be 1 falls between two tests at least half as far as it should.

        Else all rewards but a few must be 1 for a long time: each test adds a chance to halt too early, so that levels
        must rise, and they rise beyond the rewards of the means that should halt by then.
        """
        wanted = self._shape(first.count) / first.count - self._shape(last.count) / last.count
        return first.level / first.count - last.level / last.count >= wanted / 2

    def _tests_from(self, count: int) -> Iterator[InverseTest]:
        """Yield one test after the other, the first of them after `count` rewards."""
        least, most = 1 - self.alpha, 1 + self.alpha
        passage = self._passage()
        factor, largest, estimate = 1 + self.alpha / 2, 1.0, least
        while count <= LAST:
            lowest = least * largest  # of the estimates that are not too low
            hopeless = factor * self._shape(count) - self._hopeless
            rarest = (1 - _BELOW * self.alpha) * lowest / most
            passage.advance(count, rarest, largest, max(0.0, hopeless))
            level = round(factor * self._shape(count))
            highest = most * passage.largest_mean(level, self.chance, estimate / most)
            apart = math.log(highest / lowest) if highest > 0 else -self.alpha
            if highest < lowest:
                level, highest = passage.least_level(lowest / most, self.chance, level), lowest
            passage.test(level)
            estimate = min(estimate, math.sqrt(lowest * highest))
            yield InverseTest(count, level - passage.lowered if passage.lowered else level, estimate)
            wanted = _AGILITY * (self._reserve - apart / self.alpha) / self.alpha
            factor *= self.growth ** max(-_FASTEST, min(_FASTEST, wanted))
            largest = max(rarest, passage.least_mean(self.chance, largest, largest / self.growth))
            count = max(count + 1, math.ceil(count * self.growth))

    def _first_count(self) -> int:
        """Return about the least time of a test that rewards of 1 alone pass, and others hardly ever."""
        mean, factor, count = (1 - self.alpha) / (1 + self.alpha), 1 + self.alpha / 2, 2
        while True:
            passage = self._passage()
            passage.advance(count, mean, 1.0)
            passage.test(max(round(factor * self._shape(count)), passage.least_level(mean, self.chance, count)))
            if passage.late(1.0) <= self.chance:
                return count
            count = math.ceil(1.03 * count)


@lru_cache(maxsize=64)
def schedule_for(alpha: float, beta: float, epsilon: float, parts: int = 1) -> Schedule:
    """Return the tests for an alpha, a beta, an epsilon and a grid; the same object each time.

    Args:
        alpha: The relative error of an estimate.
        beta: The probability that it is larger.
        epsilon: The inverse of the noises' scale; infinite without noise.
        parts: The number of grid steps in a reward of 1. Noises are whole numbers of steps.

    >>> tests = schedule_for(0.1, 0.05, 1.0).tests
    >>> tests[0]
    InverseTest(count=68, level=65, estimate=0.9)
    >>> tests[200].count, tests[200].level
    (338, 190)
    """
    return Schedule(alpha, beta, epsilon, parts)

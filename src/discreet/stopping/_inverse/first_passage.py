"""Bounds on when a noisy prefix sum of 0/1 rewards first reaches a level, for every mean at once."""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEVER = 2**60
"""A level that no test reaches."""
COARSE = 0.02
"""Of a sum's standard deviation: values of the level's noise may be rounded to this."""
_NEAR = 0.003  # the part of a chance that may be left unused
_HIGH = 600.0  # the logarithm of the largest weight, so that the others may be far smaller
_LOW = -100.0  # that of the least factor: weights that are too small for a float add e^(600 - 745) to it at most
_STEEP = 600.0  # exponents beyond this stand for it
_FAR = 1.4  # times as far as a sum may lie from its mean at one test, each step may: there are many
_SAME = 1 + 1e-7  # a chance that is larger by this factor has grown by rounding errors alone
MOST_SUMS = 1000
"""The most sums that are followed: where there are more, every second one is left out."""
_MORE = 3  # times as many, where there are few values of the level's noise
_ROWS = 16  # the least rows of a dense block, if its product has
_PRODUCTS = 2.0**18  # so many multiplications at most: beyond it a library's threads would wait for each other;
_FEW = 2  # up to so many columns the dense blocks do not pay
_VALUES = 24  # the most values of the level's noise that are followed one by one
_EARLY = np.concatenate([np.arange(0, 1, 0.1), np.arange(1, 3, 0.25), np.arange(3, 8), np.arange(8, 700, 8)])
_LATE = np.concatenate([np.arange(0, 2, 0.25), np.arange(2, 6, 0.2), np.arange(6, 12), np.arange(12, 700, 8)])
"""Values of the level's noise, in scales, to which others are rounded: down to the first ones, up to the second."""


class FirstPassage:
    """The chance that one of the tests so far has halted, given the sum at the last one.

    Test k asks after n_k rewards whether sum + A_k >= level_k + B, with A_k and B of the law of |X|, X a discrete
    Laplace variable of scale 1/epsilon. Given the sum at n_k, the sum at n_(k-1) is hypergeometric, whatever the mean
    of the rewards. So one recursion over the tests serves all means: the chance of having halted is a function of the
    last sum, and a mean only says how likely each sum is. B is the same at all tests, and each of its values has a
    recursion of its own.

    Sums are followed from where a test may have halted to where one surely has; what is known at either end counts for
    all beyond it. Where there are too many sums or values of B, they are rounded in that direction in which a bound
    stays a bound: `early` is never below the chance that a test has halted, and `late` never below the chance that none
    has. docs/proofs/inverse-sampling.md has the proof.

    Args:
        epsilon: The inverse of the noises' scale; infinite without noise.
        rest: Sums and noises whose chance is below this are not followed.
        unit: Values of B are rounded to multiples of this.
        parts: The number of steps in a reward of 1. Noises are whole numbers of steps.
    """

    def __init__(self, epsilon: float, rest: float, unit: float = 1, parts: int = 1) -> None:
        self.epsilon, self._rest, self._deviations = epsilon, rest, math.sqrt(-2 * math.log(rest))
        self.lowered = 0.0 if parts == 1 else 0.5
        """What levels are lowered by, so that noises far below 1 do not tell a sum from an equal level."""
        self._none = 1 + math.exp(-epsilon / parts)  # 2/this is the factor of Pr[A >= x], for x above 0
        self._least, self._early_weights = _level_noise(epsilon / parts, rest, unit, parts, upwards=False)
        self._most, self._late_weights = _level_noise(epsilon / parts, rest, unit, parts, upwards=True)
        self._exact = np.array_equal(self._least, self._most)  # no value of B was rounded
        self.most_sums = MOST_SUMS * (_MORE if self._least.size <= _VALUES else 1)
        """The most sums that are followed."""
        gaps = np.diff(self._least)
        self._gap = float(gaps[0]) if gaps.size and (gaps == gaps[0]).all() else math.inf  # between values of B
        self.count = 0
        """The number of rewards at the last test."""
        self.spacing = 1
        """The sums that are followed are multiples of this."""
        self._first = self._offset = 0  # lattice indices: of the least sum, and of the least step back
        self._sums = np.zeros(1)
        self._halted = np.zeros((1, self._least.size))  # by sum and value of B: at least the chance that a test has
        self._open = np.ones((1, self._most.size))  # at least the chance that no test has
        self._likely, self._logs = 0, np.zeros(1)  # the least sum that is likely at a mean, and logarithms of weights
        self._known: tuple[int, Floats] | None = None  # a level, and the chances that a test with it halts

    # ------------------------------------------------------------------ the recursion

    def advance(self, count: int, lowest: float, highest: float, hopeless: float = math.inf) -> None:
        """Go on to the next test time, and follow the sums there for which it is open whether a test has halted.

        Args:
            count: The number of rewards at the next test.
            lowest: The least mean for which a chance will be asked.
            highest: The largest one.
            hopeless: A sum at which the next test is as good as sure not to halt.
        """
        likely = max(0, math.floor(count * lowest - self._reach(count * lowest * (1 - lowest))))
        largest = min(count, math.ceil(count * highest + self._reach(count * highest * (1 - highest))))
        below, above = likely, largest
        if self.count:
            grown, spread = count / self.count, self._reach((count - self.count) * highest)
            known = self._first * self.spacing, (self._first + len(self._halted) - 1) * self.spacing
            below = max(0, math.floor(min((known[0] - spread) * grown, hopeless)))
            above = max(below, min(count, math.ceil((known[1] + spread) * grown)))
        while (above - below) / self.spacing > self.most_sums:
            self._coarsen()
        while self._least.size > 1 and 2 * self._gap <= COARSE * math.sqrt(count * lowest * max(0.0, 1 - lowest)):
            self._thin_out()
        first, last = below // self.spacing, -(-above // self.spacing)
        sums = np.minimum(np.arange(first, last + 1) * self.spacing, count)
        if self.count:
            if self.spacing > 1 or not self._follow(first, sums.size, count):
                kernel = self._kernel(sums, count)
                early, late = _blocks(kernel, self.spacing, 0), _blocks(kernel, self.spacing, self.spacing - 1)
                halted, _ = self._reached(first - self._offset - len(early) + 1, len(early) - 1 + sums.size)
                _, still = self._reached(first - self._offset - len(late) + 1, len(late) - 1 + sums.size)
                self._halted, self._open = _banded(early, halted), _banded(late, still)
        else:
            self._halted = np.zeros((sums.size, self._least.size))
            self._open = np.ones((sums.size, self._most.size))
        self.count, self._first, self._sums, self._known = count, first, sums.astype(np.float64), None
        self._likely = likely // self.spacing * self.spacing
        fine = np.arange(self._likely, largest + 1, dtype=np.float64)
        self._logs = np.concatenate([[0.0], np.cumsum(np.log((count - fine[:-1]) / (fine[:-1] + 1)))])

    def _leave_out(self) -> None:
        """No longer follow sums for which it is known whether a test has halted, but for the nearest ones.

        What is known of these counts for all beyond them, as both bounds are monotone in the sum.
        """
        starts = (self._halted > np.maximum(self._rest, self._halted[0] * _SAME)).any(axis=1)
        ends = (self._open > np.maximum(self._rest, self._open[-1] * _SAME)).any(axis=1)
        size = len(starts)
        first = max(0, min(int(starts.argmax()) - 1, size - 2)) if starts.any() else max(0, size - 2)
        last = max(first + 2, size + 1 - int(ends[::-1].argmax())) if ends.any() else first + 2
        self._halted, self._open = self._halted[first:last], self._open[first:last]
        self._sums, self._known = self._sums[first:last], None
        self._first += first

    def _reach(self, variance: float) -> float:
        """Return how far a sum may lie from its mean."""
        return self._deviations * math.sqrt(variance) + self._deviations**2 / 3 + 1

    def _coarsen(self) -> None:
        """Leave out every second sum: what is known of the others stays true."""
        odd = self._first % 2
        self._halted, self._open = self._halted[odd::2], self._open[odd::2]
        self._first, self.spacing = (self._first + odd) // 2, 2 * self.spacing

    def _thin_out(self) -> None:
        """Round every second value of B to its neighbour, in the direction in which a bound stays a bound."""
        pairs = np.arange(0, self._least.size, 2)
        self._early_weights = np.add.reduceat(self._early_weights, pairs)
        self._late_weights = np.add.reduceat(self._late_weights, pairs)
        ends = np.minimum(pairs + 1, self._most.size - 1)
        self._least, self._halted = self._least[pairs], self._halted[:, pairs]
        self._most, self._open = self._most[ends], self._open[:, ends]
        self._gap, self._exact = 2 * self._gap, False

    def _steps(self, least: int, most: int, count: int) -> tuple[int, int]:
        """Return how many ones there may be among the rewards since the last test, at least and at most.

        Args:
            least: The least sum at the next test,
            most: and the largest.
            count: The number of rewards at the next test.
        """
        gap = count - self.count
        spread = _FAR * self._reach(float(gap * most / count))
        start = max(0, math.floor(gap * least / count - spread))
        return start - start % self.spacing, min(gap, math.ceil(gap * most / count + spread))

    def _follow(self, first: int, size: int, count: int) -> bool:
        """Take both bounds to the next test, where all sums are followed; return False if chances are too far apart.

        Given a sum, the chance of so many ones since the last test is a product of a chance of these, one of the sum
        before, and a factor of the sum. So one convolution serves all sums, and the factor is what it makes of ones.

        Args:
            first: The least new sum.
            size: The number of new sums.
            count: The number of rewards at the next test.
        """
        start, stop = self._steps(first, first + size - 1, count)
        width, middle = stop - start + 1, min(first + size / 2, count - 0.5) / count
        odds = math.log(middle) - math.log1p(-middle)  # any would do; these keep all chances near to each other
        least = first - stop
        sums = _log_choices(self.count, least, first + size - 1 - start)
        sums += odds * np.arange(sums.size)
        sums += _HIGH - sums.max()
        steps = _log_choices(count - self.count, start, stop)
        steps += odds * np.arange(width)
        steps -= steps.max()
        reached = np.concatenate([*self._reached(least, sums.size), np.ones((sums.size, 1))], axis=1)
        reached *= np.exp(sums)[:, None]
        moved = _convolved(np.exp(steps), reached, size)
        factors = moved[:, -1:]
        if not factors.min() > math.exp(_LOW):
            return False
        moved = moved[:, :-1] / factors
        self._halted, self._open = moved[:, : self._least.size], moved[:, self._least.size :]
        return True

    def _reached(self, least: int, size: int) -> list[Floats]:
        """Return both bounds at the last test, for each of so many sums from a least one on.

        They are monotone in the sum, which says what they are outside of the window that is followed.

        Args:
            least: The lattice index of the least sum.
            size: The number of sums.
        """
        start, known = least - self._first, len(self._halted)
        inside = slice(max(0, -start), max(0, min(size, known - start)))
        rows = slice(start + inside.start, start + inside.stop)
        both = []
        for bound, below, above in (
            (self._halted, self._halted[0], np.ones(self._least.size)),
            (self._open, np.ones(self._most.size), self._open[-1]),
        ):
            reached = np.empty((size, bound.shape[1]))
            reached[: inside.start], reached[inside], reached[inside.stop :] = below, bound[rows], above
            both.append(reached)
        return both

    def _kernel(self, sums: NDArray[np.int64], count: int) -> Floats:
        """Return the chance of 0, 1, ... ones beyond the least among the rewards since the last test, for each sum."""
        before, gap = self.count, count - self.count
        start, stop = self._steps(int(sums[0]), int(sums[-1]), count)
        least = sums[0] - stop
        earlier = _log_choices(before, least, sums[-1] - start)
        if sums[-1] - sums[0] == (sums.size - 1) * self.spacing:
            step, ahead = earlier.itemsize, stop - start
            logs: Floats = as_strided(
                earlier[ahead:], (ahead + 1, sums.size), (-step, self.spacing * step), writeable=False
            ).copy()
        else:  # the last sum is the largest that there can be
            logs = earlier[sums - np.arange(start, stop + 1)[:, None] - least]
        logs += _log_choices(gap, start, stop)[:, None]
        logs -= logs.max(axis=0)
        np.exp(logs, out=logs)
        logs /= logs.sum(axis=0)
        self._offset = start // self.spacing
        return logs

    # ------------------------------------------------------------------ chances

    def _chances(self, mean: float) -> Floats:
        """Return the chance of each sum that is followed."""
        chances: Floats
        if mean >= 1:
            chances = np.zeros(self._logs.size)
            chances[-1] = 1  # all rewards are 1
        else:
            chances = np.arange(float(self._logs.size))
            chances *= math.log(mean) - math.log1p(-mean)
            chances += self._logs
            chances -= chances.max()
            np.exp(chances, out=chances)
        chances /= chances.sum()
        return chances

    def least_level(self, mean: float, chance: float, guess: int) -> int:
        """Return the least level of a test that leaves the chance of having halted, at a mean, at most `chance`.

        Args:
            mean: The mean of the rewards.
            chance: The largest chance that this test or one before it halts.
            guess: A level to start from.
        """
        chances, above = self._rounded(self._chances(mean))
        weights = chances[:, None] * self._early_weights
        room = chance - above - float((weights * self._halted).sum())
        weights = weights * (1 - self._halted)
        if room <= 0:
            return NEVER
        level, step = guess, 1
        while float((weights * self._tail(level, self._least)).sum()) > room:
            level, step = level + step, 2 * step
        lower = level - max(1, step // 2) if step > 1 else level - 1
        while float((weights * self._tail(lower, self._least)).sum()) <= room:
            level, step = lower, 2 * step
            lower = level - step
        while level - lower > 1:
            middle = (level + lower) // 2
            if float((weights * self._tail(middle, self._least)).sum()) <= room:
                level = middle
            else:
                lower = middle
        return level

    def test(self, level: int) -> None:
        """Let a test with this level take place."""
        tail = self._early_tail(level)
        stays = 1 - (tail if self._exact else self._tail(level, self._most))
        self._halted += (1 - self._halted) * tail
        self._open *= stays
        self._leave_out()

    def early(self, mean: float) -> float:
        """Return at least the chance that a test has halted, for a mean that `advance` was told of."""
        return _dot(self._chances(mean), self._at_least_halted(self._halted))

    def late(self, mean: float) -> float:
        """Return at least the chance that no test has halted, for a mean that `advance` was told of."""
        return _dot(self._chances(mean), self._still_open)

    def _at_least_halted(self, halted: Floats) -> Floats:
        """Return at least the chance that a test has halted, by each sum that is likely at a mean.

        Args:
            halted: The chance by sum that is followed, and by value of B.
        """
        values = _weighed(halted, self._early_weights)
        return self._by_sum(values, self._first * self.spacing - self.spacing + 1, float(values[0]), 1.0)

    @property
    def _still_open(self) -> Floats:
        """By each sum that is likely at a mean: at least the chance that no test has halted."""
        beyond = max(0.0, 1 - float(self._late_weights.sum()))
        values = _weighed(self._open, self._late_weights) + beyond
        return self._by_sum(values, self._first * self.spacing, 1.0, float(values[-1]))

    def _by_sum(self, values: Floats, start: int, below: float, above: float) -> Floats:
        """Return the value of each sum that is likely at a mean.

        Args:
            values: Values of so many blocks of sums, as many in each as lie between two that are followed.
            start: The first sum of the first block.
            below: The value of sums before it,
            above: and of those after the last block.
        """
        found = np.full(self._logs.size, above)
        at = start - self._likely
        inside = np.repeat(values, self.spacing)[max(0, -at) :]
        at = min(max(0, at), found.size)
        found[:at] = below
        inside = inside[: found.size - at]
        found[at : at + inside.size] = inside
        return found

    def least_mean(self, chance: float, largest: float, guess: float) -> float:
        """Return a mean from which on the chance that no test has halted is at most `chance`, near the least one.

        Args:
            chance: The chance that no test has halted.
            largest: A mean that is returned if there is none below it.
            guess: A mean to start from.
        """
        return self._mean_with(self._still_open, -chance, min(guess, largest), largest)

    def largest_mean(self, level: int, chance: float, guess: float) -> float:
        """Return a mean up to which, after a test with this level, a test has halted with this chance at most.

        Args:
            level: The level of a test that has not taken place yet.
            chance: The chance that a test has halted.
            guess: A mean to start from.

        Returns:
            The mean, near the largest one; 0 if there is none.
        """
        halted = self._halted + (1 - self._halted) * self._early_tail(level)
        return self._mean_with(self._at_least_halted(halted), chance, guess, 1.0)

    def _mean_with(self, values: Floats, chance: float, mean: float, largest: float) -> float:
        """Return a mean at which the mean of values of the sum is |chance| or a trifle less, by Newton's method.

        By bisection where that would leave what is known to be on either side.
        """
        wanted, sums = abs(chance), np.arange(float(values.size))
        mean, moments = min(mean, 1 - 1e-12), sums * values
        least, most = -math.inf, math.inf  # log-odds on either side
        for _ in range(60):
            chances = self._chances(mean)
            found = _dot(chances, values)
            if (1 - _NEAR) * wanted <= found <= wanted:
                return mean
            slope = (_dot(chances, moments) - _dot(chances, sums) * found) / max(found, 1e-300)  # by the log-odds
            lacking = math.log((1 - _NEAR / 2) * wanted / max(found, 1e-300))
            step = lacking / slope if slope * chance > 0 else math.copysign(1.0, lacking * chance)  # where it is flat
            odds = math.log(mean) - math.log1p(-mean)
            least, most = (odds, most) if lacking * chance > 0 else (least, odds)
            odds += max(-1.0, min(1.0, step))
            if not least < odds < most:
                low = max(least, most - 2) if most < math.inf else least
                odds = (low + min(most, low + 2)) / 2
            mean = 1 / (1 + math.exp(-odds))
            if mean >= largest:
                break
        return largest if chance < 0 else 0.0

    def _rounded(self, chances: Floats) -> tuple[Floats, float]:
        """Return the chances of sums that are rounded up to those that are followed, and the chance of larger ones."""
        summed = _blocks(chances[:, None], self.spacing, self.spacing - 1)[:, 0]
        at = self._first - self._likely // self.spacing  # of the first one that is followed
        last = at + len(self._halted)
        rounded = np.zeros(len(self._halted))
        inside = summed[max(0, at) : max(0, last)]
        rounded[max(0, -at) : max(0, -at) + inside.size] = inside
        rounded[0] += summed[: max(0, at)].sum()
        return rounded, float(summed[max(0, last) :].sum())

    def _tail(self, level: int, noise: Floats) -> Floats:
        """Return the chance that a test halts, by sum and value of B: Pr[A >= level + B - sum]."""
        margin = self._sums - (level - self.lowered)
        if math.isinf(self.epsilon):
            return (margin[:, None] >= noise).astype(np.float64)
        margin *= self.epsilon
        scaled = np.exp(np.minimum(margin, _STEEP, out=margin), out=margin)
        scaled *= 2 / self._none
        tail: Floats = scaled[:, None] * np.exp(-self.epsilon * noise)
        return np.minimum(tail, 1.0, out=tail)

    def _early_tail(self, level: int) -> Floats:
        """Return the chance that a test halts, by sum and value of B in the first bound; computed once for a level."""
        if self._known is None or self._known[0] != level:
            self._known = level, self._tail(level, self._least)
        return self._known[1]


def _dot(ones: Floats, others: Floats) -> float:
    """Return the sum of products: of fewer than 10,000, where a library has no use for threads."""
    return float(ones @ others)


def _weighed(values: Floats, weights: Floats) -> Floats:
    """Return the weighed sum of each row, in one thread."""
    sums: Floats = np.einsum("ij,j->i", values, weights)
    return sums


def _log_choices(count: int, first: int, last: int) -> Floats:
    """Return the logarithms of how many ways there are to place ones among `count` rewards, but for a constant.

    Args:
        count: The number of rewards.
        first: The least number of ones,
        last: and the largest; some of those from one to the other are possible.
    """
    logs = np.full(last - first + 1, -np.inf)
    least, most = max(0, first), min(count, last)
    inside = np.arange(least, most, dtype=np.float64)
    logs[least - first] = 0.0
    np.cumsum(np.log((count - inside) / (inside + 1)), out=logs[least - first + 1 : most - first + 1])
    return logs


def _level_noise(epsilon: float, rest: float, unit: float, parts: int, upwards: bool) -> tuple[Floats, Floats]:
    """Return values of B and their chances, with B rounded up or down. What lies beyond the last is left out.

    Args:
        epsilon: The inverse of the noises' scale in steps.
        rest: What may be left out.
        unit: Values are rounded to multiples of this.
        parts: The number of steps in 1.
        upwards: True to round up.
    """
    if math.isinf(epsilon):
        return np.zeros(1), np.ones(1)
    largest = math.ceil(-math.log(rest) / epsilon)
    steps = max(1, min(round(unit * parts), largest // 4))
    if largest <= _VALUES * steps:
        ends = np.arange(0, largest + 1 + steps, steps)
    else:
        marks = _LATE if upwards else _EARLY
        ends = np.unique(np.ceil(np.append(marks[marks < largest * epsilon], largest * epsilon) / epsilon)).astype(
            np.int64
        )
    at_least = np.where(ends > 0, 2 * np.exp(-epsilon * ends) / (1 + math.exp(-epsilon)), 1.0)
    values = ends[1:] - 1 if upwards else ends[:-1]
    return values / parts, at_least[:-1] - at_least[1:]


def _banded(kernel: Floats, values: Floats) -> Floats:
    """Return sums of kernel[k, i] values[i + width - 1 - k] over k, for each i: a band times a matrix, in dense blocks.

    Args:
        kernel: The weights of 0, 1, ..., width - 1 steps back, for each i.
        values: A row for each place that the steps lead to.
    """
    width, size = kernel.shape
    if values.shape[1] <= _FEW:
        ahead = zip(kernel[::-1], range(width), strict=True)
        return sum((chances[:, None] * values[start : start + size] for chances, start in ahead), np.zeros(()))
    most = (math.sqrt(width**2 + 4 * _PRODUCTS / values.shape[1]) - width) / 2
    rows = max(1, min(max(_ROWS, width // 2), int(most)))
    blocks = -(-size // rows)
    matrices = np.zeros((blocks, rows, rows + width))
    item = matrices.itemsize
    steps = (rows * (rows + width) * item, (rows + width + 1) * item, item)
    band = as_strided(matrices, (blocks, rows, width), steps)
    weights = np.zeros((blocks * rows, width))
    weights[:size] = kernel[::-1].T
    band[:] = weights.reshape(band.shape)
    reach = np.zeros((blocks * rows + width, values.shape[1]))
    reach[: len(values)] = values
    step, one = reach.strides
    windows = as_strided(reach, (blocks, rows + width, values.shape[1]), (rows * step, step, one), writeable=False)
    result: Floats = (matrices @ windows).reshape(blocks * rows, -1)[:size]
    return result


def _convolved(steps: Floats, values: Floats, size: int) -> Floats:
    """Return sums of steps[k] values[i + width - 1 - k] over k, for each i below a size, in dense blocks.

    Args:
        steps: The weights of 0, 1, ..., width - 1 steps back.
        values: A row for each place that the steps lead to: size + width - 1.
        size: The number of sums.
    """
    width, columns = steps.size, values.shape[1]
    if columns <= _FEW + 1:
        return np.stack([np.convolve(column, steps, "valid") for column in values.T], axis=1)
    most = (math.sqrt(width**2 + 4 * _PRODUCTS / columns) - width) / 2
    rows = max(1, min(max(_ROWS, width // 2), int(most), size))
    matrix = np.zeros((rows, rows + width))
    item = matrix.itemsize
    as_strided(matrix, (rows, width), ((rows + width + 1) * item, item))[:] = steps[::-1]
    blocks = size // rows
    step, one = values.strides
    windows = as_strided(values, (blocks, rows + width - 1, columns), (rows * step, step, one), writeable=False)
    result = np.empty((size, columns))
    done = blocks * rows
    np.matmul(matrix[:, :-1], windows, out=result[:done].reshape(blocks, rows, columns))
    if done < size:
        result[done:] = matrix[: size - done, : size - done + width - 1] @ values[done:]
    return result


def _blocks(chances: Floats, size: int, ahead: int) -> Floats:
    """Return sums of `size` rows each, after `ahead` rows of zeros."""
    if size == 1:
        return chances
    rows, columns = chances.shape
    blocks = -(-(rows + ahead) // size)
    padded = np.zeros((blocks * size, columns))
    padded[ahead : ahead + rows] = chances
    summed: Floats = padded.reshape(blocks, size, columns).sum(axis=1)
    return summed

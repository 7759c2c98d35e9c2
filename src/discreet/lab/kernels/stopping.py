"""Stopping rules on samples of two values, compiled: NAS, DP-NAS and the empirical Bernstein rules skip ahead.

Sums and thresholds are in the rule's own grid units, rounded as the rule rounds them, so the law is that of the rule
object. A kernel takes the samples' law, the rule's formulas, a generator state and `cap`, the most samples to take.
It gives whether the rule halted, the samples taken, and what its estimate is made of. `docs/simulation.md` says why
nothing is approximated.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from discreet.core.grid import Grid
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import binomial, threshold, uniform
from discreet.stopping import DPNAS, NAS, DPOneSidedNAS, EBGStop, EBStop

_LARGEST = 2.0**62  # sums and thresholds stay below this, in 64 bits
_RAREST = 2.0**-30  # a coin's chance is held to 2^-53: to seven digits and more, if it is not below this
_ROUNDING = 2.0**-48  # by how much, relatively, a computed threshold could fall where the true one grows
_FINENESS = 512  # a window of samples is this part of those taken


class Coin(NamedTuple):
    """Samples of two values, in grid units from 0 (not from the range's floor), the smaller one first."""

    low: int
    high: int
    chance: float
    """How likely `high` is."""


def coin_on(grid: Grid, low: float, high: float, chance: float, cap: int) -> Coin | None:
    """Such samples on a rule's grid; None where 64 bits could overflow within `cap` samples, or digits run short.

    >>> coin_on(Grid(-1.0, 1.0), -1.0, 1.0, 0.55, cap=10**9)
    Coin(low=-524288, high=524288, chance=0.55)
    >>> coin_on(Grid(-1.0, 1.0), -1.0, 1.0, 0.55, cap=2**43)
    """
    coin = Coin(grid.encode(low) + grid.floor, grid.encode(high) + grid.floor, chance)
    farthest = max(abs(coin.low), abs(coin.high))
    if not 0 < farthest * cap < _LARGEST or 0 < min(chance, 1 - chance) < _RAREST:
        return None
    return coin


_FRESH = np.zeros(0, np.uint8)


@compiled
def heads(state, coin, start, size, path):
    """How many of the next samples are the larger value: one binomial draw, or counted on a path that is given."""
    if path.size:
        return np.int64(path[start : start + size].sum())
    return binomial(state, size, coin.chance)


@compiled
def sum_of(coin, size, ones):
    """The sum of so many samples."""
    return ones * coin.high + (size - ones) * coin.low


@compiled
def farthest(coin):
    """How far one sample can move the sum."""
    return max(abs(coin.low), abs(coin.high))


# ---------------------------------------------------------------------- the threshold of NAS and DP-NAS


class Curve(NamedTuple):
    """What the threshold of NAS or DP-NAS is made of, by the names of the rule's own formulas."""

    half_width: float
    log_beta: float
    factor: float
    """1 + 1/alpha."""
    step: float
    inside: float
    """The number inside the logarithm of the Hoeffding radius: 4, or DP-NAS's 16."""
    query: float
    """sigma1; 0 for NAS, and so all below."""
    release: float
    """sigma3/alpha."""
    tails: float
    """A step for each noise whose tail is discrete."""


def curve_of(rule: NAS) -> Curve:
    """The threshold of a rule object.

    >>> rule = NAS(alpha=0.1, beta=0.05, low=0, high=1)
    >>> int(limit(curve_of(rule), 1000)) == math.ceil(rule._threshold_units(1000.0))
    True
    """
    given = rule.half_width, math.log(rule.beta), 1 + 1 / rule.alpha, rule.grid.step
    if isinstance(rule, DPNAS):
        return Curve(*given, 16.0, rule.sigma1, rule.sigma3 / rule.alpha, 2 + 1 / rule.alpha)
    return Curve(*given, 4.0, 0.0, 0.0, 0.0)


@compiled
def limit(curve, time):
    """What |sum| must reach at t, in units: the rule's formulas, operation by operation, rounded up."""
    t = np.float64(time)
    hoeffding = curve.half_width * math.sqrt(2 / t * (math.log(curve.inside * (t * t)) - curve.log_beta))
    once, tests = math.log(4.0) - curve.log_beta, math.log(8.0 * (t * t)) - curve.log_beta
    margin = curve.query * once + curve.query * tests + curve.release * once
    threshold = hoeffding * curve.factor * t + margin
    return np.int64(min(np.ceil(threshold / curve.step + 0.5 * t * curve.factor + curve.tails), _LARGEST))


@compiled
def least_limit(curve, time):
    """What |sum| must reach at t or at any later time: the limit only grows, and rounding is allowed for."""
    return limit(curve, time) * (1 - _ROUNDING)


# ---------------------------------------------------------------------- NAS


@compiled
def _nas(coin, curve, state, cap, path):
    """Halts at the first t with |S_t| >= limit(t).

    The limit only grows and a sample moves |S| by M at most, so with distance d to go no test can succeed in the
    next ceil(d/M) - 1 samples. They and the one after them are one binomial draw; then the test is made.
    """
    total, time = np.int64(0), np.int64(0)
    while time < cap:
        distance = least_limit(curve, time + 1) - abs(total)
        size = min(max(np.int64(math.ceil(distance / farthest(coin))), 1), cap - time)
        total += sum_of(coin, size, heads(state, coin, time, size, path))
        time += size
        if abs(total) >= limit(curve, time):
            return True, time, total
    return False, time, total


def nas(coin: Coin, curve: Curve, state: Any, cap: int) -> Any:
    """NAS: whether it halted, the samples, and their sum in units from 0."""
    return _nas(coin, curve, state, cap, _FRESH)


def replay_nas(coin: Coin, curve: Curve, path: Any) -> Any:
    """NAS on a path of 0s and 1s (the smaller and the larger value)."""
    return _nas(coin, curve, np.ones(4, np.uint64), path.size, path)


# ---------------------------------------------------------------------- DP-NAS


@compiled
def geometric(state, scale):
    """A geometric variable G >= 0 with P(G >= n) = exp(-n/scale).

    A uniform number of 53 bits gives every such probability to 2^-53, at any scale up to 2^50.
    """
    return np.int64(-scale * math.log(uniform(state)))


@compiled
def discrete_laplace(state, scale):
    """A whole number with probabilities proportional to exp(-|n|/scale): a difference of two geometric ones."""
    return geometric(state, scale) - geometric(state, scale)


@compiled
def chance_below(y, scale):
    """P(A <= y) for such a number A, with q = exp(-1/scale): q^(-y)/(1 + q) below 0, else 1 - q^(y + 1)/(1 + q)."""
    q = math.exp(-1 / scale)
    if y < 0:
        return math.exp(y / scale) / (1 + q)
    return 1 - math.exp(-(y + 1) / scale) / (1 + q)


@compiled
def next_candidate(state, bound, size):
    """The first success of `size` trials of this chance, counted from 1; size + 1 if there is none."""
    if bound <= 0:  # too small for a float
        return size + 1
    failures = math.log(uniform(state)) / math.log1p(-bound) if bound < 1 else 0.0
    return size + 1 if failures >= size else np.int64(failures) + 1


@compiled
def block(distance, most, scale):
    """For how many samples to bound the chance of a test: about so many that no candidate is likely among them.

    `distance` is what is missing to the threshold. Any size is right, and this one is fast.
    """
    scales, samples = distance / scale, scale / most  # how many scales away, and how many samples a scale has
    room = scales - math.log(max(samples * scales, 1.0)) - 1.0
    return np.int64(max(samples * max(room, 0.5), 1.0))


@compiled
def dp_nas(coin, curve, query_scale, release_scale, state, cap):
    """Whether DP-NAS halted, the samples, and the released sum in units from 0.

    Given the path and B, the test at t succeeds with chance p_t = P(A <= |S_t| - limit(t) - B), independently.
    Within a block of m samples p_t is at most `bound`, since |S| grows by M a sample at most and the limit does not
    fall. So trials of chance `bound` say where a test *may* succeed, and one that may does with chance p_t/bound.
    Between such candidates only the sum matters.
    """
    most = farthest(coin)
    threshold_noise = discrete_laplace(state, query_scale)
    total, time = np.int64(0), np.int64(0)
    while time < cap:
        distance = least_limit(curve, time + 1) - abs(total) + threshold_noise
        size = min(block(distance, most, query_scale), cap - time)
        bound = chance_below(size * most - distance, query_scale)
        candidate = next_candidate(state, bound, size)
        done = min(candidate, size)
        total += sum_of(coin, done, heads(state, coin, time, done, _FRESH))
        time += done
        if candidate <= size:
            chance = chance_below(np.float64(abs(total) - limit(curve, time) - threshold_noise), query_scale)
            if uniform(state) * bound < chance:
                return True, time, total + discrete_laplace(state, release_scale)
    return False, time, total


# ---------------------------------------------------------------------- the one-sided rule


def limits_of(rule: DPOneSidedNAS, cap: int) -> Any:
    """What the sum must reach at each test within `cap` samples, in units: the rule's own numbers."""
    count = (cap // rule.first_test).bit_length()
    limits = (rule.limit(rule.test_time(number), number) for number in range(1, count + 1))
    return np.array([min(limit, int(_LARGEST)) for limit in limits], np.int64)


@compiled
def one_sided_nas(coin, first, limits, query_scale, release_scale, state, cap):
    """Whether the one-sided rule halted, the samples, and the released sum in units from 0.

    It looks at the sum at the times `first`, twice that, and so on. In between only the sum matters.
    """
    threshold_noise = abs(discrete_laplace(state, query_scale))
    total, time, due = np.int64(0), np.int64(0), first
    for needed in limits:
        total += sum_of(coin, due - time, heads(state, coin, time, due - time, _FRESH))
        time = due
        due = 2 * due
        if total + abs(discrete_laplace(state, query_scale)) >= needed + threshold_noise:
            return True, time, total + discrete_laplace(state, release_scale)
    return False, cap, total


# ---------------------------------------------------------------------- EBStop and EBGStop


class Bernstein(NamedTuple):
    """What the empirical Bernstein rules are made of; `low` and `high` are the values from the range's middle."""

    low: float
    high: float
    middle: float
    width: float
    step: float
    alpha: float
    log_share: float
    power: float
    growth: float
    """EBGStop's; 0 for EBStop, which has no intervals."""


def bernstein_of(rule: EBStop, coin: Coin) -> Bernstein:
    """The formulas of a rule object on such samples."""
    grid = rule.grid
    middle = (grid.floor + grid.width / 2) * grid.step
    low, high = ((value - grid.floor - grid.width / 2) * grid.step for value in (coin.low, coin.high))
    growth = rule.growth if isinstance(rule, EBGStop) else 0.0
    return Bernstein(
        low, high, middle, grid.width * grid.step, grid.step, rule.alpha, rule._log_share(), rule.p, growth
    )


@compiled
def interval_at(time, growth):
    """EBGStop's k at time t, as `interval_of` computes it."""
    smallest = np.ceil(math.log(time) / math.log(growth))
    if np.floor(growth**smallest) < time:
        smallest += 1.0
    if np.floor(growth ** (smallest - 1.0)) >= time:
        smallest -= 1.0
    return max(1.0, min(time - 1.0, smallest))


@compiled
def log_term(rule, time):
    """ln(3/d_t), or a ln(3/d_k)."""
    if rule.growth == 0:
        return math.log(3.0 * time**rule.power) - rule.log_share
    k = interval_at(time, rule.growth)
    ratio = np.floor(rule.growth**k) / np.floor(rule.growth ** (k - 1.0))
    return ratio * (math.log(3.0 * k**rule.power) - rule.log_share)


@compiled
def radius(rule, time, variance):
    """The empirical Bernstein radius c_t."""
    log = log_term(rule, time)
    deviation = math.sqrt(max(variance, 0.0))
    return deviation * math.sqrt(2.0 * log / time) + 3.0 * rule.width * log / time + rule.step / 2


@compiled
def least_radius(rule, ones, time, size):
    """What the radius cannot fall below within the next samples, whatever they are.

    The mean ends highest if all of them are the larger value, lowest if all are the smaller one, and in between it
    lies in between. At mean x the variance of two values is (high - x)(x - low), which is least at an end. The
    logarithm over t falls in t (for EBGStop while k stays).
    """
    total = ones * rule.high + (time - ones) * rule.low
    end = np.float64(time + size)
    lowest, highest = (total + size * rule.low) / end, (total + size * rule.high) / end
    variance = min((rule.high - lowest) * (lowest - rule.low), (rule.high - highest) * (highest - rule.low))
    slack = 1e-7 * rule.width + 1e-12 * abs(rule.middle)  # a variance near 0 has lost half of its digits
    return radius(rule, end, variance) - slack


@compiled
def window(rule, time, cap):
    """For how many samples to bound the radius: few beside t, and for EBGStop within one interval."""
    size = max(time // _FINENESS, 1)
    if rule.growth > 0 and size > 1:
        last = np.floor(rule.growth ** interval_at(time + 1.0, rule.growth))
        size = max(min(size, np.int64(last) - time), 1)
    return min(size, cap - time)


@compiled
def walk(state, coin, rule, ones, time, end, lowest, highest, path):
    """Sample by sample until |mean| leaves [lowest, highest], up to a time `end`; gives ones, time, and whether it did.

    One sample is taken at least.
    """
    limit, apart, down = threshold(coin.chance), rule.high - rule.low, rule.low + rule.middle
    a, b, c, d = state[0], state[1], state[2], state[3]  # in registers: this loop is what costs
    left = False
    while time < end and not left:
        word = a + d
        carry = b << uint64(17)
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= carry
        d = (d << uint64(45)) | (d >> uint64(19))
        ones += np.int64(path[time]) if path.size else np.int64((word >> uint64(11)) < limit)
        time += 1
        size = abs(ones * apart + time * down)
        left = size < lowest * time or size > highest * time
    state[0], state[1], state[2], state[3] = a, b, c, d
    return ones, time, left


@compiled
def _empirical_bernstein(coin, rule, state, cap, path):
    """Keeps the largest |mean| - c_t and the smallest |mean| + c_t, and computes c_t only where one of them may move.

    For a window of samples the radius is bounded from below. While |mean| lies so that with this radius neither
    bound would move, neither does, and the answer to "halt?" stays as it was.
    """
    ones, time = np.int64(0), np.int64(0)
    lower, upper = 0.0, np.inf
    while time < cap:
        size = window(rule, time, cap)
        least = least_radius(rule, ones, time, size) if size > 1 else -np.inf  # then every sample is looked at
        end = time + size
        while time < end:
            ones, time, left = walk(state, coin, rule, ones, time, end, upper - least, lower + least, path)
            if not left:
                break
            t, zeros = np.float64(time), time - ones
            mean = (ones * rule.high + zeros * rule.low) / t
            squares = ones * (rule.high * rule.high) + zeros * (rule.low * rule.low)
            around = radius(rule, t, squares / t - mean * mean)
            lower = max(lower, abs(mean + rule.middle) - around)
            upper = min(upper, abs(mean + rule.middle) + around)
            if (1 + rule.alpha) * lower >= (1 - rule.alpha) * upper:
                value = ((1 + rule.alpha) * lower + (1 - rule.alpha) * upper) / 2
                return True, time, np.sign(mean + rule.middle) * value
    return False, time, np.nan


def empirical_bernstein(coin: Coin, rule: Bernstein, state: Any, cap: int) -> Any:
    """EBStop or EBGStop: whether it halted, the samples, and the estimate."""
    return _empirical_bernstein(coin, rule, state, cap, _FRESH)


def replay_empirical_bernstein(coin: Coin, rule: Bernstein, path: Any) -> Any:
    """EBStop or EBGStop on a path of 0s and 1s."""
    return _empirical_bernstein(coin, rule, np.ones(4, np.uint64), path.size, path)

"""EBStop and EBGStop on samples of two values, compiled: radii are computed only where a bound may move."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from discreet.lab.kernels.coins import FRESH, Coin
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import advance, threshold
from discreet.stopping import EBGStop, EBStop

_FINENESS = 512  # a window of samples is this part of those taken


class Parameters(NamedTuple):
    """Parameters of a rule, by its own names; `low` and `high` are counted from the range's middle.

    Attributes:
        growth: EBGStop's; 0 for EBStop, which has no intervals.
    """

    low: float
    high: float
    middle: float
    width: float
    step: float
    alpha: float
    log_share: float
    power: float
    growth: float


def parameters_of(rule: EBStop, coin: Coin) -> Parameters:
    """Return the parameters of a rule on samples of two values.

    Args:
        rule: The rule.
        coin: The samples.
    """
    grid = rule.grid
    middle = (grid.floor + grid.width / 2) * grid.step
    low, high = ((value - grid.floor - grid.width / 2) * grid.step for value in (coin.low, coin.high))
    growth = rule.growth if isinstance(rule, EBGStop) else 0.0
    return Parameters(low, high, middle, grid.width * grid.step, grid.step, rule.alpha, rule.log_share, rule.p, growth)


@compiled
def interval_at(time, growth):
    """Return EBGStop's k at time t, as `interval_of` computes it.

    Args:
        time: The time t.
        growth: The rule's growth.
    """
    smallest = np.ceil(math.log(time) / math.log(growth))
    if np.floor(growth**smallest) < time:
        smallest += 1.0
    if np.floor(growth ** (smallest - 1.0)) >= time:
        smallest -= 1.0
    return max(1.0, min(time - 1.0, smallest))


@compiled
def _log_term(parameters, time):
    """Return ln(3/d_t), or a ln(3/d_k)."""
    if parameters.growth == 0:
        return math.log(3.0 * time**parameters.power) - parameters.log_share
    k = interval_at(time, parameters.growth)
    ratio = np.floor(parameters.growth**k) / np.floor(parameters.growth ** (k - 1.0))
    return ratio * (math.log(3.0 * k**parameters.power) - parameters.log_share)


@compiled
def _radius(parameters, time, variance):
    """Return the empirical Bernstein radius c_t."""
    log = _log_term(parameters, time)
    deviation = math.sqrt(max(variance, 0.0))
    return deviation * math.sqrt(2.0 * log / time) + 3.0 * parameters.width * log / time + parameters.step / 2


@compiled
def _least_radius(parameters, ones, time, size):
    """Return what the radius cannot fall below within the next samples, whatever they are.

    The mean ends highest if all of them are the larger value, lowest if all are the smaller one, and in between it
    lies in between. At mean x the variance of two values is (high - x)(x - low), which is least at an end. The
    logarithm over t falls in t (for EBGStop while k stays).
    """
    total = ones * parameters.high + (time - ones) * parameters.low
    end = np.float64(time + size)
    lowest, highest = (total + size * parameters.low) / end, (total + size * parameters.high) / end
    variance = min(
        (parameters.high - lowest) * (lowest - parameters.low), (parameters.high - highest) * (highest - parameters.low)
    )
    slack = 1e-7 * parameters.width + 1e-12 * abs(parameters.middle)  # a variance near 0 has lost half of its digits
    return _radius(parameters, end, variance) - slack


@compiled
def _window(parameters, time, cap):
    """Return the number of samples for which to bound the radius: few beside t, and for EBGStop within one interval."""
    size = max(time // _FINENESS, 1)
    if parameters.growth > 0 and size > 1:
        last = np.floor(parameters.growth ** interval_at(time + 1.0, parameters.growth))
        size = max(min(size, np.int64(last) - time), 1)
    return min(size, cap - time)


@compiled
def _walk(state, coin, parameters, ones, time, end, lowest, highest, path):
    """Take samples until |mean| leaves [lowest, highest] or time `end`, and return ones, time, and whether it left.

    One sample is taken at least.
    """
    limit, apart, down = threshold(coin.chance), parameters.high - parameters.low, parameters.low + parameters.middle
    a, b, c, d = state[0], state[1], state[2], state[3]  # in registers: this loop is what costs
    left = False
    while time < end and not left:
        word, a, b, c, d = advance(a, b, c, d)
        ones += np.int64(path[time]) if path.size else np.int64((word >> uint64(11)) < limit)
        time += 1
        size = abs(ones * apart + time * down)
        left = size < lowest * time or size > highest * time
    state[0], state[1], state[2], state[3] = a, b, c, d
    return ones, time, left


@compiled
def play(coin, parameters, state, cap, path):
    """Run EBStop or EBGStop, and return whether it halted, the samples and the estimate.

    It keeps the largest |mean| - c_t and the smallest |mean| + c_t, and computes c_t only where one of them may move.
    For a window of samples the radius is bounded from below. While |mean| lies so that with this radius neither
    bound would move, neither does, and the answer to "halt?" stays as it was.

    Args:
        coin: The samples.
        parameters: The parameters of the object.
        state: The generator's state, which is advanced.
        cap: The largest number of samples.
        path: Samples to replay, 1 for the larger value; empty for fresh ones.
    """
    ones, time = np.int64(0), np.int64(0)
    lower, upper = 0.0, np.inf
    while time < cap:
        size = _window(parameters, time, cap)
        least = _least_radius(parameters, ones, time, size) if size > 1 else -np.inf  # then every sample is looked at
        end = time + size
        while time < end:
            ones, time, left = _walk(state, coin, parameters, ones, time, end, upper - least, lower + least, path)
            if not left:
                break
            t, zeros = np.float64(time), time - ones
            mean = (ones * parameters.high + zeros * parameters.low) / t
            squares = ones * (parameters.high * parameters.high) + zeros * (parameters.low * parameters.low)
            around = _radius(parameters, t, squares / t - mean * mean)
            lower = max(lower, abs(mean + parameters.middle) - around)
            upper = min(upper, abs(mean + parameters.middle) + around)
            if (1 + parameters.alpha) * lower >= (1 - parameters.alpha) * upper:
                value = ((1 + parameters.alpha) * lower + (1 - parameters.alpha) * upper) / 2
                return True, time, np.sign(mean + parameters.middle) * value
    return False, time, np.nan


def program(rule: EBStop, coin: Coin) -> Any:
    """Return the kernel of a rule on samples of two values: see `discreet.lab.kernels`.

    Args:
        rule: The rule.
        coin: The samples.
    """
    return partial(play, coin, parameters_of(rule, coin), cap=rule.max_samples, path=FRESH)

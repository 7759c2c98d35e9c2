"""DP-Bernstein on samples of two values, compiled: a block at a time, as the object does it.

Of h pairs in a block, some have two of the larger value, some one of each, and the rest none: two binomial draws, of
which follow the block's total and its squares, which is all that the rule ever uses.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.core.noise import scale_for
from discreet.core.probability.tails import bernstein_radius, largest_mean
from discreet.lab.kernels.coins import Coin
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import binomial, discrete_laplace
from discreet.stopping import DPBernstein


class Parameters(NamedTuple):
    """Parameters of a rule, by its own names; scales and rounding are in grid steps."""

    alpha: float
    window: int
    mean_epsilon: float
    variance_epsilon: float
    level: float
    noise_radius: float
    width: int
    floor: int
    step: float
    rounding: float
    mean_scale: float
    variance_scale: float


def parameters_of(rule: DPBernstein) -> tuple[Parameters, Any, Any]:
    """Return the parameters of a rule, the ends of its blocks, and the variance levels of its tests."""
    grid = rule.grid
    variance_scale, mean_scale = (scale_for(grid.width, epsilon) for epsilon in rule.epsilons)
    parameters = Parameters(
        rule.alpha, rule.blocks_per_test, rule.mean_epsilon, rule.variance_epsilon, rule.level, rule.noise_radius,
        grid.width, grid.floor, grid.step, rule.rounding / grid.step, mean_scale, variance_scale,
    )  # fmt: skip
    levels = np.array([rule.variance_level(test) for test in range(1, len(rule.ends))])
    return parameters, np.array(rule.ends, dtype=np.int64), levels


@compiled
def _variance_bound(rule, total, squares, count, level):
    """Return the largest variance that a window's releases allow."""
    by_pairs = largest_mean(squares, count / 2, rule.window, rule.variance_epsilon, level) / 2
    highest = largest_mean(total, float(count), rule.window, rule.mean_epsilon, level)
    lowest = 1 - largest_mean(count - total, float(count), rule.window, rule.mean_epsilon, level)
    worst = min(max(0.5, lowest), highest)
    return min(by_pairs, worst * (1 - worst))


@compiled
def _play(coin, rule, ends, levels, state, cap):
    totals, squares = np.zeros(ends.size), np.zeros(ends.size)
    low, high = coin.low - rule.floor, coin.high - rule.floor
    square = -(-(high - low) * (high - low) // rule.width)
    both = coin.chance * coin.chance
    one = min(1.0, 2 * coin.chance * (1 - coin.chance) / (1 - both)) if both < 1 else 0.0
    for block in range(1, ends.size):
        if ends[block] > cap:
            break
        size = ends[block] - ends[block - 1]
        doubles = binomial(state, size // 2, both)
        mixed = binomial(state, size // 2 - doubles, one)
        ones = 2 * doubles + mixed
        sum_steps = ones * high + (size - ones) * low
        squares[block] = (mixed * square + discrete_laplace(state, rule.variance_scale)) / rule.width
        totals[block] = sum_steps + discrete_laplace(state, rule.mean_scale)
        test = block - rule.window + 1
        if test < 1:
            continue
        count = ends[block] - ends[test - 1]
        steps = totals[test : block + 1].sum()
        mean = (steps + count * rule.floor) / count
        if rule.noise_radius > rule.alpha * abs(mean) / rule.width * count:
            continue
        total = steps / rule.width
        variance = _variance_bound(rule, total, squares[test : block + 1].sum(), count, levels[test - 1])
        radius = bernstein_radius(count, variance, rule.window, rule.mean_epsilon, rule.level) / count * rule.width
        if radius + rule.rounding <= rule.alpha * abs(mean):
            return True, ends[block], math.copysign(abs(mean) - rule.alpha * radius, mean) * rule.step
    return False, cap, math.nan


def program(rule: DPBernstein, coin: Coin) -> Any:
    """Return the kernel of a rule on samples of two values: see `discreet.lab.kernels`.

    Args:
        rule: The rule.
        coin: The samples.
    """
    return partial(_play, coin, *parameters_of(rule), cap=rule.max_samples)

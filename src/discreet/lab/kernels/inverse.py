"""Inverse sampling and its private form on rewards of any law, compiled: from test to test, one draw of the sum.

Rewards become coins, and coins of independent rewards are independent, so the sum between two tests is binomial with
the rewards' mean, whatever their law is. Tests that no noise of 53 bits could halt draw none.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from typing import Any

import numpy as np

from discreet.lab.kernels.coins import Coin
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import binomial, discrete_laplace, uniform
from discreet.stopping import InverseSampling

_HOPELESS = 38.0  # a test that lacks so many scales halts with a chance below 2^-54
_AT_ONCE = 64  # the least number of tests whose levels are computed at a time


@compiled
def threshold_noise(state, scale):
    """Draw B: the absolute value of a discrete Laplace variable, or 0 without noise.

    Args:
        state: The generator's state, which is advanced.
        scale: The scale of the noises, in coins.
    """
    return abs(discrete_laplace(state, scale)) if scale > 0 else 0


@compiled
def halts(state, missing, scale):
    """Return whether a test halts whose sum lacks so many coins: whether |X| is as large, X a discrete Laplace draw.

    Args:
        state: The generator's state, which is advanced.
        missing: The level plus B, minus the sum.
        scale: The scale of the noises, in coins.
    """
    if missing <= 0:
        return True
    if missing >= _HOPELESS * scale:
        return False
    return uniform(state) < 2 * math.exp(-missing / scale) / (1 + math.exp(-1 / scale))


@compiled
def play_tests(coin, counts, levels, first, total, noise, scale, state, cap):
    """Play tests until one halts or the cap is reached, and return the next test's index, whether one halted, the sum.

    Args:
        coin: The samples.
        counts: The number of samples before each test.
        levels: The level of each test.
        first: The index of the first test to play.
        total: The sum before it.
        noise: B.
        scale: The scale of the noises, in coins.
        state: The generator's state, which is advanced.
        cap: The largest number of samples.
    """
    before = counts[first - 1] if first > 0 else 0
    for index in range(first, counts.size):
        if counts[index] > cap:
            return index, False, total
        total += binomial(state, counts[index] - before, coin.chance)
        before = counts[index]
        if halts(state, levels[index] + noise - total, scale):
            return index + 1, True, total
    return counts.size, False, total


def program(rule: InverseSampling, coin: Coin) -> Any:
    """Return the kernel of a rule on samples that become coins: see `discreet.lab.kernels`.

    Args:
        rule: The rule.
        coin: The coins.
    """
    scale, cap = rule.scale, int(rule.max_samples or 0)
    known = counts, levels = np.zeros((2, 0), np.int64)

    def grow() -> None:
        nonlocal known, counts, levels
        size = counts.size + max(_AT_ONCE, counts.size // 8)
        tests = [test for number in range(counts.size, size) if (test := rule.test(number)) is not None]
        more = np.array([(test.count, test.level) for test in tests], np.int64).reshape(-1, 2).T
        known = counts, levels = np.hstack([known, more])

    def play(state: Any) -> tuple[bool, int, float]:
        index, total, noise = 0, 0, threshold_noise(state, scale)
        while True:
            index, halted, total = play_tests(coin, counts, levels, index, total, noise, scale, state, cap)
            if halted:
                return True, int(counts[index - 1]), rule.test(index - 1).estimate * rule.grid.high  # type: ignore[union-attr]
            if index < counts.size:
                return False, cap, math.nan
            grow()
            if index == counts.size:  # there are no more tests
                return False, cap, math.nan

    return play

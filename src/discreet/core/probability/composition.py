"""The epsilon of several pure promises together, at a stated delta."""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import ArgumentError

_CELLS = 20_000  # of the grid of privacy losses, where exact ones would need more
_MOST = 700.0  # the sum of epsilons beyond which e^epsilon is no float
_ROUNDING = 1e-13  # of a sum of so many floats; delta is made smaller by it


def composed_epsilon(epsilons: Mapping[Fraction, int], delta: float) -> float:
    """Return the least epsilon for which mechanisms of pure epsilons are (epsilon, delta)-private together.

    Of all mechanisms with a pure epsilon, randomized response loses most (Kairouz, Oh and Viswanath 2015), also where
    they are interactive and run at the same time (Vadhan and Wang 2021). Its loss is epsilon with probability
    e^epsilon/(1 + e^epsilon), and else -epsilon; so the law of the sum L of all losses is exact, and delta is the mean
    of (1 - e^(epsilon - L))+. Where losses have no common step that is large enough, each is rounded up.

    The epsilons must have been fixed beforehand, and not by what others have released.

    Args:
        epsilons: How many mechanisms there are of each epsilon.
        delta: The delta.

    Returns:
        The epsilon, which is never above the sum.

    Raises:
        ArgumentError: An epsilon or a number is negative, or delta does not lie between 0 and 1.

    >>> round(composed_epsilon({Fraction(1, 10): 100}, 1e-6), 2)
    4.77
    >>> composed_epsilon({Fraction(1): 1}, 1e-6) <= 1.0, composed_epsilon({}, 1e-6)
    (True, 0.0)
    """
    checks.fraction("delta", delta)
    for epsilon, count in epsilons.items():
        if epsilon < 0 or count < 0:
            raise ArgumentError(f"epsilons must be numbers from 0 on, with counts from 0 on, got {epsilon}: {count}")
    parts = tuple(sorted((Fraction(epsilon), count) for epsilon, count in epsilons.items() if epsilon and count))
    return _composed(parts, delta)


@lru_cache(maxsize=256)
def _composed(parts: tuple[tuple[Fraction, int], ...], delta: float) -> float:
    total = sum((epsilon * count for epsilon, count in parts), Fraction(0))
    if not parts or total > _MOST:
        return float(total)
    losses, chances = _law(parts, total)
    order = np.argsort(losses)[::-1]
    losses, chances = losses[order], chances[order]
    above, weighted = np.cumsum(chances), np.cumsum(chances * np.exp(-losses))
    # For epsilon between two losses, delta is above - e^epsilon weighted, of all losses from the larger one on.
    wanted = max(delta - _ROUNDING, 0.0)
    for place in range(len(losses)):
        least = float(losses[place + 1]) if place + 1 < len(losses) else -math.inf
        excess = float(above[place]) - wanted
        if excess <= 0:
            continue
        if not weighted[place]:  # losses so large that e^-loss is no float
            return float(total)
        reached = math.log(excess / float(weighted[place]))
        if reached >= least:
            return min(max(reached, 0.0), float(total))
    return 0.0


def _law(parts: tuple[tuple[Fraction, int], ...], total: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the losses that may come, and their chances; each is exact, or rounded up."""
    step = _common_step([epsilon for epsilon, _ in parts])
    if total / step > _CELLS:
        step = total / _CELLS
    law, least = np.ones(1), 0  # in steps: the chance of the least loss, of one more, ...
    for epsilon, count in parts:
        up, down = math.ceil(epsilon / step), -math.floor(epsilon / step)
        likely = -math.log1p(math.exp(-float(epsilon)))  # the logarithm of the chance of a loss of epsilon
        counts = np.arange(count + 1)
        logs = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in counts]
        chances = np.exp(np.array(logs) + count * likely - (count - counts) * float(epsilon))
        wider = np.zeros(len(law) + count * (up - down))
        for k, chance in enumerate(chances):
            if chance > 0:
                wider[k * (up - down) : k * (up - down) + len(law)] += chance * law
        law, least = wider, least + count * down
    losses = np.array((least + np.arange(len(law))) * float(step), dtype=np.float64)
    return losses, law


def _common_step(epsilons: list[Fraction]) -> Fraction:
    """Return the largest number of which all epsilons are whole multiples."""
    denominator = math.lcm(*(epsilon.denominator for epsilon in epsilons))
    return Fraction(math.gcd(*(int(epsilon * denominator) for epsilon in epsilons)), denominator)

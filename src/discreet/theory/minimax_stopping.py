"""The least level: what every rule needs for a mean within a factor 1 +- alpha, if it is to hold for all small means.

The two-point bound looks at one mean and one rival. A rule that must hold for all means has many, and then no rule is
better than one that waits for r successes and is told their number with Laplace noise, for an r that is computed here.
`docs/proofs/stopping-lower-bound.md` has the proof.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, fraction, numbers, privacy, require, vectorised

_NEGLIGIBLE = 40.0  # weights below e^-40 of the largest are left out
_SHARP = 64.0  # a larger epsilon hides nothing: its noise is 0 but for a chance of e^-64
_SMALLEST = 1e-4  # of alpha and epsilon: a run of a hundred million successes, or more


@vectorised
def least_level(alpha: ArrayLike, beta: ArrayLike, epsilon: ArrayLike = math.inf) -> Floats:
    """Return r such that no rule has p E[samples] < r for all small p, where samples are 1 with probability p, else 0.

    It holds for every epsilon-private rule (for every rule, at epsilon = infinity) whose estimate is within a factor
    1 +- alpha of p with probability 1 - beta, for all p. It is a bound in the worst case: at one p alone a rule may
    need fewer samples, down to `two_point_lower_bound`. Without privacy it is attained for p to 0: by sampling until
    there are r successes. With privacy, a rule that attains it would need no noise for the time at which it halts.

    For small alpha it is z^2/alpha^2, with z the normal quantile of 1 - beta/2, where epsilon is large against alpha;
    and log(1/beta)/(alpha epsilon) where it is small.

    Args:
        alpha: The relative error, from 0.0001 to 1/2.
        beta: The probability of failure, below 1/4.
        epsilon: The privacy parameter, at least 0.0001; infinity for no privacy.

    >>> [round(least_level(0.1, 0.05, epsilon), 1) for epsilon in (math.inf, 1.0, 0.1, 0.01)]
    [382.0, 383.8, 531.3, 3161.5]
    """
    alpha, beta, epsilon = numbers("alpha", alpha), fraction("beta", beta, below=0.25), privacy(epsilon)
    require("alpha", alpha, (alpha >= _SMALLEST) & (alpha <= 0.5), f"between {_SMALLEST:g} and 0.5 for this bound")
    require("epsilon", epsilon, epsilon >= _SMALLEST, f"at least {_SMALLEST:g} for this bound")
    given = np.broadcast_arrays(alpha, beta, np.minimum(epsilon, _SHARP))
    lines = [line_above(*map(float, one)) for one in zip(*(part.flat for part in given), strict=True)]
    price, value = np.array(lines).reshape((-1, 2)).T.reshape((2, *given[0].shape))
    result: Floats = (1 - given[1] - value) / price
    return result


@lru_cache(maxsize=1024)
def line_above(alpha: float, beta: float, epsilon: float) -> tuple[float, float]:
    """Return slope and start of a line above all points (mean, success), and near them where the success is 1 - beta.

    Args:
        alpha: The relative error.
        beta: The probability of failure.
        epsilon: The privacy parameter, finite.
    """
    low, high = 1, 2
    while success(high, alpha, epsilon)[0] < 1 - beta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if success(middle, alpha, epsilon)[0] < 1 - beta else (low, middle)
    (chance, mean), (larger, more) = success(low, alpha, epsilon), success(high, alpha, epsilon)
    price = (larger - chance) / (more - mean)
    near = [success(low + step / 4, alpha, epsilon) for step in range(-4, 9) if low + step / 4 >= 1]
    return price, max(chance - price * mean for chance, mean in near)


def success(peak: float, alpha: float, epsilon: float) -> tuple[float, float]:
    """Return the largest chance to estimate t within a factor 1 +- alpha, and the mean of t.

    t has a mixture of gamma distributions with shapes s = 1, 2, ..., in proportion to e^(-epsilon |s - peak|)/s: what
    a noisy number of successes tells about the time at which they came.

    Args:
        peak: The noisy number, at least 1.
        alpha: The relative error.
        epsilon: The privacy parameter.
    """
    reach = _NEGLIGIBLE / epsilon + 1
    shapes = np.arange(max(1, math.floor(peak - reach)), math.ceil(peak + reach) + 1, dtype=float)
    weights = np.exp(-epsilon * np.abs(shapes - peak)) / shapes
    weights /= weights.sum()
    mean = float(weights @ shapes)
    spread = math.sqrt(mean + float(weights @ (shapes - mean) ** 2))
    ratio, low, high = (1 + alpha) / (1 - alpha), max(0.0, mean - 3 * spread) * (1 - alpha), mean + spread

    def chance(start: float) -> float:
        return _below(start * ratio, shapes, weights) - _below(start, shapes, weights)

    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = chance(left), chance(right)
    while high - low > 1e-5 * spread:  # the chance is flat at its largest: this leaves an error of about 1e-11
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = chance(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = chance(right)
    return max(at_left, at_right), mean


def _below(t: float, shapes: Floats, weights: Floats) -> float:
    """Return the probability of at most t: a gamma of shape s is if a Poisson variable of mean t is at least s."""
    end = max(shapes[-1], t + 12 * math.sqrt(t) + _NEGLIGIBLE)
    counts = np.arange(shapes[0], end + 1)
    logs = np.cumsum(math.log(t) - np.log(counts))
    first = int(shapes[0])
    before = (first - 1) * math.log(t) - t - math.lgamma(first)
    tails = np.cumsum(np.exp(logs + before)[::-1])[::-1]
    return float(weights @ tails[: shapes.size])

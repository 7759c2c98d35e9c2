"""Upper bounds on the samples of NAS, which halts once |mean_t| >= h_t (1 + 1/alpha), without privacy.

Samples lie in [low, high], by default [0, 1]; R = (high - low)/2. With X = R/(alpha |mu|), or 1 if that is larger, a
rule is sure to halt once |mu| >= h_t (2 + 1/alpha), and so once h_t <= R/(3 X).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, vectorised
from discreet.theory.logarithms import log_bracket, loglog_bracket
from discreet.theory.stopping import stopping_problem


@vectorised
def nas_upper_bound(mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, *, low: float = 0.0, high: float = 1.0) -> Any:
    """Return 72 X^2 log(72 X^2/beta), rounded up, by which NAS halts with probability 1 - beta.

    This is the order R^2/(alpha mu)^2 log(R/(beta alpha |mu|)) of Domingo, Gavalda and Watanabe (2002), with a
    constant. NAS has h_t = R sqrt((2/t) log(4 t^2/beta)), and 4 t^2/beta <= (2 t/beta)^2, so it is sure to halt once
    log(2 t/beta)/t <= 1/(36 X^2), and `log_bracket` says from when on that holds. `sure_samples` has what the
    thresholds guarantee.

    Args:
        mean: The samples' mean mu, in the range, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, in (0, 1).
        low: The smallest possible sample.
        high: The largest possible sample.

    >>> nas_upper_bound(0.1, 0.1, 0.05, low=-1, high=1)
    11867572.0
    """
    slope, beta = _slope(mean, alpha, beta, low, high)
    return np.ceil(log_bracket(2 / beta, slope).high)


@vectorised
def doubling_nas_upper_bound(
    mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> Any:
    """Return 144 X^2 log((2/(beta ln 2)) log(36 X^2)): NAS that tests at 2, 4, 8, ... alone halts by it.

    It does with probability 1 - beta, if its test at t = 2^k has h_t = R sqrt((2/t) log(4 k^2/beta)). This is the order
    R^2/(alpha mu)^2 (log(1/beta) + log log(R/(alpha |mu|))) that the paper owes to Mnih, Szepesvari and Audibert
    (2008), with a constant: 4 k^2/beta <= (2 k/beta)^2, so it is sure to halt once
    log((2/(beta ln 2)) log t)/t <= 1/(36 X^2), which holds from `loglog_bracket` on, and the next power of 2 is at most
    twice as far.

    Args:
        mean: The samples' mean mu, in the range, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, in (0, 1).
        low: The smallest possible sample.
        high: The largest possible sample.

    >>> round(doubling_nas_upper_bound(0.1, 0.1, 0.05, low=-1, high=1))
    9510275
    """
    slope, beta = _slope(mean, alpha, beta, low, high)
    return 2 * np.asarray(loglog_bracket(2 / (beta * math.log(2)), slope).high)


@vectorised
def stopping_excess(mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, *, low: float = 0.0, high: float = 1.0) -> Any:
    """Return log(L/beta)/log(1/beta), by which Theorem 3.3's order exceeds that of the lower bound, Corollary 3.6.

    L is log(R/(alpha |mu|)), or 1 if that is larger. While L <= 1/beta, which is the paper's condition for optimality,
    the factor is at most 2. Beyond it the factor is 1 + log(L)/log(1/beta): it has no limit, but grows as slowly as
    log log(R/(alpha |mu|)). For it to reach 3, L must be 1/beta^2: with beta = 0.05 means of e^-400 of the range.

    Args:
        mean: The samples' mean mu, in the range, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, in (0, 1).
        low: The smallest possible sample.
        high: The largest possible sample.

    >>> [round(stopping_excess(mean, 0.5, 0.05), 3) for mean in (0.5, 1e-3, 1e-9, 1e-300)]
    [1.0, 1.645, 2.012, 3.182]
    """
    mu, alpha, beta, radius = stopping_problem(mean, alpha, beta, low, high)
    log = np.maximum(np.log(radius) - np.log(alpha) - np.log(mu), 1.0)
    return 1 - np.log(log) / np.log(beta)


def _slope(mean: Any, alpha: Any, beta: Any, low: float, high: float) -> tuple[Floats, Floats]:
    """Return 1/(36 X^2), or the least float above 0 that has all its digits, and beta."""
    mu, alpha, beta, radius = stopping_problem(mean, alpha, beta, low, high)
    return np.maximum(np.minimum(alpha * mu / radius, 1.0) ** 2 / 36, np.finfo(float).tiny), beta

"""The test of `dp-se-sharp` for many runs at once: `discreet.core.probability.tails.clearly_behind` on arrays.

The scalar code searches for the largest mean m whose exponent max_s g(m, s) stays below a level. Since g grows with m,
g(m, s) = level can be solved for m at each s, and the largest mean is the least of these solutions over s: one search
instead of two. This one is exact up to rounding, the scalar one up to 5e-7 of the exponent, on the safe side; tests
compare their verdicts.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_BELOW, _STEEPEST = 1 - 1e-9, 500.0  # where searches over s end, as in `tails`
_HALVINGS, _SECTIONS = 45, 60
_GOLDEN = (np.sqrt(5) - 1) / 2


def clearly_behind(  # noqa: PLR0917  (as the scalar one)
    lead: Floats, total: Floats, pulls: int, noises: int, epsilon: float, level: float, doubt: float
) -> NDArray[np.bool_]:
    """Return True for each lead over an arm that rules out that this arm has the higher mean.

    Args:
        lead: The other arm's noisy total minus this arm's.
        total: This arm's noisy total.
        pulls: The number of rewards in each total.
        noises: The number of Laplace variables of scale 1/epsilon in each total.
        epsilon: The inverse of the noise's scale.
        level: The exponent that the lead must exceed.
        doubt: The level of each end of the confidence interval of the arm's mean.

    >>> clearly_behind(np.array([60.0, 60.0]), np.array([40.0, 470.0]), 1000, 1, 1.0, 7.0, 9.0)
    array([ True, False])
    """
    behind = np.zeros(lead.shape, bool)
    open_ = np.flatnonzero(lead_exponent(lead, pulls, 2 * noises, np.zeros_like(lead), epsilon) > level)
    if open_.size:
        variance = largest_variance(total[open_], pulls, noises, epsilon, doubt)
        behind[open_] = lead_exponent(lead[open_], pulls, 2 * noises, variance, epsilon) > level
    return behind


def lead_exponent(lead: Floats, pulls: int, noises: int, variance: Floats, epsilon: float) -> Floats:
    """Return exponents L with Pr[an arm of no higher mean leads by `lead` or more] <= exp(-L).

    Args:
        lead: The difference of the two noisy totals.
        pulls: The number of rewards in each total.
        noises: The number of Laplace variables of scale 1/epsilon in both totals together.
        variance: An upper bound on the variance of a reward of the arm that is behind.
        epsilon: The inverse of the noise's scale.
    """
    low, high = np.zeros_like(lead), np.full_like(lead, min(epsilon * _BELOW, _STEEPEST))
    for _ in range(_HALVINGS):
        s = (low + high) / 2
        steep = np.exp(s)
        sinh, cosh = (steep - 1 / steep) / 2, (steep + 1 / steep) / 2
        slope = 2 * variance * sinh / (1 + 2 * variance * (cosh - 1))
        above = lead > pulls * slope + 2 * noises * s / (epsilon * epsilon - s * s)
        low, high = np.where(above, s, low), np.where(above, high, s)
    spread = np.log1p(4 * variance * np.sinh(low / 2) ** 2)
    exponent = low * lead - pulls * spread + noises * np.log1p(-low * low / (epsilon * epsilon))
    return np.where(lead > 0, np.maximum(0.0, exponent), 0.0)


def largest_variance(total: Floats, count: int, noises: int, epsilon: float, level: float) -> Floats:
    """Return the largest m(1 - m) over all means m in the two-sided confidence intervals of totals.

    Args:
        total: The released totals.
        count: The number of independent rewards in each, in [0, 1].
        noises: The number of Laplace variables of scale 1/epsilon in each.
        epsilon: The inverse of the noise's scale.
        level: Each end of an interval fails with probability exp(-level) at most.
    """
    nearer = np.minimum(total, count - total)  # an interval that lies above 1/2 is the mirror image of one below
    high = largest_mean(nearer, count, noises, epsilon, level)
    return np.where(high < 0.5, high * (1 - high), 0.25)


def largest_mean(total: Floats, count: int, noises: int, epsilon: float, level: float) -> Floats:
    """Return the largest means in [0, 1] that are in the confidence intervals of totals.

    Args:
        total: The released totals.
        count: The number of independent rewards in each, in [0, 1].
        noises: The number of Laplace variables of scale 1/epsilon in each.
        epsilon: The inverse of the noise's scale.
        level: The true mean is above the bound with probability exp(-level) at most.

    >>> largest_mean(np.array([50.0, 600.0]), 1000, 1, 1.0, 3.0).round(4)
    array([0.0691, 0.6376])
    """
    low, high = np.full(total.shape, np.log(1e-9 * epsilon)), np.full(total.shape, np.log(epsilon * _BELOW))

    def solution(log_s: Floats) -> Any:
        s = np.exp(log_s)
        weight = (-s * total + noises * np.log1p(-s * s / (epsilon * epsilon)) - level) / count
        return np.expm1(weight) / np.expm1(-s)

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = solution(left), solution(right)
    for _ in range(_SECTIONS):
        lower = at_left < at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = solution(left), solution(right)
    share = np.clip(total / count, 0.0, 1.0)
    found: Floats = np.clip(np.minimum(at_left, at_right), share, 1.0)
    return found

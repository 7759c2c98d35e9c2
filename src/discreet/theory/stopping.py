"""Bounds on the number of samples that a stopping rule needs to estimate a mean within a factor 1 +- alpha.

Samples lie in [low, high], by default [0, 1], and have the mean `mean`. The paper's range is [-R, R]; any other enters
its formulas as R = (high - low)/2, as it does in the rules: concentration and sensitivity depend on the width alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import ArgumentError
from discreet.theory.divergence import divergence, private_divergence
from discreet.theory.domain import Floats, fraction, inside, numbers, plain, privacy, require, vectorised

LAST_POWER = 53
MOST_SAMPLES = 2.0**LAST_POWER  # from here on a number of samples is reported as infinite
RULES = ("nas", "dp-nas", "dp-exp-nas")


class UpperBoundParts(NamedTuple):
    """The three terms of Theorem 3.3.

    Attributes:
        t0: Samples due to sampling.
        t1: Samples due to the tests' noise.
        t2: Samples due to the released mean's noise.
    """

    t0: Any
    t1: Any
    t2: Any


@np.errstate(over="ignore", divide="ignore")
def stopping_upper_bound_parts(
    mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, epsilon: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> UpperBoundParts:
    """Return t0, t1 and t2 of Sajed and Sheffet's Theorem 3.3.

    t0 = R^2 log(L/beta)/(alpha mu)^2, t1 = R log(L/beta)/(epsilon |mu|) and t2 = R log(1/beta)/(epsilon alpha |mu|),
    with L = log(R/(alpha |mu|)). As printed the terms shrink to nothing, and beyond, where R/(alpha |mu|) comes near
    1, and there the theorem fails: with mu = R, alpha = 0.95, beta = 0.05 and a large epsilon it allows 56 samples,
    and no test before the 128th can succeed. Here L is at least 1, and the bound holds for R/(epsilon |mu|) up to
    e^500000 (docs/proofs/paper.md).

    Args:
        mean: The samples' mean mu, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, at most 0.08.
        epsilon: The privacy parameter; infinity for no privacy.
        low: The smallest possible sample.
        high: The largest possible sample.

    >>> [round(part) for part in stopping_upper_bound_parts(0.1, 0.1, 0.05, 1.0, low=-1, high=1)]
    [45229, 45, 300]
    """
    mu, alpha, beta, radius = stopping_problem(mean, alpha, beta, low, high)
    require("beta", beta, beta <= 0.08, "at most 0.08 for this theorem")
    epsilon = privacy(epsilon)
    log = np.log(np.maximum(np.log(radius) - np.log(alpha) - np.log(mu), 1.0)) - np.log(beta)
    sampling = (radius / alpha / mu) ** 2 * log
    tests = radius / epsilon / mu * log
    release = -radius / epsilon / alpha / mu * np.log(beta)
    return UpperBoundParts(plain(sampling), plain(tests), plain(release))


@vectorised
def stopping_upper_bound(
    mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, epsilon: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> Any:
    """Return t_U = 2000 (t0 + t1 + t2), by which DP exponential NAS halts with probability 1 - beta.

    Sajed and Sheffet, Theorem 3.3, with the correction of `stopping_upper_bound_parts`. The constant is far from tight;
    `sure_samples` has the guarantee of the rule's own thresholds.

    Args:
        mean: The samples' mean mu, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, at most 0.08.
        epsilon: The privacy parameter; infinity for no privacy.
        low: The smallest possible sample.
        high: The largest possible sample.

    >>> round(stopping_upper_bound(0.1, 0.1, 0.05, 1.0, low=-1, high=1))
    91147843
    """
    parts = stopping_upper_bound_parts(mean, alpha, beta, epsilon, low=low, high=high)
    return np.maximum(2000 * np.sum(np.broadcast_arrays(*parts), axis=0), 2.0)  # the first test is at 2


@vectorised
def nonprivate_stopping_lower_bound(
    mean: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    variance: ArrayLike | None = None,
) -> Any:
    """Return max(sigma^2, R alpha |mu|)/(alpha mu)^2 log(1/beta), the order that every rule needs.

    The theorem (Dagum et al. 2000) does not name its constant factor. Here it is 1, so this is a scale and not a
    bound; `two_point_lower_bound` has its constants.

    Args:
        mean: The samples' mean mu, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, in (0, 1).
        low: The smallest possible sample.
        high: The largest possible sample.
        variance: The samples' variance. By default that of the distribution on the values `low` and `high` alone.

    >>> round(nonprivate_stopping_lower_bound(0.1, 0.1, 0.05, low=-1, high=1))
    29658
    """
    mu, alpha, beta, radius = stopping_problem(mean, alpha, beta, low, high)
    if variance is None:
        centre = numbers("mean", mean)
        spread = (high - centre) * (centre - low)
    else:
        spread = numbers("variance", variance)
        require("variance", spread, (spread >= 0) & (spread <= radius**2), f"between 0 and {radius**2:g}")
    return -np.maximum(spread / (alpha * mu), radius) / (alpha * mu) * np.log(beta)


@vectorised
def private_stopping_lower_bound(
    mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, epsilon: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> Any:
    """Return R log(1/beta)/(12 alpha |mu| epsilon), Sajed and Sheffet's Theorem 3.4.

    Every epsilon-private (alpha, beta)-rule takes more samples than this with probability above 1/4 on some
    distribution of this mean, however few samples it would need without privacy.

    Args:
        mean: The samples' mean mu, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, below 1/4.
        epsilon: The privacy parameter; infinity for no privacy.
        low: The smallest possible sample.
        high: The largest possible sample.

    >>> round(private_stopping_lower_bound(0.1, 0.1, 0.05, 1.0, low=-1, high=1), 1)
    25.0
    """
    mu, alpha, beta, radius = stopping_problem(mean, alpha, beta, low, high)
    require("beta", beta, beta < 0.25, "below 1/4 for this theorem")
    rival = numbers("mean", mean) * (1 - alpha) / (1 + alpha)
    possible = (low <= rival) & (rival <= high)
    require("mean", numbers("mean", mean), possible, "such that (1 - alpha)/(1 + alpha) of it is in the range too")
    return -radius * np.log(beta) / (12 * alpha * mu * privacy(epsilon))


@vectorised
def stopping_lower_bound(
    mean: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    epsilon: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    variance: ArrayLike | None = None,
) -> Any:
    """Return the order of the samples that every private rule needs (Sajed and Sheffet, Corollary 3.6).

    It is the sum of `nonprivate_stopping_lower_bound`, which is an order, and `private_stopping_lower_bound`.

    Args:
        mean: The samples' mean mu, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, below 1/4.
        epsilon: The privacy parameter; infinity for no privacy.
        low: The smallest possible sample.
        high: The largest possible sample.
        variance: The samples' variance. By default that of the distribution on the values `low` and `high` alone.

    >>> round(stopping_lower_bound(0.1, 0.1, 0.05, 1.0, low=-1, high=1))
    29683
    """
    return np.add(
        nonprivate_stopping_lower_bound(mean, alpha, beta, low=low, high=high, variance=variance),
        private_stopping_lower_bound(mean, alpha, beta, epsilon, low=low, high=high),
    )


@vectorised
def two_point_lower_bound(
    mean: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    epsilon: ArrayLike = math.inf,
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> Any:
    """Return the least expected number of samples, with its constants, when every sample is `low` or `high`.

    It holds for every epsilon-private rule (for every rule, at epsilon = infinity) that is correct on all
    distributions on these two values. Samples that vary less may take fewer. The argument is a change of measure:
    samples of mean mu' with (1 + alpha)|mu'| < (1 - alpha)|mu|, or the other way round, must lead to another answer.
    With x and y as the probabilities of `high` under both means, no private rule distinguishes them faster than
    d_epsilon(x, y) a sample. The bound is kl(beta, 1 - beta) over the smallest such d_epsilon (docs/theory.md has the
    proof).

    Args:
        mean: The samples' mean mu, strictly between `low` and `high`, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, below 1/2.
        epsilon: The privacy parameter; infinity for no privacy.
        low: The smallest possible sample.
        high: The largest possible sample.

    >>> round(two_point_lower_bound(0.1, 0.1, 0.05)), round(two_point_lower_bound(0.1, 0.1, 0.05, 0.01))
    (1282, 14883)
    """
    mu, radius = numbers("mean", mean), _half_width(low, high)
    alpha, beta, epsilon = fraction("alpha", alpha), fraction("beta", beta, below=0.5), privacy(epsilon)
    require("mean", mu, (mu > low) & (mu < high) & (mu != 0), f"strictly between {low:g} and {high:g}, and not 0")
    ratio = (1 - alpha) / (1 + alpha)
    x = (mu - low) / (2 * radius)
    # Rivals of the other sign are farther away than the smaller one; those out of range do not exist.
    costs = []
    for rival in (mu * ratio, mu / ratio):
        y = np.clip((rival - low) / (2 * radius), 0.0, 1.0)
        costs.append(np.where((rival >= low) & (rival <= high), private_divergence(x, y, epsilon), np.inf))
    return divergence(beta, 1 - beta) / np.minimum(*costs)


@vectorised
def sure_samples(
    rule: str,
    mean: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    epsilon: ArrayLike = math.inf,
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> Any:
    """Return the samples by which a rule has halted with probability 1 - beta, for every distribution.

    This follows from the rule's own thresholds. With probability 1 - beta, at all tests |mean_t| >= |mu| - h_t and the
    noises stay below their tail bounds; so a test succeeds once |mu| >= h_t (2 + 1/alpha) + (c_t + those bounds)/t.
    Rounding is left out: the rules allow for half a grid step a sample, which is negligible unless |mu| comes near
    (1 + 1/alpha) 2^-21 of the range.

    Args:
        rule: "nas", "dp-nas" or "dp-exp-nas".
        mean: The samples' mean mu, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, in (0, 1).
        epsilon: The privacy parameter; infinity for no privacy.
        low: The smallest possible sample.
        high: The largest possible sample.

    Returns:
        The number of samples; infinity from 2^53 on.

    >>> [round(sure_samples(rule, 0.1, 0.1, 0.05, 1.0)) for rule in RULES]
    [207875, 229094, 131072]
    """
    return _first_sure(rule, mean, alpha, beta, epsilon, low=low, high=high, spared=1.0)


@vectorised
def typical_samples(
    rule: str,
    mean: ArrayLike,
    alpha: ArrayLike,
    beta: ArrayLike,
    epsilon: ArrayLike = math.inf,
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> Any:
    """Return the samples at which a rule halts if every sample equals the mean and the noise is 0.

    This is a good guess at the length of a run.

    Args:
        rule: "nas", "dp-nas" or "dp-exp-nas".
        mean: The samples' mean mu, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, in (0, 1).
        epsilon: The privacy parameter; infinity for no privacy.
        low: The smallest possible sample.
        high: The largest possible sample.

    Returns:
        The number of samples; infinity from 2^53 on.

    >>> [round(typical_samples(rule, 0.1, 0.1, 0.05, 1.0)) for rule in RULES]
    [172409, 187573, 131072]
    """
    return _first_sure(rule, mean, alpha, beta, epsilon, low=low, high=high, spared=0.0)


def _first_sure(
    rule: str, mean: Any, alpha: Any, beta: Any, epsilon: Any, *, low: float, high: float, spared: float
) -> Floats:
    """Return the first test t at which |mu| t covers the threshold and `spared` times the deviations."""
    if rule not in RULES:
        raise ArgumentError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    mu, alpha, beta, radius = stopping_problem(mean, alpha, beta, low, high)
    mu, alpha, beta, epsilon = np.broadcast_arrays(mu, alpha, beta, privacy(epsilon))
    once = math.log(4) - np.log(beta)

    def needed(t: Floats) -> Floats:
        """Return the |mu| t from which on test t succeeds."""
        index = np.log2(t) if rule == "dp-exp-nas" else t
        inside = 4 * t**2 if rule == "nas" else 16 * index**2
        total = t * radius * np.sqrt(2 / t * (np.log(inside) - np.log(beta))) * (1 + spared + 1 / alpha)
        if rule != "nas":
            tests = 12 * radius / epsilon * (once + np.log(8 * index**2) - np.log(beta))
            total = total + (1 + spared) * tests + 4 * radius / epsilon / alpha * once
        return np.asarray(total)

    # needed(t)/t falls, so bisection finds the first t: over powers of 2 for the exponential rule.
    before, by = np.zeros(mu.shape), np.full(mu.shape, float(LAST_POWER) if rule == "dp-exp-nas" else MOST_SAMPLES)
    while (by - before > 1).any():
        middle = np.floor((before + by) / 2)
        t = 2.0**middle if rule == "dp-exp-nas" else middle
        enough = mu * t >= needed(t)
        before, by = np.where(enough, before, middle), np.where(enough, middle, by)
    result: Floats = 2.0**by if rule == "dp-exp-nas" else by
    return np.where(result >= MOST_SAMPLES, np.inf, result)


def stopping_problem(mean: Any, alpha: Any, beta: Any, low: float, high: float) -> tuple[Floats, Floats, Floats, float]:
    """Return |mu|, alpha, beta and R, checked.

    Args:
        mean: The samples' mean mu, in the range, not 0.
        alpha: The relative error, in (0, 1).
        beta: The probability of failure, in (0, 1).
        low: The smallest possible sample.
        high: The largest possible sample.
    """
    radius, mu = _half_width(low, high), inside("mean", mean, low, high)
    return np.abs(require("mean", mu, mu != 0, "not 0")), fraction("alpha", alpha), fraction("beta", beta), radius


def _half_width(low: float, high: float) -> float:
    """Return R of the formulas."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(f"low must be below high, both finite, got low={low!r} and high={high!r}")
    return (high - low) / 2

"""How many samples a stopping rule needs to know a mean within a factor 1 +- alpha: at least, at most, and about.

Samples lie in [low, high], by default [0, 1], and have the mean `mean`. The paper's range is [-R, R]; any other enters
its formulas as R = (high - low)/2, as it does in the rules: concentration and sensitivity depend on the width alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import ArgumentError
from discreet.theory.divergence import divergence, private_divergence
from discreet.theory.domain import Floats, fraction, inside, numbers, plain, privacy, require, vectorised

LAST_POWER = 53
MOST_SAMPLES = 2.0**LAST_POWER
"""What is as much as this counts as never."""
RULES = ("nas", "dp-nas", "dp-exp-nas")


class UpperBoundParts(NamedTuple):
    """The three terms of Theorem 3.3: sampling, the tests' noise, and the released mean's noise."""

    t0: Any
    t1: Any
    t2: Any


def stopping_upper_bound_parts(
    mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, epsilon: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> UpperBoundParts:
    """t0, t1 and t2 of Sajed and Sheffet's Theorem 3.3, for beta up to 0.08.

    t0 = R^2 log(L/beta)/(alpha mu)^2, t1 = R log(L/beta)/(epsilon |mu|) and t2 = R log(1/beta)/(epsilon alpha |mu|),
    with L = log(R/(alpha |mu|)). As printed the terms shrink to nothing, and beyond, where R/(alpha |mu|) comes near
    1, and there the theorem fails: with mu = R, alpha = 0.95, beta = 0.05 and a large epsilon it allows 56 samples,
    and no test before the 128th can succeed. Here L is at least 1, and the bound holds.

    >>> [round(part) for part in stopping_upper_bound_parts(0.1, 0.1, 0.05, 1.0, low=-1, high=1)]
    [45229, 45, 300]
    """
    mu, alpha, beta = _problem(mean, alpha, beta)
    require("beta", beta, beta <= 0.08, "at most 0.08 for this theorem")
    epsilon, radius = privacy(epsilon), _half_width(low, high)
    log = np.log(np.maximum(np.log(radius / (alpha * mu)), 1.0)) - np.log(beta)
    sampling = radius**2 * log / (alpha * mu) ** 2
    tests = radius * log / (epsilon * mu)
    release = -radius * np.log(beta) / (epsilon * alpha * mu)
    return UpperBoundParts(plain(sampling), plain(tests), plain(release))


@vectorised
def stopping_upper_bound(
    mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, epsilon: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> Any:
    """t_U = 2000 (t0 + t1 + t2): DP exponential NAS halts by then with probability 1 - beta.

    Sajed and Sheffet, Theorem 3.3, corrected as `stopping_upper_bound_parts` says. The constant is far from tight;
    `sure_samples` says what the rule's own thresholds guarantee.

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
    """max(sigma^2, R alpha |mu|)/(alpha mu)^2 log(1/beta): the order of what every rule needs (Dagum et al. 2000).

    Their theorem has a universal constant in front, which it does not name; here it is 1, so this is a scale and not
    a bound. `two_point_lower_bound` has its constants. The variance is by default that of the law on the values `low`
    and `high` alone.

    >>> round(nonprivate_stopping_lower_bound(0.1, 0.1, 0.05, low=-1, high=1))
    29658
    """
    mu, alpha, beta = _problem(mean, alpha, beta)
    radius = _half_width(low, high)
    if variance is None:
        centre = inside("mean", mean, low, high)
        spread = (high - centre) * (centre - low)
    else:
        spread = numbers("variance", variance)
        require("variance", spread, (spread >= 0) & (spread <= radius**2), f"between 0 and {radius**2:g}")
    return -np.maximum(spread, radius * alpha * mu) / (alpha * mu) ** 2 * np.log(beta)


@vectorised
def private_stopping_lower_bound(
    mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike, epsilon: ArrayLike, *, low: float = 0.0, high: float = 1.0
) -> Any:
    """R log(1/beta)/(12 alpha |mu| epsilon): private rules take more on some law (Sajed and Sheffet, Theorem 3.4).

    For beta < 1/4 every epsilon-private (alpha, beta)-rule takes more samples than this with probability above 1/4,
    on some law of this mean: however few samples it would need without privacy.

    >>> round(private_stopping_lower_bound(0.1, 0.1, 0.05, 1.0, low=-1, high=1), 1)
    25.0
    """
    mu, alpha, beta = _problem(mean, alpha, beta)
    require("beta", beta, beta < 0.25, "below 1/4 for this theorem")
    rival = numbers("mean", mean) * (1 - alpha) / (1 + alpha)
    possible = (low <= rival) & (rival <= high) & (mu <= max(abs(low), abs(high)))
    require("mean", numbers("mean", mean), possible, "in the range, and (1 - alpha)/(1 + alpha) of it too")
    return -_half_width(low, high) * np.log(beta) / (12 * alpha * mu * privacy(epsilon))


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
    """The order of what every private rule needs (Sajed and Sheffet, Corollary 3.6).

    It is the sum of `nonprivate_stopping_lower_bound`, which is an order, and `private_stopping_lower_bound`.

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
    """The least expected number of samples, with its constants, when samples are `low` or `high` and nothing between.

    It holds for every epsilon-private rule (for every rule, at epsilon = infinity) that keeps its promise on all laws
    on these two values, when the samples are such a law of this mean. Samples that vary less may take fewer. The
    argument is a change of measure: samples of mean mu' with (1 + alpha)|mu'| < (1 - alpha)|mu|, or the other way
    round, must lead to another answer, and with x and y as the probabilities of `high` under both, no private rule
    tells them apart faster than d_epsilon(x, y) a sample. So it is kl(beta, 1 - beta) over the nearest d_epsilon
    (docs/theory.md has the proof).

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
    """By how many samples a rule has halted with probability 1 - beta, whatever the law: its own thresholds, no slack.

    In the event that carries the rule's promise |mean_t| >= |mu| - h_t, and the noises stay below their tail bounds,
    at all tests; so a test succeeds for sure once |mu| >= h_t (2 + 1/alpha) + (c_t + those bounds)/t. `rule` is
    "nas", "dp-nas" or "dp-exp-nas". Rounding is left out: the objects allow for half a grid step a sample, which is
    nothing unless |mu| comes near (1 + 1/alpha) 2^-21 of the range.

    >>> [round(sure_samples(rule, 0.1, 0.1, 0.05, 1.0)) for rule in RULES]
    [207875, 229094, 131072]
    """
    return _first_sure(rule, mean, alpha, beta, epsilon, radius=_half_width(low, high), spared=1.0)


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
    """When a rule halts if its samples behave as their mean and its noise is 0: about what a run takes.

    `rule` is "nas", "dp-nas" or "dp-exp-nas".

    >>> [round(typical_samples(rule, 0.1, 0.1, 0.05, 1.0)) for rule in RULES]
    [172409, 187573, 131072]
    """
    return _first_sure(rule, mean, alpha, beta, epsilon, radius=_half_width(low, high), spared=0.0)


def _first_sure(rule: str, mean: Any, alpha: Any, beta: Any, epsilon: Any, *, radius: float, spared: float) -> Floats:
    """The first test t at which |mu| t covers the threshold and `spared` times what can go wrong."""
    if rule not in RULES:
        raise ArgumentError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    mu, alpha, beta = _problem(mean, alpha, beta)
    mu, alpha, beta, epsilon = np.broadcast_arrays(mu, alpha, beta, privacy(epsilon))
    once = math.log(4) - np.log(beta)

    def needed(t: Floats) -> Floats:
        """What |sum| must be at t, in terms of its expectation."""
        number = np.log2(t) if rule == "dp-exp-nas" else t
        inside = 4 * t**2 if rule == "nas" else 16 * number**2
        total = t * radius * np.sqrt(2 / t * (np.log(inside) - np.log(beta))) * (1 + spared + 1 / alpha)
        if rule != "nas":
            tests = 12 * radius / epsilon * (once + np.log(8 * number**2) - np.log(beta))
            total = total + (1 + spared) * tests + 4 * radius / epsilon / alpha * once
        return np.asarray(total)

    # needed(t)/t falls, so what is enough stays enough: bisect, over powers of 2 for the exponential rule.
    low, high = np.zeros(mu.shape), np.full(mu.shape, float(LAST_POWER) if rule == "dp-exp-nas" else MOST_SAMPLES)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        t = 2.0**middle if rule == "dp-exp-nas" else middle
        enough = mu * t >= needed(t)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    result: Floats = 2.0**high if rule == "dp-exp-nas" else high
    return np.where(result >= MOST_SAMPLES, np.inf, result)


def _problem(mean: Any, alpha: Any, beta: Any) -> tuple[Floats, Floats, Floats]:
    """|mu|, alpha and beta."""
    mu = np.abs(numbers("mean", mean))
    require("mean", mu, (mu > 0) & np.isfinite(mu), "finite and not 0")
    return mu, fraction("alpha", alpha), fraction("beta", beta)


def _half_width(low: float, high: float) -> float:
    """R of the formulas."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(f"low must be below high, both finite, got low={low!r} and high={high!r}")
    return (high - low) / 2

"""How many samples a stopping rule needs to know a mean within a factor 1 +- alpha: at least, at most, and about.

Samples lie in [-R, R], `radius` being R, and have the mean `mean`. A range [low, high] enters as R = (high - low)/2,
as it does in the rules: concentration and sensitivity depend on its width alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import ArgumentError
from discreet.theory.divergence import divergence, private_divergence
from discreet.theory.domain import Floats, fraction, numbers, plain, positive, privacy, require, vectorised

MOST_SAMPLES = 2.0**62
"""What is more than this counts as never."""
RULES = ("nas", "dp-nas", "dp-exp-nas")


class UpperBoundParts(NamedTuple):
    """The three terms of Theorem 3.3: sampling, the tests' noise, and the released mean's noise."""

    t0: Any
    t1: Any
    t2: Any


def stopping_upper_bound_parts(mean: Any, alpha: Any, beta: Any, epsilon: Any, *, radius: Any = 1.0) -> UpperBoundParts:
    """t0, t1 and t2 of Theorem 3.3 (Sajed and Sheffet), for beta up to 0.08.

    t0 = R^2 log(L/beta)/(alpha mu)^2, t1 = R log(L/beta)/(epsilon |mu|) and t2 = R log(1/beta)/(epsilon alpha |mu|),
    with L = log(R/(alpha |mu|)). As printed the terms shrink to nothing, and beyond, where R/(alpha |mu|) comes near
    1, and there the theorem fails: with mu = R, alpha = 0.95, beta = 0.05 and a large epsilon it allows 56 samples,
    and no test before the 128th can succeed. Here L is at least 1, and the bound holds.

    >>> [round(part) for part in stopping_upper_bound_parts(0.1, 0.1, 0.05, 1.0)]
    [45229, 45, 300]
    """
    mu, alpha, beta = _problem(mean, alpha, beta)
    require("beta", beta, beta <= 0.08, "at most 0.08 for this theorem")
    epsilon, radius = privacy(epsilon), positive("radius", radius)
    log = np.log(np.maximum(np.log(radius / (alpha * mu)), 1.0) / beta)
    return UpperBoundParts(
        *(
            plain(part)
            for part in (
                radius**2 * log / (alpha * mu) ** 2,
                radius * log / (epsilon * mu),
                -radius * np.log(beta) / (epsilon * alpha * mu),
            )
        )
    )


@vectorised
def stopping_upper_bound(mean: Any, alpha: Any, beta: Any, epsilon: Any, *, radius: Any = 1.0) -> Any:
    """t_U = 2000 (t0 + t1 + t2): DP exponential NAS halts by then with probability 1 - beta (Theorem 3.3).

    The constant is far from tight; `sure_samples` says what the rule's own thresholds guarantee.

    >>> round(stopping_upper_bound(0.1, 0.1, 0.05, 1.0))
    91147843
    """
    return 2000 * np.sum(
        np.broadcast_arrays(*stopping_upper_bound_parts(mean, alpha, beta, epsilon, radius=radius)), axis=0
    )


@vectorised
def nonprivate_stopping_lower_bound(
    mean: Any, alpha: Any, beta: Any, *, radius: Any = 1.0, variance: Any | None = None
) -> Any:
    """max(sigma^2, R alpha |mu|)/(alpha mu)^2 log(1/beta), the order of what every rule needs (Dagum et al. 2000).

    Their theorem has a universal constant in front, which it does not name; here it is 1, so this is a scale and not
    a bound. `two_point_lower_bound` has its constants. The variance is by default that of the two-point law on the
    ends of [-R, R], R^2 - mu^2.

    >>> round(nonprivate_stopping_lower_bound(0.1, 0.1, 0.05))
    29658
    """
    mu, alpha, beta = _problem(mean, alpha, beta)
    radius = positive("radius", radius)
    if variance is None:
        require("mean", mu, mu <= radius, "in [-radius, radius] (or give the variance)")
        spread = radius**2 - mu**2
    else:
        spread = numbers("variance", variance)
        require("variance", spread, (spread >= 0) & (spread <= radius**2), "between 0 and radius^2")
    return -np.maximum(spread, radius * alpha * mu) / (alpha * mu) ** 2 * np.log(beta)


@vectorised
def private_stopping_lower_bound(mean: Any, alpha: Any, beta: Any, epsilon: Any, *, radius: Any = 1.0) -> Any:
    """What privacy costs every rule: n = R log(1/beta)/(12 alpha |mu| epsilon) (Theorem 3.4, Sajed and Sheffet).

    For beta < 1/4 every epsilon-private (alpha, beta)-rule takes more than n samples with probability above 1/4 on
    some law of this mean.

    >>> round(private_stopping_lower_bound(0.1, 0.1, 0.05, 1.0), 1)
    25.0
    """
    mu, alpha, beta = _problem(mean, alpha, beta)
    require("beta", beta, beta < 0.25, "below 1/4 for this theorem")
    return -positive("radius", radius) * np.log(beta) / (12 * alpha * mu * privacy(epsilon))


@vectorised
def stopping_lower_bound(
    mean: Any, alpha: Any, beta: Any, epsilon: Any, *, radius: Any = 1.0, variance: Any | None = None
) -> Any:
    """The sum of the two above: the order of what every private rule needs (Corollary 3.6, Sajed and Sheffet).

    >>> round(stopping_lower_bound(0.1, 0.1, 0.05, 1.0))
    29683
    """
    return np.add(
        nonprivate_stopping_lower_bound(mean, alpha, beta, radius=radius, variance=variance),
        private_stopping_lower_bound(mean, alpha, beta, epsilon, radius=radius),
    )


@vectorised
def two_point_lower_bound(
    mean: Any, alpha: Any, beta: Any, epsilon: Any = math.inf, *, low: float = -1.0, high: float = 1.0
) -> Any:
    """The least expected number of samples, with its constants: kl(beta, 1 - beta) over the nearest d_epsilon.

    It holds for every epsilon-private rule (for every rule, at epsilon = infinity) that keeps its promise on all laws
    that take the values `low` and `high` alone, when the samples are such a law of this mean. The argument is a change
    of measure: samples of mean mu' with (1 + alpha)|mu'| < (1 - alpha)|mu|, or the other way round, must lead to
    another answer, and with x and y as the probabilities of `high` under both, no private rule can tell them
    apart faster than d_epsilon(x, y) a sample (docs/theory.md has the proof).

    >>> round(two_point_lower_bound(0.1, 0.1, 0.05)), round(two_point_lower_bound(0.1, 0.1, 0.05, 0.01))
    (15908, 33760)
    """
    mu = numbers("mean", mean)
    alpha, beta, epsilon = fraction("alpha", alpha), fraction("beta", beta, below=0.5), privacy(epsilon)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(f"low must be below high, both finite, got low={low!r} and high={high!r}")
    require("mean", mu, (mu > low) & (mu < high) & (mu != 0), f"strictly between {low:g} and {high:g}, and not 0")
    ratio = (1 - alpha) / (1 + alpha)
    x = (mu - low) / (high - low)
    # Rivals of the other sign are farther away than the smaller one; those out of range do not exist.
    costs = []
    for rival in (mu * ratio, mu / ratio):
        y = np.clip((rival - low) / (high - low), 0.0, 1.0)
        costs.append(np.where((rival >= low) & (rival <= high), private_divergence(x, y, epsilon), np.inf))
    return divergence(beta, 1 - beta) / np.minimum(*costs)


@vectorised
def sure_samples(rule: str, mean: Any, alpha: Any, beta: Any, epsilon: Any = math.inf, *, radius: Any = 1.0) -> Any:
    """By how many samples a rule has halted with probability 1 - beta, whatever the law: its own thresholds, no slack.

    In the event that carries the rule's promise |mean_t| >= |mu| - h_t, and the noises stay below their tail bounds,
    at all tests; so a test succeeds for sure once |mu| >= h_t (2 + 1/alpha) + (c_t + those bounds)/t. `rule` is
    "nas", "dp-nas" or "dp-exp-nas".

    >>> [round(sure_samples(rule, 0.1, 0.1, 0.05, 1.0)) for rule in RULES]
    [916984, 982032, 524288]
    """
    return _first_sure(rule, mean, alpha, beta, epsilon, radius=radius, spared=1.0)


@vectorised
def typical_samples(rule: str, mean: Any, alpha: Any, beta: Any, epsilon: Any = math.inf, *, radius: Any = 1.0) -> Any:
    """When a rule halts if its samples behave as their mean and its noise is 0: about what a run takes.

    >>> [round(typical_samples(rule, 0.1, 0.1, 0.05, 1.0)) for rule in RULES]
    [761531, 810345, 524288]
    """
    return _first_sure(rule, mean, alpha, beta, epsilon, radius=radius, spared=0.0)


def _first_sure(rule: str, mean: Any, alpha: Any, beta: Any, epsilon: Any, *, radius: Any, spared: float) -> Floats:
    """The first test t at which |mu| t covers the threshold and `spared` times what can go wrong."""
    if rule not in RULES:
        raise ArgumentError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    mu, alpha, beta = _problem(mean, alpha, beta)
    epsilon, radius = privacy(epsilon), positive("radius", radius)
    mu, alpha, beta, epsilon, radius = np.broadcast_arrays(mu, alpha, beta, epsilon, radius)

    def needed(t: Floats) -> Floats:
        """What |sum| must be at t, in terms of its expectation."""
        number = np.log2(t) if rule == "dp-exp-nas" else t
        inside_log = 4 * t**2 if rule == "nas" else 16 * number**2
        total = t * radius * np.sqrt(2 / t * np.log(inside_log / beta)) * (1 + spared + 1 / alpha)
        if rule != "nas":
            tests = 12 * radius / epsilon * (np.log(4 / beta) + np.log(8 * number**2 / beta))
            total = total + (1 + spared) * tests + 4 * radius / epsilon / alpha * np.log(4 / beta)
        return np.asarray(total)

    # needed(t)/t falls, so what is enough stays enough: bisect, over powers of 2 for the exponential rule.
    low, high = np.zeros(mu.shape), np.full(mu.shape, 62.0 if rule == "dp-exp-nas" else MOST_SAMPLES)
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

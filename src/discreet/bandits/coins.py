"""How well coins can be told apart, for one pair at a time and fast: the index policies ask often.

`discreet.theory` has the same divergences for arrays, with checks; the tests compare them.
"""

from __future__ import annotations

import math

_STEPS = 100  # of a search: far more than any needs
_BELOW = 1 - 1e-9  # how near to epsilon a search may come


def kl(x: float, y: float) -> float:
    """The divergence of a Bernoulli variable of mean x from one of mean y, in nats.

    >>> round(kl(0.5, 0.75), 6)
    0.143841
    """
    return _part(x, y) + _part(1 - x, 1 - y)


def _part(p: float, q: float) -> float:
    if p <= 0:
        return 0.0
    return p * math.log(p / q) if q > 0 else math.inf


def kl_upper(x: float, budget: float) -> float:
    """The largest y in [x, 1] with kl(x, y) <= budget.

    >>> round(kl_upper(0.5, 0.143841), 4)
    0.75
    """
    if budget <= 0 or x >= 1:
        return x
    # Pinsker: kl >= 2 (y - x)^2. Newton's method then stays above the root, since kl is convex in y.
    y = min(1.0, x + math.sqrt(budget / 2))
    if y >= 1:
        y = 1 - 1e-12
        if kl(x, y) <= budget:
            return 1.0
    for _ in range(_STEPS):
        excess = kl(x, y) - budget
        slope = (y - x) / (y * (1 - y))
        if excess <= 1e-10 * budget or slope <= 0:
            break
        y -= excess / slope
    return y


def private_kl(x: float, y: float, epsilon: float) -> float:
    """d_epsilon(x, y) for x <= y, and 0 for x > y: see `discreet.theory.private_divergence`.

    >>> round(private_kl(0.7, 0.75, 0.1), 6)
    0.004047
    """
    if y <= x:
        return 0.0
    if y >= 1:
        return epsilon * (1 - x)
    if y <= free_up_to(x, epsilon):
        return kl(x, y)
    return -math.log(1 - y + y * math.exp(-epsilon)) - epsilon * x


def private_kl_upper(x: float, budget: float, epsilon: float) -> float:
    """The largest y in [x, 1] with d_epsilon(x, y) <= budget.

    >>> round(private_kl_upper(0.7, 0.004047, 0.1), 4)
    0.75
    """
    free = free_up_to(x, epsilon)
    if kl(x, free) >= budget:
        return kl_upper(x, budget)
    return min(1.0, math.expm1(-(budget + epsilon * x)) / math.expm1(-epsilon))


def free_up_to(x: float, epsilon: float) -> float:
    """Up to which y privacy does not make it harder to tell x from y."""
    return x / (x + (1 - x) * math.exp(-epsilon)) if x > 0 else 0.0


def tail_exponent(total: float, count: float, noises: int, mean: float, epsilon: float) -> float:
    """Chernoff's bound on how unlikely so small a total is: Pr[total or less] <= exp(-this).

    The total is of `count` independent rewards in [0, 1] of this mean, plus `noises` Laplace variables of scale
    1/epsilon. For every 0 <= s < epsilon, E exp(-s reward) <= 1 - mean + mean e^-s and
    E exp(-s noise) <= 1/(1 - s^2/epsilon^2) (discrete noise has less), so

        ln Pr <= s total + count ln(1 - mean + mean e^-s) - noises ln(1 - s^2/epsilon^2).

    The best s is where the derivative is 0; any other s gives a valid, smaller exponent. Without noise it is count
    times kl; with one noise it is at most count times d_epsilon, whose limit it is for many rewards.

    >>> round(tail_exponent(600, 1000, 0, 0.7, 1.0), 3), round(1000 * kl(0.6, 0.7), 3)
    (22.582, 22.582)
    >>> round(tail_exponent(600, 1000, 1, 0.7, 1.0), 3), round(tail_exponent(600, 1000, 5, 0.7, 0.1), 3)
    (22.368, 3.394)
    """
    missing = count * mean - total
    if missing <= 0:
        return 0.0
    if not noises:
        return max(0.0, count * kl(max(0.0, total / count), mean))
    mean, low, high = min(mean, 1.0), 0.0, epsilon * _BELOW
    square, s = epsilon * epsilon, min(missing / (count * mean * (1 - mean) + 2 * noises / (epsilon * epsilon) + 1e-12),
                                       0.5 * epsilon)  # fmt: skip
    for _ in range(_STEPS):
        tilted, room = mean * math.exp(-s), square - s * s
        chance = tilted / (1 - mean + tilted) if mean < 1 else 1.0
        slope = count * chance - total - 2 * noises * s / room
        curve = count * chance * (1 - chance) + 2 * noises * (square + s * s) / (room * room)
        if slope > 0:
            low = s
        else:
            high = s
        step = slope / curve if curve > 0 else 0.0
        if slope * step <= 1e-6:  # twice what the step would still gain
            break
        s += step
        if not low < s < high:
            s = (low + high) / 2
    log_weight = math.log1p(mean * math.expm1(-s)) if mean < 1 else -s
    return max(0.0, -s * total - count * log_weight + noises * math.log1p(-s * s / square))


def paired_exponent(deficit: float, pairs: float, noises: int, epsilon: float) -> float:
    """Chernoff's bound on how unlikely so large a deficit is for an arm that is never worse: Pr <= exp(-this).

    In each of `pairs` pairs both arms pay independent rewards in [0, 1], and the arm's mean is at least the other's,
    whatever they are. The deficit is the other's total minus the arm's, plus `noises` Laplace variables of scale
    1/epsilon. A difference in [-1, 1] of mean at most 0 has E exp(s difference) <= exp(s^2/2) (Hoeffding), so

        ln Pr <= -s deficit + pairs s^2/2 - noises ln(1 - s^2/epsilon^2),  0 <= s < epsilon.

    >>> round(paired_exponent(100, 1000, 0, 1.0), 3), round(paired_exponent(100, 1000, 4, 1.0), 3)
    (5.0, 4.96)
    """
    if deficit <= 0:
        return 0.0
    if not noises:
        return deficit * deficit / (2 * pairs)
    square, low, high = epsilon * epsilon, 0.0, epsilon * _BELOW
    s = min(deficit / pairs, 0.5 * epsilon)
    for _ in range(_STEPS):
        room = square - s * s
        slope = deficit - pairs * s - 2 * noises * s / room
        curve = pairs + 2 * noises * (square + s * s) / (room * room)
        if slope > 0:
            low = s
        else:
            high = s
        step = slope / curve
        if slope * step <= 1e-6:  # twice what the step would still gain
            break
        s += step
        if not low < s < high:
            s = (low + high) / 2
    return max(0.0, s * deficit - pairs * s * s / 2 + noises * math.log1p(-s * s / square))

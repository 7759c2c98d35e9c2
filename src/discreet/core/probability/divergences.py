"""Divergences between Bernoulli variables, as fast scalar functions for the index policies.

`discreet.theory` has the same divergences for arrays, with checks; the tests compare them.
"""

import math

_STEPS = 100  # the most steps of Newton's method: far more than it needs


def kl(x: float, y: float) -> float:
    """Return the Kullback-Leibler divergence between two Bernoulli variables, in nats.

    Args:
        x: The mean of the first variable.
        y: The mean of the second variable.

    >>> round(kl(0.5, 0.75), 6)
    0.143841
    """
    return _part(x, y) + _part(1 - x, 1 - y)


def _part(p: float, q: float) -> float:
    if p <= 0:
        return 0.0
    return p * math.log(p / q) if q > 0 else math.inf


def kl_upper(x: float, budget: float) -> float:
    """Return the largest y in [x, 1] with kl(x, y) <= budget.

    Args:
        x: The mean of the first variable.
        budget: The largest allowed divergence.

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
    """Return d_epsilon(x, y) for x <= y, and 0 for x > y (see `discreet.theory.private_divergence`).

    Args:
        x: The mean of the first variable.
        y: The mean of the second variable.
        epsilon: The privacy parameter.

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
    """Return the largest y in [x, 1] with d_epsilon(x, y) <= budget.

    Args:
        x: The mean of the first variable.
        budget: The largest allowed divergence.
        epsilon: The privacy parameter.

    >>> round(private_kl_upper(0.7, 0.004047, 0.1), 4)
    0.75
    """
    free = free_up_to(x, epsilon)
    if kl(x, free) >= budget:
        return kl_upper(x, budget)
    return min(1.0, math.expm1(-(budget + epsilon * x)) / math.expm1(-epsilon))


def free_up_to(x: float, epsilon: float) -> float:
    """Return the largest y >= x at which d_epsilon(x, y) still equals kl(x, y).

    Args:
        x: The mean of the first variable.
        epsilon: The privacy parameter.
    """
    return x / (x + (1 - x) * math.exp(-epsilon)) if x > 0 else 0.0

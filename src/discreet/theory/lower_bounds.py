"""How little regret any private bandit can have, with Bernoulli arms."""

from __future__ import annotations

import math
from collections.abc import Sequence


def divergence(x: float, y: float) -> float:
    """kl(x, y) between Bernoulli variables of means x and y, in nats.

    >>> round(divergence(0.5, 0.75), 6)
    0.143841
    """

    def part(p: float, q: float) -> float:
        if p == 0:
            return 0.0
        return p * math.log(p / q) if q > 0 else math.inf

    return part(x, y) + part(1 - x, 1 - y)


def private_divergence(x: float, y: float, epsilon: float) -> float:
    """d_epsilon(x, y) = inf over z of epsilon |z - x| + kl(z, y): how well privacy lets x be told from y.

    The infimum lies at z = x (privacy costs nothing) as long as y is close to x, and else where the slope of kl
    is epsilon: for y > x beyond g = x e^epsilon / (x (e^epsilon - 1) + 1) it is
    -ln(1 - y (1 - e^-epsilon)) - epsilon x. For y < x mirror both. An infinite epsilon gives kl(x, y).

    >>> round(private_divergence(0.7, 0.75, 0.1), 6), round(private_divergence(0.7, 0.75, math.inf), 6)
    (0.004047, 0.006401)
    """
    if y < x:
        return private_divergence(1 - x, 1 - y, epsilon)
    if math.isinf(epsilon):
        return divergence(x, y)
    free_up_to = x * math.exp(epsilon) / (x * math.expm1(epsilon) + 1)
    if y <= free_up_to:
        return divergence(x, y)
    return -math.log1p(y * math.expm1(-epsilon)) - epsilon * x


def regret_lower_bound(means: Sequence[float], horizon: float, epsilon: float = math.inf) -> float:
    """The sum over worse arms of gap / d_epsilon(mean, best mean), times ln T (Azize et al. 2025).

    It bounds the regret of every policy that is consistent and epsilon-private, relative to ln T as T grows; at a
    finite T a policy may lie below it. Without epsilon it is the bound of Lai and Robbins.

    >>> round(regret_lower_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    317
    >>> round(regret_lower_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7))
    126
    """
    best = max(means)
    costs = ((best - mean) / private_divergence(mean, best, epsilon) for mean in means if mean < best)
    return sum(costs) * math.log(horizon)

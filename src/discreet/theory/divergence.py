"""Divergences between Bernoulli variables, with and without privacy."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, inside, privacy, vectorised


@vectorised
def divergence(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the Kullback-Leibler divergence kl(x, y) between Bernoulli variables, in nats.

    Args:
        x: The mean of the first variable.
        y: The mean of the second variable.

    >>> round(divergence(0.5, 0.75), 6)
    0.143841
    >>> divergence([0.5, 0.0, 0.0], [0.5, 0.0, 1.0])
    array([ 0.,  0., inf])
    """
    return _kl(*_pair(x, y))


@vectorised
def private_divergence(x: ArrayLike, y: ArrayLike, epsilon: ArrayLike = math.inf) -> Any:
    """Return d_epsilon(x, y) = inf over z of epsilon |z - x| + kl(z, y), the private analogue of kl.

    No epsilon-private algorithm distinguishes x from y faster than d_epsilon(x, y) a sample (Azize et al. 2025). The
    closed form is that of Jourdan and Azize (2025). The infimum lies at z = x (privacy costs nothing)
    as long as y is close to x, and else where the slope of kl is epsilon: for y > x beyond
    g = x e^epsilon / (x (e^epsilon - 1) + 1) it is -ln(1 - y (1 - e^-epsilon)) - epsilon x. For y < x mirror both.

    Args:
        x: The mean of the first variable.
        y: The mean of the second variable.
        epsilon: The privacy parameter. Infinity yields kl(x, y).

    >>> round(private_divergence(0.7, 0.75, 0.1), 6), round(private_divergence(0.7, 0.75), 6)
    (0.004047, 0.006401)
    """
    x, y = _pair(x, y)
    x, y, epsilon = np.broadcast_arrays(x, y, privacy(epsilon))
    mirrored = y < x
    x, y = np.where(mirrored, 1 - x, x), np.where(mirrored, 1 - y, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        free_up_to = x / (x + (1 - x) * np.exp(-epsilon))
        inside = y * np.expm1(-epsilon)  # the logarithm is of 1 + inside: small, or near -1, where y = 1 has a limit
        dear = -np.where(inside > -0.5, np.log1p(inside), np.log(1 - y + y * np.exp(-epsilon))) - epsilon * x
        dear = np.where(y == 1, epsilon * (1 - x), dear)
    # Where y lies in the last digits of x both formulas are right, and rounding must not make the second negative.
    free = ((y <= free_up_to) & ((y < 1) | (x == 1))) | np.isinf(epsilon)
    return np.where(free, _kl(x, y), np.maximum(dear, 0.0))


def _pair(x: Any, y: Any) -> tuple[Floats, Floats]:
    return inside("x", x, 0, 1), inside("y", y, 0, 1)


def _kl(x: Floats, y: Floats) -> Floats:
    return _part(x, y) + _part(1 - x, 1 - y)


def _part(p: Floats, q: Floats) -> Floats:
    """Return q - p - p ln(q/p), which is never negative; over both outcomes q - p cancels and leaves kl.

    Computed as p (r - ln(1 + r)) with r = (q - p)/p, and by its series for small r, so that close means lose no digits.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = (q - p) / p
        series = r * r * (1 / 2 - r * (1 / 3 - r * (1 / 4 - r * (1 / 5 - r * (1 / 6 - r / 7)))))
        large = np.where(r < -0.5, r - np.log(q / p), r - np.log1p(r))  # q may be all but lost in q - p
        result: Floats = np.where(p == 0, q, p * np.where(np.abs(r) < 0.003, series, large))
    return result

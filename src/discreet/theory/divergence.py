"""How well one coin can be told from another, with and without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, inside, privacy, vectorised


@vectorised
def divergence(x: ArrayLike, y: ArrayLike) -> Any:
    """kl(x, y) between Bernoulli variables of means x and y, in nats.

    >>> round(divergence(0.5, 0.75), 6)
    0.143841
    >>> divergence([0.5, 0.0, 0.0], [0.5, 0.0, 1.0])
    array([ 0.,  0., inf])
    """
    return _kl(*_pair(x, y))


@vectorised
def private_divergence(x: ArrayLike, y: ArrayLike, epsilon: ArrayLike = math.inf) -> Any:
    """d_epsilon(x, y) = inf over z of epsilon |z - x| + kl(z, y): how well privacy lets x be told from y.

    Azize et al. (2025), closed form of Jourdan and Azize (2025). The infimum lies at z = x (privacy costs nothing)
    as long as y is close to x, and else where the slope of kl is epsilon: for y > x beyond
    g = x e^epsilon / (x (e^epsilon - 1) + 1) it is -ln(1 - y (1 - e^-epsilon)) - epsilon x. For y < x mirror both.
    An infinite epsilon gives kl(x, y).

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
    """Q - p - p ln(q/p), which is never negative; over both outcomes the differences cancel and leave kl.

    Computed as p (r - ln(1 + r)) with r = (q - p)/p, and by its series for small r: so close means lose no digits.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = (q - p) / p
        series = r * r * (1 / 2 - r * (1 / 3 - r * (1 / 4 - r * (1 / 5 - r * (1 / 6 - r / 7)))))
        large = np.where(r < -0.5, r - np.log(q / p), r - np.log1p(r))  # q may be all but lost in q - p
        result: Floats = np.where(p == 0, q, p * np.where(np.abs(r) < 0.003, series, large))
    return result

"""How well one coin can be told from another, with and without privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.theory.domain import Floats, inside, privacy, vectorised


@vectorised
def divergence(x: Any, y: Any) -> Any:
    """kl(x, y) between Bernoulli variables of means x and y, in nats.

    >>> round(divergence(0.5, 0.75), 6)
    0.143841
    >>> divergence([0.5, 0.0, 0.0], [0.5, 0.0, 1.0])
    array([ 0.,  0., inf])
    """
    return _kl(*_pair(x, y))


@vectorised
def private_divergence(x: Any, y: Any, epsilon: Any = math.inf) -> Any:
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
        dear = -np.log1p(y * np.expm1(-epsilon)) - epsilon * x
    # Where y lies in the last digits of x both formulas are right, and rounding must not make the second negative.
    return np.where((y <= free_up_to) | np.isinf(epsilon), _kl(x, y), np.maximum(dear, 0.0))


def _pair(x: Any, y: Any) -> tuple[Floats, Floats]:
    return inside("x", x, 0, 1), inside("y", y, 0, 1)


def _kl(x: Floats, y: Floats) -> Floats:
    return _part(x, y) + _part(1 - x, 1 - y)


def _part(p: Floats, q: Floats) -> Floats:
    """The term p ln(p/q), which is 0 for p = 0 and infinite for q = 0 < p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(p == 0, 0.0, p * np.log(p / q))
    return result

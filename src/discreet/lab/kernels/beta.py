"""Beta variables that are cut at a level, and bounds for what lies beyond it; both parameters are at least 1."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from __future__ import annotations

import math

from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import beta


@compiled
def beta_above(state, a, b, level):
    """A Beta(a, b) variable given that it lies above a level; quick where that is likely."""
    while True:
        x = beta(state, a, b)
        if x > level:
            return x


@compiled
def beta_below(state, a, b, level):
    """The same, given that it lies below a level; quick where that is likely."""
    while True:
        x = beta(state, a, b)
        if x < level:
            return x


@compiled
def log_mass(a, b):
    """The logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@compiled
def log_density(x, a, b, mass):
    """The logarithm of the density at 0 < x < 1; `mass` is what `log_mass` says."""
    return (a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - mass


@compiled
def slope(x, a, b):
    """The derivative of the logarithm of the density, which is concave: a tangent lies above it."""
    return (a - 1) / x - (b - 1) / (1 - x)


@compiled
def highest_centre(a, b):
    """Where the mode lies at most, and the logit's expectation: above it, a density grows when a grows and b shrinks.

    The derivative of its logarithm along such a path is logit(x) - (psi(a) - psi(b)), times the speed, and
    ln z - 1/z < psi(z) < ln z - 1/(2z).
    """
    return max((a - 1) / (a + b - 2), 1 / (1 + b / a * math.exp(0.5 / a - 1 / b)))


@compiled
def lowest_centre(a, b):
    """The same from below: below it, a density shrinks when a grows and b shrinks."""
    return min((a - 1) / (a + b - 2), 1 / (1 + b / a * math.exp(1 / a - 0.5 / b)))

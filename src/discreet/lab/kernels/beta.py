"""Beta variables that are cut at a level, and bounds for what lies beyond it; both parameters are at least 1."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math

from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.randomness import beta


@compiled
def beta_between(state, a, b, low, high):
    """Draw a Beta(a, b) variable given that it lies between two levels; quick where that is likely.

    Args:
        state: The generator's state, which is advanced.
        a: The first parameter.
        b: The second parameter.
        low: The lower level.
        high: The upper level.
    """
    while True:
        x = beta(state, a, b)
        if low < x < high:
            return x


@compiled
def log_mass(a, b):
    """Return the logarithm of the beta function.

    Args:
        a: The first parameter.
        b: The second parameter.
    """
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@compiled
def log_density(x, a, b, mass):
    """Return the logarithm of the density at x.

    Args:
        x: A number between 0 and 1.
        a: The first parameter.
        b: The second parameter.
        mass: The result of `log_mass`.
    """
    return (a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - mass


@compiled
def slope(x, a, b):
    """Return the derivative of the logarithm of the density at x. The logarithm is concave: a tangent lies above it.

    Args:
        x: A number between 0 and 1.
        a: The first parameter.
        b: The second parameter.
    """
    return (a - 1) / x - (b - 1) / (1 - x)


@compiled
def highest_centre(a, b):
    """Return an upper bound on the mode and the logit's expectation. Above it a density grows when a grows and b
    shrinks.

    The derivative of its logarithm along such a path is logit(x) - (psi(a) - psi(b)), times the speed, and
    ln z - 1/z < psi(z) < ln z - 1/(2z).

    Args:
        a: The first parameter.
        b: The second parameter.
    """
    return max((a - 1) / (a + b - 2), 1 / (1 + b / a * math.exp(0.5 / a - 1 / b)))


@compiled
def lowest_centre(a, b):
    """Return a lower bound on the same. Below it a density shrinks when a grows and b shrinks.

    Args:
        a: The first parameter.
        b: The second parameter.
    """
    return min((a - 1) / (a + b - 2), 1 / (1 + b / a * math.exp(1 / a - 0.5 / b)))

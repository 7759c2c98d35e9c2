"""Checks of the arguments of formulas, which may be numbers or arrays."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import ArgumentError

Floats = NDArray[np.float64]
Arguments = ParamSpec("Arguments")


def numbers(name: str, value: Any) -> Floats:
    """Return numbers as a float array, none of them NaN.

    Args:
        name: The argument's name, for the error message.
        value: A number or an array of numbers.

    >>> numbers("mean", [0.5, float("nan")])
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: mean must be a number, got nan
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"{name} must be a number or an array of numbers, got {value!r}") from error
    if array.dtype.kind not in "iuf":
        raise ArgumentError(f"{name} must be a number or an array of numbers, got {value!r}")
    array = array.astype(np.float64)
    require(name, array, ~np.isnan(array), "a number")
    return array


def positive(name: str, value: Any) -> Floats:
    """Return finite numbers above 0 as a float array.

    Args:
        name: The argument's name, for the error message.
        value: A number or an array of numbers.

    >>> positive("gap", [0.1, 0.0])
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: gap must be a finite number above 0, got 0.0
    """
    array = numbers(name, value)
    return require(name, array, (array > 0) & np.isfinite(array), "a finite number above 0")


def privacy(value: Any) -> Floats:
    """Return values of epsilon as a float array: above 0; infinity means no privacy."""
    array = numbers("epsilon", value)
    return require("epsilon", array, array > 0, "above 0 (infinity for no privacy)")


def fraction(name: str, value: Any, below: float = 1.0) -> Floats:
    """Return numbers strictly between 0 and `below` as a float array.

    Args:
        name: The argument's name, for the error message.
        value: A number or an array of numbers.
        below: The upper limit.
    """
    array = numbers(name, value)
    return require(name, array, (array > 0) & (array < below), f"strictly between 0 and {below:g}")


def inside(name: str, value: Any, low: Any, high: Any) -> Floats:
    """Return numbers of a closed interval as a float array.

    Args:
        name: The argument's name, for the error message.
        value: A number or an array of numbers.
        low: The lower end, a number or an array.
        high: The upper end, a number or an array.

    >>> inside("mean", 1.5, 0, 1)
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: mean must be in [0, 1], got 1.5
    """
    array = numbers(name, value)
    bounds = f"[{low:g}, {high:g}]" if np.ndim(low) == np.ndim(high) == 0 else "its range"
    return require(name, array, (array >= low) & (array <= high), f"in {bounds}")


def arm_means(value: Any) -> Floats:
    """Return the means of two or more arms (in the last axis), each in [0, 1], as a float array."""
    array = inside("means", value, 0, 1)
    if array.ndim == 0 or array.shape[-1] < 2:
        raise ArgumentError(f"means must be a list of the means of two arms or more, got {value!r}")
    return array


def whole(name: str, value: Any, at_least: int = 1) -> Floats:
    """Return whole numbers, also when written as floats such as 5e7, as a float array.

    Args:
        name: The argument's name, for the error message.
        value: A number or an array of numbers.
        at_least: The smallest allowed value.
    """
    array = numbers(name, value)
    fits = (array >= at_least) & np.isfinite(array) & (array == np.floor(array))
    return require(name, array, fits, f"a whole number of at least {at_least}")


def require(name: str, array: Floats, good: Any, what: str) -> Floats:
    """Return `array` if a condition holds everywhere.

    Args:
        name: The argument's name, for the error message.
        array: The values.
        good: The condition for each value, of a shape that broadcasts with `array`.
        what: The allowed values, for the error message.

    Raises:
        ArgumentError: If the condition fails; the message has the first such value.
    """
    fits = np.broadcast_to(good, np.broadcast_shapes(np.shape(good), array.shape))
    if not fits.all():
        wrong = float(np.broadcast_to(array, fits.shape)[~fits][0])
        raise ArgumentError(f"{name} must be {what}, got {wrong!r}")
    return array


def vectorised(formula: Callable[Arguments, Any]) -> Callable[Arguments, Any]:
    """Decorate a formula to return a plain float where all its arguments are plain numbers.

    What is too large for a float is infinite, without a warning.
    """

    @wraps(formula)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Any:
        with np.errstate(over="ignore", divide="ignore"):
            return plain(formula(*args, **kwargs))

    return call


def plain(value: Any) -> Any:
    """Return an array, or its only number if it has no axis."""
    return np.asarray(value).item() if np.ndim(value) == 0 else value

"""Checks of single arguments. Each returns a plain Python value or raises `ArgumentError`."""

import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any

from discreet.core.errors import ArgumentError


def real(name: str, value: Any) -> float:
    """Return a finite number as a float.

    Args:
        name: The argument's name, for the error message.
        value: The number; numpy scalars are accepted.

    Raises:
        ArgumentError: If `value` is a string, a boolean, NaN or infinite.

    >>> real("epsilon", 1)
    1.0
    """
    if isinstance(value, bool) or not (isinstance(value, numbers.Real) or _is_numpy_scalar(value)):
        raise ArgumentError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ArgumentError(f"{name} must be a finite number, got {value!r}")
    return number


def positive(name: str, value: Any) -> float:
    """Return a finite number above zero as a float.

    Args:
        name: The argument's name, for the error message.
        value: The number.

    Raises:
        ArgumentError: If `value` is not a finite number above 0.

    >>> positive("epsilon", 0)
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: epsilon must be a number above 0, got 0
    """
    number = real(name, value)
    if number <= 0:
        raise ArgumentError(f"{name} must be a number above 0, got {value!r}")
    return number


def fraction(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1 as a float.

    Args:
        name: The argument's name, for the error message.
        value: The number.

    Raises:
        ArgumentError: If `value` is not strictly between 0 and 1.

    >>> fraction("beta", 1.5)
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: beta must lie strictly between 0 and 1, got 1.5
    """
    number = real(name, value)
    if not 0 < number < 1:
        raise ArgumentError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return number


def whole(name: str, value: Any, at_least: int = 1) -> int:
    """Return a whole number as an int, also when it is written as a float such as 5e7.

    Args:
        name: The argument's name, for the error message.
        value: The number, below 2**63. A float must be at most 2**53, so that it is exact.
        at_least: The smallest allowed value.

    Raises:
        ArgumentError: If `value` is not whole, too small or too large.

    >>> whole("horizon", 5e7)
    50000000
    """
    if _is_integer(value):
        number = operator.index(value)
    else:
        as_float = real(name, value)
        if not as_float.is_integer() or abs(as_float) > 2**53:
            raise ArgumentError(f"{name} must be a whole number, got {value!r}")
        number = int(as_float)
    if number >= 2**63:
        raise ArgumentError(f"{name} must be below 2**63, got {value!r}")
    if number < at_least:
        raise ArgumentError(f"{name} must be at least {at_least}, got {value!r}")
    return number


def secret(name: str, value: Any, low: int | None = None, high: int | None = None, remedy: str = "") -> int:
    """Return an integer that was computed from rewards. An error does not repeat its value.

    Args:
        name: The argument's name, for the error message.
        value: The integer. Floats are refused.
        low: The smallest allowed value. None (with `high`) for no bounds.
        high: The largest allowed value.
        remedy: Text that the error message appends to the allowed range.

    Raises:
        ArgumentError: If `value` is not an integer, or out of bounds.

    >>> secret("total", 11.5, 0, 10)
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: total must be an integer in [0, 10], not a float
    """
    bounds = "" if low is None else f" in [{low}, {high}]"
    if not _is_integer(value):
        raise ArgumentError(f"{name} must be an integer{bounds}{remedy}, not a {type(value).__name__}")
    number = operator.index(value)
    if low is not None and high is not None and not low <= number <= high:
        raise ArgumentError(f"{name} must be an integer{bounds}{remedy}")
    return number


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return one of several strings.

    Args:
        name: The argument's name, for the error message.
        value: The string to check.
        options: The allowed strings.

    Raises:
        ArgumentError: If `value` is not one of `options`.

    >>> choice("waiting", "serv", ("refuse", "serve"))
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: waiting must be 'refuse' or 'serve', got 'serv'; did you mean 'serve'?
    """
    if value not in options:
        *most, last = map(repr, options)
        known = f"{', '.join(most)} or {last}" if most else last
        raise ArgumentError(f"{name} must be {known}, got {value!r}{did_you_mean(value, options)}")
    return str(value)


def did_you_mean(value: Any, known: Iterable[str]) -> str:
    """Return the end of an error message that names what was perhaps meant; empty if nothing is near.

    Args:
        value: What was given.
        known: What there is.

    >>> did_you_mean("dpse", ["dp-ucb", "dp-se", "ucb"])
    "; did you mean 'dp-se'?"
    >>> did_you_mean("Thompson", ["dp-se"])
    ''
    """
    import difflib  # noqa: PLC0415  (for messages alone)

    by_letters = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(value).lower().replace("_", "-"), by_letters, n=1, cutoff=0.6)
    near = near or difflib.get_close_matches(str(value).lower(), by_letters, n=1, cutoff=0.6)
    return f"; did you mean {by_letters[near[0]]!r}?" if near else ""


def _is_integer(value: Any) -> bool:
    """Return True for an integer of Python or numpy, and False for a boolean."""
    return type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))


def _is_numpy_scalar(value: Any) -> bool:
    """Return True for a numpy scalar or 0-dimensional array of a real, non-boolean dtype."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and getattr(value, "ndim", 1) == 0 and dtype.kind in "iuf"

"""Argument checks: each returns a plain Python value or raises an error that says what would be right."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

from discreet.core.errors import ArgumentError


def real(name: str, value: Any) -> float:
    """A finite number as a float; strings, booleans, NaN and infinities are refused.

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
    """A finite number above zero.

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
    """A number strictly between 0 and 1.

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
    """A whole number, also when written as a float such as 5e7.

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
    """An integer in [low, high] computed from rewards: an error says all but the value. Floats are refused.

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
    """One of a few words.

    >>> choice("waiting", "serv", ("refuse", "serve"))
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: waiting must be 'refuse' or 'serve', got 'serv'
    """
    if value not in options:
        raise ArgumentError(f"{name} must be {' or '.join(map(repr, options))}, got {value!r}")
    return str(value)


def _is_integer(value: Any) -> bool:
    """Whether `value` is an integer of Python or numpy; a boolean is none."""
    return type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))


def _is_numpy_scalar(value: Any) -> bool:
    """Whether `value` is a numpy scalar or 0-dimensional array of a real, non-boolean dtype."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and getattr(value, "ndim", 1) == 0 and dtype.kind in "iuf"

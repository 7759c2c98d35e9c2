"""Epsilons that add up exactly: fractions in memory, decimals in text."""

import math
from fractions import Fraction
from functools import lru_cache

from discreet.service.errors import invalid

_MOST = Fraction(1000)
_PLACES = 12  # that people are shown


def amount(field: str, text: str) -> Fraction:
    """Return a positive amount of epsilon from its decimal text, exactly.

    Args:
        field: The name of the field, for the message.
        text: The decimal.

    Raises:
        ServiceProblem: It is no decimal, or not above 0, or too large.

    >>> amount("epsilon", "0.1") * 10 == 1
    True
    """
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise invalid(field, f"{field} must be a decimal number such as 0.5, got {text!r}") from None
    if not 0 < value <= _MOST:
        raise invalid(field, f"{field} must be above 0 and at most {_MOST}, got {text!r}")
    return value


@lru_cache(maxsize=4096)  # lists show the same amounts again and again
def as_text(value: Fraction) -> str:
    """Return the shortest decimal of an amount; where it has too many places, its first ones.

    >>> as_text(Fraction(1, 8)), as_text(Fraction(2)), as_text(Fraction(-1, 2))
    ('0.125', '2', '-0.5')
    """
    whole, rest = divmod(math.floor(abs(value) * 10**_PLACES), 10**_PLACES)
    return f"{'-' if value < 0 else ''}{whole}.{rest:0{_PLACES}}".rstrip("0").rstrip(".")


def not_above(value: Fraction) -> float:
    """Return the largest float that is not above an amount: an algorithm never costs more than is charged.

    >>> Fraction(not_above(Fraction("0.1"))) <= Fraction("0.1") < Fraction(0.1)
    True
    """
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, 0.0)

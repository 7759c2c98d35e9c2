"""Numbers in sentences: lifts, shares and measurements with few digits."""

import math


def change(value: float, relative: bool, digits: int = 3) -> str:
    """Return a lift as a percentage with its sign, or a difference as a number with its sign.

    Args:
        value: The lift or difference.
        relative: True for a lift.
        digits: The number of digits.

    >>> change(0.1234, True), change(-0.05, True), change(12.345, True)
    ('+12.3 %', '−5 %', '+1,230 %')
    >>> change(-0.0123, False), change(0.0, True)
    ('−0.0123', '+0 %')
    """
    scaled = 100 * value if relative else value
    return f"{'−' if scaled < 0 else '+'}{number(abs(scaled), digits)}{' %' if relative else ''}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with few digits.

    Args:
        value: The number.
        digits: The number of digits.

    >>> number(0.030222), number(12.0), number(1234.5), number(0.0)
    ('0.0302', '12', '1,230', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, decimals):,.{min(12, max(0, decimals))}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def power(share: float) -> str:
    """Return a small share as people write it.

    >>> power(1e-6), power(0.05), power(2e-7)
    ('10⁻⁶', '0.05', '2·10⁻⁷')
    """
    if share >= 1e-4:
        return f"{share:g}"
    factor, exponent = f"{share:e}".split("e")
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(-int(exponent)))
    rounded = f"{float(factor):g}"
    return f"{'' if rounded == '1' else f'{rounded}·'}10⁻{raised}"


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.95), percent(1 - 0.95), percent(0.9999)
    ('95 %', '5 %', '99.99 %')
    """
    return f"{100 * share:.6g} %"

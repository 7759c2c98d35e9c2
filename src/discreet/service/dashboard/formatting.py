"""Numbers, moments and lists as people write them."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from discreet._wording import duration


def whole(number: float) -> str:
    """Return a count with separators.

    >>> whole(1234567)
    '1,234,567'
    """
    return f"{round(number):,}"


def figure(number: float, digits: int = 3) -> str:
    """Return a measured number with few digits.

    Args:
        number: The number.
        digits: The number of digits.

    >>> figure(0.08312), figure(12.4051), figure(-0.5), figure(31415.9), figure(0), figure(0.000012)
    ('0.0831', '12.4', '−0.5', '31,416', '0', '0.000012')
    """
    if not math.isfinite(number):
        return "–"
    if number == 0:
        return "0"
    decimals = min(12, max(0, digits - 1 - math.floor(math.log10(abs(number)))))
    text = f"{abs(number):,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if number > 0 or text == "0" else f"−{text}"


def fixed(number: float, decimals: int) -> str:
    """Return a number with a fixed number of decimals.

    Args:
        number: The number.
        decimals: The number of decimals.

    >>> fixed(0.5, 3), fixed(-0.25, 2)
    ('0.500', '−0.25')
    >>> fixed(-0.0001, 2)
    '0.00'
    """
    return f"{number:z,.{decimals}f}".replace("-", "−")


def within(mean: float, radius: float | None) -> str:
    """Return a mean and its radius, with digits that the radius justifies.

    Args:
        mean: The mean.
        radius: How far off it may be; None if that is unknown.

    >>> within(0.31234, 0.0123), within(12.3456, 2.5), within(0.5, None)
    ('0.312 ± 0.012', '12.3 ± 2.5', '0.5')
    """
    if radius is None or not math.isfinite(radius) or radius <= 0:
        return figure(mean, 4)
    decimals = min(10, max(0, 1 - math.floor(math.log10(radius))))
    return f"{fixed(mean, decimals)} ± {fixed(radius, decimals)}"


def short(epsilon: object) -> str:
    """Return an exact epsilon in few digits; pages have the whole of it in a title.

    >>> short("0.703703703703"), short("10"), short("0.0625")
    ('0.7037', '10', '0.0625')
    """
    return figure(float(str(epsilon)), 4)


def factor(epsilon: str) -> str:
    """Return exp(epsilon): how many times as likely one person can make anything that is shown.

    >>> factor("1"), factor("0.1"), factor("12")
    ('2.72', '1.11', '162,755')
    """
    return figure(math.exp(min(float(epsilon), 700.0)))


def apart(larger: float, smaller: float) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes for the larger one to look larger.

    Args:
        larger: The larger number.
        smaller: The smaller number.

    >>> apart(0.0831, 0.0712), apart(0.07104, 0.07098)
    (('0.083', '0.071'), ('0.07104', '0.07098'))
    """
    for decimals in range(3, 12):
        texts = fixed(larger, decimals), fixed(smaller, decimals)
        if texts[0] != texts[1]:
            break
    return texts


def since(at: float, now: float) -> str:
    """Return a moment relative to now.

    Args:
        at: The moment.
        now: The time.

    >>> since(100.0, 160.0), since(160.0, 100.0), since(100.0, 101.0)
    ('60 seconds ago', 'in 60 seconds', 'just now')
    """
    if abs(now - at) < 5:
        return "just now"
    length = duration(round(abs(now - at)))
    return f"{length} ago" if at < now else f"in {length}"


@lru_cache(maxsize=4096)
def exact(at: float) -> str:
    """Return a moment to the second.

    >>> exact(1_700_000_000.0)
    '14 November 2023, 22:13:20 UTC'
    """
    moment = _moment(at)
    return f"{moment.day} {moment:%B %Y, %H:%M:%S} UTC"


@lru_cache(maxsize=4096)
def machine(at: float) -> str:
    """Return a moment for the `datetime` attribute.

    >>> machine(1_700_000_000.0)
    '2023-11-14T22:13:20Z'
    """
    return f"{_moment(at):%Y-%m-%dT%H:%M:%SZ}"


def sentence(text: str) -> str:
    """Return a message as a sentence.

    >>> sentence("there is no experiment 'x'"), sentence("It is so.")
    ("There is no experiment 'x'.", 'It is so.')
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}" if text else ""


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as a part of a sentence.

    Args:
        names: The names.
        last: The word before the last one.

    >>> listed(["blue"]), listed(["blue", "red"]), listed(["blue", "red", "green"])
    ('blue', 'blue and red', 'blue, red and green')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(min(max(at, 0.0), 253_402_300_799.0), UTC)

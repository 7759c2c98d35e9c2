"""Counts and times as people write them."""

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


def plural(count: int, noun: str) -> str:
    """Return a count and its noun.

    Args:
        count: The count.
        noun: The noun in the singular.

    >>> plural(1, "epoch"), plural(1200, "epoch")
    ('1 epoch', '1,200 epochs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def rounded(count: float) -> int:
    """Return an estimated count to three digits: more would be a pretence.

    >>> rounded(1234567), rounded(999.6), rounded(12)
    (1230000, 1000, 12)
    """
    unit = 10 ** max(0, len(str(round(count))) - 3)
    return int(round(count / unit) * unit)


def about(count: float) -> str:
    """Return an estimated count in words, to three digits.

    >>> about(1234567)
    '1,230,000'
    """
    return f"{rounded(count):,}"


def duration(seconds: float) -> str:
    """Return a length of time in a fitting unit.

    >>> [duration(s) for s in (0, 0.25, 40, 90, 3600, 5400, 86_400, 90_000)]
    ['0 seconds', '0.25 seconds', '40 seconds', '90 seconds', '1 hour', '90 minutes', '1 day', '25 hours']
    >>> duration(86_400 * 12), duration(86_400 * 900)
    ('12 days', '2.5 years')
    """
    if seconds < 10 and seconds != round(seconds):
        return f"{seconds:.2g} seconds"
    for unit, length in (("day", _DAY), ("hour", _HOUR)):
        count = round(seconds / length)
        if 0 < count < 48 and abs(seconds - count * length) < 1:
            return plural(count, unit)
    for unit, length, most in (("second", 1.0, 100), ("minute", _MINUTE, 100), ("hour", _HOUR, 48), ("day", _DAY, 700)):
        count = round(seconds / length)
        if count < most:
            return plural(count, unit)
    return f"{seconds / _DAY / 365.25:,.1f} years"

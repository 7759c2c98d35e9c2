"""Brackets of where a logarithm, or one of a logarithm, falls below a line: Sajed and Sheffet's Fact 2.1, corrected.

Bounds on stopping times come from these: a rule halts once log(...)/t is small enough.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, fraction, numbers, plain, require

LARGEST_SLOPE = 1 / 16


class Bracket(NamedTuple):
    """Two numbers, the second twice the first, between which the largest root of an equation lies.

    Attributes:
        low: The root is larger than this.
        high: The root is smaller than this.
    """

    low: Any
    high: Any


def log_bracket(a: ArrayLike, b: ArrayLike) -> Bracket:
    """Return log(a/b)/b and 2 log(a/b)/b, between which log(a x) = b x has its only root above e.

    So log(a x)/x > b for e < x <= low, and log(a x)/x < b for x >= high. The paper has this fact in a line that it does
    not print; it holds as it stands there (docs/proofs/paper.md).

    Args:
        a: The factor inside the logarithm, above 1.
        b: The slope of the line, at most 1/16.

    >>> [round(end, 1) for end in log_bracket(2.0, 0.05)]
    [73.8, 147.6]
    """
    a, b = _checked(a, b)
    return _bracket(np.log(a) - np.log(b), b)


def loglog_bracket(a: ArrayLike, b: ArrayLike) -> Bracket:
    """Return log(a log(1/b))/b and twice that, between which log(a log x) = b x has its largest root.

    So log(a log x)/x < b for x >= high. For a >= exp(e b) it is the only root above e, and log(a log x)/x > b for
    e < x <= low; for smaller a that holds from 1/b on, and fails just above e. Fact 2.1 claims it for every a > 1:
    false, since log(a log x)/x first rises where a < e (docs/proofs/paper.md has the proof of this form).

    Args:
        a: The factor inside the logarithm, above 1.
        b: The slope of the line, at most 1/16.

    >>> [round(end, 1) for end in loglog_bracket(2.0, 0.05)]
    [35.8, 71.6]
    """
    a, b = _checked(a, b)
    return _bracket(np.log(a) + np.log(-np.log(b)), b)


def _checked(a: Any, b: Any) -> tuple[Floats, Floats]:
    a, b = numbers("a", a), fraction("b", b)
    require("a", a, (a > 1) & np.isfinite(a), "a finite number above 1")
    require("b", b, b <= LARGEST_SLOPE, "above 0 and at most 1/16")
    return a, b


@np.errstate(over="ignore")
def _bracket(log: Floats, b: Floats) -> Bracket:
    return Bracket(plain(log / b), plain(2 * log / b))

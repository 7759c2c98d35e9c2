"""Searches for the ends of intervals, from outside inwards: an end lies outside of everything that is not ruled out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.core.probability.evidence import Numbers

Indices = NDArray[np.int64]

_STEPS = 16
_CLOSE = 1e-3  # of the distance from the center


def outer_ends(
    excess: Callable[[Numbers, Indices], Numbers], center: Numbers, rungs: Numbers, steps: int = _STEPS
) -> Numbers:
    """Return, for each of several functions, a number just below all at which it is negative.

    Each is evaluated on a ladder from far below up to its center. From the lowest rung at which it is negative, its
    root is searched for between there and the rung below. Where it is negative on the lowest rung, that is the end;
    where it is negative nowhere, the end is NaN.

    Args:
        excess: Takes numbers, and to which function each belongs, and returns the function's values.
        center: Where each function is least, about.
        rungs: The ladder of each, a row that increases.
        steps: The largest number of steps between two rungs; with fewer, an end lies further out.
    """
    count, size = rungs.shape
    which = np.repeat(np.arange(count), size)
    values = excess(rungs.ravel(), which).reshape(rungs.shape)
    negative = values < 0
    first = negative.argmax(axis=1)
    ends = np.where(negative.any(axis=1), rungs[:, 0], np.nan)
    (todo,) = np.nonzero(first > 0)
    low, high = rungs[todo, first[todo] - 1], rungs[todo, first[todo]]
    above, below = values[todo, first[todo] - 1], values[todo, first[todo]]
    tolerance = _CLOSE * np.abs(center[todo] - low) + 1e-15
    for step in range(steps):
        if not (high - low > tolerance).any():
            break
        share = np.clip(above / np.where(above > below, above - below, 1.0), 0.02, 0.98)  # regula falsi (Illinois)
        if step % 3 == 2:
            share = np.full(share.shape, 0.5)  # which is slow where a function is steep
        middle = low + share * (high - low)
        value = excess(middle, todo)
        outside = value >= 0
        below = np.where(outside, below / 2, value)
        above = np.where(outside, value, above / 2)
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    ends[todo] = low
    return ends


def outer_end(excess: Callable[[Numbers], Numbers], center: float, rungs: Numbers) -> float:
    """Return the same for one function; its center where it is negative nowhere.

    Args:
        excess: The function, of arrays.
        center: Where it is least, about.
        rungs: The ladder, which increases.
    """
    (end,) = outer_ends(lambda numbers, _: excess(numbers), np.array([center]), rungs[None])
    return center if np.isnan(end) else float(end)

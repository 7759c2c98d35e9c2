"""The exact law of released noise, for totals of 0/1 rewards that are rounded to whole rewards."""

import math

import numpy as np

from discreet.core.probability.evidence import Numbers


def whole_noise(width: int, scale: float, size: int) -> Numbers:
    """Return the law of floor((Z + w//2)/w) at 0, 1, ... and, from the array's end backwards, at -1, -2, ...

    Z is discrete Laplace of this scale on grid steps, and w is the number of steps of a reward. A total of 0/1 rewards
    that is rounded to whole rewards has this noise.

    Args:
        width: The steps of a reward.
        scale: The scale of the noise, in steps.
        size: The length of the array, even; what lies beyond is left out.

    >>> law = whole_noise(2**20, 2**20, 64)  # epsilon = 1
    >>> round(float(law[0]), 4), round(1 - math.exp(-0.5), 4), round(float(law[1]), 4), bool(law.sum() > 1 - 1e-12)
    (0.3935, 0.3935, 0.1917, True)
    """
    steps = np.arange(size // 2, dtype=float)
    half, rest = width // 2, width - 1 - width // 2
    above = np.exp(-(np.maximum(1, steps * width - half)) / scale) / (1 + math.exp(-1 / scale))  # P(Z >= k w - half)
    below = np.exp(-(steps * width - rest) / scale) / (1 + math.exp(-1 / scale))  # P(-Z >= k w - rest)
    law = np.zeros(size)
    law[1 : size // 2 - 1] = -np.diff(above[1:])
    law[-1 : size // 2 + 1 : -1] = -np.diff(below[1:])
    law[0] = 1 - above[1] - below[1]
    return law


def whole(steps: int, width: int) -> int:
    """Return a released total in whole rewards, rounded to the nearest.

    Args:
        steps: The total, in grid steps.
        width: The steps of a reward.

    >>> whole(5 * 8 + 3, 8), whole(-3, 8), whole(-5, 8)
    (5, 0, -1)
    """
    return (steps + width // 2) // width

"""Factors of evidence: the logarithm of what one released block says against a mean, before weights.

A *factor* is exp(s T - n L(s, x) - psi(s)) for a block of n rewards in [0, 1] whose noisy total is T: its expectation
is at most 1 if the mean is at most x and the stake s >= 0 was fixed before the block, so products of factors can be
large by luck only. `docs/proofs/evidence.md` has the proofs. All functions take arrays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

CAP = 0.85
"""The largest stake, in parts of epsilon: nearer to epsilon a noise costs more than it can ever bring."""
STEEPEST = 3.0
"""The largest stake where there is little noise or none."""
_FINE = 2**15  # steps of the range
_NOTHING = -1e300
_LARGE = 300.0  # beyond it sinh overflows, and no noise is left


def reward_cost(stake: Any, mean: Any) -> Any:
    """Return L(s, x) = ln(1 - x + x e^s), the most that ln E e^(sX) can be for a reward in [0, 1] of mean x.

    Args:
        stake: s, of either sign.
        mean: x, in [0, 1].

    >>> round(float(reward_cost(0.5, 0.1)), 6), float(reward_cost(-0.5, 1.0))
    (0.062855, -0.5)
    """
    return np.log1p(mean * np.expm1(stake))


def noise_cost(stake: Any, epsilon: Any, width: float) -> Any:
    """Return psi(s) = ln E e^(sZ/w) for a discrete Laplace variable Z of scale w/epsilon; infinite from epsilon on.

    It is -ln(1 - (sinh(s/2w)/sinh(epsilon/2w))^2), at most -ln(1 - s^2/epsilon^2) of the continuous law, which is taken
    where steps are so fine that it makes no difference.

    Args:
        stake: s, of either sign.
        epsilon: The range over the noise's scale; infinite without noise.
        width: w, the steps of the range.

    >>> [round(float(noise_cost(0.5, 1.0, width)), 6) for width in (1, 2**20)], float(noise_cost(1.0, 1.0, 1))
    ([0.267884, 0.287682], inf)
    """
    share = stake / epsilon
    if width < _FINE:
        half = np.minimum(np.asarray(epsilon) / (2 * width), _LARGE)
        share = np.sinh(np.minimum(np.abs(stake) / (2 * width), half)) / np.sinh(half)
    with np.errstate(divide="ignore"):
        return -np.log1p(-np.minimum(share * share, 1.0))


def spread_cost(stake: Any) -> Any:
    """Return f(s) = -ln(1 - s) - s: with it, E exp(s(X + Y - 2 mean) - f(s)(X - Y)^2) <= 1 for alike X and Y in [0, 1].

    Args:
        stake: s, with 0 <= s < 1.

    >>> round(float(spread_cost(0.1)), 6)
    0.005361
    """
    return -np.log1p(-stake) - stake


def log_sum(logs: Numbers) -> Numbers:
    """Return the logarithm of the sum of exponentials along the last axis; minus infinity for a sum of nothing."""
    most = np.maximum(logs.max(axis=-1), _NOTHING)
    with np.errstate(divide="ignore"):
        sums: Numbers = most + np.log(np.exp(logs - most[..., None]).sum(axis=-1))
    return sums

"""Bounds on how well a private algorithm's output tells two distributions of its samples apart.

An epsilon-private algorithm reads n independent samples of a distribution D, or of D' at total variation distance d.
The probability of any set of outputs under the one is at most exp(loss) times that under the other.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, inside, positive, require, vectorised, whole

MOST_EPSILON = 2.918
"""Up to about here e^epsilon - 1 <= 6 epsilon, which Lemma 3.5 needs."""


@vectorised
def product_privacy_loss(samples: ArrayLike, distance: ArrayLike, epsilon: ArrayLike) -> Any:
    """Return n log(1 + d (e^epsilon - 1)), the group privacy loss of product distributions.

    Replace the samples one at a time. Given the others, an output's probability is a function f of one sample whose
    values lie within a factor e^epsilon of its least one, m. D and D' share a part of mass 1 - d, so E_D f - E_D' f is
    at most d (e^epsilon - 1) m, and E_D' f is at least m. One sample attains it: randomised response on D = (1 - d, d)
    and D' = (1, 0).

    Args:
        samples: The number of samples, n.
        distance: The total variation distance d of the two distributions of a sample.
        epsilon: The privacy parameter.

    >>> round(product_privacy_loss(100, 0.01, 0.5), 4)
    0.6466
    """
    n, d, epsilon = _checked(samples, distance, epsilon)
    # log(1 - d + d e^epsilon), also where e^epsilon would overflow
    return n * np.where(epsilon < 1, np.log1p(d * np.expm1(np.minimum(epsilon, 1))), _log_mix(d, epsilon))


@vectorised
def karwa_vadhan_loss(samples: ArrayLike, distance: ArrayLike, epsilon: ArrayLike) -> Any:
    """Return 6 epsilon n d, the group privacy loss of Karwa and Vadhan's Lemma 6.1: the paper's Lemma 3.5.

    The paper states it for every epsilon, but it needs e^epsilon - 1 <= 6 epsilon: with epsilon = 10 and d = 0.001
    randomised response on one sample already has a loss of 3.1, and this would be 0.06. `product_privacy_loss` is
    smaller, and holds for all.

    Args:
        samples: The number of samples, n.
        distance: The total variation distance d of the two distributions of a sample.
        epsilon: The privacy parameter, at most 2.918.

    >>> karwa_vadhan_loss(100, 0.01, 0.5)
    3.0
    """
    n, d, epsilon = _checked(samples, distance, epsilon)
    require("epsilon", epsilon, epsilon <= MOST_EPSILON, f"at most {MOST_EPSILON:g} for this lemma")
    return 6 * epsilon * n * d


def _checked(samples: Any, distance: Any, epsilon: Any) -> tuple[Floats, Floats, Floats]:
    return whole("samples", samples), inside("distance", distance, 0, 1), positive("epsilon", epsilon)


def _log_mix(d: Floats, epsilon: Floats) -> Floats:
    """Return log((1 - d) + d e^epsilon), with log 0 = -inf where d is 0 or 1."""
    with np.errstate(divide="ignore"):
        mixed: Floats = np.logaddexp(np.log1p(-d), np.log(d) + epsilon)
    return mixed

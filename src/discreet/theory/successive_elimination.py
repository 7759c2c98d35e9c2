"""Upper bounds for Successive Elimination without privacy (Even-Dar, Mannor, Mansour 2002).

Rewards lie in [0, 1]. After t rounds each mean has the radius r_t = sqrt(ln(4 K t^2/beta)/(2t)), which holds for all
arms and rounds with probability 1 - beta; an arm is dropped when it lies more than 2 r_t behind.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import fraction, positive, require, vectorised, whole
from discreet.theory.elimination import expected_regret
from discreet.theory.logarithms import log_bracket


@vectorised
def se_pull_bound(gap: ArrayLike, arms: ArrayLike, beta: ArrayLike) -> Any:
    """Return (32/gap^2) ln(32 sqrt(K/beta)/gap^2), rounded up: the most pulls of an arm, with probability 1 - beta.

    An arm is sure to be dropped once 4 r_t < gap, that is log(a t)/t < b with a = 2 sqrt(K/beta) and b = gap^2/16;
    `log_bracket` says from when on that holds. It is of order log(K/(beta gap))/gap^2.

    Args:
        gap: The difference between the best mean and the arm's, in (0, 1].
        arms: The number of arms, at least 2.
        beta: The probability of failure.

    >>> se_pull_bound(0.05, 4, 0.05)
    149098.0
    """
    gap, arms, beta = positive("gap", gap), whole("arms", arms, 2), fraction("beta", beta)
    require("gap", gap, (gap <= 1) & (gap >= 1e-100), "in (0, 1], a difference of two means")
    return np.ceil(log_bracket(2 * np.sqrt(arms / beta), gap**2 / 16).high)


@vectorised
def se_regret_bound(means: ArrayLike, horizon: ArrayLike) -> Any:
    """Return a bound on the expected regret of Successive Elimination with beta = 1/T: order log(T)/gap for each arm.

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.

    >>> round(se_regret_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7))
    8682
    """
    return expected_regret(lambda gap, arms, _, beta: se_pull_bound(gap, arms, beta), means, horizon, math.inf)

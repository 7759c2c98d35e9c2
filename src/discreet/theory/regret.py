"""Lower bounds on the regret of every policy, private or not."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.divergence import private_divergence
from discreet.theory.domain import arm_means, positive, privacy, require, vectorised, whole


@vectorised
def regret_lower_bound(means: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike = math.inf) -> Any:
    """Return the sum over worse arms of gap / d_epsilon(mean, best mean), times ln T, for Bernoulli arms.

    It bounds the regret of every policy that is consistent and epsilon-private, relative to ln T as T grows (Azize et
    al. 2025); at a finite T a policy may lie below it.

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.
        epsilon: The privacy parameter. Infinity yields the bound of Lai and Robbins.

    >>> round(regret_lower_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    317
    >>> regret_lower_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, [0.1, 0.25, 0.5, 1.0]).round()
    array([739., 317., 184., 137.])
    """
    means, horizon, epsilon = arm_means(means), _horizon(horizon), privacy(epsilon)
    best = means.max(axis=-1, keepdims=True)
    gaps = best - means
    cost = private_divergence(means, best, epsilon[..., None])
    return np.divide(gaps, cost, out=np.zeros(np.shape(cost)), where=gaps > 0).sum(axis=-1) * np.log(horizon)


@vectorised
def lai_robbins_bound(means: ArrayLike, horizon: ArrayLike) -> Any:
    """Return the sum over worse arms of gap / kl(mean, best mean), times ln T (Lai and Robbins 1985).

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.

    >>> round(lai_robbins_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7))
    126
    """
    return regret_lower_bound(means, horizon)


@vectorised
def private_regret_order(arms: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """Return K ln T/epsilon, the order of the regret that privacy adds (Shariff and Sheffet 2018).

    Their theorem does not name its constant factor. Here it is 1, so this is a scale and not a bound;
    `regret_lower_bound` has its constants.

    Args:
        arms: The number of arms K, at least 2.
        horizon: The number of pulls T.
        epsilon: The privacy parameter; infinity for no privacy.

    >>> round(private_regret_order(5, 5e7, 0.25))
    355
    """
    return whole("arms", arms, 2) * np.log(_horizon(horizon)) / privacy(epsilon)


@vectorised
def minimax_lower_bound(arms: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike = math.inf) -> Any:
    """Return max(sqrt(T (K - 1))/27, (K - 1)/(22 epsilon)).

    Every epsilon-private policy has at least this regret on some arms (Azize, thesis, Theorem 4.15).

    Args:
        arms: The number of arms K, at least 2.
        horizon: The number of pulls T.
        epsilon: The privacy parameter; infinity for no privacy.

    Raises:
        ArgumentError: If the bound would exceed the horizon, where the theorem does not hold.

    >>> round(minimax_lower_bound(5, 5e7, 0.25)), round(minimax_lower_bound(20, 1e4, 0.001))
    (524, 864)
    """
    others, pulls = whole("arms", arms, 2) - 1, _horizon(horizon)
    bound = np.maximum(np.sqrt(pulls * others) / 27, others / (22 * privacy(epsilon)))
    require("horizon", pulls, bound <= pulls, "larger for this theorem, which would promise more regret than pulls")
    return bound


def _horizon(horizon: Any) -> Any:
    array = positive("horizon", horizon)
    return require("horizon", array, array >= 1, "a number of pulls of at least 1")

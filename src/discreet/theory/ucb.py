"""Upper bounds on the regret of UCB and of DP-UCB, whose index is mean + sqrt(2 ln t/n) + relaxation/n.

Rewards lie in [0, 1]. UCB has no relaxation; that of DP-UCB covers the noise of its trees.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.theory.domain import Floats, arm_means, numbers, positive, privacy, require, vectorised, whole
from discreet.theory.tree import tree_error_bound

MISSED = 1 + math.pi**2 / 3
"""Pulls of an arm that the proof of Auer et al. adds: one for rounding, and those where a confidence bound fails."""


@vectorised
def ucb_regret_bound(means: ArrayLike, horizon: ArrayLike) -> Any:
    """Return the sum over worse arms of 8 ln(T)/gap + (1 + pi^2/3) gap (Auer, Cesa-Bianchi, Fischer 2002, Theorem 1).

    It bounds the expected regret of UCB on given arms, or T times the largest gap does.

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.

    >>> round(ucb_regret_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7))
    2369
    """
    return _optimistic_regret(means, horizon, np.zeros(()))


@vectorised
def ucb_minimax_bound(arms: ArrayLike, horizon: ArrayLike) -> Any:
    """Return sqrt(32 (K - 1) T ln T) + (1 + pi^2/3)(K - 1), a bound on the expected regret of UCB on any arms.

    Arms with a gap of at most D cost D T in all, each of the others 8 ln(T)/D + 1 + pi^2/3 by `ucb_regret_bound`; take
    D = sqrt(8 (K - 1) ln(T)/T), which is the order of gap that the paper's adversary sets. It is never above T.

    Args:
        arms: The number of arms K, at least 2.
        horizon: The number of pulls T.

    >>> round(ucb_minimax_bound(5, 5e7))
    336850
    """
    others, horizon = whole("arms", arms, 2) - 1, whole("horizon", horizon, 2)
    return np.minimum(horizon, np.sqrt(32 * others * horizon * np.log(horizon)) + MISSED * others)


@vectorised
def dp_ucb_regret_bound(
    means: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike, relaxation: ArrayLike | None = None
) -> Any:
    """Return a bound on the expected regret of DP-UCB with trees at epsilon, with its constants.

    With probability 1 - 1/T no total's noise ever exceeds G = `tree_error_bound`. Then an index with a relaxation of
    C >= G lies between that of UCB and the same plus 2 C/n, so the proof of Auer et al. goes through with
    2 sqrt(2 ln(T)/n) + 2 C/n in place of 2 sqrt(2 ln(T)/n): an arm is pulled

        n = ((sqrt(2 ln T) + sqrt(2 ln T + 2 C gap))/gap)^2

    times, and 1 + pi^2/3 times more. In all it is of order ln(T)/gap + C for each arm: with G, K ln(T)^2/epsilon on top
    of UCB's regret.

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.
        epsilon: The privacy parameter of each tree; infinity for no privacy.
        relaxation: C; by default G, the least that the proof allows.

    >>> round(dp_ucb_regret_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    80792
    """
    arms, horizon, epsilon = arm_means(means).shape[-1], whole("horizon", horizon, 2), privacy(epsilon)
    least = np.asarray(tree_error_bound(horizon, epsilon, 1 / horizon, arms))
    given = least if relaxation is None else numbers("relaxation", relaxation)
    require("relaxation", given, given >= least * (1 - 1e-12), "at least tree_error_bound, for this proof")
    return _optimistic_regret(means, horizon, given, failure=1.0)


@vectorised
def dp_ucb_regret_order(arms: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike, power: ArrayLike = 2.5) -> Any:
    """Return K ln(T)^power/epsilon, the order of the regret that privacy adds to UCB's in DP-UCB's analyses.

    The power is 2.5 in most (by `tree_union_bound`), and 3 in that of Mishra and Thakurta (2015), who in turn divide
    epsilon by K. The factor in front is not named, and 1 here: this is a scale and not a bound; `dp_ucb_regret_bound`
    has its constants, and a power of 2.

    Args:
        arms: The number of arms K, at least 2.
        horizon: The number of pulls T.
        epsilon: The privacy parameter; infinity for no privacy.
        power: The power of the logarithm.

    >>> round(dp_ucb_regret_order(5, 5e7, 0.25)), round(dp_ucb_regret_order(5, 5e7, 0.25, power=3))
    (26464, 111423)
    """
    log = np.log(whole("horizon", horizon, 2))
    return whole("arms", arms, 2) * log ** positive("power", power) / privacy(epsilon)


def _optimistic_regret(means: Any, horizon: Any, relaxation: Floats, failure: float = 0.0) -> Floats:
    """Return the expected regret of an index with a relaxation that covers its noise but for a cost of `failure`."""
    means, horizon = arm_means(means), whole("horizon", horizon, 2)
    gaps = means.max(axis=-1, keepdims=True) - means
    safe, logs = np.where(gaps > 0, gaps, 1.0), 2 * np.log(horizon)[..., None]
    root = np.sqrt(logs) + np.sqrt(logs + 2 * relaxation[..., None] * safe)
    total = np.where(gaps > 0, root * (root / safe) + MISSED * safe, 0.0).sum(axis=-1)
    result: Floats = np.minimum(total + failure, gaps.max(axis=-1) * horizon)
    return result

"""DP Successive Elimination in numbers: its epochs, how many pulls they need, and its proved bounds.

Rewards lie in [0, 1]. `beta` is the probability of failure, over all epochs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import ArgumentError
from discreet.theory.domain import Floats, arm_means, fraction, positive, privacy, require, vectorised, whole

MOST_EPOCHS, MOST_PULLS = 500, 2.0**62
"""Beyond these a target gap of 2^-e, and a number of pulls, are of no use."""


@vectorised
def dp_se_epoch_length(epoch: ArrayLike, viable: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """R_e of Algorithm 3, line 8: the rounds of epoch e are its ceiling.

    >>> math.ceil(dp_se_epoch_length(1, 5, 0.1, 1 / 5e7)), math.ceil(dp_se_epoch_length(1, 5, 1.0, 1 / 5e7))
    (3317, 2743)
    """
    epoch, epsilon = whole("epoch", epoch), privacy(epsilon)
    statistical = 32 * _log(8, epoch, viable, beta) * 4.0**epoch
    private = 8 * _log(4, epoch, viable, beta) * 2.0**epoch / epsilon
    return np.maximum(statistical, private) + 1


@vectorised
def dp_se_threshold(epoch: ArrayLike, viable: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """2 h_e + 2 c_e of Algorithm 3, line 20: an arm goes if its noisy mean lies farther behind the best one.

    >>> round(dp_se_threshold(1, 5, 0.1, 1 / 5e7), 4)
    0.2386
    """
    length, epoch = dp_se_epoch_length(epoch, viable, epsilon, beta), whole("epoch", epoch)
    hoeffding = np.sqrt(_log(8, epoch, viable, beta) / (2 * length))
    laplace = _log(4, epoch, viable, beta) / (length * privacy(epsilon))
    return 2 * hoeffding + 2 * laplace


@vectorised
def dp_se_last_epoch(gap: ArrayLike) -> Any:
    """The first epoch e with 2^-e <= gap: with probability 1 - beta no arm with this gap is viable after it.

    >>> dp_se_last_epoch([1.0, 0.5, 0.26, 0.25, 0.05])
    array([1, 1, 2, 2, 5])
    """
    _, exponent = np.frexp(_gap(gap))
    return np.maximum(1, 1 - exponent.astype(np.int64))


@vectorised
def dp_se_pulls(gap: ArrayLike, arms: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """The most pulls of an arm with this gap, with probability 1 - beta: the epochs up to its last one, added up.

    An epoch is longest while all arms are viable, so that is the worst case. This is what Lemma 4.2 bounds.

    >>> dp_se_pulls(0.05, 4, 0.5, 0.05)
    415438.0
    """
    last, arms, epsilon, beta = np.broadcast_arrays(
        dp_se_last_epoch(gap), whole("arms", arms, 2), privacy(epsilon), fraction("beta", beta)
    )
    total = np.zeros(last.shape)
    for epoch in range(1, int(last.max(initial=0)) + 1):
        total += np.where(epoch <= last, np.ceil(dp_se_epoch_length(epoch, arms, epsilon, beta)), 0.0)
    return total


@vectorised
def dp_se_pull_bound(gap: ArrayLike, arms: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """log(K log(2/gap)/beta) (1024/gap^2 + 96/(epsilon gap)): the printed bound on an arm's pulls (Lemma 4.2).

    It holds with probability 1 - beta. Its proof says that each epoch is at most half as long as the next, which can
    fail by a little; the bound has room for that up to beta = 0.97. (At beta = 0.98 it fails; above 0.9 it is refused.)

    >>> round(dp_se_pull_bound(0.05, 4, 0.5, 0.05))
    2351378
    """
    gap, arms, epsilon, beta = _gap(gap), whole("arms", arms, 2), privacy(epsilon), fraction("beta", beta)
    require("beta", beta, beta <= 0.9, "at most 0.9 for this lemma")
    return np.log(arms * np.log(2 / gap) / beta) * (1024 / gap**2 + 96 / (epsilon * gap))


@vectorised
def dp_se_regret_bound(means: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """Theorem 4.3 with its constants: expected regret of DP-SE on these arms (in the last axis), with beta = 1/T.

    With probability 1 - 1/T each worse arm costs its gap times at most min(T, its pull bound); else at most T.

    >>> round(dp_se_regret_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    374145
    """
    return expected_regret(dp_se_pull_bound, means, horizon, epsilon)


@vectorised
def dp_se_sure_regret(means: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """What DP-SE guarantees on these arms (in the last axis) with beta = 1/T: expected regret, by its own schedule.

    As `dp_se_regret_bound`, with the worst case of the epochs, `dp_se_pulls`, in place of Lemma 4.2's bound on it.

    >>> round(dp_se_sure_regret([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    18232
    """
    return expected_regret(dp_se_pulls, means, horizon, epsilon)


@vectorised
def dp_se_minimax_bound(arms: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """Theorem 4.4 with its constants: expected regret of DP-SE on any arms, O(sqrt(T K log T) + K log T/epsilon).

    The proof's gap D* is where gap T/K equals gap times the pull bound, with the logarithm at its largest,
    L = log(K T log(2T)), for gaps of at least 1/T: (T/K) D^2 = L (1024 + 96 D/epsilon). Arms with smaller gaps cost
    D* T at most, those with larger ones (K - 1) D* T/K; failure and gaps below 1/T cost 1 each.

    >>> round(dp_se_minimax_bound(5, 5e9, 0.25))
    47439017
    """
    arms, horizon, epsilon = whole("arms", arms, 2), whole("horizon", horizon, 2), privacy(epsilon)
    log = np.log(arms * horizon * np.log(2 * horizon))
    half = 48 * log / epsilon
    worst_gap = (half + np.sqrt(half**2 + 1024 * log * horizon / arms)) / (horizon / arms)
    return np.minimum(horizon, worst_gap * horizon * (2 - 1 / arms) + 2)


@dataclass(frozen=True, slots=True, eq=False)
class EliminationPlan:
    """What DP-SE needs to tell arms apart whose means differ by `gap` or more; arrays have an entry for each epoch.

    In the worst case all arms stay until the last epoch. With probability 1 - beta one arm is left after it, the best.
    """

    arms: int
    epsilon: float
    gap: float
    beta: float
    target_gaps: Floats
    """The gap that each epoch resolves, 2^-e."""
    pulls_per_arm: NDArray[np.int64]
    """ceil(R_e) while all arms are viable."""
    thresholds: Floats
    """How far behind the best noisy mean an arm may lie."""
    by_privacy: NDArray[np.bool_]
    """Whether an epoch's length is set by the noise, and not by sampling."""

    @property
    def epochs(self) -> int:
        """How many epochs it takes."""
        return len(self.pulls_per_arm)

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Pulls of all arms, by epoch."""
        return self.pulls_per_arm * self.arms

    @property
    def total(self) -> int:
        """All pulls of all arms: when this many can be afforded, every gap of `gap` or more is resolved."""
        return int(self.pulls.sum())

    @property
    def price_of_privacy(self) -> int:
        """How many of all pulls are due to privacy: none without it."""
        lengths = dp_se_epoch_length(np.arange(1, self.epochs + 1), self.arms, math.inf, self.beta)
        return self.total - int(np.ceil(lengths).sum()) * self.arms

    def __str__(self) -> str:
        return (
            f"{self.total:,} pulls of {self.arms} arms in {self.epochs} epochs resolve every gap of {self.gap:g} or "
            f"more with probability {1 - self.beta:g} (epsilon = {self.epsilon:g})"
        )


def plan_elimination(arms: int, epsilon: float, gap: float, beta: float) -> EliminationPlan:
    """The epochs of DP-SE up to the one that resolves `gap`, and their worst-case pulls.

    >>> plan = plan_elimination(arms=4, epsilon=0.5, gap=0.05, beta=0.05)
    >>> print(plan)
    1,661,752 pulls of 4 arms in 5 epochs resolve every gap of 0.05 or more with probability 0.95 (epsilon = 0.5)
    >>> plan.pulls_per_arm.tolist()
    [829, 4020, 17735, 75647, 317207]
    """
    for name, value in {"arms": arms, "epsilon": epsilon, "gap": gap, "beta": beta}.items():
        if np.ndim(value):
            raise ArgumentError(f"{name} must be one number for a plan, got {value!r}; dp_se_pulls takes arrays")
    epochs = np.arange(1, dp_se_last_epoch(gap) + 1)
    lengths = dp_se_epoch_length(epochs, whole("arms", arms, 2), epsilon, beta)
    if np.sum(lengths) * arms >= MOST_PULLS:
        raise ArgumentError(f"gap must allow fewer than 2^62 pulls, got gap={gap!r} with epsilon={epsilon!r}")
    return EliminationPlan(
        arms=int(arms),
        epsilon=float(epsilon),
        gap=float(gap),
        beta=float(beta),
        target_gaps=2.0**-epochs,
        pulls_per_arm=np.ceil(lengths).astype(np.int64),
        thresholds=dp_se_threshold(epochs, arms, epsilon, beta),
        by_privacy=lengths > dp_se_epoch_length(epochs, arms, math.inf, beta),
    )


@vectorised
def resolvable_gap(pulls: ArrayLike, arms: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """The smallest gap that DP-SE resolves for sure in so many pulls of all arms; infinite if not even a gap of 1/2.

    >>> resolvable_gap([1_661_751, 1_661_752], arms=4, epsilon=0.5, beta=0.05)
    array([0.0625 , 0.03125])
    """
    pulls, arms, epsilon, beta = np.broadcast_arrays(
        positive("pulls", pulls), whole("arms", arms, 2), privacy(epsilon), fraction("beta", beta)
    )
    spent, gap = np.zeros(pulls.shape), np.full(pulls.shape, np.inf)
    for epoch in range(1, MOST_EPOCHS):
        spent = spent + arms * np.ceil(dp_se_epoch_length(epoch, arms, epsilon, beta))
        if not (spent <= pulls).any():
            break
        gap = np.where(spent <= pulls, 2.0**-epoch, gap)
    return gap


def expected_regret(pulls: Callable[..., Any], means: Any, horizon: Any, epsilon: Any) -> Any:
    """The expected regret where arms have at most so many pulls with probability 1 - 1/T, by their gaps."""
    means, horizon, epsilon = arm_means(means), whole("horizon", horizon, 2)[..., None], privacy(epsilon)[..., None]
    gaps = means.max(axis=-1, keepdims=True) - means
    most = np.minimum(horizon, pulls(np.where(gaps > 0, gaps, 1.0), means.shape[-1], epsilon, 1 / horizon))
    return np.minimum(1 + (gaps * most).sum(axis=-1), gaps.max(axis=-1) * horizon[..., 0])


def _gap(gap: Any) -> Floats:
    array = positive("gap", gap)
    return require("gap", array, (array <= 1) & (array >= 2.0**-MOST_EPOCHS), "in (0, 1], a difference of two means")


def _log(factor: int, epoch: Any, viable: Any, beta: Any) -> Any:
    """ln(factor |S| e^2/beta), also for a beta so small that the quotient would overflow."""
    return np.log(factor * whole("viable", viable) * epoch**2) - np.log(fraction("beta", beta))

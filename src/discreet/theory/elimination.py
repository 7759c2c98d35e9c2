"""Schedule and proved bounds of DP Successive Elimination (DP-SE, Sajed and Sheffet's Algorithm 3).

Rewards lie in [0, 1]. `beta` is the probability of failure over all epochs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import ArgumentError
from discreet.theory.domain import Floats, arm_means, fraction, positive, privacy, require, vectorised, whole

MOST_EPOCHS, MOST_PULLS = 500, 2.0**62  # of a plan: smaller gaps and longer plans are refused


@vectorised
def dp_se_epoch_length(epoch: ArrayLike, viable: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """Return R_e of Algorithm 3, line 8; epoch e has ceil(R_e) rounds.

    Args:
        epoch: The epoch e = 1, 2, ...
        viable: The number of arms that are still viable.
        epsilon: The privacy parameter; infinity for no privacy.
        beta: The probability of failure.

    >>> math.ceil(dp_se_epoch_length(1, 5, 0.1, 1 / 5e7)), math.ceil(dp_se_epoch_length(1, 5, 1.0, 1 / 5e7))
    (3317, 2743)
    """
    epoch, epsilon = whole("epoch", epoch), privacy(epsilon)
    statistical = 32 * _log(8, epoch, viable, beta) * 4.0**epoch
    private = 8 * _log(4, epoch, viable, beta) * 2.0**epoch / epsilon
    return np.maximum(statistical, private) + 1


@vectorised
def dp_se_threshold(epoch: ArrayLike, viable: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """Return 2 h_e + 2 c_e of Algorithm 3, line 20.

    An arm is eliminated if its noisy mean is farther than this behind the best one.

    Args:
        epoch: The epoch e = 1, 2, ...
        viable: The number of arms that are still viable.
        epsilon: The privacy parameter; infinity for no privacy.
        beta: The probability of failure.

    >>> round(dp_se_threshold(1, 5, 0.1, 1 / 5e7), 4)
    0.2386
    """
    length, epoch = dp_se_epoch_length(epoch, viable, epsilon, beta), whole("epoch", epoch)
    hoeffding = np.sqrt(_log(8, epoch, viable, beta) / (2 * length))
    laplace = _log(4, epoch, viable, beta) / (length * privacy(epsilon))
    return 2 * hoeffding + 2 * laplace


@vectorised
def dp_se_last_epoch(gap: ArrayLike) -> Any:
    """Return the first epoch e with 2^-e <= gap.

    With probability 1 - beta no arm with this gap is viable after it.

    >>> dp_se_last_epoch([1.0, 0.5, 0.26, 0.25, 0.05])
    array([1, 1, 2, 2, 5])
    """
    _, exponent = np.frexp(_gap(gap))
    return np.maximum(1, 1 - exponent.astype(np.int64))


@vectorised
def dp_se_pulls(gap: ArrayLike, arms: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """Return the most pulls of an arm with this gap, with probability 1 - beta.

    This is the total length of the epochs up to its last one, with all arms viable (the worst case). Lemma 4.2 bounds
    this number.

    Args:
        gap: The difference between the best mean and the arm's, in (0, 1].
        arms: The number of arms, at least 2.
        epsilon: The privacy parameter; infinity for no privacy.
        beta: The probability of failure.

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
    """Return log(K log(2/gap)/beta) (1024/gap^2 + 96/(epsilon gap)), Lemma 4.2's bound on an arm's pulls.

    It holds with probability 1 - beta. The printed proof says that each epoch is at most half as long as the next,
    which can fail by a little; the constants absorb that up to beta = 0.97. (At beta = 0.98 the bound fails.)

    Args:
        gap: The difference between the best mean and the arm's, in (0, 1].
        arms: The number of arms, at least 2.
        epsilon: The privacy parameter; infinity for no privacy.
        beta: The probability of failure, at most 0.9.

    >>> round(dp_se_pull_bound(0.05, 4, 0.5, 0.05))
    2351378
    """
    gap, arms, epsilon, beta = _gap(gap), whole("arms", arms, 2), privacy(epsilon), fraction("beta", beta)
    require("beta", beta, beta <= 0.9, "at most 0.9 for this lemma")
    return np.log(arms * np.log(2 / gap) / beta) * (1024 / gap**2 + 96 / (epsilon * gap))


@vectorised
def dp_se_regret_bound(means: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """Return the bound of Theorem 4.3, with its constants, on the expected regret of DP-SE with beta = 1/T.

    With probability 1 - 1/T each worse arm costs its gap times at most min(T, its pull bound); else at most T.

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.
        epsilon: The privacy parameter; infinity for no privacy.

    >>> round(dp_se_regret_bound([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    374145
    """
    return expected_regret(dp_se_pull_bound, means, horizon, epsilon)


@vectorised
def dp_se_sure_regret(means: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """Return the expected regret that DP-SE's own schedule guarantees with beta = 1/T.

    It is `dp_se_regret_bound` with the worst case of the epochs, `dp_se_pulls`, in place of Lemma 4.2's bound.

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.
        epsilon: The privacy parameter; infinity for no privacy.

    >>> round(dp_se_sure_regret([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    18232
    """
    return expected_regret(dp_se_pulls, means, horizon, epsilon)


@vectorised
def dp_se_minimax_bound(arms: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """Return the bound of Theorem 4.4, with its constants, on the expected regret of DP-SE on any arms.

    It is O(sqrt(T K log T) + K log T/epsilon).

    The proof's gap D* is where gap T/K equals gap times the pull bound, with the logarithm at its largest,
    L = log(K T log(2T)), for gaps of at least 1/T: (T/K) D^2 = L (1024 + 96 D/epsilon). Arms with smaller gaps cost
    D* T at most, those with larger ones (K - 1) D* T/K; failure and gaps below 1/T cost 1 each.

    Args:
        arms: The number of arms K, at least 2.
        horizon: The number of pulls T.
        epsilon: The privacy parameter; infinity for no privacy.

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
    """The epochs that DP-SE needs in the worst case to find the best arm, if it leads by `gap` or more.

    In the worst case all arms stay viable until the last epoch. With probability 1 - beta the best arm alone is left
    after it. Arrays have one entry per epoch.

    Args:
        arms: The number of arms.
        epsilon: The privacy parameter.
        gap: The smallest gap to resolve.
        beta: The probability of failure.
        target_gaps: The gap that each epoch resolves, 2^-e.
        pulls_per_arm: ceil(R_e) while all arms are viable.
        thresholds: The distance to the best noisy mean at which an arm is eliminated.
        by_privacy: True where an epoch's length is set by the noise and not by sampling.
    """

    arms: int
    epsilon: float
    gap: float
    beta: float
    target_gaps: Floats
    pulls_per_arm: NDArray[np.int64]
    thresholds: Floats
    by_privacy: NDArray[np.bool_]

    @property
    def epochs(self) -> int:
        """Number of epochs."""
        return len(self.pulls_per_arm)

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Pulls of all arms together, by epoch."""
        return self.pulls_per_arm * self.arms

    @property
    def total(self) -> int:
        """Pulls of all arms in all epochs."""
        return int(self.pulls.sum())

    @property
    def price_of_privacy(self) -> int:
        """Number of pulls that the same plan would save without privacy."""
        lengths = dp_se_epoch_length(np.arange(1, self.epochs + 1), self.arms, math.inf, self.beta)
        return self.total - int(np.ceil(lengths).sum()) * self.arms

    def __str__(self) -> str:
        return (
            f"{self.total:,} pulls of {self.arms} arms in {self.epochs} epochs resolve every gap of {self.gap:g} or "
            f"more with probability {1 - self.beta:g} (epsilon = {self.epsilon:g})"
        )


def plan_elimination(arms: int, epsilon: float, gap: float, beta: float) -> EliminationPlan:
    """Return the epochs of DP-SE up to the one that resolves `gap`, with their worst-case pulls.

    Args:
        arms: The number of arms, at least 2.
        epsilon: The privacy parameter; infinity for no privacy.
        gap: The smallest gap to resolve, in (0, 1].
        beta: The probability of failure.

    Raises:
        ArgumentError: If an argument is an array, or the plan needs 2^62 pulls or more.

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
    """Return the smallest gap that DP-SE is guaranteed to resolve; infinity if it cannot resolve 1/2.

    Args:
        pulls: The number of pulls of all arms together.
        arms: The number of arms, at least 2.
        epsilon: The privacy parameter; infinity for no privacy.
        beta: The probability of failure.

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
    """Return a bound on expected regret from a bound on each arm's pulls that holds with probability 1 - 1/T.

    Args:
        pulls: The bound, as a function of (gap, arms, epsilon, beta).
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.
        epsilon: The privacy parameter; infinity for no privacy.
    """
    means, horizon, epsilon = arm_means(means), whole("horizon", horizon, 2)[..., None], privacy(epsilon)[..., None]
    gaps = means.max(axis=-1, keepdims=True) - means
    most = np.minimum(horizon, pulls(np.where(gaps > 0, gaps, 1.0), means.shape[-1], epsilon, 1 / horizon))
    return np.minimum(1 + (gaps * most).sum(axis=-1), gaps.max(axis=-1) * horizon[..., 0])


def _gap(gap: Any) -> Floats:
    array = positive("gap", gap)
    return require("gap", array, (array <= 1) & (array >= 2.0**-MOST_EPOCHS), "in (0, 1], a difference of two means")


def _log(factor: int, epoch: Any, viable: Any, beta: Any) -> Any:
    """Return ln(factor |S| e^2/beta), also for a beta so small that the quotient would overflow."""
    return np.log(factor * whole("viable", viable) * epoch**2) - np.log(fraction("beta", beta))

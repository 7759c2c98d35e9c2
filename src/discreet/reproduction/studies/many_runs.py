"""The final regret of DP-SE in many runs at once.

DP-SE's regret has few values: it decides at the ends of epochs of fixed lengths, so a run's regret is that of which arm
went in which epoch. A mean of 30 runs then depends on how many of them fell on each side. Here thousands of runs take
an epoch together; rounds and thresholds are the policy object's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bandits import DPSuccessiveElimination


def final_regrets(
    policy: DPSuccessiveElimination, means: NDArray[np.float64], runs: int, seed: Any
) -> NDArray[np.float64]:
    """Return the pseudo-regret at the horizon of each run, on Bernoulli arms.

    Args:
        policy: The policy before its first epoch, with a horizon and rewards in [0, 1].
        means: The arms' means.
        runs: The number of runs.
        seed: Seed of all of them.
    """
    assert policy.horizon is not None
    rng, gaps, arms = np.random.default_rng(seed), means.max() - means, means.size
    viable, regret = np.ones((runs, arms), bool), np.zeros(runs)
    left, epoch = np.full(runs, policy.horizon), 0
    while (going := (viable.sum(axis=1) > 1) & (left > 0)).any():
        epoch += 1
        sizes = viable.sum(axis=1)
        lengths = np.array([0, 0, *(policy.rounds(epoch, size) for size in range(2, arms + 1))])
        limits = np.array([0.0, 0.0, *(policy.threshold(epoch, size) for size in range(2, arms + 1))])
        rounds = np.where(going, lengths[sizes], 0)
        whole = going & (rounds * sizes <= left)
        # An epoch that the horizon cuts short: arms take turns, in order, and nothing is released.
        turns, rest = np.divmod(left, sizes)
        each = np.where(whole, rounds, np.where(going, turns, 0))[:, None] * viable
        each += viable & (viable.cumsum(axis=1) <= np.where(going & ~whole, rest, 0)[:, None])
        regret += each @ gaps
        left -= each.sum(axis=1)
        totals = rng.binomial(each, means) + rng.laplace(0.0, 1 / policy.epsilon, each.shape)
        best = np.where(viable, totals, -np.inf).max(axis=1)
        stays = best[:, None] - totals <= (limits[sizes] * rounds)[:, None]
        viable &= stays | ~whole[:, None]
    return np.asarray(regret + left * (viable @ gaps))

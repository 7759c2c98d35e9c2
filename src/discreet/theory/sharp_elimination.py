"""Schedule of private elimination with sharp constants: the times and levels of its tests, and their guarantees.

The schedule is fixed before the first reward. docs/proofs/sharp-elimination.md has the proof and every formula. Rewards
lie in [0, 1].
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import ArgumentError
from discreet.core.probability.tails import hoeffding_radius
from discreet.theory.domain import fraction, positive, require, vectorised, whole
from discreet.theory.elimination import MOST_PULLS, expected_regret

GROWTH, WINDOW = 1.5, 6
# Parts of beta for means outside of their intervals and for arms that stay too long. The tests have the rest.
INTERVALS, ON_TIME = 0.1, 0.01
_DELAY = 4  # a larger value moves beta from the first tests to later ones


@dataclass(frozen=True, slots=True)
class SharpSchedule:
    """Schedule of `dp-se-sharp`.

    After epoch k every viable arm has `pulls_by(k)` pulls, and test k uses its last `window` released totals.

    Args:
        arms: The number of arms.
        epsilon: The privacy parameter.
        beta: The probability of failure.
        growth: The factor by which an arm's pulls grow from epoch to epoch.
        window: The number of released totals in a test.

    Attributes:
        first: n_1, before rounding: `first_factor` times the lead that two noises alone can have, and long enough that
            no later epoch is empty.

    >>> schedule = SharpSchedule(arms=4, epsilon=0.5, beta=0.05)
    >>> [schedule.pulls_by(epoch) for epoch in (1, 2, 3, 10)]
    [81, 121, 181, 3089]
    >>> round(schedule.target_gap(10), 4), schedule.pulls_for(0.05)
    (0.1124, 15636)
    """

    arms: int
    epsilon: float
    beta: float
    growth: float = GROWTH
    window: int = WINDOW
    first: float = field(init=False)
    first_factor: ClassVar[int] = 4

    def __post_init__(self) -> None:
        noisy = hoeffding_radius(0, 2, self.epoch_epsilon(1), self.level(1))
        object.__setattr__(self, "first", max(self.first_factor * noisy, 2 / (self.growth - 1)))

    def epoch_epsilon(self, epoch: int) -> float:
        """Return the epsilon of one epoch's totals. It never grows."""
        return self.epsilon

    # ------------------------------------------------------------------ shares of beta

    def weight(self, epoch: int) -> float:
        """Return the share of the tests' beta that test k may use. The shares sum to 1."""
        return (_DELAY + 1) / ((epoch + _DELAY) * (epoch + _DELAY + 1))

    def level(self, epoch: int) -> float:
        """Return L_k: an arm is eliminated if the lead over it has a probability below exp(-L_k)."""
        return self._log((1 - INTERVALS - ON_TIME) * self.weight(epoch), self.arms - 1)

    def doubt(self, epoch: int) -> float:
        """Return the level of each end of the confidence interval of an arm's mean."""
        return self._log(INTERVALS * self.weight(epoch), 2)

    def _log(self, part: float, events: int) -> float:
        """Return ln(events/(part beta)), also for a beta so small that the quotient would overflow."""
        return math.log(events / part) - math.log(self.beta)

    # ------------------------------------------------------------------ lengths of epochs

    def pulls_by(self, epoch: int) -> int:
        """Return N_k, the pulls of a viable arm in the first k epochs together."""
        return math.ceil(self.first * self.growth ** (epoch - 1)) if epoch else 0

    def noises(self, epoch: int) -> int:
        """Return the number of released totals of an arm in test k, each with its own noise."""
        return min(epoch, self.window)

    def tested(self, epoch: int) -> int:
        """Return n_k, the pulls of an arm in the totals of test k."""
        return self.pulls_by(epoch) - self.pulls_by(epoch - self.noises(epoch))

    # ------------------------------------------------------------------ guarantees

    def clear_lead(self, epoch: int) -> float:
        """Return x_k: every arm that is farther behind than this is eliminated, whatever the means."""
        return self._radius(epoch, self.level(epoch))

    def target_gap(self, epoch: int) -> float:
        """Return the gap from which on arms are eliminated by test k, except with their share of beta."""
        missed = self._radius(epoch, self._log(ON_TIME, self.arms - 1))
        return (self.clear_lead(epoch) + missed) / self.tested(epoch)

    def _radius(self, epoch: int, level: float) -> float:
        """Return the deviation of a difference of two totals that has probability exp(-level) at most."""
        return hoeffding_radius(2 * self.tested(epoch), 2 * self.noises(epoch), self.epoch_epsilon(epoch), level)

    def deadline(self, gap: float) -> int:
        """Return the test by which an arm with this gap is eliminated."""
        epoch = 1
        while self.target_gap(epoch) > gap:
            epoch += 1
            if self.pulls_by(epoch) * self.arms >= MOST_PULLS:
                raise ArgumentError(f"gap must allow fewer than 2^62 pulls, got {gap!r} with epsilon={self.epsilon!r}")
        return epoch

    def pulls_for(self, gap: float) -> int:
        """Return the most pulls of an arm with this gap."""
        return self.pulls_by(self.deadline(gap))


@vectorised
def sharp_pulls(gap: ArrayLike, arms: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """Return the most pulls of an arm with this gap under `dp-se-sharp`, for all arms with probability 1 - beta.

    The best arm is left alone after at most `arms` times the pulls for the smallest gap. `dp_se_pulls` is the same for
    DP-SE.

    Args:
        gap: The difference between the best mean and the arm's, in (0, 1].
        arms: The number of arms, at least 2.
        epsilon: The privacy parameter.
        beta: The probability of failure.

    Returns:
        The number of pulls; infinity where all arms together would need 2^62 or more.

    >>> sharp_pulls([0.05, 0.5], 4, 0.5, 0.05)
    array([15636.,   272.])
    """
    gap = positive("gap", gap)
    require("gap", gap, gap <= 1, "in (0, 1], a difference of two means")
    each = np.broadcast(gap, whole("arms", arms, 2), positive("epsilon", epsilon), fraction("beta", beta))
    found = [_pulls(SharpSchedule(int(k), float(e), float(b)), float(g)) for g, k, e, b in each]
    return np.array(found).reshape(each.shape)


@vectorised
def sharp_sure_regret(means: ArrayLike, horizon: ArrayLike, epsilon: ArrayLike) -> Any:
    """Return the expected regret that `dp-se-sharp` guarantees with beta = 1/T.

    `dp_se_sure_regret` is the same for DP-SE.

    Args:
        means: The arms' means, in the last axis.
        horizon: The number of pulls T.
        epsilon: The privacy parameter.

    >>> round(sharp_sure_regret([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    2495
    """
    return expected_regret(sharp_pulls, means, horizon, epsilon)


def _pulls(schedule: SharpSchedule, gap: float) -> float:
    try:
        return float(schedule.pulls_for(gap))
    except ArgumentError:  # the gap is too small
        return math.inf

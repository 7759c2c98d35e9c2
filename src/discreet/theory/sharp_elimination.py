"""The schedule of private elimination with sharp constants: when it tests, at which level, and what it promises.

All of it is fixed before the first reward. The proof is in docs/proofs/sharp-elimination.md, and every number here is
a formula there. Rewards lie in [0, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import ArgumentError
from discreet.core.tails import hoeffding_radius
from discreet.theory.domain import fraction, positive, require, vectorised, whole
from discreet.theory.elimination import MOST_PULLS, expected_regret

GROWTH, WINDOW = 1.5, 6
INTERVALS, ON_TIME = 0.1, 0.01
"""The parts of beta for means outside their intervals, and for arms that stay too long; the rest is for the tests."""
_DELAY = 4  # larger: less of beta for the first tests, and more for later ones


@dataclass(frozen=True, slots=True)
class SharpSchedule:
    """After epoch k every viable arm has `pulls_by(k)` pulls, and the last `window` released totals of it are tested.

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
    """n_1: `patience` times the lead that two noises alone can have, and so long that no later epoch is empty."""
    patience: ClassVar[int] = 4

    def __post_init__(self) -> None:
        noisy = hoeffding_radius(0, 2, self.epoch_epsilon(1), self.level(1))
        object.__setattr__(self, "first", max(self.patience * noisy, 2 / (self.growth - 1)))

    def epoch_epsilon(self, epoch: int) -> float:
        """What an epoch's totals cost one of its rewards: no later epoch's cost more."""
        return self.epsilon

    # ------------------------------------------------------------------ how beta is spent

    def weight(self, epoch: int) -> float:
        """The part of the tests' beta that belongs to test k: these add up to 1."""
        return (_DELAY + 1) / ((epoch + _DELAY) * (epoch + _DELAY + 1))

    def level(self, epoch: int) -> float:
        """L_k: a lead must be less likely than exp(-L_k), or the arm behind stays."""
        return self._log((1 - INTERVALS - ON_TIME) * self.weight(epoch), self.arms - 1)

    def doubt(self, epoch: int) -> float:
        """The level of either end of the interval that an arm's mean is taken from."""
        return self._log(INTERVALS * self.weight(epoch), 2)

    def _log(self, part: float, events: int) -> float:
        """ln(events/(part beta)), also for a beta so small that the quotient would overflow."""
        return math.log(events / part) - math.log(self.beta)

    # ------------------------------------------------------------------ how long epochs are

    def pulls_by(self, epoch: int) -> int:
        """N_k: pulls of a viable arm in the first k epochs, in all."""
        return math.ceil(self.first * self.growth ** (epoch - 1)) if epoch else 0

    def noises(self, epoch: int) -> int:
        """How many released totals of an arm are added up for test k, each with its noise."""
        return min(epoch, self.window)

    def tested(self, epoch: int) -> int:
        """n_k: the pulls of an arm in these totals."""
        return self.pulls_by(epoch) - self.pulls_by(epoch - self.noises(epoch))

    # ------------------------------------------------------------------ what is promised

    def clear_lead(self, epoch: int) -> float:
        """x_k: no arm stays that is farther behind than this, whatever the means are."""
        return self._radius(epoch, self.level(epoch))

    def target_gap(self, epoch: int) -> float:
        """Arms whose gap is this or larger are gone after test k, but for their part of beta."""
        missed = self._radius(epoch, self._log(ON_TIME, self.arms - 1))
        return (self.clear_lead(epoch) + missed) / self.tested(epoch)

    def _radius(self, epoch: int, level: float) -> float:
        """How far a difference of two totals may be off its mean, but for a chance of exp(-level)."""
        return hoeffding_radius(2 * self.tested(epoch), 2 * self.noises(epoch), self.epoch_epsilon(epoch), level)

    def deadline(self, gap: float) -> int:
        """The test by which an arm with this gap is gone."""
        epoch = 1
        while self.target_gap(epoch) > gap:
            epoch += 1
            if self.pulls_by(epoch) * self.arms >= MOST_PULLS:
                raise ArgumentError(f"gap must allow fewer than 2^62 pulls, got {gap!r} with epsilon={self.epsilon!r}")
        return epoch

    def pulls_for(self, gap: float) -> int:
        """The most pulls of an arm with this gap."""
        return self.pulls_by(self.deadline(gap))


@vectorised
def sharp_pulls(gap: ArrayLike, arms: ArrayLike, epsilon: ArrayLike, beta: ArrayLike) -> Any:
    """The most pulls of an arm with this gap under `dp-se-sharp`, for all arms with probability 1 - beta.

    The best arm is then left alone after `arms` times the pulls for the smallest gap, at most. DP-SE's counterpart is
    `dp_se_pulls`. Beyond 2^62 pulls of all arms it is infinite.

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
    """What `dp-se-sharp` guarantees on these arms (in the last axis) with beta = 1/T: expected regret.

    DP-SE's counterpart is `dp_se_sure_regret`.

    >>> round(sharp_sure_regret([0.75, 0.625, 0.5, 0.375, 0.25], 5e7, 0.25))
    2495
    """
    return expected_regret(sharp_pulls, means, horizon, epsilon)


def _pulls(schedule: SharpSchedule, gap: float) -> float:
    try:
        return float(schedule.pulls_for(gap))
    except ArgumentError:  # a gap that nobody can resolve
        return math.inf

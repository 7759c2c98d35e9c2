"""Joint evidence that an arm's mean is above the control's plus a shift, aimed at an effect; for rewards of any law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.probability.evidence import CAP, STEEPEST, Numbers, log_sum, noise_cost, reward_cost

_AIMS = np.array([0.6, 1.0, 1.7])  # effects that stakes are best for, in parts of the one that is looked for
_ALONE = 0.06  # the weight of stakes on one arm alone
_ALONES = np.exp(np.linspace(math.log(5e-3), 0, 6))  # these stakes, in parts of the largest
_LOCAL = np.linspace(-6, 6, 41)  # points near the pooled mean, in deviations
_WIDE = 1 / (1 + np.exp(-np.linspace(-9, 9, 33)))  # points anywhere
_ZOOMS, _ZOOM = 2, np.linspace(0, 1, 9)
_SLACK = 0.02  # what the search may miss


@dataclass(frozen=True)
class Joint:
    """Evidence against "the arm's mean is at most the control's plus `shift`", from equally many rewards of both.

    At a point x it is a mixture of factors of evidence against "the control's mean is x or more, and the arm's is
    x + shift or less", and the evidence is the least one of all points. Stakes are fixed in advance for each point.

    Args:
        effect: What stakes are best for: the arm's mean minus the control's, beyond the shift.
        shift: The edge of the null hypothesis.
        epsilon: The range over the noise's scale.
        width: The grid steps of the range.
        base: The mean that stakes are best for, where they must not depend on the point (means that drift); else None.
    """

    effect: float
    shift: float
    epsilon: float
    width: int
    base: float | None = None

    def log_evidence(self, arm: Any, control: Any, count: int, noises: int) -> Numbers:
        """Return the logarithm of the evidence, for arrays of totals.

        Args:
            arm: Sums of the arm's released totals, of rewards rescaled to [0, 1].
            control: Sums of the control's.
            count: The rewards of each.
            noises: The releases of each.
        """
        arm, control = (np.atleast_1d(np.asarray(each, dtype=float))[:, None] for each in (arm, control))
        low, high = max(0.0, -self.shift), min(1.0, 1.0 - self.shift)
        middle = np.clip(((arm + control) / count - self.shift) / 2, low, high)
        spread = np.sqrt(middle * (1 - middle) / count + 2 * noises / (self.epsilon * count) ** 2 + 1 / count**2)
        wide = np.broadcast_to(low + (high - low) * _WIDE, (len(arm), len(_WIDE)))
        points = np.sort(np.clip(np.concatenate([middle + spread * _LOCAL, wide], axis=1), low, high), axis=1)
        values = self.at(points, arm, control, count, noises)
        for _ in range(_ZOOMS):
            best = values.argmin(axis=1)[:, None]
            ends = [np.take_along_axis(points, np.clip(best + side, 0, points.shape[1] - 1), 1) for side in (-1, 1)]
            points = ends[0] + (ends[1] - ends[0]) * _ZOOM
            values = self.at(points, arm, control, count, noises)
        least: Numbers = values.min(axis=1) - _SLACK
        return least

    def at(self, points: Numbers, arm: Numbers, control: Numbers, count: int, noises: int) -> Numbers:
        """Return the logarithm of the evidence against points.

        Args:
            points: Means of the control, a row for each pair of totals.
            arm: Sums of the arm's released totals, as a column.
            control: Sums of the control's.
            count: The rewards of each.
            noises: The releases of each.
        """
        above = points + self.shift
        cap = min(CAP * self.epsilon, STEEPEST)
        middle = (points + above) / 2 if self.base is None else np.full_like(points, self.base)
        stakes = 1 / (2 * (middle * (1 - middle))[..., None] / (_AIMS * self.effect) + 1 / cap)
        lead = stakes * (arm - control)[..., None]
        costs = reward_cost(stakes, above[..., None]) + reward_cost(-stakes, points[..., None])
        both = lead - count * costs - 2 * noises * noise_cost(stakes, self.epsilon, self.width)
        alone = _ALONES * cap
        noise = noises * noise_cost(alone, self.epsilon, self.width)
        up = alone * arm[..., None] - count * reward_cost(alone, above[..., None]) - noise
        down = -alone * control[..., None] - count * reward_cost(-alone, points[..., None]) - noise
        rest = math.log(_ALONE / (2 * len(alone)))
        return log_sum(np.concatenate([both + math.log((1 - _ALONE) / len(_AIMS)), up + rest, down + rest], axis=-1))


@dataclass(frozen=True)
class OpenRule:
    """The rule by which a test without an end decides on an arm.

    Args:
        block: The rewards of each arm between two looks.
        better: The evidence that the arm is better than the null hypothesis allows.
        alpha: It passes at 1/alpha.
        lacks: The evidence that the arm lacks the effect; the control takes the arm's place.
        beta: It is given up at 1/beta; None for never.
    """

    block: int
    better: Joint
    alpha: float
    lacks: Joint
    beta: float | None

    def log_evidence(self, arm: Numbers, control: Numbers, look: int) -> Numbers:
        """Return, for each pair of totals, the logarithm of the evidence for the arm; it passes at 1/alpha.

        Args:
            arm: Sums of the arm's released totals, of rewards rescaled to [0, 1].
            control: Sums of the control's.
            look: The number of releases of each.
        """
        return self.better.log_evidence(arm, control, look * self.block, look)

    def gives_up(self, arm: Numbers, control: Numbers, look: int) -> Any:
        """Return, for each pair of totals, True if the arm is given up.

        Args:
            arm: Sums of the arm's released totals, of rewards rescaled to [0, 1].
            control: Sums of the control's.
            look: The number of releases of each.
        """
        if self.beta is None:
            return np.zeros(len(arm), dtype=bool)
        return self.lacks.log_evidence(control, arm, look * self.block, look) >= -math.log(self.beta)

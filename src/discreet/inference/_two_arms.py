"""Joint evidence on two arms: differences and lifts with one search over both, not by two intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from discreet.core.probability.evidence import Numbers, log_sum, noise_cost, reward_cost
from discreet.inference._blocks import Blocks
from discreet.inference._mixture import FAR, cap_of, mixture, plain_stakes
from discreet.inference._one_arm import added, grouped, pooled
from discreet.inference._search import Indices, outer_ends

OfMeans = Callable[[Numbers, Numbers], Numbers]
"""Takes means of A and of B."""

_ALONES = 10  # the stakes on either arm by itself, which rule out far means
_RATIOS = {1 / 8: 0.05, 8.0: 0.05, 1 / 64: 0.05, 64.0: 0.05}  # if no ratio of the arms' rewards is planned: weights
_TILTS = {1.0: 0.8, 0.5: 0.1, 2.0: 0.1}  # stakes against A for one on B, for means that may drift, with their weights
_PLACES = np.array([-4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.5, 8.0, 15.0, 40.0, np.inf])
"""The means of the first arm that are tried, in standard deviations."""
_ZOOM, _MOST_ZOOMS, _CLOSE = 7, 10, 1e-3  # around the best, again and again until it hardly changes
_ROUGH = 4  # steps at first
_POINTS, _ZOOMS = 33, 4  # the same for tests
_STEEPEST = 1e3  # slopes of hypotheses
_REACH = 5.0  # how many standard deviations around its released mean the first arm's mean is looked for
_RUNGS = np.array([np.inf, 20.0, 8.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, -4.0])  # means of the second arm, in the same
_NEAR_RUNGS = np.array([2.0, 0.3, -0.3, -2.0])  # around a guess
_TARGETS = 28
_COARSE = 3  # of these, every third is enough for planned ratios that are no more than possible


class _Groups:
    """The totals of one arm, blocks of equal noise added up."""

    def __init__(self, blocks: Blocks) -> None:
        self.width = blocks.width
        group, (epsilons,) = grouped(blocks.epsilons)
        self.epsilons = epsilons[:, None, None]
        add = len(epsilons)
        self.counts = added(group, blocks.counts, add)
        self.totals = added(group, blocks.totals, add)
        self.noises = added(group, np.ones(len(blocks)), add)

    def mirrored(self) -> _Groups:
        """Return the totals of 1 minus each reward."""
        twin = copy(self)
        twin.__dict__.pop("_place", None)
        twin.totals = self.counts - self.totals
        return twin

    @property
    def mean(self) -> float:
        """The released mean, which noise may move out of [0, 1]."""
        return float(self.totals.sum() / self.counts.sum())

    @cached_property
    def _place(self) -> tuple[float, float]:
        return pooled(self.counts, self.totals, self.noises, self.epsilons)

    @property
    def center(self) -> float:
        """About where the mean lies."""
        return self._place[0]

    @property
    def deviation(self) -> float:
        """About how far the mean may lie from there."""
        return self._place[1]

    def logs(self, stakes: Numbers, mean: Numbers, sign: int) -> Numbers:
        """Return the logarithm of the product of factors against lower (sign 1) or higher (sign -1) means.

        Args:
            stakes: Positive stakes; the first axis is that of the groups.
            mean: The mean, of a shape that fits.
            sign: The side.
        """
        logs = sign * stakes * self.totals - self.counts * reward_cost(sign * stakes, mean)
        sums: Numbers = (logs - self.noises * noise_cost(stakes, self.epsilons, self.width)).sum(axis=0)
        return sums


class TwoArms:
    """Evidence that arm B's mean is higher than what a null hypothesis allows, given arm A's.

    At a point (x, y), the evidence is against "A's mean is x or more, and B's is y or less". A null hypothesis such as
    "B's mean is at most rho times A's" holds at its point x = A's mean, so the least evidence over all of its points is
    evidence against it, at any look.

    Each term of the mixture stakes s on B's rewards and k s against A's, with k = slope times the planned ratio of B's
    rewards to A's: then a shift of both means along the null changes nothing to first order.

    Args:
        first: The totals of A.
        second: The totals of B.
        ratio: The planned number of B's rewards for one of A's; None to weigh several.
        aim: The number of rewards of an arm at which intervals shall be narrowest.
        drifting: True for the form that is about average means so far, whatever the means do.
    """

    def __init__(
        self, first: Blocks, second: Blocks, ratio: float | None = None, aim: float | None = None, *, drifting: bool
    ) -> None:
        self.first, self.second = _Groups(first), _Groups(second)
        earlier = second if second.epochs[0] < first.epochs[0] else first
        self._plain = drift_stakes(float(earlier.epsilons[0]), aim) if drifting else None
        base = mixture(aim, _TARGETS)
        parts = [(base, 1.0, ratio or 1.0)]
        if ratio is None:
            thin = base.thinned(_COARSE)
            parts = [(base, 1 - sum(_RATIOS.values()), 1.0)]
            parts += [(thin, weight, uneven) for uneven, weight in _RATIOS.items()]
        targets = np.concatenate([part.targets for part, _, _ in parts])
        weights = np.concatenate([part.target_weights + math.log(share) for part, share, _ in parts])
        self._mixture = replace(parts[0][0], targets=targets, target_weights=weights)
        self._ratios = np.concatenate([np.full(len(part.targets), value) for part, _, value in parts])
        alone = np.exp(np.linspace(math.log(3e-3), 0, _ALONES))
        self._alone = np.concatenate([alone, np.zeros(_ALONES)])
        self._weights = np.concatenate([weights, np.full(2 * _ALONES, math.log(FAR / (2 * _ALONES)))])

    def mirrored(self) -> TwoArms:
        """Return the evidence of 1 minus each reward: against points of higher B and lower A."""
        twin = copy(self)
        twin.first, twin.second = self.first.mirrored(), self.second.mirrored()
        return twin

    # ------------------------------------------------------------------ evidence

    def log_evidence(self, x: Numbers, y: Numbers, slope: Numbers) -> Numbers:
        """Return the logarithm of the evidence against points.

        Args:
            x: The least mean of A, in [0, 1].
            y: The largest mean of B, in [0, 1].
            slope: How fast y grows with x along the null hypothesis that each point belongs to.
        """
        return log_sum(self.terms(x, y, slope))

    def terms(self, x: Numbers, y: Numbers, slope: Numbers) -> Numbers:
        """Return the logarithms of the weighted products of factors that evidence is the sum of, for each point.

        Args:
            x: The least mean of A, in [0, 1].
            y: The largest mean of B, in [0, 1].
            slope: How fast y grows with x along the null hypothesis that each point belongs to.
        """
        x, y, slope = (np.asarray(each, dtype=float)[:, None] for each in (x, y, slope))
        if self._plain is not None:
            stakes, against, weights = self._plain
        else:
            (stakes, against), weights = self._steady_stakes(x, y, slope), self._weights
        return weights + self.second.logs(stakes, y, 1) + self.first.logs(against, x, -1)

    def _steady_stakes(self, x: Numbers, y: Numbers, slope: Numbers) -> tuple[Numbers, Numbers]:
        """Return the stakes on B, and those against A; the last ones are on one arm alone."""
        base, tilt, found = self._mixture, slope * self._ratios, []
        least, spread = np.maximum(1.0, tilt), y * (1 - y) + slope * tilt * x * (1 - x)
        for arm, factor, (noise, alone) in zip((self.second, self.first), (1.0, tilt), self._fixed, strict=True):
            near = base.stakes(spread + noise * (1 + slope * tilt), arm.epsilons, least)
            found.append(np.concatenate([factor * near, np.broadcast_to(alone, (*near.shape[:2], alone.shape[2]))], 2))
        return found[0], found[1]

    @cached_property
    def _fixed(self) -> list[tuple[Numbers, Numbers]]:
        """The noise of each target and the stakes on one arm alone, for B and for A."""
        sizes, alone = self._mixture.sizes, self._alone
        arms = (self.second, alone), (self.first, alone[::-1])
        return [(4 / (sizes * arm.epsilons**2), shares * cap_of(arm.epsilons)) for arm, shares in arms]

    # ------------------------------------------------------------------ a null hypothesis

    def least_evidence(self, line: Callable[[Numbers], Numbers], slope: float) -> float:
        """Return the logarithm of the evidence against "B's mean is at most line(A's mean)", or 0 where it is less.

        Args:
            line: Takes means of A, and returns the largest mean of B that the hypothesis allows.
            slope: The slope of the line.
        """
        a, b = self.first, self.second
        if line(np.array([a.center]))[0] >= b.center:
            return 0.0

        def evidence(x: Numbers) -> Numbers:
            return self.log_evidence(x, np.clip(line(x), 0.0, 1.0), np.full(x.shape, slope))

        meets = a.center + (b.center - float(line(np.array([a.center]))[0])) / max(slope, 1e-12)
        low, high = a.center - _REACH * a.deviation, meets + _REACH * b.deviation / max(slope, 1e-12)
        points = np.linspace(max(low, 0.0), min(high, 1.0), _POINTS)
        points = np.unique(np.concatenate([points, [0.0, 1.0]]))
        values = evidence(points)
        for _ in range(_ZOOMS):
            best = int(values.argmin())
            near = np.linspace(points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)], _ZOOM)
            points, places = np.unique(np.concatenate([points, near]), return_index=True)
            values = np.concatenate([values, evidence(near)])[places]
        return max(0.0, float(values.min()))

    # ------------------------------------------------------------------ an end of an interval

    def lower_end(self, contrast: OfMeans, slope: OfMeans, level: float) -> float:
        """Return the least contrast of all points whose evidence is below a level.

        For each of many x, the least y that is not ruled out is searched for; then again around the best x.

        Args:
            contrast: Takes means of A and of B, and returns what is compared, which increases with B's.
            slope: Takes the same, and returns the slope of the hypothesis that a point belongs to.
            level: The logarithm of the evidence that rules a point out.
        """
        a, b = self.first, self.second
        with np.errstate(divide="ignore", invalid="ignore"):
            tilt = float(slope(np.array([a.center]), np.array([b.center]))[0])
        tilt = min(tilt, _STEEPEST) if math.isfinite(tilt) else _STEEPEST
        scale = math.hypot(b.deviation, tilt * a.deviation)

        def at(x: Numbers) -> Callable[[Numbers, Indices], Numbers]:
            def excess(y: Numbers, which: Indices) -> Numbers:
                with np.errstate(divide="ignore", invalid="ignore"):
                    along = slope(x[which], y)
                along = np.where(np.isnan(along), 1.0, np.minimum(np.maximum(along, 1 / _STEEPEST), _STEEPEST))
                return self.log_evidence(x[which], y, along) - level

            return excess

        def compared(x: Numbers, y: Numbers) -> Numbers:
            with np.errstate(divide="ignore", invalid="ignore"):
                return contrast(x, y)

        points = np.unique(np.clip(a.center + a.deviation * _PLACES, 0.0, 1.0))
        center = np.clip(b.center + tilt * (points - a.center), 0.0, 1.0)
        ends = outer_ends(at(points), center, np.clip(center[:, None] - scale * _RUNGS, 0.0, 1.0), steps=_ROUGH)
        found = compared(points, ends)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = float(contrast(np.array([a.center]), np.array([b.center]))[0])
        if np.isnan(found).all():
            return middle
        least = math.inf
        for _ in range(_MOST_ZOOMS):
            best, known = int(np.nanargmin(found)), ~np.isnan(ends)
            near = np.linspace(points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)], _ZOOM)
            guess = np.interp(near, points[known], ends[known])
            y = outer_ends(at(near), guess + scale, np.clip(guess[:, None] - scale * _NEAR_RUNGS, 0.0, 1.0))
            points, ends, found, before = near, y, compared(near, y), least
            least = float(np.nanmin(found)) if not np.isnan(found).all() else -math.inf
            room = _CLOSE * (abs(middle - least) if math.isfinite(middle) else 1.0)
            at_edge = np.isnan(found).any() and near[-1] - near[0] > _CLOSE * a.deviation  # it may lie between
            if not math.isfinite(least) or not (before - least > room or at_edge):
                break
        return min(before, least)


@lru_cache
def drift_stakes(epsilon: float, aim: float | None) -> tuple[Numbers, Numbers, Numbers]:
    """Return stakes on B, stakes against A, and the logarithms of their weights, for means that may drift.

    They are the same for all blocks, so that each term is bounded by the same term at the average means so far.

    Args:
        epsilon: The range over the scale of the first noise.
        aim: The number of rewards of an arm at which intervals shall be narrowest; None for all usual ones.
    """
    stakes, weights = plain_stakes(epsilon, aim)
    alone, none = stakes[::4], np.zeros(len(stakes[::4]))
    on = np.concatenate([*(stakes / max(1.0, tilt) for tilt in _TILTS), alone, none])
    against = np.concatenate([*(stakes * min(1.0, tilt) for tilt in _TILTS), none, alone])
    logs = [weights + math.log(share * (1 - FAR)) for share in _TILTS.values()]
    rest = np.full(2 * len(alone), math.log(FAR / (2 * len(alone))))
    return on, against, np.concatenate([*logs, rest])

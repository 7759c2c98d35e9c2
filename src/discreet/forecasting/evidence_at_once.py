"""The evidence of `dp-bai-evidence` for many pairs of arms at once: `probability.lead_evidence` on arrays.

Tests compare both. A pair is six arrays: total, rewards and noises of the one arm, and the same of the other.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.probability import lead_evidence as one
from discreet.core.probability.evidence import CAP, STEEPEST

Floats = NDArray[np.float64]
_CENTER = 0.7  # standard deviations around the guess at which a parabola is fitted


class Pairs(NamedTuple):
    """Pairs of arms, as arrays.

    Attributes:
        total: The released total of each arm that leads.
        rewards: The rewards in it.
        noises: The number of Laplace variables in it.
        other: The released total of each arm that is behind.
        rest: The rewards in that.
        others: The number of Laplace variables in that.
    """

    total: Floats
    rewards: Floats
    noises: Floats
    other: Floats
    rest: Floats
    others: Floats

    def at(self, which: NDArray[np.intp]) -> "Pairs":
        """Return some of the pairs."""
        return Pairs(*(each[which] for each in self))


def lead_evidence(pairs: Pairs, epsilon: float, level: float) -> Floats:
    """Return the logarithm of the evidence of each pair: exactly where it reaches a level, else nearly.

    Near the two means the evidence has the shape of a parabola in x, so three points and its vertex are enough to see
    that a level is not reached: each point is an upper bound.

    Args:
        pairs: The pairs.
        epsilon: The inverse of the noise's scale.
        level: The level.
    """
    found, ahead = np.zeros(pairs.total.shape), np.flatnonzero(pairs.total * pairs.rest > pairs.other * pairs.rewards)
    if ahead.size:
        some = pairs.at(ahead)
        found[ahead] = np.maximum(0.0, _near(some, epsilon))
        sure = ahead[found[ahead] >= level]
        if sure.size:
            found[sure] = _searched(pairs.at(sure), epsilon)
    return found


def _near(pairs: Pairs, epsilon: float) -> Floats:
    """Return an upper bound on the evidence of each pair, which is near it."""
    means = [
        np.clip(total / count, 0.0, 1.0) for total, count in ((pairs.total, pairs.rewards), (pairs.other, pairs.rest))
    ]
    middle = (means[0] * pairs.rewards + means[1] * pairs.rest) / (pairs.rewards + pairs.rest)
    spread = middle * (1 - middle) + 1 / (pairs.rewards + pairs.rest)
    precision = np.zeros(middle.shape)
    guess = np.zeros(middle.shape)
    for mean, count, noises in ((means[0], pairs.rewards, pairs.noises), (means[1], pairs.rest, pairs.others)):
        weight = count / (spread + 2 * noises / (count * epsilon**2))
        guess += weight * mean
        precision += weight
    guess, step = guess / precision, _CENTER / np.sqrt(precision)
    points = [np.clip(guess + shift * step, 0.0, 1.0) for shift in (-1, 0, 1)]
    low, center, high = (evidence_at(x, pairs, epsilon) for x in points)
    bend = low - 2 * center + high
    shift = np.where(bend > 0, (low - high) / (2 * np.where(bend > 0, bend, 1.0)), 0.0)
    vertex = evidence_at(np.clip(guess + np.clip(shift, -4, 4) * step, 0.0, 1.0), pairs, epsilon)
    least: Floats = np.minimum(np.minimum(low, center), np.minimum(high, vertex))
    return least


def _searched(pairs: Pairs, epsilon: float) -> Floats:
    """Return the evidence of each pair, by the same search as the scalar code."""
    ends = []
    for total, count, noises in ((pairs.other, pairs.rest, pairs.others), (pairs.total, pairs.rewards, pairs.noises)):
        mean = np.clip(total / count, 0.0, 1.0)
        ends.append((mean, np.sqrt((mean * (1 - mean) + 1 / count) / count + 2 * noises / (epsilon * count) ** 2)))
    low, high = (
        np.maximum(0.0, ends[0][0] - one.REACH * ends[0][1]),
        np.minimum(1.0, ends[1][0] + one.REACH * ends[1][1]),
    )
    below = pairs.rest - pairs.other
    outside = np.where(low > 0, _alone(pairs.total, pairs.rewards, pairs.noises, low, epsilon), np.inf)
    least = np.minimum(outside, np.where(high < 1, _alone(below, pairs.rest, pairs.others, 1 - high, epsilon), np.inf))
    found, place = np.full(low.shape, np.inf), low
    steps, each = np.arange(one.POINTS), np.arange(low.size)
    repeated = pairs.at(np.repeat(each, one.POINTS))
    for _ in range(one.SCANS):
        step = (high - low) / (one.POINTS - 1)
        means = low[:, None] + steps * step[:, None]
        values = evidence_at(means.ravel(), repeated, epsilon).reshape(means.shape)
        best = values.argmin(axis=1)
        better = values[each, best] < found
        found, place = np.minimum(found, values[each, best]), np.where(better, means[each, best], place)
        low, high = np.maximum(low, place - step), np.minimum(high, place + step)
    evidence: Floats = np.maximum(0.0, np.minimum(least, found) - one.SLACK)
    return evidence


def _factor(  # noqa: PLR0917  (as the scalar one)
    stake: Any, total: Any, count: Any, noises: Any, mean: Any, epsilon: float
) -> Floats:
    logs: Floats = (
        stake * total - count * np.log1p(mean * np.expm1(stake)) + noises * np.log1p(-((stake / epsilon) ** 2))
    )
    return logs


def _alones(total: Floats, count: Floats, noises: Floats, mean: Floats, epsilon: float) -> Floats:
    """Return the logarithms of the weighted terms of one arm alone; the last axis is that of stakes."""
    shares = one.LEAST_ALONE ** (np.arange(one.ALONES) / (one.ALONES - 1))
    stakes = min(CAP * epsilon, STEEPEST) * shares
    logs = _factor(stakes, total[:, None], count[:, None], noises[:, None], mean[:, None], epsilon)
    weighted: Floats = logs + np.log(one.WEIGHT_ALONE / (2 * one.ALONES))
    return weighted


def _alone(total: Floats, count: Floats, noises: Floats, mean: Floats, epsilon: float) -> Floats:
    found: Floats = np.asarray(np.logaddexp.reduce(_alones(total, count, noises, mean, epsilon), axis=-1))
    return found


def evidence_at(mean: Floats, pairs: Pairs, epsilon: float) -> Floats:
    """Return the logarithm of the evidence of each pair at a shared mean.

    Args:
        mean: The shared mean x of each pair.
        pairs: The pairs.
        epsilon: The inverse of the noise's scale.
    """
    below, rewards = pairs.rest - pairs.other, pairs.rewards + pairs.rest
    sizes = one.FIRST / min(epsilon, 1.0) * one.FACTOR ** np.arange(one.SIZES)
    used = sizes <= one.BEYOND * rewards.max()
    sizes, x = sizes[used], mean[:, None]
    near = np.arange(sizes.size) < one.NEAR
    weights = np.where(near, one.WEIGHT_NEAR / one.NEAR, one.WEIGHT_LATER / (one.SIZES - one.NEAR))
    deviation = np.sqrt(x * (1 - x) + 4 / (sizes * epsilon**2))
    stakes = 1 / (deviation * np.sqrt(sizes) / one.DEVIATIONS + 1 / min(CAP * epsilon, STEEPEST))
    ours = _factor(stakes, pairs.total[:, None], pairs.rewards[:, None], pairs.noises[:, None], x, epsilon)
    theirs = _factor(stakes, below[:, None], pairs.rest[:, None], pairs.others[:, None], 1 - x, epsilon)
    joint = np.where(sizes <= one.BEYOND * rewards[:, None], ours + theirs + np.log(weights), -np.inf)
    single = _alones(pairs.total, pairs.rewards, pairs.noises, mean, epsilon)
    terms = np.concatenate([joint, single, _alones(below, pairs.rest, pairs.others, 1 - mean, epsilon)], axis=1)
    most = terms.max(axis=1, keepdims=True)
    found: Floats = most[:, 0] + np.log(np.exp(terms - most).sum(axis=1))
    return found

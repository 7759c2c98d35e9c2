"""How often statements about a ledger are false at any look, in very many runs at once.

Evidence is a sum of products of factors whose logarithms are linear in the totals, so that the project's own terms,
asked for totals of 0 and 1, give the evidence of all runs by one multiplication a block.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from discreet.core.probability.evidence import log_sum
from discreet.inference import _exact
from discreet.inference._blocks import Blocks
from discreet.inference._one_arm import OneArm
from discreet.inference._two_arms import TwoArms

WIDTH = 2**20
CHUNK = 10_000


def geometric(last, ratio, first):
    """The sizes of blocks whose ends grow by a factor, from the first end to the last."""
    ends = [first]
    while ends[-1] < last:
        ends.append(math.ceil(ends[-1] * ratio))
    return np.diff([0, *ends]).astype(float)


def blocks(counts, totals, epsilon, tested=False):
    """Released totals of one arm, as a ledger's would be."""
    counts, totals = np.asarray(counts, dtype=float), np.asarray(totals, dtype=float)
    size, nothing = len(counts), np.full(len(counts), np.nan)
    scales = np.broadcast_to(WIDTH / np.asarray(epsilon, dtype=float), (size,)).copy()
    wholes = np.floor(totals + 0.5)
    return Blocks(
        WIDTH, np.arange(1, size + 1), counts, totals, wholes, scales, np.full(size, tested), nothing, nothing.copy()
    )


def noise(rng, epsilon, size):
    """Discrete Laplace noise on the grid, in rewards."""
    chance = -math.expm1(-epsilon / WIDTH)
    return (rng.geometric(chance, size) - rng.geometric(chance, size)) / WIDTH


def bernoulli(mean):
    """Totals of 0s and 1s."""
    return lambda rng, count, runs: rng.binomial(int(count), mean, runs).astype(float)


def three_valued(low, middle):
    """Totals of rewards that are 0, 1/2 and 1."""

    def draw(rng, count, runs):
        nothing = rng.binomial(int(count), low, runs)
        half = rng.binomial(int(count) - nothing, middle / (1 - low))
        return count - nothing - half / 2

    return draw, 1 - low - middle / 2


def beta(a, b):
    """Totals of beta variables."""
    return lambda rng, count, runs: rng.beta(a, b, (runs, int(count))).sum(axis=1), a / (a + b)


def linear(evidence, arms, *point):
    """The terms of evidence at a point, for totals of 0, and how fast each grows with the total of each arm."""
    kept = [arm.totals for arm in arms]
    for arm in arms:
        arm.totals = np.zeros_like(arm.totals)
    constant = evidence.terms(*point)[0]
    slopes = []
    for arm in arms:
        arm.totals = np.eye(1, len(arm.totals))[0]
        with np.errstate(invalid="ignore"):
            slopes.append(np.nan_to_num(evidence.terms(*point)[0] - constant))
        arm.totals = np.zeros_like(arm.totals)
    for arm, totals in zip(arms, kept, strict=True):
        arm.totals = totals
    return constant, slopes


def mirrored(counts, totals):
    """Totals of 1 minus each reward."""
    return counts - totals


def arm_misses(rng, runs, mean, counts, epsilon, draw, alpha=0.05, threshold=None, join=log_sum, believed=None):
    """Runs in which the interval for any schedule misses the mean at any look."""
    level = math.log(2 / alpha) if threshold is None else threshold
    missed = 0
    for start in range(0, runs, CHUNK):
        size = min(CHUNK, runs - start)
        sums, out = {}, np.zeros(size, dtype=bool)
        for count in counts:
            totals = draw(rng, count, size) + noise(rng, epsilon, size)
            for side, x in ((1, mean), (-1, 1 - mean)):
                one = OneArm(blocks([count], [0.0], believed or epsilon))
                constant, (slope,) = linear(one, [one], np.array([x]))
                weights = weights_of(one)
                given = totals if side > 0 else mirrored(count, totals)
                sums[side] = sums.get(side, 0.0) + (constant - weights) + given[:, None] * slope
                out |= join(weights + sums[side]) >= level
        missed += int(out.sum())
    return missed


def weights_of(one):
    """The logarithms of the weights: the terms of no releases."""
    kept = one.totals, one.counts, one.noises
    one.totals, one.counts, one.noises = (np.zeros_like(each) for each in kept)
    found = one.terms(np.array([0.5]))[0]
    one.totals, one.counts, one.noises = kept
    return found


def exact_misses(rng, runs, mean, counts, epsilon, alpha=0.05, aim=None, shares=_exact.looks):
    """Runs in which the exact interval misses the mean at any look."""
    limits = []
    share = shares(np.cumsum(counts), aim)
    for look in range(1, len(counts) + 1):
        known = blocks(counts[:look], np.zeros(look), epsilon)
        start = _exact.window(known)
        last = known.at(slice(start, None))
        tail = _exact.noise_tail(last)
        rewards, chance = float(last.counts.sum()), alpha / 2 * share[look - 1]
        low = least_total(rewards, mean, tail, chance)
        high = rewards - least_total(rewards, 1 - mean, _exact._mirrored(*tail), chance)
        limits.append((start, low, high))
    draw, missed = bernoulli(mean), 0
    for first in range(0, runs, CHUNK):
        size = min(CHUNK, runs - first)
        wholes = [np.floor(draw(rng, count, size) + noise(rng, epsilon, size) + 0.5) for count in counts]
        sums = np.cumsum(wholes, axis=0)
        out = np.zeros(size, dtype=bool)
        for look, (start, low, high) in enumerate(limits):
            total = sums[look] - (sums[start - 1] if start else 0)
            out |= (total >= low) | (total <= high)
        missed += int(out.sum())
    return missed


def least_total(count, mean, tail, chance):
    """The least total that rules a mean out from below."""
    low, high = math.floor(tail[1]), math.ceil(count + tail[0].size)
    while high - low > 1:
        middle = (low + high) // 2
        if _exact.upper_tail(middle, count, mean, tail) <= chance:
            high = middle
        else:
            low = middle
    return high


@dataclass
class Path:
    """Means that move from block to block."""

    means: np.ndarray

    @classmethod
    def of(cls, shape, base, size):
        """A ramp, a jump or waves by half of the base, up and down."""
        time = np.linspace(0, 1, size)
        moves = {"ramp": 2 * time - 1, "jump": np.where(time < 0.5, -1.0, 1.0), "wave": np.sin(12 * time)}
        return cls(base * (1 + moves[shape] / 2))

    def averages(self, counts):
        """The average mean of all rewards up to each block's end."""
        return np.cumsum(self.means * counts) / np.cumsum(counts)


def drift_misses(rng, runs, path, counts, epsilon, alpha=0.05, believed=None):
    """Runs in which the interval for drifting means misses the average mean so far at any look."""
    out, sums = np.zeros(runs, dtype=bool), np.zeros(runs)
    averages, level = path.averages(counts), math.log(2 / alpha)
    for look, count in enumerate(counts):
        sums += bernoulli(path.means[look])(rng, count, runs) + noise(rng, epsilon, runs)
        seen = np.cumsum(counts)[look]
        for side, x in ((1, averages[look]), (-1, 1 - averages[look])):
            one = OneArm(blocks(counts[: look + 1], np.zeros(look + 1), believed or epsilon), drifting=True)
            constant, (slope,) = linear(one, [one], np.array([x]))
            out |= log_sum(constant + (sums if side > 0 else seen - sums)[:, None] * slope) >= level
    return int(out.sum())


def pair_misses(
    rng, runs, first, second, counts, epsilon, *, relative, drifting=False, alpha=0.05, threshold=None, believed=None
):
    """Runs in which the evidence at the true pair of means rules it out at any look: no interval misses more often.

    Args:
        first: The mean of the one arm in each block.
        second: The mean of the other.
        relative: True for lifts, False for differences.
    """
    level = math.log(2 / alpha) if threshold is None else threshold
    first, second = (np.broadcast_to(np.asarray(mean, dtype=float), len(counts)) for mean in (first, second))
    ends = np.cumsum(counts)
    x, y = (np.cumsum(mean * counts) / ends for mean in (first, second))
    missed = 0
    for start in range(0, runs, CHUNK):
        size = min(CHUNK, runs - start)
        sums, out = [np.zeros(size), np.zeros(size)], np.zeros(size, dtype=bool)
        for look, count in enumerate(counts):
            for arm, mean in enumerate((first[look], second[look])):
                sums[arm] += bernoulli(mean)(rng, count, size) + noise(rng, epsilon, size)
            slope = y[look] / x[look] if relative else 1.0
            known = blocks(counts[: look + 1], np.zeros(look + 1), believed or epsilon)
            pair = TwoArms(known, known, drifting=drifting)
            for side in (1, -1):
                one = pair if side > 0 else TwoArms(known, known, drifting=drifting)
                point = (x[look], y[look]) if side > 0 else (1 - x[look], 1 - y[look])
                arms = [one.first, one.second]
                constant, slopes = linear(one, arms, *(np.array([each]) for each in (*point, slope)))
                given = sums if side > 0 else [ends[look] - total for total in sums]
                logs = constant + given[0][:, None] * slopes[0] + given[1][:, None] * slopes[1]
                out |= log_sum(logs) >= level
        missed += int(out.sum())
    return missed


def allowed(runs, rate, chance=1e-6):
    """The most runs that may go wrong at a rate, but for a chance."""
    return int(binom.isf(chance, runs, rate))

"""Runs of a private stopping rule on samples of 0 and 1, as the object does it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.noise import SimulatedNoise
from discreet.core.statistics import Statistic
from discreet.mechanisms.curator import Curator
from discreet.stopping import InverseSampling


def halting_times(rule: Any, mean: float, runs: int, seed: int) -> NDArray[np.int64]:
    """Return how many samples each of some runs takes.

    Args:
        rule: `DPInverseSampling`, `DPBernstein` or `DPMean`, for samples in [0, 1].
        mean: The probability of a 1.
        runs: The number of runs.
        seed: The seed of samples and noise.

    >>> from discreet.stopping import DPBernstein
    >>> rule = DPBernstein(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1)
    >>> np.median(halting_times(rule, 0.03, runs=20, seed=1)), rule.forecast(mean=0.03)
    (np.float64(44044.0), 44044)
    """
    samples, noise = np.random.SeedSequence(seed).spawn(2)
    rng, source = np.random.default_rng(samples), SimulatedNoise(noise)
    if isinstance(rule, InverseSampling):
        return _all_at_once(rule, mean, runs, rng, source)
    halted = [_halt(rule.copy(), mean, rng, source) for _ in range(runs)]
    found = np.array([one.samples for one in halted], np.int64)
    coins = np.array([not one.halted for one in halted])  # they have looked, and go on with coins
    if coins.any():
        inverse = next(one.inner for one in halted if not one.halted)
        found[coins] += _all_at_once(inverse, mean, int(coins.sum()), rng, source)
    return found


def _all_at_once(
    rule: InverseSampling, mean: float, runs: int, rng: np.random.Generator, noise: SimulatedNoise
) -> NDArray[np.int64]:
    """All runs take a test together: it has hundreds of them, at which sum + |A| >= level + |B| halts a run."""
    found, going = np.zeros(runs, np.int64), np.arange(runs)
    scale, width = rule.scale * rule.grid.width, rule.grid.width
    sums, bars, before, number = np.zeros(runs, np.int64), _folded(scale, runs, noise) / width, 0, 0
    while going.size and (test := rule.test(number)) is not None:
        sums += rng.binomial(test.count - before, mean, going.size)
        halted = sums + _folded(scale, going.size, noise) / width >= test.level + bars
        found[going[halted]] = test.count
        going, sums, bars = going[~halted], sums[~halted], bars[~halted]
        before, number = test.count, number + 1
    found[going] = before
    return found


def _folded(scale: float, count: int, noise: SimulatedNoise) -> NDArray[np.int64]:
    return np.abs(np.array(noise.draws(scale, count), np.int64))


def _halt(rule: Any, mean: float, rng: np.random.Generator, noise: SimulatedNoise) -> Any:
    """Return a rule after all blocks whose squares are released: DP-Bernstein after a run, or a rule after its look.

    Of the pairs of a block some have two ones, some one, and the rest none: two binomial draws, of which follow its
    total and its squares, which is all that the rule uses.
    """
    curator, both, width = Curator.of(rule, noise), mean * mean, rule.grid.width
    one = min(1.0, 2 * mean * (1 - mean) / (1 - both))
    while (plan := rule.plan()) is not None and plan.statistic is Statistic.PAIRS:
        doubles = int(rng.binomial(plan.size // 2, both))
        mixed = int(rng.binomial(plan.size // 2 - doubles, one))
        rule.learn(curator.release(plan, {None: (mixed * width, (2 * doubles + mixed) * width)}))
    return rule

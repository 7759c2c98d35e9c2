"""The course of tests of evidence, by simulation from a fixed seed."""

from __future__ import annotations

import math

import numpy as np

from discreet.core.probability.evidence import Numbers
from discreet.sequential._chernoff import ChernoffPlan
from discreet.sequential._simple import Course

RUNS = 4000
"""Runs of a forecast: a mean is then known to about 1 %."""
_LOOKS = 500  # after which a run is given up
_SEED = 20


def laplace(rng: np.random.Generator, epsilon: float, shape: tuple[int, ...]) -> Numbers:
    """Return Laplace noises, of rewards rescaled to [0, 1].

    Args:
        rng: A generator.
        epsilon: The price of a reward.
        shape: The shape of the array.
    """
    return rng.laplace(scale=1 / epsilon, size=shape)


def course_of(plan: ChernoffPlan, mean: float, runs: int = RUNS) -> Course:
    """Return the shares of runs that end at each look, for 0/1 samples.

    Args:
        plan: The blocks and stakes.
        mean: The true mean.
        runs: The number of runs.
    """
    rng, design = np.random.default_rng(_SEED), plan.design
    up, down = np.zeros(runs), np.zeros(runs)
    above, below = [], []
    for look in range(_LOOKS):
        count = plan.later if look else plan.first
        totals = rng.binomial(count, mean, len(up)) + laplace(rng, design.epsilon, (len(up),))
        up, down = up + plan.up_factor(totals, count), down + plan.down_factor(totals, count)
        for_alternative = up >= -math.log(design.alpha)
        for_null = (down >= -math.log(design.beta)) & ~for_alternative
        above.append(for_alternative.sum() / runs)
        below.append(for_null.sum() / runs)
        going = ~(for_alternative | for_null)
        up, down = up[going], down[going]
        if not len(up):
            break
    return Course(np.array(above), np.array(below))

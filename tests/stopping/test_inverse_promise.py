"""DP inverse sampling keeps its promise in many settings, and takes little more than somebody who knows the mean."""

import math
from functools import partial
from itertools import pairwise, product
from statistics import NormalDist

import numpy as np
import pytest

from discreet.lab import Bernoulli, Beta, Discrete, Uniform, simulate
from discreet.stopping import DPInverseSampling, InverseSampling

pytestmark = pytest.mark.study

RUNS = 2000
LAWS = {
    "a coin": (Bernoulli, (1e-5, 1e-3, 0.7, 0.99)),
    "0 or 1/2": (lambda mean: Discrete([0.0, 0.5], [1 - 2 * mean, 2 * mean]), (1e-4, 0.05, 0.4)),
    "uniform from 0": (lambda mean: Uniform(0, 2 * mean), (0.002, 0.1, 0.45)),
    "uniform to 1": (lambda mean: Uniform(2 * mean - 1, 1), (0.6, 0.75, 0.95)),
    "beta": (lambda mean: Beta(2, 2 * (1 - mean) / mean), (0.005, 0.2, 0.8)),
    "always the same": (lambda mean: Discrete([mean], [1.0]), (0.03, 0.5, 0.9)),
    "three values": (lambda mean: Discrete([0.0, 0.5, 1.0], [1 - 1.5 * mean, mean, mean / 2]), (0.02, 0.15, 0.55)),
    "rare jumps": (lambda mean: Discrete([mean / 2, 1.0], [1 - mean, mean]), (0.011, 0.3, 0.65)),
}
"""Laws on [0, 1] by their (nominal) mean, and the means."""
ACCURACIES = [*product((0.05, 0.1, 0.2, 0.5), (0.05,), (0.01, 0.1, 0.5, 1.0, 5.0)), (0.02, 0.05, 1.0)]
"""alpha, beta and epsilon."""
KNOWN = (0.0001, 0.001, 0.01, 0.1, 0.3, 0.5, 0.8)
GOALS = {
    (0.1, 0.05, 1.0): (1.3, 1.3, 1.3, 1.3, 1.3, 1.3, 2.0),
    (0.1, 0.05, 0.1): (1.75, 1.75, 1.75, 1.75, math.inf, math.inf, math.inf),
    (0.2, 0.05, 1.0): (math.inf,) * len(KNOWN),
    (0.2, 0.05, 0.1): (math.inf,) * len(KNOWN),
    (0.05, 0.01, 1.0): (math.inf,) * len(KNOWN),
    (0.05, 0.01, 0.1): (math.inf,) * len(KNOWN),
    (0.01, 0.001, 1.0): (math.inf,) * len(KNOWN),
    (0.01, 0.001, 0.1): (math.inf,) * len(KNOWN),
}
"""The most samples for each mean, over the number that somebody takes who knows it."""
RARE = 0.01
"""A mean at which private and not private rules are compared."""


def broken(alpha, found, mean):
    """Runs whose answer is wrong, or that had none."""
    return int((~(np.abs(found.estimates - mean) <= alpha * mean)).sum())


def test_the_promise_is_kept_in_every_cell(page):
    shares, runs, failures = [], 0, 0
    for (alpha, beta, epsilon), (law, means) in product(ACCURACIES, LAWS.values()):
        for mean in means:
            rewards = law(mean)
            run = partial(simulate, "dp-inverse", rewards, runs=RUNS, seed=len(shares), low=0, high=1)
            found = run(alpha=alpha, beta=beta, epsilon=epsilon)
            assert found.method == "kernel"
            wrong = broken(alpha, found, rewards.mean)
            error = math.sqrt(beta * (1 - beta) / RUNS)
            assert wrong / RUNS <= beta + 4 * error, (alpha, beta, epsilon, rewards)
            shares.append(wrong / RUNS / beta)
            runs, failures = runs + RUNS, failures + wrong
    assert len(shares) >= 500
    assert np.median(shares) >= 0.25
    page(
        "Statistical studies",
        study=f"dp-inverse at beta = 0.05, {len(shares)} settings; median share of beta: {np.median(shares):.2f}",
        runs=runs,
        broken=failures,
        allowed=round(0.05 * runs),
    )


def test_a_level_ten_percent_lower_breaks_it(monkeypatch):
    """A planted error, which the study above would notice in one cell."""
    from discreet.stopping.inverse_sampling import InverseSampling

    right = InverseSampling.test

    def lower(rule, number):
        test = right(rule, number)
        return type(test)(test.count, math.floor(0.9 * test.level), test.estimate)

    monkeypatch.setattr(InverseSampling, "test", lower)
    found = simulate("dp-inverse", 0.05, runs=RUNS, seed=1, low=0, high=1, alpha=0.1, beta=0.05, epsilon=1.0)
    assert broken(0.1, found, 0.05) / RUNS > 0.05 + 4 * math.sqrt(0.05 * 0.95 / RUNS)


def test_it_takes_little_more_than_somebody_who_knows_the_mean(page):
    for (alpha, beta, epsilon), goals in GOALS.items():
        ratios = []
        for mean, goal in zip(KNOWN, goals, strict=True):
            found = simulate("dp-inverse", mean, runs=RUNS, seed=3, alpha=alpha, beta=beta, epsilon=epsilon)
            known = (NormalDist().inv_cdf(1 - beta / 2) / alpha) ** 2 * (1 - mean) / mean
            ratios.append(float(found.samples.mean() / known))
            assert ratios[-1] <= goal, (alpha, beta, epsilon, mean)
        setting = f"alpha = {alpha}, beta = {beta}, epsilon = {epsilon}"
        named = {f"p = {mean:g}": f"{ratio:.2f}" for mean, ratio in zip(KNOWN, ratios, strict=True)}
        page("Samples of dp-inverse", setting=setting, **named)


def test_the_price_of_privacy_falls_as_the_level_outgrows_the_noises(page):
    """By forecasts, which are computed: over `inverse`, against alpha r epsilon, where r is its level."""
    prices = {}
    for alpha, beta, epsilon in GOALS:
        options = {"alpha": alpha, "beta": beta, "low": 0.0, "high": 1.0}
        bare = InverseSampling(**options)
        against = alpha * bare.schedule.highest * epsilon
        prices[against] = DPInverseSampling(epsilon=epsilon, **options).forecast(RARE) / bare.forecast(RARE)
        setting = f"alpha = {alpha}, beta = {beta}, epsilon = {epsilon}"
        page("Price of privacy", setting=setting, against=f"{against:.1f}", price=f"{prices[against]:.3f}")
    falling = [prices[against] for against in sorted(prices)]
    assert len(falling) == len(GOALS)
    assert all(later <= before + 0.005 for before, later in pairwise(falling))
    assert falling[0] > 2
    assert falling[-1] < 1.005

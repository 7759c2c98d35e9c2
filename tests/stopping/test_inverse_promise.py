"""DP inverse sampling keeps its promise in many settings, and takes little more than somebody who knows the mean."""

import math
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
CELLS = [law(mean) for law, means in LAWS.values() for mean in means]
ALPHAS, EPSILONS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01), (5.0, 1.0, 0.5, 0.1, 0.01)
BETA = 0.05
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
ANY_LAW = {1.0: 464, 0.1: 635, 0.03: 1442}
"""Levels that a first trial took at alpha = 0.1 and beta = 0.05, by epsilon."""
RARE = 0.01
"""A mean at which private and not private rules are compared."""


def broken(alpha, found, mean):
    """Runs whose answer is wrong, or that had none."""
    return int((~(np.abs(found.estimates - mean) <= alpha * mean)).sum())


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_promise_is_kept_in_every_cell(epsilon, page):
    shares = []
    for alpha, (seed, rewards) in product(ALPHAS, enumerate(CELLS)):
        options = {"alpha": alpha, "beta": BETA, "epsilon": epsilon, "low": 0.0, "high": 1.0}
        found = simulate("dp-inverse", rewards, runs=RUNS, seed=seed, **options)
        assert found.method == "kernel"
        shares.append(broken(alpha, found, rewards.mean) / RUNS)
        assert shares[-1] <= BETA + 4 * math.sqrt(BETA * (1 - BETA) / RUNS), (alpha, rewards)
    for alpha, own in zip(ALPHAS, np.reshape(shares, (len(ALPHAS), -1)), strict=True):
        page(
            "Promise of dp-inverse",
            setting=f"alpha = {alpha}, epsilon = {epsilon}",
            cells=own.size,
            runs=RUNS * own.size,
            broken=round(own.sum() * RUNS),
            median=f"{np.median(own):.4f}",
            largest=f"{own.max():.4f}",
        )
    assert np.median(shares) >= BETA / 4
    assert len(shares) * len(EPSILONS) >= 500


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


@pytest.mark.parametrize(("epsilon", "level"), ANY_LAW.items())
def test_any_law_takes_at_most_so_many_samples(epsilon, level, page):
    most = {}
    for name, (law, means) in LAWS.items():
        made = [law(mean) for mean in means]
        runs = [
            simulate("dp-inverse", one, runs=RUNS, seed=5, low=0, high=1, alpha=0.1, beta=BETA, epsilon=epsilon)
            for one in made
        ]
        most[name] = max(float(found.samples.mean()) * one.mean / level for found, one in zip(runs, made, strict=True))
    named = {name: f"{times:.2f}" for name, times in most.items()}
    page("Samples of dp-inverse, any law", setting=f"epsilon = {epsilon}", **named)
    assert max(most.values()) <= 1.35


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

"""DP mean keeps its promise, and takes at most 1.3 times the samples of the better of the two rules it chooses from."""

import math
from functools import partial

import numpy as np
import pytest

from discreet.lab import Bernoulli, Beta, Discrete, Uniform, simulate
from discreet.stopping import dp_mean
from discreet.stopping.dp_mean import look_pays

pytestmark = pytest.mark.study

RUNS = 300
BETA = 0.05
LAWS = {
    "coin .01": Bernoulli(0.01),
    "coin .3": Bernoulli(0.3),
    "coin .9": Bernoulli(0.9),
    "uniform": Uniform(0, 1),
    "narrow": Uniform(0.1, 0.3),
    "Beta(.5, 2)": Beta(0.5, 2),
    "Beta(200, 800)": Beta(200, 800),
    "three values": Discrete([0.0, 0.2, 1.0], [0.5, 0.4, 0.1]),
    "rare jumps": Discrete([0.05, 1.0], [0.99, 0.01]),
}
ACCURACIES = ((0.2, 50.0), (0.1, 1.0), (0.1, 5.0), (0.1, 30.0), (0.05, 1.0), (0.05, 5.0), (0.02, 0.3), (0.02, 1.0))
"""alpha and epsilon; at the second of them there is no look."""
MOST = 1.3


def runs_of(rule, law, alpha, epsilon, seed=1, runs=RUNS):
    options = {"alpha": alpha, "beta": BETA, "epsilon": epsilon, "low": 0.0, "high": 1.0}
    return simulate(rule, law, runs=runs, seed=seed, **options)


def wrong(found, alpha, law):
    return int((~(np.abs(found.estimates - law.mean) <= alpha * law.mean)).sum())


@pytest.mark.parametrize(("alpha", "epsilon"), ACCURACIES)
def test_it_takes_hardly_more_than_the_better_rule(alpha, epsilon, page):
    ratios, broken = {}, 0
    for name, law in LAWS.items():
        run = partial(runs_of, law=law, alpha=alpha, epsilon=epsilon)
        found = run("dp-mean", seed=2)
        better = min(run(rule, runs=RUNS // 3).samples.mean() for rule in ("dp-inverse", "dp-bernstein"))
        ratios[name] = float(found.samples.mean() / better)
        broken += wrong(found, alpha, law)
        assert wrong(found, alpha, law) / RUNS <= BETA + 5 * math.sqrt(BETA / RUNS)
    assert look_pays(alpha, BETA, epsilon) is ((alpha, epsilon) != (0.1, 1.0))
    setting = f"alpha = {alpha}, epsilon = {epsilon}"
    page("Samples of dp-mean", setting=setting, **{name: f"{ratio:.2f}" for name, ratio in ratios.items()})
    assert max(ratios.values()) <= MOST


@pytest.mark.parametrize(("law", "alpha", "epsilon"), [("coin .3", 0.05, 5.0), ("Beta(200, 800)", 0.05, 5.0)])
def test_a_rule_that_never_looks_is_noticed(law, alpha, epsilon, monkeypatch):
    """Planted errors: the same rule for all laws."""
    chosen = {"coin .3": "_bernstein", "Beta(200, 800)": "_inverse"}[law]
    monkeypatch.setattr(dp_mean.DPMean, "_better", lambda self, mean, variance: (getattr(self, chosen), 0))
    found = runs_of("dp-mean", LAWS[law], alpha, epsilon, seed=2, runs=30)
    better = min(
        runs_of(rule, LAWS[law], alpha, epsilon, runs=30).samples.mean() for rule in ("dp-inverse", "dp-bernstein")
    )
    assert found.samples.mean() / better > MOST

"""Runs that show whether a promise is kept, shared by quick tests and by studies."""

import numpy as np
from scipy import stats

import discreet
from discreet import SimulatedNoise
from discreet.lab.kernels import sharp_elimination
from discreet.lab.kernels.randomness import fresh_state
from discreet.testing.exact import probability
from tests._tools import examples

DISTRIBUTIONS = {
    # name: (mean, sampler); all in [-1, 1]
    "two-point": (0.5, lambda rng, n: np.where(rng.random(n) < 0.75, 1.0, -1.0)),
    "beta": (-0.6, lambda rng, n: 2 * rng.beta(0.5, 2.0, n) - 1),
    "small mean": (0.2, lambda rng, n: np.where(rng.random(n) < 0.6, 1.0, -1.0)),
}
ALPHA, BETA = 0.5, 0.2


def rule_failures(name, distribution, runs, **options):
    """Runs of a rule that broke the promise of ALPHA and BETA, and runs that did not halt within the cap."""
    mean, sample = DISTRIBUTIONS[distribution]
    bounds = {"radius": 1.0}
    if name in examples.ONE_SIDED:
        mean, sample = (mean + 1) / 2, lambda rng, n: (DISTRIBUTIONS[distribution][1](rng, n) + 1) / 2
        bounds = {"low": 0.0, "high": 1.0}
    broken = unfinished = 0
    private = {"epsilon": 1.0} if examples.is_private(name) else {}
    rule = discreet.make_rule(name, alpha=ALPHA, beta=BETA, max_samples=2**17, **bounds, **private, **options)
    for run in range(runs):
        rng = np.random.default_rng([run, 77])
        stream = (sample(rng, 2048) for _ in range(64))
        result = rule.run(stream, noise=SimulatedNoise([run, 78]) if private else None)
        unfinished += not result.reached
        broken += result.reached and abs(result.estimate - mean) > ALPHA * abs(mean)
    return broken, unfinished


def sharp_searches(means, epsilon, beta, runs, **options):
    """Pulls of each arm, and the arm found, of searches with sharp constants by the kernel."""
    means = np.array(means, dtype=float)
    policy = discreet.DPSharpBestArm(range(means.size), epsilon=epsilon, beta=beta, **options)
    found = [sharp_search(policy, means, fresh_state([run, 7])) for run in range(runs)]
    return np.array([pulls for pulls, _ in found]), np.array([arm for _, arm in found])


def sharp_search(policy, means, state):
    """Pulls of each arm until one was left, and which one by the kernel; -1 if the search was given up."""
    parameters, never = sharp_elimination.parameters_of(policy), np.zeros(0, np.int64)
    return sharp_elimination.play(parameters, means, sharp_elimination.ENDLESS, state, never)[2:]


def discrete_laplace_p_value(draws, scale):
    """Chi-square test of draws against the exact distribution, tails pooled."""
    reach = int(4 * scale)
    values = np.arange(-reach, reach + 1)
    expected = np.array([probability(int(value), scale) for value in values])
    tail = (1 - expected.sum()) / 2
    expected = np.concatenate([[tail], expected, [tail]]) * len(draws)
    clipped = np.clip(draws, -reach - 1, reach + 1) + reach + 1
    observed = np.bincount(clipped, minlength=expected.size)
    return stats.chisquare(observed, expected).pvalue

"""The least level of stopping rules: against other ways to compute it, what attains it, and what must not beat it."""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from discreet import ArgumentError, theory
from discreet.lab import simulate
from discreet.theory.minimax_stopping import line_above, success

PAGE = Path(__file__).parents[2] / "docs/proofs/stopping-lower-bound.md"
GIVEN = [(0.1, 0.05, math.inf), (0.1, 0.05, 1.0), (0.2, 0.05, 0.1), (0.5, 0.2, 0.5), (0.3, 0.01, 3.0)]


def ratio(alpha):
    return (1 + alpha) / (1 - alpha)


def wilson(failures, runs):
    """Return the exact limits of a rate at a level of 1e-6."""
    return stats.beta.ppf(5e-7, failures, runs - failures + 1), stats.beta.ppf(1 - 5e-7, failures + 1, runs - failures)


# ---------------------------------------------------------------------- the formula


@pytest.mark.parametrize(("peak", "alpha", "epsilon"), [(40, 0.2, 0.5), (12.3, 0.4, 1.0), (90, 0.1, 0.1)])
def test_the_success_is_that_of_the_density(peak, alpha, epsilon):
    """The density of ln t, as the sum over s of e^(-epsilon |s - peak|) e^-t t^s/s!, integrated by quadrature."""
    shapes = np.arange(1, 1200)
    tops = np.exp(-epsilon * np.abs(shapes - peak))

    def density(log_t):
        return float(tops @ stats.poisson.pmf(shapes, math.exp(log_t)))

    def integral(f, low, high):
        cuts = np.linspace(low, high, 17)
        return sum(integrate.quad(f, *ends, limit=200)[0] for ends in pairwise(cuts))

    middle = math.log(peak)
    whole = integral(density, middle - 16, middle + 2)
    width = math.log(ratio(alpha))
    best = -optimize.minimize_scalar(
        lambda start: -integral(density, start, start + width), bounds=(middle - 1, middle + 0.2), method="bounded"
    ).fun
    mean = integral(lambda log_t: density(log_t) * math.exp(log_t), middle - 16, middle + 2)
    assert success(peak, alpha, epsilon) == pytest.approx((best / whole, mean / whole), rel=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.2), (0.2, 0.05), (0.1, 0.05), (0.05, 0.01), (0.01, 0.001)])
def test_without_privacy_it_is_attained_by_inverse_sampling(alpha, beta):
    """The least whole r whose gamma distribution has an interval of probability 1 - beta is less than one above."""
    level = theory.least_level(alpha, beta)

    def best(shape):
        low, high = stats.gamma.ppf([1e-12, beta], shape)
        return -optimize.minimize_scalar(
            lambda start: stats.gamma.cdf(start, shape) - stats.gamma.cdf(start * ratio(alpha), shape),
            bounds=(low, high), method="bounded", options={"xatol": 1e-9 * shape},
        ).fun  # fmt: skip

    above = math.ceil(level - 1e-6)
    assert best(above - 1) < 1 - beta <= best(above) + 1e-9


def test_inverse_sampling_keeps_its_promise_at_the_bound_and_not_below():
    alpha, beta, p, runs = 0.1, 0.05, 1e-4, 200_000
    rng = np.random.default_rng(1)
    for successes, kept in ((382, True), (330, False)):
        samples = successes + rng.negative_binomial(successes, p, runs)
        shape = stats.gamma(successes)
        ends = optimize.minimize_scalar(lambda a, law=shape: law.cdf(a) - law.cdf(a * ratio(alpha)),
                                        bounds=(0.7 * successes, successes), method="bounded").x  # fmt: skip
        estimates = ends * (1 + alpha) / samples
        failures = int((np.abs(estimates - p) > alpha * p).sum())
        low, high = wilson(failures, runs)
        assert bool(low <= beta) is kept
        assert p * samples.mean() == pytest.approx(successes, rel=0.01)
        assert high > 0.8 * beta


@pytest.mark.parametrize("row", range(4))
def test_inverse_sampling_is_above_the_bound_and_not_far(row):
    """What the page says of rare samples, measured anew."""
    epsilon, _, level, said, _ = rows_of_the_page()[row]
    key, private = ("inverse", {}) if math.isinf(epsilon) else ("dp-inverse", {"epsilon": epsilon})
    found = simulate(key, 1e-3, runs=1000, seed=2, alpha=0.1, beta=0.05, low=0, high=1, **private)
    assert level < 1e-3 * found.samples.mean() == pytest.approx(said, rel=0.01)


# ---------------------------------------------------------------------- the steps of the proof


class Outcomes:
    """The values (I(f) - price J(t f))/J(f) for f = sum of c_s e^-t t^s/s!, s from 0 on, by a fine grid of ln t."""

    def __init__(self, y, alpha, price, shapes, wide=30.0):
        t = np.exp(np.linspace(math.log(y / wide), math.log(y * wide), 3001))
        inside = (t >= y / (1 + alpha)) & (t <= y / (1 - alpha))
        weights = stats.poisson.pmf(shapes[:, None], t)
        self.gains, self.sums = weights @ (inside - price * t), weights.sum(axis=1)

    def value(self, c):
        return float(c @ self.gains / (c @ self.sums))


@pytest.mark.parametrize("epsilon", [0.1, 0.7])
def test_no_private_sequence_does_better_than_a_peak(epsilon):
    alpha, price, shapes = 0.3, 0.01, np.arange(150)
    rng = np.random.default_rng(3)
    for y in (5.0, 20.0, 40.0):
        outcomes, peaks = Outcomes(y, alpha, price, shapes), np.arange(0.0, 80.0, 0.1)
        best = max(outcomes.value(np.exp(-epsilon * np.abs(shapes - peak))) for peak in peaks)
        for number in range(400):
            steps = rng.uniform(-epsilon, epsilon, shapes.size - 1)
            if number % 2:  # up to somewhere near y, and down: the hardest ones
                steps = np.abs(steps) ** rng.choice([0.1, 1.0]) * np.sign(rng.normal(y, 4) - shapes[:-1])
                steps = np.clip(steps, -epsilon, epsilon)
            c = np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
            assert outcomes.value(c) <= best + 1e-5
        sharper = max(outcomes.value(np.exp(-2 * epsilon * np.abs(shapes - peak))) for peak in peaks)
        assert sharper > best + 0.005  # what is not private does better


def test_the_sums_of_a_private_mechanism_differ_by_a_factor_of_e_to_the_epsilon():
    """Step 1 on a mechanism: the mean chance of an outcome, over all samples with s ones, as a function of s."""
    epsilon, n = 0.5, 6
    chances = []
    for s in range(n + 1):
        runs = [x for x in np.ndindex(*[2] * n) if sum(x) == s]
        # an outcome of a noisy weighted sum, whose weights make places differ: |change| <= 1 for one sample
        weights = np.linspace(0.2, 1.0, n)
        chances.append(np.mean([stats.laplace.pdf(2.0, np.dot(weights, x), 1 / epsilon) for x in runs]))
    steps = np.abs(np.diff(np.log(chances)))
    assert 0.1 * epsilon < steps.max() <= epsilon


@pytest.mark.parametrize("alpha", [0.5, 0.2, 0.05])
@pytest.mark.parametrize("beta", [0.24, 0.05, 1e-4])
@pytest.mark.parametrize("epsilon", [64.0, 2.0, 0.5, 0.05])
def test_the_line_that_gives_the_bound_lies_above_all_peaks(alpha, beta, epsilon):
    """V is the largest of all peaks, not only of those nearby: tried from 1 to 10 times the level."""
    price, most = line_above(alpha, beta, epsilon)
    level = theory.least_level(alpha, beta, epsilon)
    assert 0 < most < 1 - beta
    assert most + price * level == pytest.approx(1 - beta, abs=1e-12)
    for peak in [*np.geomspace(1, 10 * level, 25), *np.linspace(0.9 * level, 1.1 * level, 12)]:
        reached, mean = success(max(1.0, peak), alpha, epsilon)
        assert reached - price * mean <= most + 1e-6 * price * level + 1e-9


@pytest.mark.parametrize("tries", [(0.3, 0.2), (0.1, 0.05), (0.1, 0.01)])
def test_the_limits_have_their_constants(tries):
    """z^2/alpha^2 without privacy, log(1/beta)/(alpha epsilon) where epsilon is far below alpha."""
    alpha, beta = tries
    z = stats.norm.ppf(1 - beta / 2)
    assert theory.least_level(alpha, beta) * alpha**2 == pytest.approx(z**2, rel=alpha**2 + 0.01)
    epsilon = alpha / 20
    private = theory.least_level(alpha, beta, epsilon) * alpha * epsilon
    assert private == pytest.approx(math.log(1 / beta), rel=alpha / 2 + 0.05)


# ---------------------------------------------------------------------- beside the other bounds


@pytest.mark.parametrize(("alpha", "beta", "epsilon"), GIVEN)
def test_it_is_above_the_two_point_bound(alpha, beta, epsilon):
    p = 1e-6
    two = p * theory.two_point_lower_bound(p, alpha, beta, epsilon)
    assert 1.3 * two < theory.least_level(alpha, beta, epsilon) < 5 * two


def test_it_grows_where_more_is_asked_for():
    alphas, betas, epsilons = np.array([0.5, 0.3, 0.1]), np.array([0.2, 0.05, 0.001]), np.array([5.0, 1.0, 0.2, 0.05])
    for levels in (
        theory.least_level(alphas, 0.05, 0.5),
        theory.least_level(0.2, betas, 0.5),
        theory.least_level(0.2, 0.05, epsilons),
    ):
        assert (np.diff(levels) > 0).all()
    assert theory.least_level(alphas[:, None], betas, 1.0).shape == (3, 3)


def rows_of_the_page():
    rows = re.findall(r"^\| (infinity|[\d.]+)" + r" \| ([\d.]+)" * 4 + r" \|$", PAGE.read_text(), re.MULTILINE)
    return [tuple(float(one.replace("infinity", "inf")) for one in row) for row in rows]


def test_the_page_has_its_figures():
    rows = rows_of_the_page()
    assert len(rows) == 4
    for epsilon, two, level, used, over in rows:
        p = 1e-3
        assert p * theory.two_point_lower_bound(p, 0.1, 0.05, epsilon) == pytest.approx(two, abs=0.051)
        assert theory.least_level(0.1, 0.05, epsilon) == pytest.approx(level, abs=0.051)
        assert used / level == pytest.approx(over, abs=0.006)


@pytest.mark.parametrize(
    ("alpha", "beta", "epsilon", "match"),
    [
        (0.6, 0.05, 1.0, "alpha must be between 0.0001 and 0.5"),
        (1e-5, 0.05, 1.0, "alpha must be between 0.0001 and 0.5"),
        (math.nan, 0.05, 1.0, "alpha must be a number"),
        (0.1, 0.25, 1.0, "beta must be strictly between 0 and 0.25"),
        (0.1, 0.0, 1.0, "beta must be strictly between 0 and 0.25"),
        (0.1, 0.05, 0.0, "epsilon must be above 0"),
        (0.1, 0.05, 1e-6, "epsilon must be at least 0.0001"),
    ],
)
def test_what_it_does_not_hold_for_is_refused(alpha, beta, epsilon, match):
    with pytest.raises(ArgumentError, match=match):
        theory.least_level(alpha, beta, epsilon)

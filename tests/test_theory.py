"""The lower bounds: the paper's settings in numbers, and the divergence against its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.lab import instance
from discreet.theory import private_divergence, regret_lower_bound
from discreet.theory.lower_bounds import divergence

EPSILONS = (0.1, 0.25, 0.5, 1.0, math.inf)
BOUNDS = {
    "C1": (876, 554, 554, 554, 554),
    "C2": (739, 317, 184, 137, 126),
    "C3": (729, 305, 166, 105, 89),
    "C4": (811, 459, 361, 328, 320),
}
MEANS = st.floats(0.001, 0.999)
SIZES = st.floats(0.01, 20)


@pytest.mark.parametrize("name", BOUNDS)
def test_the_bounds_of_the_papers_settings(name):
    means = instance(name).means
    assert tuple(round(regret_lower_bound(means, 5e7, epsilon)) for epsilon in EPSILONS) == BOUNDS[name]
    assert regret_lower_bound(means, 5e7) == regret_lower_bound(means, 5e7, math.inf)


def test_the_bound_does_not_depend_on_the_order_of_the_arms_and_equal_best_arms_are_free():
    means = [0.75, 0.625, 0.5]
    assert regret_lower_bound(means[::-1], 1e6, 0.5) == pytest.approx(regret_lower_bound(means, 1e6, 0.5))
    assert regret_lower_bound([*means, 0.75], 1e6, 0.5) == pytest.approx(regret_lower_bound(means, 1e6, 0.5))
    assert regret_lower_bound([0.5, 0.5], 1e6, 0.5) == 0


def brute_force(x, y, epsilon):
    """The definition: the smallest of epsilon |z - x| + kl(z, y) over z, on a grid that is finer near 0 and 1."""
    near_zero = np.geomspace(1e-12, 0.01, 10_000)
    z = np.concatenate([np.linspace(0, 1, 200_001), near_zero, 1 - near_zero, [x, y]])
    kl = stats.entropy([z, 1 - z], [np.full(z.size, y), np.full(z.size, 1 - y)])
    return float((epsilon * np.abs(z - x) + kl).min())


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("y", [0.02, 0.3, 0.5, 0.75, 0.99])
@pytest.mark.parametrize("x", [0.0, 0.05, 0.3, 0.7, 0.9, 1.0])
def test_the_divergence_is_what_its_definition_says(x, y, epsilon):
    # Near its minimum the function is flat, so a grid of 5e-6 is right to many more digits.
    assert private_divergence(x, y, epsilon) == pytest.approx(brute_force(x, y, epsilon), rel=1e-6, abs=1e-9)


def test_both_branches_of_the_formula_are_met_above():
    assert private_divergence(0.7, 0.75, 1.0) == divergence(0.7, 0.75)
    assert private_divergence(0.05, 0.75, 1.0) < 0.6 * divergence(0.05, 0.75)


@given(x=MEANS, y=MEANS, epsilon=SIZES)
def test_the_divergence_does_not_change_when_zeros_and_ones_are_exchanged(x, y, epsilon):
    mirrored = private_divergence(1 - x, 1 - y, epsilon)
    assert private_divergence(x, y, epsilon) == pytest.approx(mirrored, rel=1e-6, abs=1e-12)


@given(x=MEANS, y=MEANS, epsilons=st.tuples(SIZES, SIZES))
def test_the_divergence_grows_with_epsilon_up_to_kl(x, y, epsilons):
    small, large = (private_divergence(x, y, epsilon) for epsilon in sorted(epsilons))
    assert small <= large + 1e-12
    assert large <= private_divergence(x, y, math.inf) + 1e-12
    assert small <= min(epsilons) * abs(x - y) + 1e-12  # z = y is one choice


@given(x=MEANS, y=MEANS)
def test_the_divergence_tends_to_kl(x, y):
    kl = float(stats.entropy([x, 1 - x], [y, 1 - y]))
    assert private_divergence(x, y, math.inf) == pytest.approx(kl, rel=1e-6, abs=1e-9)
    assert private_divergence(x, y, 30.0) == pytest.approx(kl, rel=1e-6, abs=1e-9)


@given(x=st.floats(0, 1), epsilon=st.one_of(SIZES, st.just(math.inf)))
def test_the_divergence_of_equal_means_is_nothing(x, epsilon):
    assert private_divergence(x, x, epsilon) == pytest.approx(0, abs=1e-12)


@given(x=MEANS, y=MEANS, epsilon=SIZES)
def test_the_divergence_of_different_means_is_positive(x, y, epsilon):
    if abs(x - y) > 1e-4:
        assert private_divergence(x, y, epsilon) > 0

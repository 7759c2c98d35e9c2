"""The kernel of inverse sampling has the law of the object, on coins and on rewards that become coins."""

import functools

import numpy as np
import pytest
from scipy import stats

from discreet.lab import Setting, simulate
from discreet.lab.kernels import inverse
from discreet.lab.kernels.randomness import fresh_state
from discreet.lab.simulate import run_setting
from tests._tools.kernel_tools import LEVEL, mutant
from tests._tools.rule_paths import by_object, check_law, p_values

EASY = {"alpha": 0.4, "beta": 0.2}
CASES = {
    "private": ("dp-inverse", 0.2, {"epsilon": 1.0}),
    "much noise": ("dp-inverse", 0.4, {"epsilon": 0.1}),
    "hardly any noise": ("dp-inverse", 0.3, {"epsilon": 20.0}),
    "not private": ("inverse", 0.1, {}),
    "any law": ("dp-inverse", "uniform(0, 0.5)", {"epsilon": 0.5}),
    "another range": ("inverse", "discrete(0:1, 1:1, 4:2)", {"low": 0, "high": 5}),
    "capped": ("dp-inverse", 0.2, {"epsilon": 1.0, "max_samples": 170}),
}


@functools.cache
def played(case):
    """Runs of the object."""
    rule, law, options = CASES[case]
    return by_object(Setting.of(rule, law, runs=400, seed=3, **EASY, **options))


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_has_the_law_of_the_object(case):
    rule, law, options = CASES[case]
    check_law(case, played(case), simulate(rule, law, runs=3000, seed=4, **EASY, **options))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("2 * math.exp", "1 * math.exp"), ("missing / scale", "missing / (2 * scale)"), ("missing <= 0", "missing <= 8")],
)
def test_planted_errors_in_a_test_are_noticed(right, wrong):
    broken = mutant(inverse.halts, right, wrong)
    states = fresh_state(1), fresh_state(2)
    missing, scale = 3, 2.0
    found = [
        sum(one(state, missing, scale) for _ in range(60_000))
        for one, state in zip((inverse.halts, broken), states, strict=True)
    ]
    weights = np.exp(-np.arange(0, 200) / scale)
    weights[0] /= 2
    chance = weights[missing:].sum() / weights.sum()
    right_p, wrong_p = (stats.binomtest(count, 60_000, chance).pvalue for count in found)
    assert right_p > LEVEL > wrong_p


def test_threshold_noise_is_folded():
    state = fresh_state(7)
    drawn = np.array([inverse.threshold_noise(state, 2.0) for _ in range(40_000)])
    weights = np.exp(-np.arange(0, 12) / 2.0)
    weights[0] /= 2
    chances = weights / (weights.sum() + np.exp(-12 / 2.0) / (1 - np.exp(-1 / 2.0)))
    expected = np.append(chances, 1 - chances.sum()) * drawn.size
    assert stats.chisquare(np.bincount(np.minimum(drawn, 12), minlength=13), expected).pvalue > LEVEL
    assert inverse.threshold_noise(state, 0.0) == 0


def test_another_setting_has_another_law():
    """The test of laws would notice an error of this size."""
    rule, law, options = CASES["private"]
    wrong = run_setting(Setting.of(rule, law, runs=3000, seed=2, **{**EASY, **options, "epsilon": 0.7}))
    assert min(p_values(played("private"), wrong)) < LEVEL


def test_hopeless_tests_draw_nothing():
    state = fresh_state(5)
    before = state.copy()
    assert not inverse.halts(state, 10**6, 1.0)
    assert (state == before).all()


def test_a_cap_between_tests_ends_the_kernel_as_it_ends_the_object():
    found = simulate("dp-inverse", 0.01, runs=3, max_samples=101, epsilon=1.0, **EASY)
    assert (found.method, found.samples.tolist()) == ("kernel", [101] * 3)
    assert found.unfinished.all()

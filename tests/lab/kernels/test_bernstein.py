"""DP-Bernstein's kernel has the law of the object."""

import functools

import numpy as np
import pytest
from scipy import stats

from discreet.lab import Setting, simulate
from discreet.lab.kernels import bernstein
from discreet.lab.kernels.coins import coin_on
from discreet.lab.kernels.randomness import fresh_state
from tests._tools.kernel_tools import LEVEL
from tests._tools.rule_paths import by_object, check_law

EASY = {"alpha": 0.5, "beta": 0.1}


@functools.cache
def played(law, epsilon):
    """Runs of the object."""
    return by_object(Setting.of("dp-bernstein", law, runs=400, seed=9, epsilon=epsilon, **EASY))


@pytest.mark.parametrize(
    ("law", "epsilon"),
    [(0.05, 0.5), ("discrete(-1:1, 2:3)", 0.3), pytest.param(0.3, 1.0, marks=pytest.mark.study)],
)
def test_the_kernel_has_the_law_of_the_object(law, epsilon):
    check_law("", played(law, epsilon), simulate("dp-bernstein", law, runs=400, epsilon=epsilon, **EASY))


def test_planted_errors_in_its_numbers_are_noticed():
    setting = Setting.of("dp-bernstein", 0.05, runs=400, seed=9, epsilon=0.5, **EASY)
    slow, rule = played(0.05, 0.5), setting.build()
    coin = coin_on(rule.grid, 0.0, 1.0, 0.05, 2**40)
    parameters, ends, levels = bernstein.parameters_of(rule)
    for change in ({"mean_scale": 4 * parameters.mean_scale}, {"level": 0.6 * parameters.level}):
        wrong = parameters._replace(**change)
        runs = [bernstein._play(coin, wrong, ends, levels, fresh_state([5, run]), 2**40) for run in range(400)]
        _, samples, estimates = (np.array(column) for column in zip(*runs, strict=True))
        pairs = (samples, slow.samples), (estimates, slow.estimates)
        assert min(stats.ks_2samp(*pair).pvalue for pair in pairs) < LEVEL


def test_a_cap_ends_the_kernel_as_it_ends_the_object():
    found = simulate("dp-bernstein", "discrete(-1:1, 1:1)", runs=3, max_samples=5001, epsilon=1.0, **EASY)
    assert found.method == "kernel"
    assert found.unfinished.all()
    assert found.samples.tolist() == [5001] * 3

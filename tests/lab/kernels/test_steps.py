"""Compiled steps on arms of any kind pull the very arms that the object pulls."""

import numpy as np
import pytest

import discreet
from discreet.core.grid import Grid
from discreet.lab import Beta, Discrete, Empirical, Setting, TruncatedNormal, Uniform, simulate
from discreet.lab.arms import Bernoulli
from discreet.lab.kernels import find_program, find_steps, thompson_steps
from discreet.lab.runs import one_run
from discreet.lab.simulate import expected_wait, run_setting

KINDS = [
    *(Beta(2, 4), Uniform(0, 0.8), TruncatedNormal(0.5, 0.2), Discrete([0, 0.5, 1], [2, 1, 1])),
    *(Empirical([0, 0.2, 1, 0.3]), Bernoulli(0.6), Beta(0.5, 0.5)),
]
POLICIES = [
    *(("ucb", {}), ("kl-ucb", {}), ("kl-ucb", {"c": 1.0}), ("imed", {}), ("ts", {}), ("ts", {"seed": 5})),
    *(("dp-ucb", {"epsilon": 5.0, "preset": preset}) for preset in discreet.bandits.dp_ucb.PRESETS),
    ("dp-ucb", {"epsilon": 5.0, "relaxation": 1.0}),
    *(("dp-ucb-hybrid", {"epsilon": epsilon}) for epsilon in (5.0, 500.0)),
]


@pytest.mark.parametrize(("key", "options"), POLICIES, ids=str)
def test_it_pulls_what_the_object_pulls(key, options):
    setting = Setting.of(key, KINDS, horizon=1500, runs=2, **options)
    compiled = run_setting(setting)
    assert compiled.method == "kernel"
    for index in range(2):
        step_by_step = one_run(setting, index)
        assert compiled.pulls[index].tolist() == step_by_step.pulls.tolist()
        assert compiled.regret[index].tolist() == (step_by_step.counts * setting.instance.gaps).sum(axis=1).tolist()


def test_other_ranges_of_rewards_are_simulated_as_well():
    setting = Setting.of("dp-ucb", [0.3, Beta(2, 5, 0, 2)], horizon=500, runs=1, epsilon=5.0, low=-1, high=2)
    assert find_program(setting.build(), setting.instance) is None
    assert run_setting(setting).pulls[0].tolist() == one_run(setting, 0).pulls.tolist()


@pytest.mark.parametrize("arm", KINDS, ids=str)
def test_rewards_in_advance_are_those_that_come_one_by_one(arm):
    grid = Grid(-1.0, 2.0)
    one, many = arm.totals(np.random.default_rng(3), grid), arm.one_by_one(np.random.default_rng(3), grid)
    assert [one(1) for _ in range(1000)] == [*many(1).tolist(), *many(256).tolist(), *many(743).tolist()]


def test_a_subclass_has_formulas_of_its_own():
    class Greedy(discreet.UCB):
        key = "test-greedy"

    policy = Greedy(range(7), horizon=1000)
    assert find_steps(policy, Setting.of("ucb", KINDS, horizon=1000).instance) is None


def test_a_long_run_needs_no_patience():
    setting = Setting.of("dp-ucb", KINDS, horizon=1_000_000, runs=10, epsilon=1.0)
    assert expected_wait([setting], 1) == (0.0, [])
    assert simulate("dp-ucb", KINDS, 100_000, 1, epsilon=1.0).pulls.sum() == 100_000


def test_where_memory_is_laid_out_otherwise_the_object_plays(monkeypatch):
    assert thompson_steps.works_here()
    setting = Setting.of("ts", KINDS, horizon=50, runs=1)
    monkeypatch.setattr(thompson_steps, "works_here", lambda: False)
    assert run_setting(setting).method == "object"

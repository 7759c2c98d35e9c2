"""The kernel of DP-Bernstein has the distribution of the object, and planted errors show."""

import pytest
from scipy import stats

from discreet.lab import Setting
from discreet.lab.kernels import bernstein
from discreet.lab.kernels.coins import coin_of
from discreet.lab.kernels.randomness import fresh_state
from discreet.lab.simulate import run_setting
from tests._tools.rule_paths import by_object, check_law

EASY = {"alpha": 0.5, "beta": 0.1}
RUNS = 400


def setting_of(distribution, seed=0, **options):
    return Setting.of("dp-bernstein", distribution, runs=RUNS, seed=seed, **{**EASY, **options})


@pytest.mark.parametrize(("distribution", "epsilon"), [(0.3, 1.0), (0.05, 0.5), ("discrete(-1:1, 2:3)", 0.3)])
def test_the_kernel_has_the_distribution_of_the_object(distribution, epsilon):
    slow = by_object(setting_of(distribution, seed=9, epsilon=epsilon))
    check_law("", slow, run_setting(setting_of(distribution, epsilon=epsilon)))


def test_a_planted_error_in_the_kernel_shows():
    setting = setting_of(0.05, seed=9, epsilon=0.5)
    slow, rule = by_object(setting), setting.build()
    parameters, ends, levels = bernstein.parameters_of(rule)
    for change in ({"mean_scale": 4 * parameters.mean_scale}, {"level": 0.6 * parameters.level}):
        given = coin_of(rule, setting.instance), parameters._replace(**change), ends, levels
        wrong = [bernstein._play(*given, fresh_state([5, run]), 2**40) for run in range(RUNS)]
        pairs = (slow.samples, [one[1] for one in wrong]), (slow.estimates, [one[2] for one in wrong])
        assert min(stats.ks_2samp(*pair, method="asymp").pvalue for pair in pairs) < 1e-6


def test_a_cap_ends_the_kernel_as_it_ends_the_object():
    setting = setting_of("discrete(-1:1, 1:1)", max_samples=5001, epsilon=1.0).with_(runs=3)
    found = run_setting(setting)
    assert found.method == "kernel"
    assert found.unfinished.all()
    assert found.samples.tolist() == by_object(setting).samples.tolist() == [5001] * 3

"""EBStop and EBGStop agree with the objects: sample by sample on a path, and in law."""

import numpy as np
import pytest

from discreet import EBGStop, EBStop
from discreet.lab import Discrete, Setting
from discreet.lab.kernels import empirical_bernstein
from discreet.lab.simulate import run_setting
from tests._tools.kernel_tools import LEVEL, mutant
from tests._tools.rule_paths import PATHS, by_object, check_law, p_values, replays


def check_bernstein(kind, kernel, low, high, chance, options):
    def replay(coin, formulas, path):
        return kernel(coin, formulas, np.ones(4, np.uint64), path.size, path)

    reached = 0
    for _, result, (halted, samples, estimate) in replays(
        kind, replay, empirical_bernstein.parameters_of, low, high, chance, options, seeds=3
    ):
        assert (halted, samples) == (result.reached, result.samples)
        reached += halted
        if halted:
            assert estimate == pytest.approx(result.estimate, rel=1e-12)
    return reached


@pytest.mark.parametrize("kind", [EBStop, EBGStop])
@pytest.mark.parametrize(("low", "high", "chance", "options"), PATHS)
def test_empirical_bernstein_on_a_path_is_the_rule_object(kind, low, high, chance, options):
    reached = check_bernstein(kind, empirical_bernstein.play, low, high, chance, options)
    assert reached > 0 or chance in (0.0, 0.5, 0.52)


@pytest.mark.parametrize("growth", [1.1, 1.5])
def test_ebgstops_intervals_are_the_rules(growth):
    from discreet.stopping.ebgstop import interval_of

    times = np.concatenate([np.arange(1, 2000), np.geomspace(2000, 1e12, 500).astype(np.int64)]).astype(float)
    assert [empirical_bernstein.interval_at(time, growth) for time in times] == interval_of(times, growth).tolist()


def test_a_radius_that_is_bounded_two_percent_too_high_is_noticed_on_a_path():
    narrow = mutant(empirical_bernstein.play, "size) if size > 1", "size) * 1.02 if size > 1")
    for kind in (EBStop, EBGStop):
        with pytest.raises(AssertionError):
            check_bernstein(kind, narrow, *PATHS[0])


LAWS = {
    "ebstop": ("ebstop", 0.3, {"alpha": 0.25, "beta": 0.2}),
    "ebgstop, negative": ("ebgstop", Discrete([-1, 1], [0.7, 0.3]), {"alpha": 0.35, "beta": 0.2}),
}


@pytest.mark.parametrize("case", LAWS)
def test_the_kernel_has_the_law_of_the_object(case):
    rule, law, options = LAWS[case]
    slow = by_object(Setting.of(rule, law, runs=250, seed=1, **options))
    check_law(case, slow, run_setting(Setting.of(rule, law, runs=3000, seed=2, **options)))


def test_another_setting_has_another_law():
    """The test above would notice an error of this size."""
    rule, law, options = LAWS["ebstop"]
    slow = by_object(Setting.of(rule, law, runs=300, seed=1, **options))
    wrong = run_setting(Setting.of(rule, law, runs=3000, seed=2, **{**options, "beta": 0.3}))
    assert min(p_values(slow, wrong)) < LEVEL

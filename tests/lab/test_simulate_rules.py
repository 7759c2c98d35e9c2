"""Simulated stopping rules: the same however they are run, honest in figures, kind to bad input, able to go on."""

import json
import sys

import numpy as np
import pytest
from discreet.lab.fast import SlowWarning, hint
from discreet.lab.stopping import join_runs, run_rule, run_rule_part
from discreet.lab.stopping_play import two_values
from discreet.lab.stopping_results import ARRAYS
from discreet.lab.stopping_setting import CAP
from scipy import stats

import discreet
from discreet.core.errors import ArgumentError, StateError
from discreet.lab import (
    Beta,
    Discrete,
    Empirical,
    Setting,
    Simulation,
    StoppingRuns,
    StoppingSetting,
    Uniform,
    make_engine,
    simulate,
    simulate_all,
    simulate_rule,
    simulate_rules,
    stopping,
)
from discreet.lab.simulate import split
from discreet.lab.store import Store
from tests._tools import examples

LEVEL = 1e-6
EASY = {"alpha": 0.5, "beta": 0.1}
SIGNS = Discrete([-1, 1], [1, 3])


def sweep(runs=6):
    """Every way: three kernels, blocks, and the object."""
    return [
        StoppingSetting.of("nas", 0.4, runs=runs, **EASY),
        StoppingSetting.of("dp-nas", SIGNS, runs=runs, epsilon=1.0, **EASY),
        StoppingSetting.of("ebgstop", 0.4, runs=runs, **EASY),
        StoppingSetting.of("dp-exp-nas", "uniform(0, 1)", runs=runs, epsilon=1.0, **EASY),
        StoppingSetting.of("dp-nas", "beta(2, 2)", runs=runs, epsilon=1.0, **EASY),
    ]


METHODS = ["kernel", "kernel", "kernel", "blocks", "object"]


@pytest.fixture(scope="module")
def expected():
    return [run_rule(setting) for setting in sweep()]


def same(one, other):
    """Equal to the last digit."""
    return one.setting == other.setting and all(
        getattr(one, name).dtype == getattr(other, name).dtype
        and getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ARRAYS
    )


def check_same(results, expected):
    assert len(results) == len(expected)
    for one, other in zip(results, expected, strict=True):
        assert same(one, other)
        assert one.method == other.method


# ---------------------------------------------------------------------- what results do and do not depend on


@pytest.mark.parametrize(("name", "workers"), [("serial", 1), ("threads", 2), ("processes", 2)])
def test_results_do_not_depend_on_the_engine(name, workers, expected):
    assert [one.method for one in expected] == METHODS
    check_same(simulate_rules(sweep(), make_engine(name, workers)), expected)


def test_results_do_not_depend_on_the_order_the_other_settings_or_the_number_of_runs(expected):
    check_same(simulate_rules(sweep()[::-1]), expected[::-1])
    check_same(simulate_rules(sweep()[1:2], "threads"), expected[1:2])
    for few, many in zip(map(run_rule, sweep(2)), expected, strict=True):
        assert few.samples.tolist() == many.samples[:2].tolist()


@pytest.mark.parametrize("place", range(5))
def test_parts_join_to_the_whole(place, expected):
    setting = sweep()[place]
    for pieces in (2, 4):
        assert same(join_runs([run_rule_part(part) for part in split(setting, pieces)], setting), expected[place])


def test_a_setting_is_its_rule_its_law_its_options_and_the_seed():
    given = {"rule": "dp-nas", "rewards": 0.4, "seed": 1, "alpha": 0.5, "beta": 0.1, "epsilon": 1.0}

    def randomness(**options):
        return tuple(StoppingSetting.of(**options).run_seed(3).generate_state(4).tolist())

    changes = (
        {"seed": 2},
        {"rule": "dp-exp-nas"},
        {"rewards": 0.41},
        {"alpha": 0.51},
        {"max_samples": 10},
        {"radius": 2},
    )
    found = {randomness(**given), *(randomness(**{**given, **change}) for change in changes)}
    assert len(found) == 1 + len(changes)
    assert randomness(**given) == randomness(**{**given, "runs": 7, "rewards": "0.4", "epsilon": np.float32(1)})


def test_all_runs_differ():
    samples = simulate_rule("dp-nas", 0.3, runs=50, epsilon=1.0, **EASY).estimates
    assert len(set(samples.tolist())) == 50


def test_progress_adds_up_to_all_runs():
    told = []
    simulate_rules(sweep(), make_engine("threads", 2), on_progress=told.append)
    assert sum(told) == 30
    assert len(told) > 5


# ---------------------------------------------------------------------- which way a simulation takes


class OwnNAS(discreet.NAS):
    """A user's own variant."""

    key = "own-nas"


@pytest.mark.parametrize(
    ("rule", "law", "options", "method"),
    [
        ("nas", 0.5, {}, "kernel"),
        ("nas", 1.0, {}, "kernel"),
        ("ebstop", "discrete(0.25:1, 0.75:1)", {"low": 0, "high": 1}, "kernel"),
        ("dp-nas", Empirical([0, 1, 1]), {"epsilon": 2.0}, "kernel"),
        ("dp-nas", Discrete([3, 4, 4], [1, 1, 1]), {"epsilon": 2.0, "low": 2, "high": 5}, "kernel"),
        ("nas", 0.5, {"radius": 1}, "kernel"),
        ("dp-exp-nas", 0.5, {"epsilon": 2.0}, "blocks"),
        ("dp-exp-nas", Beta(4, 2), {"epsilon": 2.0}, "blocks"),
        ("dp-nas-one-sided", 0.5, {"epsilon": 2.0}, "kernel"),
        ("dp-nas-one-sided", Beta(4, 2), {"epsilon": 2.0}, "blocks"),
        ("nas", Discrete([0, 0.5, 1], [1, 1, 1]), {}, "object"),
        ("dp-nas", Uniform(0.5, 1), {"epsilon": 2.0, "low": 0}, "object"),
        ("ebgstop", Uniform(0.5, 1), {}, "object"),
        ("own-nas", 0.5, {}, "object"),
        ("nas", 0.5, {"max_samples": 2**45}, "object"),  # past the kernel's 64 bits
        ("nas", Discrete([2e9, 2e9 + 1], [1, 1]), {}, "object"),
    ],
)
def test_kernels_are_taken_only_for_what_they_simulate(monkeypatch, rule, law, options, method):
    monkeypatch.setitem(discreet.RULES, "own-nas", OwnNAS)
    if "low" in options:
        options = {"high": 1, **options}
    result = simulate_rule(rule, law, runs=2, **EASY, **options)
    assert result.method == method
    assert result.reached.all()
    assert result.estimates == pytest.approx(result.setting.rewards.mean, rel=0.5)


def test_two_values_are_the_smaller_the_larger_and_its_chance():
    assert two_values(SIGNS) == (-1.0, 1.0, 0.75)
    assert two_values(Discrete([1, 0, 1], [1, 2, 1])) == (0.0, 1.0, 0.5)
    assert two_values(Discrete([0.5], [1])) == (0.5, 0.5, 1.0)
    assert two_values(Discrete([5, 0, 1], [0, 1, 3])) == (0.0, 1.0, 0.75)  # a weight of 0 is never paid
    assert two_values(Empirical([0, 2, 2, 2])) == (0.0, 2.0, 0.75)
    assert two_values(Uniform(0, 1)) is None


def test_without_numba_the_object_runs_with_the_same_law_and_one_warning_says_how_to_get_it(monkeypatch):
    import discreet.lab.kernels

    given = {"rule": "dp-nas", "rewards": 0.6, "epsilon": 2.0, "alpha": 0.8, "beta": 0.3}
    fast = simulate_rule(**given, runs=2000)
    for loaded in [key for key in sys.modules if key.startswith("discreet.lab.kernels")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delattr(discreet.lab, "kernels")
    monkeypatch.setitem(sys.modules, "numba", None)
    hint.cache_clear()
    simulate_rule("dp-exp-nas", 0.5, runs=2, epsilon=1.0, **EASY)  # what has no kernel has nothing to say
    with pytest.warns(SlowWarning, match=r"numba is not installed.*pip install 'discreet\[lab\]'") as caught:
        slow = simulate_rule(**given, runs=300)
    assert len(caught) == 1
    simulate_rule("nas", 0.5, runs=2, **EASY)  # a second warning would be an error
    hint.cache_clear()
    assert (fast.method, slow.method) == ("kernel", "object")
    for name in ("samples", "estimates"):
        assert stats.ks_2samp(getattr(fast, name), getattr(slow, name)).pvalue > LEVEL


def test_a_cap_ends_a_mean_of_zero():
    for rule, epsilon in (("nas", None), ("dp-nas", 0.5), ("dp-exp-nas", 0.5)):
        result = simulate_rule(
            rule, "discrete(-1:1, 1:1)", runs=2, max_samples=CAP, epsilon=epsilon, alpha=0.1, beta=0.01
        )
        assert result.samples.tolist() == [CAP, CAP]
        assert result.unfinished.all()
        assert np.isnan(result.estimates).all()
        assert not result.failed.any()


def test_every_registered_rule_can_be_simulated_and_keeps_its_promise():
    for rule in discreet.RULES:
        epsilon = 1.0 if examples.is_private(rule) else None
        result = simulate_rule(rule, 0.75 if rule in examples.ONE_SIDED else SIGNS, runs=50, epsilon=epsilon, **EASY)
        assert result.reached.all()
        assert result.failure_rate <= 0.1


# ---------------------------------------------------------------------- figures


def by_hand(**options):
    setting = StoppingSetting.of("nas", 0.5, runs=4, max_samples=100, alpha=0.1, beta=0.05, **options)
    estimates = np.array([0.5, 0.56, np.nan, 0.45])
    return StoppingRuns(setting, np.array([10, 30, 100, 20]), estimates, ~np.isnan(estimates), 1.5, "object")


def test_statistics_are_what_numpy_says():
    found, samples = by_hand(), np.array([10, 30, 100, 20])
    assert found.failed.tolist() == [False, True, False, False]  # 0.45 is just within 10 %
    assert found.unfinished.tolist() == [False, False, True, False]
    assert found.failure_rate == 0.25
    row = found.summary_row()
    assert row["mean"] == 40
    assert [row[key] for key in ("q05", "q25", "median", "q75", "q95")] == pytest.approx(
        np.percentile(samples, [5, 25, 50, 75, 95])
    )
    assert (row["low"], row["high"]) == (1.0, 100.0)  # no interval beyond what is possible
    low, high = stats.t.interval(0.95, 3, loc=40, scale=stats.sem(samples))
    assert low < 1
    assert high > 100
    assert (row["worst"], row["failures"], row["unfinished"], row["runs"]) == (100, 1, 1, 4)
    assert (row["rule"], row["alpha"], row["beta"], row["true_mean"], row["method"]) == (
        "nas",
        0.1,
        0.05,
        0.5,
        "object",
    )
    assert np.isnan(row["epsilon"])
    assert json.loads(row["options"]) == {"max_samples": 100}


def test_a_person_reads_one_line():
    assert str(by_hand()) == (
        "nas(alpha=0.1, beta=0.05, max_samples=100) on Bernoulli(0.5): mean at least 40 samples, "
        "4 runs, 1 failed, 1 unfinished"
    )
    assert "samples (95 % interval " in str(simulate_rule("nas", 0.5, runs=3, **EASY))
    assert ", 1 run, 0 failed, 0 unfinished" in str(simulate_rule("nas", 0.5, runs=1, **EASY))


def test_tables_and_json():
    found = by_hand()
    columns = found.run_columns()
    assert columns["run"].tolist() == [0, 1, 2, 3]
    assert columns["failed"].tolist() == found.failed.tolist()
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["estimate_by_run"] == [0.5, 0.56, None, 0.45]
    assert data["samples"]["mean"] == 40
    assert data["options"]["max_samples"] == 100
    assert (data["epsilon"], data["simulated"]) == (None, True)


def test_the_range_is_the_samples_own_unless_it_is_given():
    assert dict(StoppingSetting.of("nas", SIGNS, **EASY).options)["low"] == -1.0
    assert dict(StoppingSetting.of("nas", 0.5, low=-2, high=2, **EASY).options)["low"] == -2.0
    assert "low" not in dict(StoppingSetting.of("nas", 0.5, radius=1, **EASY).options)
    assert (
        StoppingSetting.of("nas", 0.5, radius=1, **EASY).label
        == "nas(alpha=0.5, beta=0.1, radius=1.0) on Bernoulli(0.5)"
    )
    assert dict(StoppingSetting.of("nas", 0.5, radius=None, epsilon=None, **EASY).options) == {
        **EASY, "low": 0.0, "high": 1.0, "max_samples": CAP,
    }  # fmt: skip


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("law", [0.5, SIGNS, Uniform(0.2, 0.9), Empirical([0.25, 0.5, 0.5])], ids=str)
def test_what_is_saved_comes_back(tmp_path, law):
    saved = simulate_rule("dp-nas", law, runs=3, seed=11, epsilon=2.0, max_samples=300, **EASY)
    path = tmp_path / "a new folder" / "runs"
    saved.save(path)
    loaded = StoppingRuns.load(str(path))
    assert same(loaded, saved)
    assert loaded.setting.identity == saved.setting.identity
    assert (loaded.seconds, loaded.method) == (saved.seconds, saved.method)
    assert [entry.name for entry in path.parent.iterdir()] == ["runs"]


def test_other_files_are_refused(tmp_path):
    simulate("ucb", [0.2, 0.8], horizon=100, runs=1).save(tmp_path / "simulation.npz")
    with pytest.raises(StateError, match="is not a file of simulation results, or it is damaged"):
        StoppingRuns.load(tmp_path / "simulation.npz")
    by_hand().save(tmp_path / "rule.npz")
    with pytest.raises(StateError, match="is not a file of simulation results, or it is damaged"):
        Simulation.load(tmp_path / "rule.npz")
    (tmp_path / "rule.npz").write_bytes(b"no zip")
    with pytest.raises(StateError, match="damaged"):
        StoppingRuns.load(tmp_path / "rule.npz")
    with pytest.raises(ArgumentError, match="there is no results file"):
        StoppingRuns.load(tmp_path / "nothing")


def test_a_store_resumes_and_serves_policies_too(tmp_path, monkeypatch, expected):
    calls = []

    def counted(part):
        calls.append(part)
        return run_rule_part(part)

    monkeypatch.setattr(stopping, "run_rule_part", counted)
    store = Store(tmp_path)
    simulate_rules(sweep()[:2], store=store)
    policy = Setting.of("se", [0.2, 0.8], horizon=300, runs=2)
    first = simulate_all([policy], store=store)
    calls.clear()
    told = []
    check_same(simulate_rules(sweep(), store=store, on_progress=told.append), expected)
    assert {part[0].rule for part in calls} == {"ebgstop", "dp-exp-nas", "dp-nas"}
    assert sum(told) == 30
    calls.clear()
    check_same(simulate_rules(sweep(), store=store), expected)
    assert not calls
    assert simulate_all([policy], store=store)[0].final.tolist() == first[0].final.tolist()
    assert len(list(tmp_path.iterdir())) == 6
    store.path(sweep()[0]).write_bytes(b"damaged")
    check_same(simulate_rules(sweep(), store=store), expected)
    assert {part[0] for part in calls} == {sweep()[0]}
    others = [sweep(7)[0], sweep()[0].with_(seed=3), sweep()[1]]
    assert len({store.path(one) for one in [sweep()[0], *others]}) == 4


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "dp-nass"}, r"rule must be one of dp-bernstein, dp-exp-nas, .*nas, got 'dp-nass'"),
        ({"rule": 3}, r"rule must be one of .*, got 3"),
        ({"rewards": 1.5}, r"mean must lie in \[0, 1\].*got 1.5"),
        ({"rewards": "gamma(2)"}, r"the arm 'gamma\(2\)' is of no known form"),
        ({"rewards": None}, r"mean must be a number, got None"),
        ({"runs": 0}, r"runs must be at least 1, got 0"),
        ({"runs": 2.5}, r"runs must be a whole number, got 2.5"),
        ({"seed": -1}, r"seed must be at least 0, got -1"),
        ({"alpha": 1.5}, r"alpha must lie strictly between 0 and 1, got 1.5"),
        ({"alpha": None}, r"dp-nas needs the option 'alpha'"),
        ({"epsilon": -1}, r"epsilon must be a number above 0, got -1"),
        ({"gamma": 1}, r"dp-nas has no option 'gamma'"),
        ({"noise": 1}, r"noise is not an option of the rule here"),
        ({"low": 0}, r"give the samples' range as radius, or as low and high"),
        ({"radius": 1, "low": 0}, r"give radius, or low and high, not both"),
        ({"radius": 0.5}, r"rewards must lie in the rule's range \[-0.5, 0.5\], got Bernoulli\(0.3\) in \[0.0, 1.0\]"),
        ({"max_samples": 0}, r"max_samples must be at least 1, got 0"),
        ({"rewards": 0}, r"max_samples must be given for Bernoulli\(0\), whose mean of 0.0 is too close to 0"),
        ({"rewards": 1e-7}, r"max_samples must be given for Bernoulli\(1e-07\)"),
        ({"rewards": "uniform(-1, 1)"}, r"max_samples must be given for Uniform\(-1, 1\)"),
        ({"rewards": Discrete([0.5], [1])}, r"low must be below high"),
        ({"engine": "spark"}, r"engine must be 'serial' or .*, got 'spark'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_input_is_refused_before_anything_is_simulated(monkeypatch, changes, message):
    monkeypatch.setattr(stopping, "run_rule_part", lambda part: pytest.fail("simulated"))
    given = {"rule": "dp-nas", "rewards": 0.3, "runs": 2, "alpha": 0.5, "beta": 0.1, "epsilon": 1.0}
    with pytest.raises(ArgumentError, match=message):
        simulate_rule(**{**given, **changes})

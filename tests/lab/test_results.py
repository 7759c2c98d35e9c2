"""What simulations give: tables, statistics, files and pictures, against numbers worked out by hand."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discreet.core.errors import ArgumentError, StateError
from discreet.lab import (
    Bernoulli,
    Beta,
    Discrete,
    Empirical,
    Results,
    Setting,
    Simulation,
    TruncatedNormal,
    Uniform,
    simulate,
    simulate_all,
)
from discreet.lab.results import NEVER, interval

DESCRIPTION = ["policy", "epsilon", "options", "instance", "arms", "horizon", "seed"]


def by_hand(pulls, on=(0.25, 0.75, 0.5), **options):
    """A simulation of known numbers: runs that pull their arms in proportion all the time."""
    pulls = np.array(pulls)
    horizon = int(pulls[0].sum())
    setting = Setting.of(
        "dp-se", on, horizon=horizon, runs=len(pulls), checkpoints=[horizon // 2], epsilon=0.5, **options
    )
    gaps = setting.instance.gaps
    regret = np.outer(pulls @ gaps, [0.5, 1.0])
    best = np.outer(pulls[:, gaps == 0].sum(axis=1), [0.5, 1.0]).astype(np.int64)
    arrays = {"regret": regret, "best_pulls": best, "pulls": pulls, "dropped": np.full(pulls.shape, NEVER)}
    return Simulation(setting, arrays, 1.5, "object")


def rule_by_hand(**options):
    """A simulation of a rule of known numbers."""
    setting = Setting.of("nas", 0.5, runs=4, max_samples=100, alpha=0.1, beta=0.05, **options)
    estimates = np.array([0.5, 0.56, np.nan, 0.45])
    arrays = {"samples": np.array([10, 30, 100, 20]), "estimates": estimates, "reached": ~np.isnan(estimates)}
    return Simulation(setting, arrays, 1.5, "object")


@pytest.fixture
def example():
    return by_hand([[10, 80, 10], [40, 20, 40], [20, 60, 20], [5, 35, 60]])


@pytest.fixture
def several():
    return simulate_all(
        [
            Setting.of("dp-se", "C2", horizon=100_000, runs=3, epsilon=0.5, checkpoints=[10, 1000]),
            Setting.of("se", [0.2, "beta(2, 5)"], horizon=500, runs=2, beta=0.1, checkpoints=[100, 200, 300]),
            Setting.of("ucb", [0.2, 0.8], horizon=500, runs=1),
        ]
    )


# ---------------------------------------------------------------------- tables


def test_curves_are_tidy_a_row_for_each_run_and_checkpoint(several):
    table = several[:2].to_pandas()
    assert list(table) == [*DESCRIPTION, "run", "time", "regret", "best_pulls"]
    assert len(table) == 3 * 3 + 2 * 4
    assert table["run"].tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [0] * 4 + [1] * 4
    assert table["time"].tolist() == [10, 1000, 100_000] * 3 + [100, 200, 300, 500] * 2
    assert not table.duplicated([*DESCRIPTION, "run", "time"]).any()
    for column in ("arms", "horizon", "seed", "run", "time", "best_pulls"):
        assert table[column].dtype == np.int64
    assert table["regret"].dtype == table["epsilon"].dtype == np.float64
    first = table[table["policy"] == "dp-se"]
    assert first["epsilon"].unique().tolist() == [0.5]
    assert first["regret"].to_numpy().reshape(3, 3) == pytest.approx(several[0].regret)
    assert (first["best_pulls"].to_numpy().reshape(3, 3) == several[0].best_pulls).all()
    second = table[table["policy"] == "se"]
    assert second["epsilon"].isna().all()
    assert second["options"].unique().tolist() == ['{"beta": 0.1}']
    assert second["instance"].unique().tolist() == ["Bernoulli(0.2), Beta(2, 5)"]


def test_ends_are_tidy_a_row_for_each_run():
    result = simulate("dp-se", [0.9, 0.1, 0.1], horizon=50_000, runs=4, epsilon=1.0)
    table = result.runs_to_pandas()
    arms = [f"{what}_{arm}" for what in ("pulls", "dropped") for arm in range(3)]
    assert list(table) == [*DESCRIPTION, "run", "regret", "failed", "best_pulls", *arms]
    assert table["run"].tolist() == [0, 1, 2, 3]
    assert table["failed"].dtype == bool
    assert table["regret"].tolist() == result.regret[:, -1].tolist()
    assert table[["pulls_0", "pulls_1", "pulls_2"]].to_numpy().tolist() == result.pulls.tolist()
    assert table[["dropped_0", "dropped_1", "dropped_2"]].to_numpy().tolist() == result.dropped.tolist()
    assert (table["dropped_0"] == NEVER).all()
    assert (table["dropped_1"] > 0).all()
    assert (table[arms].dtypes == np.int64).all()


def test_settings_with_different_numbers_of_arms_fit_into_one_table(several):
    table = several.runs_to_pandas()
    assert len(table) == 6
    assert table["pulls_4"].isna().tolist() == [False] * 3 + [True] * 3
    assert table["pulls_0"].notna().all()


def test_the_summary_is_what_numpy_says(example):
    (row,) = example.summary().to_dict("records")
    final = np.array([10 * 0.5 + 10 * 0.25, 40 * 0.5 + 40 * 0.25, 20 * 0.5 + 20 * 0.25, 5 * 0.5 + 60 * 0.25])
    assert row["mean"] == pytest.approx(final.mean())
    assert [row[key] for key in ("q05", "q25", "median", "q75", "q95")] == pytest.approx(
        np.percentile(final, [5, 25, 50, 75, 95])
    )
    assert row["worst"] == final.max() == 30.0
    assert (row["low"], row["high"]) == pytest.approx(
        stats.t.interval(0.95, 3, loc=final.mean(), scale=stats.sem(final))
    )
    assert (row["failures"], row["runs"], row["seconds"], row["method"]) == (2, 4, 1.5, "object")
    assert row["best_arm_share"] == pytest.approx((80 + 20 + 60 + 35) / 400)
    assert (row["policy"], row["epsilon"], row["arms"], row["horizon"]) == ("dp-se", 0.5, 3, 100)
    assert row["options"] == "{}"


def test_an_interval_has_only_possible_regrets():
    row = by_hand([[0, 100, 0], [100, 0, 0]]).statistics()  # regrets of 0 and 50 of 50 that are possible
    assert (row["low"], row["high"]) == (0.0, 50.0)


def test_without_scipy_there_is_no_interval_but_all_else(example, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    assert "interval" not in str(example)
    assert example.statistics()["mean"] > 0


def test_a_single_simulation_loads_as_itself(tmp_path, several):
    several[0].save(tmp_path / "one.npz")
    assert Simulation.load(tmp_path / "one.npz").setting == several[0].setting
    several.save(tmp_path / "three.npz")
    with pytest.raises(ArgumentError, match=r"holds 3 simulations: use Results.load"):
        Simulation.load(tmp_path / "three.npz")


def test_a_summary_has_a_row_for_each_setting(several):
    table = several.summary()
    assert table["policy"].tolist() == ["dp-se", "se", "ucb"]
    assert table["runs"].tolist() == [3, 2, 1]
    assert table["low"].isna().tolist() == [False, False, True]
    pd.testing.assert_frame_equal(several[0].summary(), table[:1])


@pytest.mark.parametrize("values", [[1.0, 2.0], [5.0, 5.0, 5.0], list(np.random.default_rng(1).random(30))])
def test_the_interval_is_students(values):
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    half = stats.t.ppf(0.975, len(values) - 1) * error
    assert interval(np.array(values)) == pytest.approx((mean - half, mean + half))


def test_a_single_run_has_no_interval(several):
    assert np.isnan(interval(np.array([3.0]))).all()
    assert np.isnan(several[2].statistics()["high"])
    assert ", 1 run, " in str(several[2])


def test_bands_are_the_quantiles_at_each_checkpoint(example):
    assert example.bands["mean"] == pytest.approx(example.regret.mean(axis=0))
    assert example.bands["q95"] == pytest.approx([np.quantile(example.regret[:, i], 0.95) for i in range(2)])
    assert (example.bands["q05"] <= example.bands["median"]).all()


# ---------------------------------------------------------------------- failures and ties


def test_a_run_has_failed_if_a_worse_arm_was_pulled_most(example):
    assert example.failed.tolist() == [False, True, False, True]
    assert example.failed.dtype == bool


def test_a_draw_is_no_failure_in_whatever_order_the_arms_are():
    assert not by_hand([[50, 50]], on=(0.2, 0.8)).failed.any()
    assert not by_hand([[50, 50]], on=(0.8, 0.2)).failed.any()
    assert by_hand([[51, 49]], on=(0.2, 0.8)).failed.all()


def test_two_best_arms_are_both_best():
    tied = by_hand([[10, 30, 60], [40, 50, 10], [30, 31, 39]], on=(0.5, 0.75, 0.75))
    assert tied.best_pulls[:, -1].tolist() == [90, 60, 70]
    assert not tied.failed.any()
    assert by_hand([[40, 30, 30]], on=(0.5, 0.75, 0.75)).failed.all()  # pulled more than either of them
    result = simulate("dp-se", [0.1, 0.9, 0.9], horizon=60_000, runs=2, epsilon=1.0)
    assert (result.best_pulls[:, -1] == 60_000 - result.pulls[:, 0]).all()
    assert result.final == pytest.approx(0.8 * result.pulls[:, 0])
    assert not result.failed.any()


# ---------------------------------------------------------------------- files

KINDS = [
    Bernoulli(0.3),
    Beta(2, 5),
    Uniform(0.1, 0.9),
    Discrete([0, 0.5, 1], [1, 2, 1]),
    Empirical([0.25, 0.5, 0.5]),
    TruncatedNormal(0.9, 0.2),
]


@pytest.mark.parametrize("arm", KINDS, ids=lambda arm: type(arm).__name__)
def test_what_is_saved_comes_back(tmp_path, arm):
    saved = simulate("se", [arm, 0.8], horizon=300, runs=3, seed=11, beta=0.1, checkpoints=[7, 100])
    path = tmp_path / "a new folder" / "results"  # no ending is put behind it
    saved.save(path)
    (loaded,) = Results.load(str(path))
    assert loaded.setting == saved.setting
    assert loaded.setting.identity == saved.setting.identity
    assert (loaded.seconds, loaded.method) == (saved.seconds, saved.method)
    for name, array in saved.arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert loaded.arrays[name].tolist() == array.tolist()
    assert [entry.name for entry in path.parent.iterdir()] == ["results"]


def test_several_come_back_in_order_and_a_file_is_overwritten(tmp_path, several):
    path = tmp_path / "results.npz"
    several[0].save(path)
    several.save(path)
    loaded = Results.load(path)
    assert repr(loaded) == repr(several)
    pd.testing.assert_frame_equal(loaded.to_pandas(), several.to_pandas())
    Results([]).save(path)
    assert len(Results.load(path)) == 0


def test_numpy_numbers_as_options_can_be_saved(tmp_path):
    options = {"epsilon": np.float32(0.5), "beta": 0.1, "max_pulls": np.int64(400)}
    simulate("dp-bai", [0.2, 0.8], horizon=500, runs=1, **options).save(tmp_path / "results")
    assert dict(Results.load(tmp_path / "results")[0].setting.options) == options


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, several):
    path = tmp_path / "results.npz"
    several[0].save(path)
    before = path.read_bytes()

    def interrupted(file, **_):
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        several[1].save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"there is no results file '.*nothing.npz'"):
        Results.load(tmp_path / "nothing.npz")


def other_files(folder, whole):
    """Files that are no results, by what is wrong with them."""
    np.savez(folder / "of somebody else", numbers=np.arange(3))
    np.save(folder / "one array", np.arange(3))
    return {
        "empty": b"",
        "text": b"policy,regret\ndp-se,12\n",
        "cut": whole[:-30],
        "half": whole[: len(whole) // 2],
        "of somebody else": (folder / "of somebody else.npz").read_bytes(),
        "one array": (folder / "one array.npy").read_bytes(),
    }


@pytest.mark.parametrize("what", ["empty", "text", "cut", "half", "of somebody else", "one array"])
def test_a_file_that_is_no_results_is_refused_kindly(tmp_path, several, what):
    path = tmp_path / "results.npz"
    several.save(path)
    path.write_bytes(other_files(tmp_path, path.read_bytes())[what])
    with pytest.raises(StateError, match=r"results.npz is not a file of simulation results, or it is damaged$"):
        Results.load(path)


def test_a_changed_byte_is_noticed_or_changes_nothing(tmp_path):
    path = tmp_path / "results.npz"
    saved = simulate("se", [0.2, 0.8], horizon=300, runs=2, checkpoints=[100])
    saved.save(path)
    whole, noticed = path.read_bytes(), 0
    for index in range(0, len(whole), 5):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 0xFF]) + whole[index + 1 :])
        try:
            (loaded,) = Results.load(path)
        except StateError:
            noticed += 1
        else:
            assert loaded.setting == saved.setting
            assert all((loaded.arrays[name] == array).all() for name, array in saved.arrays.items())
    assert noticed > len(whole) / 5 / 2


def test_a_file_of_a_newer_version_says_so(tmp_path, monkeypatch, several):
    path = tmp_path / "results.npz"
    with monkeypatch.context() as future:
        future.setattr("discreet.lab.results.FORMAT", 2)
        future.setattr("discreet._version.__version__", "99.0")
        several.save(path)
    with pytest.raises(StateError, match=r"results.npz was written by discreet 99.0; this one is older"):
        Results.load(path)


# ---------------------------------------------------------------------- JSON, sequences, pictures


def test_the_dictionary_is_json_also_for_one_run_and_without_epsilon(several):
    for one in several:
        found = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert found["simulated"] is True
        assert found["regret_by_run"] == one.final.tolist()
        assert found["pulls_by_run"] == one.pulls.tolist()
        assert found["dropped_by_run"] == one.dropped.tolist()
        assert found["final_regret"]["mean"] == one.mean
        assert found["arm_means"] == one.setting.instance.means.tolist()
        assert found["options"] == dict(one.setting.options)
    assert several[0].to_dict()["epsilon"] == 0.5
    assert several[2].to_dict()["epsilon"] is None
    assert several[2].to_dict()["final_regret"]["low"] is None


def test_results_are_a_sequence(several):
    assert len(several) == 3
    assert several[-1] is list(several)[2]
    part = several[1:]
    assert isinstance(part, Results)
    assert list(part) == [several[1], several[2]]
    assert several[0] in several
    with pytest.raises(IndexError):
        several[3]
    assert list(several[0]) == [several[0]]


def test_results_show_a_line_for_each_setting(several):
    lines = repr(several).split("\n")
    assert lines == [str(one) for one in several]
    assert lines[0].startswith("dp-se(epsilon=0.5) on C2, K = 5, T = 100000: mean regret ")
    assert lines[0].endswith(" 3 runs, 0 failed")
    assert repr(several[:0]) == "no simulations"


def test_a_plot_has_a_line_and_a_band_for_each_simulation(several):
    (axes,) = several[:2].plot().axes
    assert len(axes.lines) == len(axes.collections) == 2
    assert list(axes.lines[0].get_xdata()) == [10, 1000, 100_000]
    assert axes.lines[0].get_ydata() == pytest.approx(several[0].regret.mean(axis=0))
    assert several[0].plot(ax=axes) is axes.figure
    assert len(axes.lines) == 3


def test_a_plot_on_logarithmic_axes_bears_a_regret_of_zero():
    zero_at_first = simulate("dp-se", "C2", horizon=100_000, runs=2, epsilon=1.0, checkpoints=[1, 100])
    assert (zero_at_first.regret[:, 0] == 0).all()  # the best arm comes first in C1 to C4
    (axes,) = zero_at_first.plot(log=True).axes
    assert axes.get_xscale() == axes.get_yscale() == "log"
    axes.figure.savefig(io.BytesIO())


def test_a_notebook_shows_the_summary_and_the_curves(several):
    for shown in (several, several[0]):
        page = shown._repr_html_()
        assert "<table" in page
        assert "dp-se" in page
        assert 'src="data:image/png;base64,' in page


# ---------------------------------------------------------------------- rules


def test_statistics_of_a_rule_are_what_numpy_says():
    found, samples = rule_by_hand(), np.array([10, 30, 100, 20])
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


def test_a_person_reads_one_line_about_a_rule():
    assert str(rule_by_hand()) == (
        "nas(alpha=0.1, beta=0.05, max_samples=100) on Bernoulli(0.5): mean at least 40 samples, "
        "4 runs, 1 failed, 1 unfinished"
    )
    assert "samples (95 % interval " in str(simulate("nas", 0.5, runs=3, alpha=0.5, beta=0.1))
    assert ", 1 run, 0 failed, 0 unfinished" in str(simulate("nas", 0.5, runs=1, alpha=0.5, beta=0.1))


def test_tables_and_json_of_a_rule():
    found = rule_by_hand()
    columns = found.run_columns()
    assert columns["run"].tolist() == [0, 1, 2, 3]
    assert columns["failed"].tolist() == found.failed.tolist()
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["estimate_by_run"] == [0.5, 0.56, None, 0.45]
    assert data["samples"]["mean"] == 40
    assert data["options"]["max_samples"] == 100
    assert (data["epsilon"], data["simulated"]) == (None, True)


def test_a_rule_has_no_regret_and_a_policy_no_samples(example):
    with pytest.raises(ArgumentError, match=r"a simulation of nas has samples, estimates, reached, not regret"):
        _ = rule_by_hand().regret
    with pytest.raises(
        ArgumentError, match=r"a simulation of dp-se has regret, best_pulls, pulls, dropped, not samples"
    ):
        _ = example.samples
    assert (example.outcome == example.final).all()
    assert (rule_by_hand().outcome == rule_by_hand().samples).all()


def test_policies_and_rules_lie_in_one_file_and_in_one_table(tmp_path, example):
    both = Results([example, rule_by_hand()])
    both.save(tmp_path / "both")
    loaded = Results.load(tmp_path / "both")
    assert repr(loaded) == repr(both)
    assert len(loaded.runs_to_pandas()) == 8
    assert loaded.summary()["rule"].isna().tolist() == [True, False]
    assert len(both.to_pandas()) == 4 * 2 + 4
    assert "<table" in both._repr_html_()


@pytest.mark.parametrize(
    "law", [0.5, Discrete([-1, 1], [1, 3]), Uniform(0.2, 0.9), Empirical([0.25, 0.5, 0.5])], ids=str
)
def test_a_saved_rule_comes_back(tmp_path, law):
    saved = simulate("dp-nas", law, runs=3, seed=11, epsilon=2.0, max_samples=300, alpha=0.5, beta=0.1)
    saved.save(tmp_path / "runs")
    loaded = Simulation.load(tmp_path / "runs")
    assert loaded.setting == saved.setting
    assert all(array.tobytes() == loaded.arrays[name].tobytes() for name, array in saved.arrays.items())

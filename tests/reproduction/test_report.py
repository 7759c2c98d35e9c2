"""The evaluation has every setting of the paper, its pictures show the results, and the report stands alone."""

import re

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.core.errors import ArgumentError
from discreet.lab.engines import Serial
from discreet.lab.results import Results, Simulation
from discreet.reproduction import figures, report
from discreet.reproduction.distributions import LawGrid
from discreet.reproduction.evaluation import Evaluation, Findings, smallest_constant
from discreet.reproduction.league import LeagueStudy, standings
from discreet.reproduction.pictures.evaluation import every_picture
from discreet.reproduction.pictures.league import league_picture
from discreet.reproduction.pictures.stopping import every_stopping_picture
from discreet.reproduction.report import Reproduced
from discreet.reproduction.stopping import StoppingStudy
from discreet.reproduction.tables import write_tables
from discreet.theory import regret_lower_bound

SMALL = Evaluation(
    horizon=20_000,
    runs=3,
    instances=("C1", "C4"),
    arms=(3, 5),
    epsilons=(0.5, 1.0),
    constants=(1, 8),
    wide_sweep=(3, 1.0),
)


STUDY = StoppingStudy(
    runs=10,
    failure_runs=20,
    means=(0.2, 0.5),
    alphas=(0.5, 0.9),
    epsilons=(0.005, 0.01, 1.0),
    betas=(0.01, 0.05),
    failure_betas=(0.05, 0.4),
    laws=LawGrid(runs=10),
)


@pytest.fixture(scope="module")
def found():
    return SMALL.run()


LEAGUE = LeagueStudy(
    horizon=20_000,
    runs=3,
    many_runs=20,
    arms=(3, 5),
    epsilons=(1.0,),
    policies=("dp-chernoff-imed", "dp-imed", "dp-se"),
)


@pytest.fixture(scope="module")
def league():
    return LEAGUE.run()


@pytest.fixture(scope="module")
def stopping():
    return STUDY.run()


@pytest.fixture(scope="module")
def pictures(found):
    return {picture.name: picture for picture in every_picture(found)}


# ---------------------------------------------------------------------- what is simulated


def test_the_whole_evaluation_has_every_setting_of_the_paper_once():
    settings = Evaluation().settings()
    assert len({one.identity for one in settings}) == len(settings) == 372
    compared = [(one.policy, one.instance.name, len(one.instance), one.epsilon) for one in settings]
    for policy in ("dp-se", "dp-ucb"):
        for name in ("C1", "C2", "C3", "C4"):
            for arms in (3, 5, 10, 20):
                for epsilon in (0.1, 0.25, 0.5, 1.0):
                    assert (policy, name, arms, epsilon) in compared
    assert {(one.horizon, one.runs) for one in settings} == {(50_000_000, 30)}


def test_the_sweep_is_in_units_of_log_to_the_three_halves():
    wanted = Evaluation()
    policy = wanted.swept("C1", 5, 0.25, 8).build()
    assert policy.relaxation == pytest.approx(8 * np.log(5e7) ** 1.5 / 0.25)
    assert (
        wanted.default_constant(5, 0.25) == pytest.approx(wanted.default_constant(5, 1.0)) == pytest.approx(168, abs=1)
    )


def test_an_evaluation_that_could_not_be_reported_is_refused():
    with pytest.raises(ArgumentError, match=r"arms must hold 5, 20, got \(5,\)"):
        Evaluation(arms=(5,))


def test_from_which_constant_on_the_claim_holds():
    assert smallest_constant([(3, 90.0), (8, 0.5), (21, 5.0), (50, 12.0)]) == 21  # stuck runs at 3 do not count
    assert smallest_constant([(8, 0.5), (21, 4.99)]) is None


# ---------------------------------------------------------------------- pictures


def test_the_papers_twelve_figures_have_its_panels_and_curves(found):
    full = Evaluation()
    stand_in = {one.identity: one for one in full.settings()}

    class Known(Findings):
        def __init__(self):
            self.evaluation = full

        def __getitem__(self, setting):
            assert setting.identity in stand_in
            marks, runs = len(setting.checkpoints), 2
            arms = len(setting.instance)
            zeros = np.zeros((runs, arms), np.int64)
            return Simulation(setting, np.ones((runs, marks)), np.ones((runs, marks), int), zeros, zeros, 0.0, "kernel")

    drawn = every_picture(Known())
    paper = [picture for picture in drawn if picture.name.startswith("paper-")]
    assert [len(picture.panels) for picture in paper] == [2] * 4 + [4] * 8
    for picture in paper:
        for panel in picture.panels:
            assert sorted(line.label.split(",")[0] for line in panel.lines) == ["DP-SE", "DP-SE", "DP-UCB", "DP-UCB"]
    assert len(drawn) + 1 + 6 + 2 == report.steps(full, StoppingStudy())


def test_lines_are_the_results(found, pictures):
    (panel,) = pictures["paper-epsilon-C4"].panels
    lines = {line.label: line for line in panel.lines}
    for label, one in (("DP-SE, ε = 0.5", found.dp_se("C4", 5, 0.5)), ("DP-UCB, ε = 1", found.dp_ucb("C4", 5, 1.0))):
        assert (lines[label].y == one.regret.mean(axis=0)).all()
        assert (lines[label].low == np.quantile(one.regret, 0.05, axis=0)).all()
        assert (lines[label].high == np.quantile(one.regret, 0.95, axis=0)).all()
        assert lines[label].x[-1] == 20_000
    (logarithmic,) = pictures["log-epsilon-C4"].panels
    lines = {line.label: line for line in logarithmic.lines}
    assert lines["UCB (not private)"].y[-1] == found.plain("ucb", "C4", 5).mean
    means = found.dp_se("C4", 5, 1.0).setting.instance.means.tolist()
    assert lines["lower bound, ε = 1"].y[-1] == regret_lower_bound(means, 20_000, 1.0)
    sweep = pictures["sweep-5-arms"]
    top, stuck = sweep.panels[0].lines[0], sweep.panels[1].lines[0]
    row = [*found.swept("C1", 5, 0.5), found.dp_ucb("C1", 5, 0.5)]
    assert list(top.y) == [one.mean / found.dp_se("C1", 5, 0.5).mean for one in row]
    assert list(stuck.y) == [one.failed.sum() for one in row]


def test_axes_are_named_and_lines_can_be_told_apart(pictures):
    for picture in pictures.values():
        assert picture.caption
        for panel in picture.panels:
            assert panel.x_label
            assert panel.y_label
            looks = [(line.colour, line.style, line.marker) for line in panel.lines]
            assert len(set(looks)) == len(looks)


def test_nothing_overlaps_the_legend_or_leaves_the_picture(pictures, stopping, league):
    for picture in (*pictures.values(), league_picture(league), *every_stopping_picture(stopping)):
        figure = figures.paint(picture)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        box, page = legend.get_window_extent(), figure.bbox
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        for ax in figure.axes:
            tight = ax.get_tightbbox()
            assert not box.overlaps(tight), picture.name
            assert tight.x0 >= page.x0 - 1
            assert tight.x1 <= page.x1 + 1
            assert tight.y1 <= page.y1 + 1


# ---------------------------------------------------------------------- the report


def test_the_report_stands_alone(found, stopping, league, tmp_path):
    told = []
    everything = Reproduced(found, stopping, league)
    page = report.write_report(everything, tmp_path, seconds=1.5, engine=Serial(), on_progress=told.append)
    assert sum(told) == report.steps(SMALL, STUDY)
    drawn = [*every_picture(found), league_picture(league), *every_stopping_picture(stopping)]
    html = page.read_text()
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", html)
    assert "<script" not in html
    for picture in drawn:
        assert (tmp_path / "figures" / f"{picture.name}.png").stat().st_size > 5000
        assert (tmp_path / "figures" / f"{picture.name}.pdf").read_bytes().startswith(b"%PDF")
        assert f'id="{picture.name}"' in html
        assert html.count(f"(figures/{picture.name}.png") == 1
    assert html.count("data:image/png;base64,") == len(drawn)
    for text in ("95 % interval", "median", "failed", "2019", "numpy", "20,000", "1.5 s"):
        assert text in html
    for name, arms, epsilon in found.paper_settings():
        ratio = found.ratio(name, arms, epsilon)
        assert f"{ratio:.1f}" in html or f"{ratio:.2f}" in html


def test_headlines_count_what_is_there(found, stopping, league):
    ratios = [found.ratio(*setting) for setting in found.paper_settings()]
    first = report.headlines(Reproduced(found, stopping, league))[0]
    assert f"in {sum(ratio >= 5 for ratio in ratios)} of {len(ratios)} settings" in first
    assert f"the smallest ratio is {min(ratios):.2f}" in first


def test_a_claim_that_fails_is_marked(found, stopping, league, monkeypatch):
    monkeypatch.setattr(report, "CLAIM", 1e9)
    pictures = every_picture(found)
    html = report.render(
        Reproduced(found, stopping, league), pictures, dict.fromkeys((p.name for p in pictures), ""), 1.0
    )
    assert html.count("✗</td>") == len(found.paper_settings()) + 2 * 2 * 2  # and the two other forms, with five arms


def test_tables_are_tidy_and_equal_in_both_formats(found, stopping, league, tmp_path):
    write_tables((found.results, stopping.results, league.rows), tmp_path)
    tables = {}
    for name in ("settings", "runs", "arms", "curves", "stopping", "stopping_runs", "league"):
        tables[name] = pd.read_parquet(tmp_path / f"{name}.parquet")
        again = pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False, na_values={"epsilon": [""]})
        pd.testing.assert_frame_equal(tables[name], again, check_dtype=False, rtol=1e-8)
    assert len(tables["stopping"]) == len(stopping.results)
    assert len(tables["stopping_runs"]) == sum(map(len, stopping.results))
    settings = len(found.results)
    assert len(tables["settings"]) == settings
    assert len(tables["runs"]) == settings * 3
    assert len(tables["curves"]) == sum(len(one.setting.checkpoints) for one in found.results)
    assert (
        tables["arms"].groupby(["policy", "epsilon", "options", "instance", "arms", "run"], dropna=False).pulls.sum()
        == 20_000
    ).all()
    assert isinstance(found.results, Results)


# ---------------------------------------------------------------------- the league


def test_the_league_has_every_private_policy_that_can_be_played_at_every_place():
    study = LeagueStudy()
    private = {name for name, kind in discreet.POLICIES.items() if kind.privacy_reason is not None}
    people = {name for name, kind in discreet.POLICIES.items() if kind.privacy_unit is discreet.Unit.PERSON}
    assert people == {"dp-se-person", "dp-se-sharp-person"}  # they promise more, and play in no league with the others
    assert private - people - set(study.policies) == {"dp-bai", "dp-bai-sharp"}  # which have no regret
    settings = study.settings()
    assert len(settings) == len(set(settings))
    for policy in study.policies:
        played = [one for one in settings if one.policy == policy]
        assert len(played) == 64 + 12


def test_slow_policies_get_few_runs_and_in_a_crowd_fewest():
    study = LeagueStudy()
    assert [study.runs_of("lazy-dp-ts", place) for place in (("C1", 10, 0.1), ("C1", 20, 0.1), ("R3", None, 1.0))] == [
        study.slow_runs, study.crowd_runs, study.crowd_runs,
    ]  # fmt: skip
    assert [study.runs_of("lazy-ucb", ("C1", arms, 0.1)) for arms in (5, 20)] == [study.many_runs, study.runs]
    assert LeagueStudy(runs=1).runs_of("lazy-dp-ts", ("C1", 20, 0.1)) == 1
    assert study.settings()[0].label == "lazy-dp-ts(epsilon=0.1) on R3, K = 50, T = 50000000"


def test_what_the_evaluation_has_is_not_simulated_again():
    league, paper = set(LeagueStudy().settings()), set(Evaluation().settings())
    assert {one.policy for one in league & paper} == {"dp-se", "dp-ucb"}
    assert len(league & paper) == 2 * 64


def test_rows_and_standings_are_the_results(league):
    rows = league.rows
    assert len(rows) == 3 * (4 * 2 + 3)
    one = league.of("dp-imed", ("C2", 5, 1.0))
    (row,) = (r for r in rows if (r["policy"], r["instance"], r["arms"]) == ("dp-imed", "C2", 5))
    bound = regret_lower_bound(one.setting.instance.means, 20_000, 1.0)
    assert row["over_lower_bound"] == pytest.approx(one.mean / bound)
    assert row["q95"] == np.quantile(one.final, 0.95)
    assert row["q999"] == np.quantile(one.final, 0.999)
    assert row["over_dp_se"] == pytest.approx(one.mean / league.of("dp-se", ("C2", 5, 1.0)).mean)
    table = standings(rows, "paper")
    assert [r["median"] for r in table] == sorted(r["median"] for r in table)
    (mine,) = (r for r in table if r["policy"] == "dp-imed")
    assert mine["runs"] == 4 * 20 + 4 * 3
    assert mine["worst"] == max(league.ratios("dp-imed", "paper"))


def test_the_league_says_what_it_found(league):
    said = report.league_headlines(league)
    ratios = league.ratios("dp-chernoff-imed", "rare")
    assert f"{min(ratios):.2f} to {max(ratios):.2f} times the regret" in said[1]
    (panel, _) = league_picture(league).panels
    assert [cloud.values for cloud in panel.clouds] == [league.ratios(p, "paper") for p in LEAGUE.policies]

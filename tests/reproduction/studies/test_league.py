"""The league has every private policy at every place, and its rows are the results."""

import numpy as np
import pytest

import discreet
from discreet.reproduction.headlines import league_headlines
from discreet.reproduction.pictures.league import league_picture
from discreet.reproduction.studies.evaluation import Evaluation
from discreet.reproduction.studies.league import LeagueStudy, standings
from discreet.reproduction.studies.roads import ROADS, START
from discreet.theory import regret_lower_bound


def test_the_league_has_every_private_policy_that_can_be_played_at_every_place():
    study = LeagueStudy()
    private = {name for name, kind in discreet.POLICIES.items() if kind.reason is not None}
    people = {name for name, kind in discreet.POLICIES.items() if kind.unit is discreet.Unit.PERSON}
    assert people == {"dp-se-person", "dp-se-sharp-person"}  # they promise more, and play in no league with the others
    searches = {"dp-bai", "dp-bai-sharp", "dp-bai-evidence", "dp-bai-budget"}  # no regret
    tests = {"dp-ab", "dp-ab-open"}
    apart = searches | tests | {road.policy for road in (*ROADS[:3], START)}  # measured against K
    assert private - people - set(study.policies) == apart
    settings = study.settings()
    assert len(settings) == len(set(settings))
    for policy in study.policies:
        played = [one for one in settings if one.algorithm == policy]
        assert len(played) == 64 + 12


def test_slow_policies_get_few_runs_and_with_many_arms_fewest():
    study = LeagueStudy()
    assert [study.runs_of("lazy-dp-ts", place) for place in (("C1", 10, 0.1), ("C1", 20, 0.1), ("R3", None, 1.0))] == [
        study.slow_runs, study.slowest_runs, study.slowest_runs,
    ]  # fmt: skip
    assert [study.runs_of("lazy-ucb", ("C1", arms, 0.1)) for arms in (5, 20)] == [study.many_runs, study.runs]
    assert LeagueStudy(runs=1).runs_of("lazy-dp-ts", ("C1", 20, 0.1)) == 1
    assert study.settings()[0].label == "lazy-dp-ts(epsilon=0.1) on R3, K = 50, T = 50000000"


def test_settings_of_the_evaluation_are_not_simulated_again():
    league, paper = set(LeagueStudy().settings()), set(Evaluation().settings())
    assert {one.algorithm for one in league & paper} == {"dp-se", "dp-ucb"}
    assert len(league & paper) == 2 * 64
    beyond = set(Evaluation(extended=True).settings())
    assert {one.algorithm for one in league & beyond - paper} == {"dp-se-svt", "dp-se-modified"}


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
    sentences = league_headlines(league)
    ratios = league.ratios("dp-chernoff-imed", "rare")
    assert f"{min(ratios):.2f} to {max(ratios):.2f} times the regret" in sentences[1]
    (panel, _) = league_picture(league).panels
    assert [cloud.values for cloud in panel.clouds] == [league.ratios(p, "paper") for p in league.study.policies]

"""Regret against the number of arms: every road is measured at every K, and fitted powers are those of its regrets."""

import numpy as np
import pytest

from discreet.reproduction.studies.roads import ROADS, START, RoadsStudy, roads_headlines, roads_picture, slopes


def test_every_road_is_measured_at_every_number_of_arms_and_every_gap():
    study = RoadsStudy()
    settings = study.settings()
    assert len(settings) == len(set(settings)) == (6 * len(ROADS) + 1) * study.gaps
    for setting in settings:
        gaps = setting.instance.gaps
        assert np.ptp(gaps[1:]) == 0
        assert gaps[0] == 0
        assert 0.4 < gaps[1] <= 0.8  # within a factor of two
    assert {setting.epsilon for setting in settings} == {study.epsilon}
    assert {len(one.instance) for one in settings if one.algorithm == START.policy} == {2}
    assert len(settings[0].instance) == 64
    small = RoadsStudy.quick(seed=3)
    assert (small.seed, len(small.settings())) == (3, (4 * len(ROADS) + 1) * 2)


def test_regrets_are_means_over_runs_and_gaps(roads):
    for road in ROADS:
        for place, arms in enumerate(roads.study.arms):
            final = np.concatenate([one.final for one in roads.of(road, arms)])
            assert roads.regret(road)[place] == pytest.approx(final.mean())
    assert roads.failed == 0
    assert roads.regret(START).size == 1


def test_a_fitted_power_is_the_slope_of_the_regrets_and_within_its_interval(roads):
    for road, row in zip(ROADS, roads.rows, strict=True):
        regrets = [row[f"regret_{arms}"] for arms in roads.study.arms]
        assert regrets == pytest.approx(roads.regret(road).tolist())
        expected = np.polyfit(np.log(roads.study.arms), np.log(regrets), 1)[0]
        assert row["power"] == pytest.approx(expected)
        assert row["power_low"] - 1e-9 <= row["power"] <= row["power_high"] + 1e-9
        assert row["expected"] == road.power == sum(road.law)


def test_a_bootstrap_shows_what_gaps_and_runs_vary(roads, monkeypatch):
    """Runs that all agree have no interval; runs that differ have one."""
    road, study = ROADS[0], roads.study
    width = {}
    for spread in (0.0, 0.2):
        rng = np.random.default_rng(1)

        class Found:
            def __init__(self, arms, spread=spread, rng=rng):
                self.final = arms**2 * np.exp(spread * rng.standard_normal(8))

        found = {arms: [Found(arms), Found(arms)] for arms in study.arms}
        monkeypatch.setattr(roads, "of", lambda _, arms, found=found: found[arms])
        power = roads.exponent(road)
        width[spread] = power.high - power.low
        assert power.value == pytest.approx(2, abs=0.2)
        assert power.low - 1e-9 <= power.value <= power.high + 1e-9
    assert width[0.0] == pytest.approx(0)
    assert 0.05 < width[0.2] < 0.5


def test_laws_fit_more_than_their_powers_at_few_arms():
    arms = np.array(RoadsStudy().arms, dtype=float)
    fitted = {road.law: slopes(arms, road.law_at(arms)[None])[0] for road in ROADS}
    assert fitted[(0, 1)] == pytest.approx(1.174, abs=1e-3)
    assert fitted[(1, 1)] == pytest.approx(fitted[(0, 1)] + 1)
    assert fitted[(0, 2)] == pytest.approx(2 * fitted[(0, 1)])


def test_a_picture_has_every_road_and_the_sentences_every_power(roads):
    (panel,) = roads_picture(roads).panels
    assert [line.label.split(":")[0] for line in panel.lines[: len(ROADS)]] == [road.name for road in ROADS]
    assert panel.x_log
    assert panel.y_log
    first, laws, last = roads_headlines(roads)
    for row in roads.rows:
        assert f"{row['road']} {row['power']:.2f} (" in first
    for row in roads.rows:
        assert f"fits {row['law']:.2f}" in laws
    assert "DP-SE's regret" in last


@pytest.mark.study
def test_the_roads_not_taken_cost_k_squared_and_epochs_cost_k(page):
    """At full size: the powers of the laws, with what logarithms of K and doubling times add."""
    found = RoadsStudy().run()
    for row in found.rows:
        page("Regret against K", road=row["road"], power=row["power"], law=row["law"])
        assert abs(row["power"] - row["law"]) < 0.15, row
    assert found.failed == 0

"""The study of tests: rows are those of the tests, and sentences and pictures say what was found."""

import numpy as np
import pytest

from discreet import DPOpenEndedTest, DPSequentialTest, DPTwoSampleTest
from discreet.core.probability.divergences import kl, private_kl
from discreet.reproduction.studies.sequential import (
    KINDS,
    SequentialStudy,
    sequential_headlines,
    sequential_pictures,
    without_noise,
)
from discreet.sequential._two_sample_runs import open_runs_of


def test_a_quick_study_is_smaller():
    quick, full = SequentialStudy.quick(seed=3), SequentialStudy()
    assert quick.seed == 3
    assert len(quick.pairs) < len(full.pairs) == 15
    assert len(quick.ab_tests) < len(full.ab_tests) == 8
    assert full.settings() == []


def test_rows_are_those_of_the_tests(sequential):
    for row in sequential.rows:
        low, high, epsilon = (row[name] for name in ("null", "alternative", "epsilon"))
        forecast = DPSequentialTest(null=low, alternative=high, epsilon=epsilon).forecast()
        for side, outlook, way in zip(
            ("under_null", "under_alternative"), forecast, ((low, high), (1 - high, 1 - low)), strict=True
        ):
            assert row[side] == pytest.approx(outlook.mean * private_kl(*way, epsilon) / kl(0.95, 0.05), rel=1e-6)
        assert max(row["alpha"], row["beta"]) <= 0.05
        assert 1 < row["under_null"] < row["any_law"] < 3


def test_a_b_tests_are_measured_by_the_usual_one(sequential):
    (row,) = sequential.ab_rows
    given = {"epsilon": 1.0, "base_rate": 0.3, "effect": 0.06}
    planned = DPTwoSampleTest(["A", "B"], **given)
    equal, better = planned.forecast()
    assert row["planned_better"] == pytest.approx(better.mean / (2 * planned.usual), rel=0.05)
    assert row["planned_not"] == pytest.approx(equal.mean / (2 * planned.usual), rel=0.05)
    assert row["planned_most"] == pytest.approx(better.at_most / (2 * planned.usual))
    assert row["usual"] == pytest.approx(2 * planned.usual)
    assert row["false_alarms"] < 0.1
    assert row["power"] > 0.7


def test_the_twin_is_a_test_of_exact_totals():
    rule = DPOpenEndedTest(["A", "B"], epsilon=0.1, base_rate=0.3, effect=0.06).rule
    twin = without_noise(rule)
    assert (twin.block, twin.alpha, twin.beta) == (rule.block, rule.alpha, rule.beta)
    totals = np.array([120.0]), np.array([100.0])
    exact, noisy = (one.better.log_evidence(*totals, 300, 1)[0] for one in (twin, rule))
    assert exact > noisy
    taken = [open_runs_of(one, (0.3, 0.36), 50, np.random.default_rng(1)).people.mean() for one in (twin, rule)]
    assert taken[0] < taken[1]


def test_sentences_and_pictures_say_what_was_found(sequential):
    bound, planned, forever = sequential_headlines(sequential)
    (row,) = sequential.ab_rows
    assert f"{max(one['any_law'] for one in sequential.rows):.2f} times for samples of any law" in bound
    assert f"{100 * row['power']:.1f} % or more" in planned
    assert f"{row['open_better'] / row['twin_better']:.2f} times their twins" in forever
    shown, people = sequential_pictures(sequential)
    assert [panel.title for panel in shown.panels] == ["ε = 0.1", "ε = 1"]
    assert [line.label for line in people.panels[0].lines[:-1]] == list(KINDS.values())
    assert [line.y[0] for line in people.panels[0].lines[:-1]] == [row[name] for name in KINDS]

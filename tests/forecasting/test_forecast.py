"""Forecasts: what they say, of what, and in which forms."""

import json
from datetime import timedelta

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, forecast
from discreet.forecasting.halting import halting_times

RATES = [0.2, 0.5, 0.35]


@pytest.fixture(scope="module")
def found():
    return forecast(RATES, epsilon=[0.1, 1], beta=0.05, per_day=100)


def test_a_forecast_has_a_row_for_each_epsilon(found):
    assert [row.epsilon for row in found] == [0.1, 1.0]
    assert len(found) == 2
    for row in found:
        assert 0 < row.median <= row.high
        assert row.right >= 0.95
        assert row.days == pytest.approx(row.mean / 100)
        assert (row.worst_case, row.worst_days) == (None, None)
    assert found[0].mean > found[1].mean  # more privacy, more people
    assert found.algorithm == "dp-bai-evidence"
    assert "promised" not in str(found).lower()


def test_a_search_that_promises_a_number_says_it():
    found = forecast(RATES, epsilon=[0.1, 1], beta=0.05, per_day=100, policy="dp-bai-sharp")
    for row, fewer in zip(found, forecast(RATES, epsilon=[0.1, 1], beta=0.05), strict=True):
        assert 0 < row.median <= row.high <= row.worst_case
        assert row.worst_days == pytest.approx(row.worst_case / 100)
        assert fewer.mean < 1.05 * row.mean
    assert "Promised is what it takes at most" in str(found)


def test_a_forecast_shows_itself(found):
    text = str(found)
    assert "the best of 3 arms with rates 20 %, 50 % and 35 %, wrong with probability 0.05 at most" in text
    assert "people, mean" in text
    assert "days, mean" in text
    document = json.loads(found.to_json())
    assert [row["epsilon"] for row in document["outlooks"]] == [0.1, 1.0]
    assert document == found.to_dict()
    assert list(found.to_pandas()["mean"]) == [row.mean for row in found]
    axes, *_ = found.plot().axes
    mean = next(line for line in axes.get_lines() if line.get_label() == "mean")
    assert mean.get_ydata().tolist() == [row.mean for row in found]


def test_the_same_seed_gives_the_same_forecast(found):
    assert forecast(RATES, epsilon=[0.1, 1], beta=0.05, per_day=100) == found
    assert forecast(RATES, epsilon=[0.1, 1], beta=0.05, per_day=100, seed=1) != found


def test_a_base_rate_and_a_lift_are_rates():
    assert (
        forecast(base_rate=0.3, lift=0.5, arms=3, epsilon=1).outlooks == forecast([0.3, 0.3, 0.45], epsilon=1).outlooks
    )


def test_a_gap_alone_is_the_worst_case_and_says_so():
    found = forecast(gap=0.2, arms=3, epsilon=1, per_day=100)
    (row,) = found
    policy = discreet.DPSharpBestArm(range(3), epsilon=1.0, beta=0.05)
    assert row.worst_case == 3 * policy.schedule.pulls_for(0.2)
    assert (row.mean, row.right, found.runs) == (None, None, 0)
    assert "This is the worst case" in str(found)
    assert "give a base rate and a lift" in str(found)
    assert "dp-bai-evidence, which is recommended" in str(found)
    assert found.algorithm == "dp-bai-sharp"
    assert "mean" not in str(found)
    assert found.plot().axes


def test_waiting_for_late_rewards_takes_days():
    quick = forecast([0.2, 0.5], epsilon=1, per_day=1000)
    late = forecast([0.2, 0.5], epsilon=1, per_day=1000, window=timedelta(days=2))
    assert late[0].days >= 2 + late[0].mean / 1000
    assert late[0].days > quick[0].days


def test_other_units_and_policies():
    person = forecast([0.2, 0.5], epsilon=1, unit="person")
    assert person.algorithm == "dp-se-sharp-person"
    assert forecast([0.2, 0.5], epsilon=1, policy="dp-bai").algorithm == "dp-bai"
    with pytest.raises(ArgumentError, match="only eliminations"):
        forecast([0.2, 0.5], epsilon=1, policy="dp-se-difference")


def test_a_mean_is_forecast_by_the_rule_itself():
    found = forecast(0.3, alpha=0.2, epsilon=[0.5, 2], per_day=100)
    for row in found:
        rule = discreet.DPInverseSampling(epsilon=row.epsilon, alpha=0.2, beta=0.05, low=0, high=1)
        assert row.mean == pytest.approx(rule.forecast(mean=0.3), rel=0.1)
        assert row.days == pytest.approx(row.mean / 100)
    assert found.algorithm == "dp-inverse"
    assert "a mean of 30 % to within 0.2 of itself" in str(found)


@pytest.mark.parametrize("kind", [discreet.DPBernstein, discreet.DPInverseSampling])
def test_rules_halt_as_on_a_stream(kind):
    rule = kind(epsilon=0.5, alpha=0.3, beta=0.1, low=0, high=1)
    rng, streams = np.random.default_rng(1), []
    for run in range(60):
        driver = discreet.Stream(rule, discreet.SimulatedNoise(run))
        driver.feed(rng.random(100_000) < 0.2)
        streams.append(driver.result.samples)
    times = halting_times(rule, 0.2, 300, seed=2)
    assert set(streams) <= set(times.tolist()) | {min(streams), max(streams)}
    assert times.mean() == pytest.approx(np.mean(streams), rel=0.15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give rates, or base_rate and lift, or a gap; got none"),
        ({"rates": [0.1, 0.2], "gap": 0.1}, "got several"),
        ({"rates": [0.1, 0.1]}, "rates must have one best arm, got 0.1 twice"),
        ({"rates": [0.1]}, "rates must be of two arms at least"),
        ({"rates": [0.1, 1.2]}, "rates must lie between 0 and 1"),
        ({"rates": [0.1, 0.2], "arms": 3}, "arms is for base_rate or gap"),
        ({"rates": [0.1, 0.2], "alpha": 0.1}, "alpha is for a mean"),
        ({"rates": 0.1}, "alpha must be given for a mean"),
        ({"rates": ["3%", 0.1]}, "rates must be a number"),
        ({"base_rate": 0.1}, "lift is missing"),
        ({"lift": 0.1}, "base_rate is missing"),
        ({"base_rate": 0.9, "lift": 0.5}, "lift must leave the best rate below 1"),
        ({"base_rate": 0.1, "lift": -0.5}, "lift must be above 0"),
        ({"gap": 2}, "gap must lie between 0 and 1"),
        ({"gap": 0.1, "arms": 1}, "arms must be at least 2"),
        ({"rates": [0.1, 0.2], "window": timedelta(1)}, "per_day must be given with a window"),
        ({"rates": [0.1, 0.2], "per_day": 5, "window": 1}, "window must be a datetime.timedelta"),
        ({"rates": [0.1, 0.2], "per_day": 0}, "per_day must be a number above 0"),
        ({"rates": [0.1, 0.2], "epsilon": []}, "epsilon must be a number above 0, or several"),
        ({"rates": [0.1, 0.2], "epsilon": [1, 0]}, "epsilon must be a number above 0"),
        ({"rates": [0.1, 0.2], "beta": 1}, "beta must lie strictly"),
    ],
)
def test_what_makes_no_sense_is_explained(options, message):
    with pytest.raises(ArgumentError, match=message):
        forecast(**{"epsilon": 1, **options})

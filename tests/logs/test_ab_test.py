"""A/B tests on a log: verdicts, the rows that they take, refusals, exit codes."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import ArgumentError, SimulatedNoise

ASK = {"arm": "variant", "reward": "converted", "control": "A", "epsilon": 1.0}


def log(rates=(0.2, 0.3), rows=20_000, seed=1, **more):
    rng = np.random.default_rng(seed)
    names = np.array(list("ABCD")[: len(rates)])[np.arange(rows) % len(rates)]
    chances = np.array(rates)[np.arange(rows) % len(rates)]
    found = {"user": np.arange(rows), "variant": names, "converted": (rng.random(rows) < chances).astype(int)}
    return pd.DataFrame({**found, **more})


def answer(table, seed=1, **options):
    return discreet.ab_test(table, **{**ASK, "lift": 0.3, "order": "user", **options}, noise=SimulatedNoise(seed))


def test_a_better_variant_is_shown_with_its_lift_from_few_rows():
    found = answer(log())
    assert found.shown
    assert found.verdicts == {"B": "shown"}
    assert found.claim.startswith("B is better than A: a mean of 0.")
    assert "a lift of +" in found.claim
    assert "false with probability 0.05 at most" in found.claim
    (low, high), level = found.difference("B")
    assert 0 < low < 0.1 < high
    assert level == pytest.approx(0.9)
    assert found.rows_read < 6000
    assert found.pilot.rows < 1500
    assert 0.1 < found.pilot.rate < 0.4
    assert f"{found.pilot.rows:,} rows of A said" in found.source
    assert discreet.spent(found.ledger) == 1.0


def test_a_given_rate_needs_no_pilot():
    found = answer(log(), base_rate=0.2)
    assert found.pilot is None
    assert found.used["A"] == found.used["B"]
    assert found.to_dict()["base_rate"] == 0.2
    assert found.to_dict()["effect"] == pytest.approx(0.06)


def test_what_is_not_there_is_not_shown():
    found = answer(log((0.2, 0.2)), base_rate=0.2)
    assert found.verdicts == {"B": "not shown"}
    assert not found.shown
    assert found.reached
    assert "B was not shown to be better than A" in found.claim
    assert "would have been missed with probability 0.2" in found.claim
    (low, high), _ = found.difference("B")
    assert low <= 0 <= high


def test_no_row_of_the_pilot_is_in_the_test():
    table = log((0.5, 0.5), rows=4000)
    found = answer(table, lift=0.4)
    assert found.used["A"] >= found.pilot.rows + found.algorithm.taken["A"]
    assert found.used["B"] == found.algorithm.taken["B"]


def test_several_variants_and_a_margin():
    found = answer(log((0.2, 0.21, 0.4)), base_rate=0.2)
    assert found.verdicts["C"] == "shown"
    assert {row["arm"]: row["verdict"] for row in found.table()}["A"] == "control"
    first, *lines = str(found).splitlines()
    assert first == "Better than A: C; not shown to be: B."
    assert [line.split(":")[0] for line in lines if " than A: " in line] == [
        "B was not shown to be better than A",
        "C is better than A",
    ]
    worse = answer(log((0.3, 0.3)), lift=None, effect=0.0, margin=0.1, base_rate=0.3)
    assert "B is not worse than A by 0.1 or more" in worse.claim


def test_rewards_of_any_law_take_the_open_ended_test():
    rng = np.random.default_rng(2)
    table = log(rows=40_000)
    table["converted"] = rng.beta(2, 5, 40_000) * 10 * np.where(table.variant == "B", 1.25, 1.0)
    found = answer(table, open_ended=True, low=0, high=15, base_rate=3.0, lift=0.2)
    assert found.algorithm.key == "dp-ab-open"
    assert found.verdicts == {"B": "shown"}
    assert found.difference("B")[1] == 0.95


def test_it_says_what_would_make_the_verdict_void():
    by_user = answer(log(), base_rate=0.2, unit="user")
    assert by_user.void == (
        "Void if there are arms that were not given to people by chance, means that change along 'user', or rows that "
        "are lost for one arm more than for another."
    )
    assert by_user.void in str(by_user)
    assert by_user.to_dict()["void"] == by_user.void
    in_random_order = answer(log(), base_rate=0.2, order=None)
    assert "people with several rows, if no unit is named" in in_random_order.void
    assert "change along" not in in_random_order.void


def test_a_log_that_ends_first_has_no_verdict():
    found = answer(log(rows=600), base_rate=0.2, lift=0.1)
    assert not found.reached
    assert found.verdicts == {"B": None}
    assert "the log ended" in found.claim
    json.loads(found.to_json())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lift": None}, "give lift or effect"),
        ({"effect": 0.1}, "give lift or effect"),
        ({"lift": -0.1}, "lift must be a number above 0, got -0.1"),
        ({"low": -1, "high": 1}, "lift needs low >= 0, or it means nothing, got low=-1; give effect instead"),
        ({"control": "Z"}, "control must be one of 'A', 'B', got 'Z'"),
        ({"alpha": 2}, "alpha must lie strictly between 0 and 1, got 2"),
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"base_rate": 0.9, "lift": 0.5}, "base_rate and effect must add up to less than 1"),
        ({"table": log(rows=100)}, "base_rate must be given: .* were not enough to estimate it"),
    ],
)
def test_bad_arguments_are_refused_with_a_sentence(options, message):
    table = options.pop("table", None)
    with pytest.raises(ArgumentError, match=message):
        answer(log(rows=2000) if table is None else table, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": ["A"]}, "arms"),
        ({"alpha": 1e-6}, "alpha must be at least 1e-06"),  # of which each of two variants has a half
        ({"low": -1, "high": 1}, "lift needs low >= 0"),
        ({"lift": None, "effect": -0.1}, "effect"),
    ],
)
def test_nothing_is_drawn_before_the_options_are_checked(options, message, monkeypatch):
    monkeypatch.setattr(sys.modules["discreet.logs.ab_test"], "_pilot", lambda *given: pytest.fail("rows were drawn"))
    with pytest.raises(ArgumentError, match=message):
        answer(log((0.2, 0.2, 0.2), rows=2000), **options)


@pytest.mark.parametrize(("rates", "options"), [((0.9, 0.95), {"lift": 0.6}), ((0.2, 0.2), {"lift": 1e-5})])
def test_a_refusal_after_the_estimate_says_what_was_spent(rates, options):
    with pytest.raises(
        ArgumentError, match=r"The estimate of the control's rate has spent epsilon = 1 on [\d,]+ rows of 'A'\."
    ):
        answer(log(rates), **options)

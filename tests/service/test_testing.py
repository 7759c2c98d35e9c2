"""Sequential tests as experiments: their verdicts, what they ask for, and how long they take."""

import numpy as np
import pytest

from discreet import DPOpenEndedTest, DPTwoSampleTest
from discreet.core.errors import ArgumentError
from discreet.core.noise import PrivateNoise
from discreet.service.dashboard.summaries import headline
from discreet.service.errors import ServiceProblem
from discreet.service.experiments import standing
from discreet.service.experiments.planning import plan_experiment
from discreet.service.experiments.statements import testing
from discreet.service.messages import PlannerRequest
from tests._tools.service_tools import draft, new_file

FOUND = {"base_rate": 0.3, "effect": 0.1}
TEST = {"privacy_unit": "event", "population": "crowd", "source": "totals", "policy": "dp-ab", "options": FOUND}


@pytest.fixture
def url(file, tmp_path):
    """SQLite alone: nothing here depends on the database."""
    return new_file(file, tmp_path)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Noise that is 0, so that what is found out does not depend on luck."""
    monkeypatch.setattr(PrivateNoise, "draws", lambda self, scale, count: np.zeros(count, dtype=np.int64))


def play(world, rates, name="banners", most=12, **more):
    """A test that was fed until it ended, with exactly these rates."""
    world.start(name, "1", **{**TEST, "arms": list(rates), **more})
    for _ in range(most):
        if world.control.experiment(name).epoch is None:
            break
        plan = world.control.open_plan(name)
        totals = {arm: round(rates[arm] * pulls) * plan.width for arm, pulls in plan.pulls.items()}
        world.control.close_with(name, plan.epoch, totals)
    return world.control.experiment(name)


def test_a_difference_is_shown_and_the_verdict_says_with_which_error(world):
    view = play(world, {"A": 0.3, "B": 0.42})
    assert (view.verdicts, view.best, view.settled) == ({"B": "shown"}, "B", True)
    assert view.answer == "B is better than A. Such a claim is wrong in at most 5 % of tests."
    assert headline(view) == view.answer
    assert view.binary
    assert world.control.summary("banners").arms[1].against_control.value == pytest.approx(0.4, abs=0.02)


def test_nothing_is_shown_where_nothing_is(world):
    view = play(world, {"A": 0.3, "B": 0.3})
    assert (view.verdicts, view.best) == ({"B": "not shown"}, "A")
    assert view.answer == (
        "B was not shown to be better than A. If it were better by 0.1, that would be missed in at most 20 % of tests."
    )


def test_several_arms_have_a_verdict_each(world):
    view = play(world, {"A": 0.3, "B": 0.5, "C": 0.25, "D": 0.48})
    assert view.verdicts == {"B": "shown", "C": "not shown", "D": "shown"}
    assert view.answer.startswith("B and D are better than A. ")
    assert "C was not shown to be better than A." in view.answer
    early = play(world, {"A": 0.3, "B": 0.35}, "early", most=0)
    assert early.answer == "Whether B is better than A is still open."
    assert headline(early) == "Whether B is better than A is still open. Epoch 1 is open."


def test_an_arm_may_be_tested_to_be_no_worse(world):
    view = play(world, {"A": 0.3, "B": 0.31}, options={"base_rate": 0.3, "effect": 0.0, "margin": 0.1})
    assert view.answer.startswith("B is not worse than A by 0.1 or more.")


def test_sentences_have_the_units_of_the_rewards(world):
    view = play(world, {"A": 0.3, "B": 0.3, "C": 0.3}, low=0.0, high=50.0)
    assert view.answer == (
        "B and C were not shown to be better than A. If one of them were better by 5, that would be missed in at most "
        "20 % of tests."
    )


def test_verdicts_are_the_same_from_the_releases_as_from_the_snapshot(world):
    view = play(world, {"A": 0.3, "B": 0.42, "C": 0.3}, most=1)
    replayed = standing._of(world.replayed("banners"))
    assert {arm: replayed.verdicts[index] for index, arm in enumerate("BC", 1)} == view.verdicts


def test_an_open_ended_test_may_drift_and_says_so_to_its_summary(world):
    view = play(world, {"A": 0.3, "B": 0.45}, policy="dp-ab-open", drifting=True)
    assert view.verdicts == {"B": "shown"}
    assert view.options["drifting"] is True
    assert not view.binary
    assert world.control.summary("banners").drifting
    told = play(world, {"A": 0.3, "B": 0.45}, "told", most=0, policy="dp-ab-open", options={**FOUND, "drifting": True})
    assert told.drifting


def test_a_test_of_one_mean_is_a_rule(world):
    asked = {"rule": "dp-test", "policy": None, "options": {"null": 0.2, "alternative": 0.3}}
    world.start("mean", "1", **{**TEST, **asked})
    for _ in range(20):
        if world.control.experiment("mean").epoch is None:
            break
        plan = world.control.open_plan("mean")
        world.control.close_with("mean", plan.epoch, {"mean": round(0.32 * plan.pulls["mean"]) * plan.width})
    view = world.control.experiment("mean")
    assert view.answer.startswith("the mean is above 0.2: decided for 0.3 against 0.2, which is wrong with probability")
    assert view.binary


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"control": "b"}, "control", "control must be the first arm in a test, 'a', got 'b'"),
        ({"drifting": True}, "drifting", "dp-ab needs means that stay; with drifting take dp-ab-open"),
        ({"options": {"base_rate": 0.3}}, "options", "effect"),
        ({"options": {"base_rate": 0.5, "effect": 1e-6}}, "options", "epsilon must be larger, or the effect"),
        ({"options": {"base_rate": 1e-9, "effect": 1e-200}}, "options", "epsilon must be larger, or the effect"),
        ({"epsilon": "0.0001"}, "options", "epsilon must be at least 0.01 for dp-ab"),
    ],
)
def test_what_contradicts_a_test_is_refused(world, asked, field, words):
    with pytest.raises(ServiceProblem, match=words) as caught:
        world.control.create(draft(**{**TEST, "epsilon": "1", **asked}))
    assert (caught.value.status, caught.value.field) == (422, field)


# ---------------------------------------------------------------------- planning


def test_the_planner_says_what_a_test_takes_as_the_library_does():
    wanted = PlannerRequest(2, "1", base_rate=0.03, lift=0.1, policy="dp-ab", per_hour=500.0, window=3600.0)
    plan = plan_experiment(wanted)
    test = DPTwoSampleTest(["A", "B"], epsilon=1.0, base_rate=0.03, effect=0.003)
    null, effect = test.forecast()
    assert [row.mean for row in plan.outlooks] == [null.mean, effect.mean]
    assert plan.outlooks[1].hypothesis == "B is better by 0.003"
    assert plan.total == effect.at_most == plan.epochs[-1].total
    assert [epoch.each for epoch in plan.epochs] == [test.block] * len(test.looks)
    looks = effect.mean / (2 * test.block)
    assert plan.outlooks[1].seconds == pytest.approx(effect.mean / 500 * 3600 + looks * 3600)
    assert "finds the difference in 80" in plan.words
    assert "a false one in at most 5 %" in plan.words


def test_a_test_without_an_end_has_no_worst_case():
    wanted = PlannerRequest(3, "1", base_rate=0.3, gap=0.05, policy="dp-ab-open", beta=0.1, alpha=0.01)
    plan = plan_experiment(wanted)
    test = DPOpenEndedTest(list("ABC"), epsilon=1.0, base_rate=0.3, effect=0.05, alpha=0.01, beta=0.1)
    assert (plan.total, plan.epochs, plan.seconds) == (None, [], None)
    assert [row.mean for row in plan.outlooks] == [row.mean for row in test.forecast()]
    assert "never more" not in plan.words


def test_a_test_is_planned_over_http(world):
    with world.web() as web:
        said = web.get("/v1/planner?arms=2&epsilon=1&policy=dp-ab&base_rate=0.3&lift=0.2").json()
        assert [row["shown"] > 0.7 for row in said["outlooks"]] == [False, True]
        refused = web.get("/v1/planner?arms=2&epsilon=1&policy=dp-ab&gap=0.1")
        assert (refused.status_code, refused.json()["field"]) == (422, "base_rate")
        large = web.get("/v1/planner?arms=2&epsilon=1&policy=dp-ab&gap=0.000001&base_rate=0.5")
        assert large.status_code == 422
        usual = web.get("/v1/planner?arms=2&epsilon=1&gap=0.1").json()
        assert usual["outlooks"] == []


@pytest.mark.parametrize("policy", ["dp-ab", "dp-ab-open"])
def test_a_test_that_is_too_large_is_refused_before_anything_is_computed(policy, monkeypatch):
    kind = {"dp-ab": DPTwoSampleTest, "dp-ab-open": DPOpenEndedTest}[policy]
    monkeypatch.setattr(kind, "block", property(lambda self: pytest.fail("it was computed")))
    with pytest.raises(ServiceProblem, match="even without privacy this test would take") as caught:
        plan_experiment(PlannerRequest(2, "1", base_rate=1e-9, gap=1e-12, policy=policy))
    assert caught.value.status == 422


def test_the_forecast_of_many_arms_is_that_of_one_and_says_so(monkeypatch):
    made = []
    usual = DPOpenEndedTest.forecast
    monkeypatch.setattr(DPOpenEndedTest, "forecast", lambda self: made.append(len(self.arms)) or usual(self))
    wanted = PlannerRequest(100, "1", base_rate=0.3, gap=0.1, policy="dp-ab-open")
    plan = plan_experiment(wanted)
    assert plan_experiment(wanted).words == plan.words
    assert made == [2]
    pair = DPOpenEndedTest(["A", "B"], epsilon=1.0, base_rate=0.3, effect=0.1, alpha=0.05 / 99)
    assert [row.mean for row in plan.outlooks] == pytest.approx([row.mean * 50 for row in usual(pair)])
    assert plan.words.endswith("Computed for one arm and the control, as if each arm took as long")


def test_what_could_not_be_planned_is_remembered_and_tests_are_computed_one_at_a_time(monkeypatch):
    tries = []

    def refuse(self):
        tries.append(testing._one_at_a_time.locked())
        raise ArgumentError("too long")

    monkeypatch.setattr(DPTwoSampleTest, "plan", refuse)
    for _ in range(2):
        with pytest.raises(ServiceProblem, match="too long"):
            plan_experiment(PlannerRequest(2, "1", base_rate=0.123, gap=0.0456, policy="dp-ab"))
    assert tries == [True]


@pytest.mark.parametrize("policy", ["dp-ab", "dp-se-sharp"])
def test_a_plan_of_hardly_any_assignments_an_hour_is_refused(policy):
    wanted = PlannerRequest(2, "1", base_rate=0.3, gap=0.1, policy=policy, per_hour=1e-320, privacy_unit="event")
    with pytest.raises(ServiceProblem, match="per_hour must be a positive number of assignments, and at least"):
        plan_experiment(wanted)

"""Summaries of running experiments: the numbers of `discreet.inference`, in words, from releases alone."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from discreet import inference
from discreet.core.noise import PrivateNoise
from discreet.service.errors import ServiceProblem
from discreet.service.experiments import descriptions
from discreet.service.experiments.standing import histories
from discreet.service.experiments.statements import numbers, summaries, verdicts
from discreet.service.messages import NewExperiment, NewKey, NewPopulation, SummaryQuery
from discreet.service.storage.queries import find_experiment
from tests._tools.service_tools import draft, new_file, small

RATES = {"a": 0.2, "b": 0.6, "c": 0.22}
AS_POLICY = {"policy": "dp-se-sharp"}
EVENT = {"epsilon": "2", "privacy_unit": "event", "population": "crowd", "source": "totals"}


@pytest.fixture
def url(file, tmp_path):
    """SQLite alone: nothing here depends on the database."""
    return new_file(file, tmp_path)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Noise that is 0, so that what is found out does not depend on luck."""
    monkeypatch.setattr(PrivateNoise, "draws", lambda self, scale, count: np.zeros(count, dtype=np.int64))


def play(world, name="banners", epochs=6, rates=RATES, **more):
    """A running experiment whose epochs were closed with totals of these rates."""
    options = {**EVENT, "options": {"beta": 0.05}, **({} if "rule" in more else AS_POLICY), "arms": list(rates), **more}
    world.start(name, **options)
    return carry_on(world, name, epochs, rates)


def carry_on(world, name, epochs, rates=RATES):
    advance(world, name, epochs, rates)
    return world.control.summary(name)


def advance(world, name, epochs, rates=RATES):
    draws = np.random.default_rng(7)
    for _ in range(epochs):
        if world.control.experiment(name).epoch is None:
            break
        plan = world.control.open_plan(name)
        totals = {
            arm: int(draws.binomial(pulls, rates.get(arm, 0.3))) * plan.width for arm, pulls in plan.pulls.items()
        }
        world.clock.wait(3600)
        world.control.close_with(name, plan.epoch, totals if plan.learns else dict.fromkeys(plan.pulls, 0))


def by_name(seen):
    return {arm.name: arm for arm in seen.arms}


def finite(value):
    return value if np.isfinite(value) else None


RUNNABLE = [view.name for view in descriptions.algorithms()]


@pytest.mark.parametrize("key", RUNNABLE)
def test_every_algorithm_has_the_numbers_of_the_library(world, key):
    view = next(one for one in descriptions.algorithms() if one.name == key)
    known = {"horizon": 5000, "base_rate": 0.2, "effect": 0.2, "null": 0.2, "alternative": 0.5}
    options = {name: known[name] for name in view.required}
    options |= {"alpha": 0.5} if key == "dp-nas-released" else {}
    chosen = {"policy": key, "arms": ["a", "b"]} if view.kind == "policy" else {"rule": key, "arms": []}
    seen = play(world, epochs=4, options=options, **chosen)
    assert seen.releases > 0
    replayed = world.replayed("banners").ledger
    control = 0 if view.kind == "policy" else None
    same = inference.summary(replayed, control=control, binary=world.control.experiment("banners").binary)
    assert seen.rewards == sum(same.rewards(arm) for arm in same.arms)
    for place, arm in enumerate(same.arms):
        one = seen.arms[place]
        assert (one.lower, one.upper) == same.interval(arm)
        assert one.mean == finite(same.mean(arm))
        assert one.may_be_best == (len(same.arms) > 1 and arm in same.may_be_best)
        if view.kind == "rule" or arm == control:
            assert one.against_control is None
            continue
        lift, compared = same.lift(arm), one.against_control
        assert (compared.lower, compared.upper) == (lift.interval.lower, finite(lift.interval.upper))
        assert (compared.p_value, compared.decided) == (lift.p_value, lift.decided)


def test_lifts_are_against_the_control_of_the_experiment_or_of_the_question(world):
    seen = play(world, control="c")
    assert world.control.experiment("banners").control == seen.control == "c"
    assert by_name(seen)["c"].against_control is None
    better = by_name(seen)["b"].against_control
    assert better.lower > 0
    assert better.decided
    assert better.verdict.startswith("b is better than c: lift +")
    other = world.control.summary("banners", SummaryQuery("b"))
    assert by_name(other)["c"].against_control.upper < 0
    assert by_name(other)["c"].against_control.verdict.startswith("c is worse than b: lift −")
    with pytest.raises(ServiceProblem, match="control must be one of the arms") as caught:
        world.control.summary("banners", SummaryQuery("d"))
    assert (caught.value.status, caught.value.field) == (422, "control")
    with pytest.raises(ServiceProblem, match="control must be one of the arms"):
        world.control.create(draft("other", control="z"))


def test_which_may_be_the_best_is_said_in_a_sentence(world):
    seen = play(world, epochs=9)
    assert [arm.name for arm in seen.arms if arm.may_be_best] == ["b"]
    assert seen.headline == "b is the best of 3 arms: all others are ruled out."
    even = play(world, "even", 1, dict.fromkeys("abcd", 0.3))
    assert even.headline == "Any of the 4 arms may still be the best."


def test_before_the_first_release_nothing_is_said(world):
    world.start(**small(arms=["a", "b"]))
    seen = world.control.summary("banners")
    assert seen.headline.startswith("Nothing can be said yet")
    assert (seen.releases, seen.looks, seen.cautions) == (0, [], [])
    assert [(arm.mean, arm.lower, arm.upper) for arm in seen.arms] == [(None, 0.0, 1.0)] * 2
    assert "Nothing was released yet" in seen.arms[1].against_control.verdict


def test_a_summary_is_computed_once_and_earlier_looks_never_again(world, monkeypatch):
    first = play(world, rates=dict.fromkeys("abc", 0.3))
    asked = []
    honest = inference.Comparison.interval_at

    def counted(self, epoch=None):
        asked.append(epoch)
        return honest(self, epoch)

    monkeypatch.setattr(inference.Comparison, "interval_at", counted)
    assert world.control.summary("banners") == first
    assert asked == []
    more = carry_on(world, "banners", 1, dict.fromkeys("abc", 0.3))
    assert [look for look in more.looks if look.epoch <= 6] == first.looks
    assert more.looks[-1].epoch == 7
    assert {epoch for epoch in asked if epoch is not None} == {7}
    assert [look.at for look in more.looks] == sorted(look.at for look in more.looks)


def test_levels_are_rounded_so_that_few_summaries_are_computed(world, monkeypatch):
    play(world, epochs=2)
    honest, computed = inference.summary, []

    def counted(ledger, control, level, **more):
        computed.append(level)
        return honest(ledger, control, level, **more)

    monkeypatch.setattr(inference, "summary", counted)
    seen = [world.control.summary("banners", SummaryQuery(level=0.9 + each * 1e-6)) for each in range(1, 20)]
    assert {one.level for one in seen} == {0.9}
    assert computed == [0.9]


def test_a_summary_is_computed_after_the_transaction_and_once_by_all_who_ask(world, monkeypatch):
    play(world, epochs=2)
    honest, computed, reading = inference.summary, [], []
    read = world.control.database.read

    def noted(work):
        reading.append(work)
        try:
            return read(work)
        finally:
            reading.remove(work)

    def slow(ledger, control, level, **more):
        computed.append(len(reading))
        time.sleep(0.1)
        return honest(ledger, control, level, **more)

    monkeypatch.setattr(world.control.database, "read", noted)
    monkeypatch.setattr(inference, "summary", slow)
    world.control.whole("banners", SummaryQuery(level=0.91))
    assert computed == [0]
    query = SummaryQuery(level=0.92)
    row = read(lambda each: find_experiment(each, "banners"))
    (history,) = read(lambda each: histories(each, [row]))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: summaries.summary_in(row, history, query), range(4)))
    assert computed == [0, 0]
    assert found == [world.control.summary("banners", query)] * 4


def test_the_last_look_is_the_summary(world):
    seen = play(world)
    known = {one.name: (one.value, one.lower, one.upper) for one in seen.looks[-1].arms}
    for name in ("b", "c"):
        one = by_name(seen)[name].against_control
        assert known[name] == (one.value, one.lower, one.upper)
    assert seen.looks[-1].rewards == seen.rewards


def test_where_means_may_change_statements_are_about_averages(world):
    steady = play(world)
    asked = world.control.summary("banners", SummaryQuery(drifting=True))
    assert (steady.drifting, asked.drifting) == (False, True)
    assert "average means so far" in asked.claims[0].words
    assert "means that change" in steady.claims[-1].words.lower()
    assert "means that change" not in asked.claims[-1].words.lower()
    said = play(world, "weekdays", drifting=True)
    assert said.drifting
    assert not world.control.summary("weekdays", SummaryQuery(drifting=False)).drifting


def test_a_mean_that_has_moved_is_a_caution(world):
    world.start(**{**EVENT, "arms": ["a", "b"], "policy": "dp-se-sharp"})
    for number in range(14):
        rate = 0.05 if number < 9 else 0.95
        advance(world, "banners", 1, {"a": rate, "b": rate})
    seen = world.control.summary("banners")
    assert any("has moved during the run" in caution for caution in seen.cautions)
    assert not any("drifting=True" in caution for caution in seen.cautions)


def test_binary_rewards_have_narrower_exact_intervals_and_none_lies_between(world):
    seen, wide = play(world, binary=True), play(world, "wide")
    assert seen.exact
    assert not wide.exact
    assert world.control.experiment("banners").binary
    describe = descriptions.describe(NewExperiment("x", "1", arms=["a", "b"], low=-1.0, high=3.0, binary=True))
    assert [describe.encode(reward) for reward in (-5.0, 0.9, 1.0, 2.0, 9.0)] == [
        *[0] * 2, *[describe.grid.width] * 3
    ]  # fmt: skip
    assert [describe.worth(reward) for reward in (-5.0, 0.9, 1.0, 2.0)] == [-1.0, -1.0, 3.0, 3.0]
    with pytest.raises(ServiceProblem, match="default_reward must be -1 or 3"):
        descriptions.describe(NewExperiment("x", "1", arms=["a", "b"], low=-1.0, high=3.0, binary=True,
                                            default_reward=0.5))  # fmt: skip


def test_what_was_reported_between_the_ends_counts_as_the_nearer_one(world):
    world.start(**small(arms=["a", "b"], binary=True))
    with world.web() as web:
        (given,) = web.post("/v1/experiments/banners/assignments", json={"units": ["ann"]}).json()["assignments"]
        assert web.put(f"/v1/rewards/{given['assignment']}", json={"reward": 0.7}).status_code == 202
    width = descriptions.describe(draft()).grid.width
    assert sum(total for _, total in world.sums("banners").values()) == width


def test_differences_where_rewards_may_be_negative(world):
    seen = play(world, low=-1.0, high=1.0)
    assert not seen.relative
    one = by_name(seen)["b"].against_control
    assert one.upper is not None
    assert ": difference +" in one.verdict
    assert "%" not in one.verdict


def test_claims_are_said_to_people(world):
    words = {claim.about: claim.words for claim in play(world).claims}
    assert list(words) == [
        "What is claimed", "How surely", "About whom", "For whom it is private", "What would make it void"
    ]  # fmt: skip
    assert "look as often as you like" in words["How surely"]
    assert "95 %" in words["How surely"]
    assert "7.39 times" in words["For whom it is private"]  # exp(2)
    world.start("people", "1", arms=["a", "b"], population="crowd")
    people = {claim.about: claim.words for claim in world.control.summary("people").claims}
    assert "For each person" in people["For whom it is private"]
    assert "same people in each epoch" in people["What would make it void"]
    assert "counts as 0 after 1 hour" in people["About whom"]


def test_a_changed_release_is_refused_also_where_the_summary_is_known(world):
    play(world)
    world.run("UPDATE release SET steps = '1' WHERE epoch = 2 AND arm = 0")
    with pytest.raises(ServiceProblem, match="was changed") as caught:
        world.control.summary("banners")
    assert caught.value.status == 500


def test_over_http_a_key_for_another_experiment_sees_nothing(world):
    play(world)
    play(world, "other", 1)
    guest = world.control.make_key(NewKey("guest", ["analyse"], "other")).key
    with world.web() as web:
        seen = web.get("/v1/experiments/banners/summary?control=c&level=0.9").json()
        assert (seen["control"], seen["level"]) == ("c", 0.9)
        bearer = {"Authorization": f"Bearer {guest}"}
        assert web.get("/v1/experiments/banners/summary", headers=bearer).status_code == 404
        assert web.get("/v1/experiments/other/summary", headers=bearer).status_code == 200
        for wrong in ("level=1", "level=0.2", "control=z", "drifting=perhaps", "control=%00"):
            assert web.get(f"/v1/experiments/banners/summary?{wrong}").status_code == 422


def test_many_arms_are_told_with_the_looks_of_eight(world):
    rates = {f"arm {number}": 0.2 + 0.02 * number for number in range(12)}
    seen = play(world, epochs=2, rates=rates)
    assert len(seen.arms) == 12
    assert {len(look.arms) for look in seen.looks} == {8}


def test_an_arm_that_was_dropped_is_named_where_means_matter_most(world):
    seen = play(world, epochs=9, rates={"a": 0.6, "b": 0.59, "c": 0.05})
    if world.control.experiment("banners").arms[2].viable:
        pytest.fail("the third arm was not dropped")
    assert "matters most for c, " in seen.claims[-1].words
    assert seen.cautions == []


def test_numbers_in_sentences():
    assert numbers.change(0.0, True) == "+0 %"
    assert numbers.number(float("inf")) == "–"
    assert verdicts.caution("x: take drifting=True") == "X; the form for means that change holds all the same."
    assert summaries.looks_told([]) == []


def test_populations_are_paged(world):
    for number in range(6):
        world.control.create_population(NewPopulation(f"p-{number}", "1"))
    with world.web() as web:
        first = web.get("/v1/populations?limit=5").json()
        rest = web.get(f"/v1/populations?limit=5&after={first['next']}").json()
        assert web.get("/v1/populations?after=UPPER").status_code == 422
    names = [one["name"] for page in (first, rest) for one in page["populations"]]
    assert names == sorted(names) == ["crowd", "everybody", *[f"p-{number}" for number in range(6)]]
    assert rest["next"] is None

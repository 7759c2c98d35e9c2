"""An experiment's life: drafts change, what has started does not, and every step is refused at the wrong time."""

import pytest

from discreet.core.registry import RULES
from discreet.service.errors import ServiceProblem
from discreet.service.experiments.descriptions import algorithms, describe
from discreet.service.messages import NewExperiment, NewKey
from discreet.service.storage import schema
from tests._tools.service_tools import draft, small


def refused(status, call, *given):
    with pytest.raises(ServiceProblem) as caught:
        call(*given)
    assert caught.value.status == status
    return caught.value.detail


def test_a_whole_life(world):
    control = world.control
    assert control.create(draft()).state == "draft"
    begun = control.start("banners")
    assert begun.state == "running"
    assert begun.epoch.number == 1
    assert control.pause("banners").state == "paused"
    assert control.resume("banners").state == "running"
    stopped = control.stop("banners")
    assert stopped.state == "stopped"
    assert stopped.epoch is None
    assert [one.state for one in control.epochs("banners")] == ["discarded"]
    assert control.archive("banners").state == "archived"


STEPS = ("start", "pause", "resume", "stop", "archive", "delete")
ALLOWED = {
    "draft": {"start", "delete"},
    "running": {"pause", "stop"},
    "paused": {"resume", "stop"},
    "stopped": {"archive"},
    "archived": set(),
}
WAYS = {"draft": "", "running": "start", "paused": "start pause", "stopped": "start stop",
        "archived": "start stop archive"}  # fmt: skip


@pytest.mark.parametrize("state", ALLOWED)
def test_every_step_is_taken_or_refused(world, state):
    for step in STEPS:
        name = f"x-{step}"
        world.control.create(draft(name, "0.1"))
        for before in WAYS[state].split():
            getattr(world.control, before)(name)
        if step in ALLOWED[state]:
            getattr(world.control, step)(name)
        else:
            assert "cannot be" in refused(409, getattr(world.control, step), name)
            assert world.control.experiment(name).state == state


def test_a_draft_can_be_changed_and_deleted_and_leaves_no_trace(world):
    world.control.create(draft())
    changed = world.control.replace("banners", draft("titles", "0.5", arms=["x", "y", "z"]))
    assert [one.name for one in changed.arms] == ["x", "y", "z"]
    assert changed.privacy.epsilon == "0.5"
    refused(404, world.control.experiment, "banners")
    world.control.delete("titles")
    assert world.rows(schema.experiment) == []
    assert world.control.ledger("everybody").population.reserved == "0"


def test_what_has_started_cannot_be_changed(world):
    world.start()
    before = world.rows(schema.experiment)
    refused(409, world.control.replace, "banners", draft(epsilon="2"))
    refused(409, world.control.delete, "banners")
    assert world.rows(schema.experiment) == before


def test_names_and_populations_are_checked(world):
    world.control.create(draft())
    refused(409, world.control.create, draft())
    assert "no population" in refused(422, world.control.create, draft("other", population="nobody"))
    refused(404, world.control.start, "nothing")


def test_drafts_assign_nobody_and_archived_ones_nobody_any_more(world):
    world.control.create(draft())
    refused(409, world.ask, "banners", "ann")
    world.control.start("banners")
    world.control.stop("banners")
    assert not world.ask("banners", "ann")[0].learn
    world.control.archive("banners")
    refused(409, world.ask, "banners", "ann")


def test_a_pause_assigns_nobody_new_closes_nothing_and_loses_nothing(world):
    world.start(**small())
    given = world.fill("banners", lambda arm: None)
    world.control.pause("banners")
    assert not world.ask("banners", "late-comer")[0].learn
    assert set(world.tell(*[(one, 1.0) for one in given])) == {"accepted"}
    world.clock.wait(60)
    assert world.close("banners") is None
    world.control.resume("banners")
    assert world.close("banners") == 1
    assert [round(one.value) for one in world.control.releases("banners")] == [4, 4]


def test_a_running_mean_runs_until_it_has_its_answer(world):
    world.start("length", rule="dp-nas-released", options={"alpha": 0.5, "beta": 0.5}, epsilon="10", window=60.0)
    for _ in range(60):
        view = world.control.experiment("length")
        if view.epoch is None:
            break
        assert view.arms[0].name is None
        world.finish_epoch("length", lambda arm: 1.0)
    assert view.settled
    assert view.estimate == pytest.approx(1.0, abs=0.6)
    assert view.answer
    assert not world.ask("length", "somebody")[0].learn
    assert view.privacy.contribution == "once"
    assert view.privacy.theorem == "proved by machine (Promises.rewards_are_private)"
    assert world.control.stop("length").spent == "10"


def test_a_log_of_events_gives_totals_once(world):
    world.start("logged", source="totals", **small())
    plan = world.control.open_plan("logged")
    full = {arm: count * plan.width for arm, count in plan.pulls.items()}
    refused(422, world.control.close_with, "logged", 1, {**full, "a": full["a"] + 1})
    refused(422, world.control.close_with, "logged", 1, {"a": 0})
    refused(409, world.control.close_with, "logged", 2, full)
    world.control.close_with("logged", 1, {"a": full["a"], "b": 0})
    after = world.control.experiment("logged")
    assert [round(one.value) for one in world.control.releases("logged")] == [plan.pulls["a"], 0]
    refused(409, world.control.close_with, "logged", 1, full)
    assert after.arms[1].eliminated_in == 1
    assert after.settled
    world.start("dealt", **small())
    refused(409, world.control.close_with, "dealt", 1, dict.fromkeys(world.control.open_plan("dealt").pulls, 0))


@pytest.mark.parametrize(
    "policy", ["dp-bai", "dp-bai-sharp", "dp-bai-evidence", "dp-imed", "dp-klucb", "adap-ucb", "dp-chernoff-imed"]
)
def test_other_policies_run_too(world, policy):
    world.start(**small(policy=policy))
    quota = world.control.experiment("banners").epoch.quota
    world.finish_epoch("banners", lambda arm: 0.25)
    assert sum(one.count for one in world.control.releases("banners")) == quota


SECRETIVE = ["dp-ucb", "dp-ucb-hybrid", "dp-se-svt", "dp-se-modified", "lazy-ucb", "lazy-dp-ts", "dp-nas", "dp-exp-nas"]


@pytest.mark.parametrize(
    ("key", "why"),
    [
        *[(key, "which keeps more between epochs than it releases") for key in SECRETIVE],
        *[(key, "which is not private") for key in ("ucb", "ts", "nas", "guess-and-double")],
        ("dp-bernstein", "which needs more of rewards than their sum"),
    ],
)
def test_what_keeps_more_than_it_releases_or_is_not_private_is_refused(key, why):
    given = {"rule": key} if key in RULES else {"policy": key, "arms": ["a", "b"]}
    said = refused(422, describe, NewExperiment("banners", "1", **given))
    assert f"got '{key}', {why}" in said
    assert key not in {one.name for one in algorithms()}


def test_arms_have_different_names(world):
    refused(422, world.control.create, draft(arms=["a", "b", "a"]))


def test_a_key_for_one_experiment_does_not_learn_that_there_are_others(world):
    mine = world.start("mine", **small())
    world.start("running", **small())
    world.control.create(draft("planned", **small()))
    key = world.control.make_key(NewKey("shop", ["assign", "report", "analyse"], experiment=mine.id)).key
    with world.web() as web:
        headers = {"Authorization": f"Bearer {key}"}
        for other in ("running", "planned", "nothing"):
            path = f"/v1/experiments/{other}"
            asked = web.post(f"{path}/assignments", json={"units": ["ann"]}, headers=headers)
            shown = web.get(path, headers=headers)
            for said in (asked, shown):
                assert (said.status_code, said.json()["detail"]) == (404, f"there is no experiment '{other}'")

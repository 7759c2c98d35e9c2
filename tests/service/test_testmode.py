"""Test mode: what a team sends is shown and checked, ends by itself, is thrown away, and never reaches a release."""

import json

import pytest

from discreet.service import messages as m
from discreet.service import threads
from discreet.service.errors import ServiceProblem
from discreet.service.experiments import integration, testmode, tokens
from discreet.service.experiments.descriptions import describe
from discreet.service.http.background import Eraser
from discreet.service.storage import schema
from tests._tools.service_copies import statements
from tests._tools.service_tools import draft, is_sqlite, small

ONE = "/v1/experiments/banners"
ODD = 0.7310585  # a reward that nothing else looks like
DAY = testmode.LASTS


@pytest.fixture
def tested(world):
    """A draft in test mode."""
    world.control.create(draft(**small()))
    world.control.tests.begin("banners")
    return world


def ask(web, *units, name="banners", **more):
    said = web.post(f"/v1/experiments/{name}/assignments", json={"units": list(units)}, **more)
    assert said.status_code == 200, said.text
    return said.json()["assignments"]


def tell(web, *rewards, **more):
    told = [
        {"assignment": getattr(one, "get", lambda _, one=one: one)("assignment"), "reward": r} for one, r in rewards
    ]
    return web.post("/v1/rewards:batch", json={"rewards": told}, **more).json()["statuses"]


def kinds(report):
    return [one["kind"] for one in report["findings"]]


# ---------------------------------------------------------------------- the same doors as a running experiment


def test_a_team_sees_what_it_sent(world):
    world.control.create(draft(**small()))
    with world.web() as web:
        assert web.get(f"{ONE}/test").status_code == 404
        began = web.post(f"{ONE}/test")
        assert began.status_code == 200
        assert kinds(began.json()) == ["no-units"]
        ann, bob = ask(web, "ann", "bob")
        assert ann["test"] is bob["test"] is ann["learn"] is True
        assert {ann["arm"], bob["arm"]} == {"a", "b"}
        assert ask(web, " ann") == [{**ann, "unit": " ann"}]
        assert web.put(f"/v1/rewards/{ann['assignment']}", json={"reward": ODD}).json() == {"status": "accepted"}
        assert tell(web, (ann, 0.0), (bob, 3)) == ["accepted", "accepted"]
        report = web.get(f"{ONE}/test").json()
        view = web.get(ONE).json()
    assert "not protected" in report["warning"]
    newest, oldest = report["assignments"]
    assert (oldest["unit"], oldest["reward"], oldest["asks"], oldest["again"]) == ("ann", ODD, 2, 1)
    assert (newest["unit"], newest["reward"], newest["counts_as"]) == ("bob", 3.0, 1.0)
    assert kinds(report) == ["some-out-of-range", "again"]
    assert (report["state"], report["units"], report["rewards"]) == ("open", 2, 2)
    assert (view["state"], view["test_until"], view["spent"], view["epoch"]) == (
        "draft",
        world.clock() + DAY,
        "0",
        None,
    )


def test_answers_of_running_experiments_are_not_marked(world):
    world.start(**small())
    with world.web() as web:
        (given,) = ask(web, "ann")
    assert "test" not in given


def test_units_without_a_name(tested):
    with tested.web() as web:
        given = web.post(f"{ONE}/assignments", json={"count": 3}).json()["assignments"]
        assert len({one["assignment"] for one in given}) == 3
        assert web.post(f"{ONE}/assignments", json={"count": 1, "units": ["x"]}).status_code == 422
        assert [one["unit"] for one in web.get(f"{ONE}/test").json()["assignments"]] == [None] * 3


def test_names_that_a_database_would_not_take(tested):
    with tested.web() as web:
        (given,) = ask(web, "a\0b")
        assert given["unit"] == "a\0b"
        assert tell(web, (given, 1)) == ["accepted"]
        assert web.get(f"{ONE}/test").json()["assignments"][0]["unit"] == "a\ufffdb"


def test_a_reward_that_is_no_number_changes_nothing(tested):
    with tested.web() as web:
        one, two = ask(web, "ann", "bob")
        body = f'{{"rewards": [{{"assignment": "{one["assignment"]}", "reward": 1}}, '
        body += f'{{"assignment": "{two["assignment"]}", "reward": 1e999}}]}}'
        assert web.post("/v1/rewards:batch", content=body).status_code in {400, 422}
        assert web.get(f"{ONE}/test").json()["rewards"] == 0


def test_only_drafts_that_assign_are_tested(world):
    world.start("running", **small())
    world.control.create(draft("fed", **small(source="totals")))
    with world.web() as web:
        for name in ("running", "fed"):
            assert web.post(f"/v1/experiments/{name}/test").status_code == 409
            assert web.get(f"/v1/experiments/{name}/test").status_code == 404
            assert web.delete(f"/v1/experiments/{name}/test").status_code == 404
    assert world.count(schema.test_mode) == 0


def test_a_draft_without_a_test_assigns_nobody(world):
    world.control.create(draft(**small()))
    with world.web() as web:
        assert web.post(f"{ONE}/assignments", json={"units": ["ann"]}).status_code == 409
        assert web.post(f"{ONE}/test").status_code == 200
        assert web.post(f"{ONE}/test").status_code == 409  # one at a time
        assert web.delete(f"{ONE}/test").status_code == 204
        assert web.post(f"{ONE}/assignments", json={"units": ["ann"]}).status_code == 409


def test_keys_see_and_reach_their_own_test_alone(tested):
    control = tested.control
    control.create(draft("other", **small()))
    control.tests.begin("other")

    def key(*scopes, experiment):
        made = control.make_key(m.NewKey("somebody", list(scopes), experiment)).key
        return {"headers": {"Authorization": f"Bearer {made}"}}

    mine, other = (key("assign", "report", experiment=name) for name in ("banners", "other"))
    analyst = key("analyse", experiment="other")
    with tested.web() as web:
        (given,) = ask(web, "ann", **mine)
        assert web.post(f"{ONE}/assignments", json={"units": ["ann"]}, **other).status_code == 404
        assert tell(web, (given, 1), **other) == ["unknown"]
        assert web.put(f"/v1/rewards/{given['assignment']}", json={"reward": 1}, **other).status_code == 404
        assert web.get(f"{ONE}/test", **mine).status_code == 403
        assert web.get(f"{ONE}/test", **analyst).status_code == 404
        assert web.post(f"{ONE}/test", **analyst).status_code == 403
        assert web.get("/v1/experiments/other/test", **analyst).status_code == 200
        assert web.get(f"{ONE}/test").json()["rewards"] == 0
    assert control.tests.report("other").unknown == 0  # it was a token of ours


# ---------------------------------------------------------------------- the end


def test_it_ends_after_a_thousand_units(tested, monkeypatch):
    monkeypatch.setattr(testmode, "MOST_UNITS", 5)
    with tested.web() as web:
        first = ask(web, *"abc")
        given = ask(web, *"cdefg")
        assert [one["learn"] for one in given] == [True, True, True, False, False]
        assert all(one["test"] for one in given)
        assert given[3]["assignment"] is None
        refused = web.post(f"{ONE}/assignments", json={"units": ["a"]})
        assert refused.status_code == 409
        assert "test has ended" in refused.json()["detail"]
        assert tell(web, (first[0], 1)) == ["accepted"]  # of those that have come, rewards are still seen
        report = web.get(f"{ONE}/test").json()
        assert (report["state"], report["units"], report["rewards"]) == ("full", 5, 1)
        assert web.post(f"{ONE}/test").status_code == 200  # a new one, in place of this
        assert web.get(f"{ONE}/test").json()["units"] == 0
    assert tested.count(schema.tested_unit) == 0


def test_it_ends_after_a_day_and_is_deleted_after_another(tested):
    eraser = Eraser(tested.database)
    with tested.web() as web:
        (given,) = ask(web, "ann")
        tested.clock.wait(DAY - 1)
        assert tell(web, (given, 1)) == ["late"]  # after its window, but seen
        tested.clock.wait(1)
        assert tell(web, (given, 1)) == ["late"]
        assert web.post(f"{ONE}/assignments", json={"units": ["ann"]}).status_code == 409
        report = web.get(f"{ONE}/test").json()
        assert (report["state"], report["rewards"]) == ("ended", 1)
        assert report["assignments"][0]["again"] == 0
        tested.clock.wait(DAY - 1)
        eraser.look()
        assert tested.count(schema.tested_unit) == 1
        tested.clock.wait(1)
        eraser.look()
        assert web.get(f"{ONE}/test").status_code == 404
        assert web.get(ONE).json()["test_until"] is None
    assert tested.count(schema.tested_unit) == tested.count(schema.test_mode) == 0


@pytest.mark.parametrize("how", ["start", "end", "delete", "replace"])
def test_all_of_it_is_thrown_away(tested, how):
    with tested.web() as web:
        given = ask(web, "ann", "bob")
        assert tell(web, (given[0], ODD), ("x" * 48, 1)) == ["accepted", "unknown"]
    ends = {"end": tested.control.tests.end, "replace": lambda name: tested.control.replace(name, draft(**small()))}
    (ends.get(how) or getattr(tested.control, how))("banners")
    assert tested.count(schema.tested_unit) == 0
    (left,) = tested.rows(schema.test_mode)
    assert left == {**dict.fromkeys(left, 0), "experiment": left["experiment"], "secret": b"", "over": True}
    Eraser(tested.database).look()
    assert tested.count(schema.test_mode) == 0
    if how != "delete":
        assert tested.control.experiment("banners").test_until is None
        with pytest.raises(ServiceProblem, match="there is no test"):
            tested.control.tests.report("banners")


def test_nothing_of_it_is_left_in_the_file(tested):
    if not is_sqlite(tested):
        pytest.skip("PostgreSQL keeps bytes in free space until they are overwritten: docs/service.md")
    with tested.web() as web:
        (given,) = ask(web, "somebody-with-a-long-name")
        tell(web, (given, ODD))
    path = tested.database.path
    files = [path, path.with_name(path.name + "-wal")]
    assert any(b"somebody-with-a-long-name" in one.read_bytes() for one in files)
    tested.control.start("banners")
    Eraser(tested.database).look()
    assert not any(b"somebody-with-a-long-name" in one.read_bytes() for one in files if one.exists())


def test_a_new_draft_has_no_test_of_one_that_is_gone(tested):
    """SQLite gives the number of a deleted row to the next one."""
    with tested.web() as web:
        (old,) = ask(web, "ann")
        tested.control.delete("banners")
        assert tell(web, (old, 1)) == ["unknown"]
        tested.control.create(draft(**small()))
        assert web.get(f"{ONE}/test").status_code == 404
        tested.control.tests.begin("banners")
        ask(web, "ann")
        assert tell(web, (old, 1)) in (["late"], ["unknown"])
        assert web.get(f"{ONE}/test").json()["rewards"] == 0


# ---------------------------------------------------------------------- the private path is another one


def stored(world):
    """All rows that a release may depend on, but for what is random."""
    tables = (schema.assignment, schema.unit_slot, schema.participant, schema.counter, schema.epoch, schema.ledger)
    noise = {"generation", "unit", "experiment", "digest", "slot", "arm", "erased"}
    return {
        table.name: sorted(
            json.dumps({k: str(v) for k, v in row.items() if k not in noise}) for row in world.rows(table)
        )
        for table in tables
    }


def test_releases_do_not_depend_on_what_was_sent_in_a_test(world):
    """Three histories, of the same people: no test, and tests with the lowest and the highest rewards."""
    seen = []
    for number, reward in enumerate([None, 0.0, 1.0]):
        name = f"run-{number}"
        world.control.create(draft(name, **small(privacy_unit="person", contribution="once", policy="dp-se")))
        before = stored(world)
        if reward is not None:
            world.control.tests.begin(name)
            with world.web() as web:
                units = [f"unit-1-{one}" for one in range(500)]
                given = ask(web, *units, name=name)
                assert set(tell(web, *[(one, reward) for one in given])) == {"accepted"}
        assert stored(world) == before  # nothing is charged, dealt or counted
        world.control.start(name)
        world.fill(name, {"a": 0.2, "b": 0.6}.get)
        sums = world.sums(name)
        world.clock.wait(60)
        assert world.close(name) == 1
        means = {one.arm: round(one.mean, 1) for one in world.control.releases(name)}
        view = world.control.experiment(name)
        dealt = [(one.number, one.state, one.dealt, one.planned, one.eliminated) for one in world.control.epochs(name)]
        seen.append((sums, means, view.spent, view.best, dealt))
        assert not world.rows(schema.tested_unit)
        world.control.stop(name)
        world.erase()
    assert seen[0] == seen[1] == seen[2]


def test_the_private_path_never_reads_a_test(tested):
    """No statement of assigning, reporting and closing names a table of tests."""
    tested.control.start("banners")
    with statements() as seen:
        tested.finish_epoch("banners", lambda arm: 1.0)
        tested.erase()
    assert seen
    assert not [one for one in seen if "test_mode" in one or "tested_unit" in one]


def test_a_token_of_a_test_counts_nothing_once_the_experiment_has_started(tested):
    with tested.web() as web:
        (old,) = ask(web, "ann")
        tested.control.start("banners")
        (new,) = ask(web, "ann")
        assert "test" not in new
        assert tell(web, (old, 1.0)) == ["late"]
        assert web.put(f"/v1/rewards/{old['assignment']}", json={"reward": 1}).json() == {"status": "late"}
        assert tested.sums("banners") == {}
        assert tell(web, (new, 0.5)) == ["accepted"]
    assert sum(count for count, _ in tested.sums("banners").values()) == 1
    assert tokens.open_token(tested.control.token_secret, old["assignment"]).epoch == 0


def test_arms_of_a_test_foretell_nothing(tested):
    """The order of arms has a secret of its own in each test."""
    units = [f"unit-{one}" for one in range(60)]
    orders = []
    for _ in range(2):
        given = tested.control.tests.assign("banners", m.AssignRequest(units))
        orders.append([one.arm for one in given])
        tested.control.tests.end("banners")
        tested.control.tests.begin("banners")
    tested.control.start("banners")
    orders.append([one.arm for one in tested.ask_all("banners", units)])
    assert len(set(map(tuple, orders))) == 3


def test_running_experiments_are_served_beside_a_test_in_one_batch(tested):
    tested.start("real", **small())
    with tested.web() as web:
        (mine,), (real,) = ask(web, "ann"), ask(web, "ann", name="real")
        assert tell(web, (mine, 1.0), ("x" * 48, 1), (real, 0.0), (mine, 1.0)) == [
            "accepted", "unknown", "accepted", "accepted",
        ]  # fmt: skip
    assert tested.sums("real") == {{"a": 0, "b": 1}[real["arm"]]: (1, 0)}


@pytest.mark.usefixtures("unhurried")
def test_requests_of_running_experiments_ask_for_no_test(world):
    world.start(**small())
    with world.web() as web:
        (given,) = ask(web, "ann")
        tell(web, (given, 1))
        with statements() as seen:
            ask(web, "bob")
            tell(web, (given, 1))
        assert not [one for one in seen if "test" in one]


def test_running_experiments_do_not_wait_for_the_threads_of_tests(tested, monkeypatch):
    tested.start("real", **small())
    with tested.web() as web:
        (mine,), (real,) = ask(web, "ann"), ask(web, "ann", name="real")
        monkeypatch.setattr(threads, "MOST_WAITING", 0)
        assert web.post(f"{ONE}/assignments", json={"units": ["bob"]}).status_code == 503
        assert web.put(f"/v1/rewards/{mine['assignment']}", json={"reward": 1}).status_code == 503
        assert tell(web, ("x" * 48, 1), (real, 1)) == ["unknown", "accepted"]
        assert ask(web, "bob", name="real")[0]["learn"]


# ---------------------------------------------------------------------- tokens that nobody made


def test_unknown_tokens_are_counted_for_the_only_test_or_the_key_s_own(tested):
    control = tested.control
    bound = control.make_key(m.NewKey("page", ["report"], "banners")).key
    with tested.web() as web:
        tell(web, ("x" * 48, 1), ("ann", 1))
        assert web.get(f"{ONE}/test").json()["unknown"] == 2
        control.create(draft("other", **small()))
        control.tests.begin("other")
        tell(web, ("x" * 48, 1))  # of which of the two?
        assert [control.tests.report(name).unknown for name in ("banners", "other")] == [2, 0]
        tell(web, ("x" * 48, 1), headers={"Authorization": f"Bearer {bound}"})
        assert [control.tests.report(name).unknown for name in ("banners", "other")] == [3, 0]
        tell(web, *[("x" * 48, 1)] * 1000, headers={"Authorization": f"Bearer {bound}"})
        assert "unknown-tokens" in kinds(web.get(f"{ONE}/test").json())
        with statements() as seen:
            tell(web, *[("x" * 48, 1)] * 1000, headers={"Authorization": f"Bearer {bound}"})
        assert not [one for one in seen if "UPDATE" in one]
    assert control.tests.report("banners").unknown == testmode.MOST_COUNTED
    assert tested.count(schema.tested_unit) == 0


def test_tokens_of_an_earlier_test_are_told_apart(tested):
    with tested.web() as web:
        (old,) = ask(web, "ann")
        tested.control.tests.end("banners")
        tested.control.tests.begin("banners")
        ask(web, "ann")
        assert tell(web, (old, 1)) == ["late"]
        report = web.get(f"{ONE}/test").json()
    assert report["rewards"] == 0
    assert "old-tokens" in kinds(report)


# ---------------------------------------------------------------------- the checker


def unit(number, reward=0.5, *, arm=None, told_at=10.0, again=0, asks=1, deadline=60.0, name=None):
    told_at = None if reward is None else told_at
    shown = name or f"unit-{number}"
    return m.TestedUnitView(
        number, shown, arm or "ab"[number % 2], 0.0, asks, deadline, reward, told_at, again, counts_as=None
    )


def many(size, **more):
    return [unit(number, number % 2, asks=2, **more) for number in range(size)]


CASES = {
    "no-units": [],
    "no-rewards": [unit(number, None) for number in range(3)],
    "few-rewards": [unit(number, 0.5 if number < 2 else None, asks=2) for number in range(8)],
    "all-out-of-range": [unit(number, 100 + number) for number in range(4)],
    "some-out-of-range": [*many(4), unit(4, -1)],
    "same-reward": [unit(number, 1) for number in range(6)],
    "late-rewards": [*many(4), unit(4, 0.25, told_at=61.0)],
    "again": [*many(4), unit(4, 0.25, again=2)],
    "same-unit": [unit(0, 0.5, asks=9)],
    "new-units": [unit(number, number % 3 / 2) for number in range(30)],
    "silent-arms": [unit(number, None if number % 2 else number / 30) for number in range(16)],
}


@pytest.mark.parametrize("kind", CASES)
def test_the_checker_says_what_is_wrong(kind):
    description = describe(draft(window=60.0))
    found = integration.check(description, CASES[kind], unknown=0, stale=0, now=100.0)
    said = [one for one in found if one.level != "well"]
    assert [one.kind for one in said] == [kind]
    assert said[0].words.endswith(".")
    assert said[0].advice.endswith(".")
    assert [one.kind for one in found if one.level == "well"] == (["well"] if said[0].level == "hint" else [])


def test_the_checker_says_that_all_is_well():
    (found,) = integration.check(describe(draft()), many(40), unknown=0, stale=0, now=100.0)
    assert found.level == "well"
    assert found.words == "All is well: 40 units, 40 rewards from 0 to 1, 2 of 2 arms."


def test_the_checker_waits_for_rewards_that_may_still_come():
    units = [unit(number, 0.5 if number < 2 else None, asks=2) for number in range(8)]
    (well, hint) = integration.check(describe(draft(window=60.0)), units, unknown=0, stale=0, now=30.0)
    assert well.words.startswith("Nothing is wrong so far")
    assert (hint.level, hint.kind) == ("hint", "few-rewards")
    assert "6 units there is time left" in hint.words


def test_the_checker_puts_problems_first():
    found = integration.check(describe(draft()), [*many(4), unit(4, 9, again=1)], unknown=3, stale=1, now=1.0)
    assert [one.kind for one in found] == ["unknown-tokens", "some-out-of-range", "old-tokens", "again"]


def test_a_draft_of_a_mean_is_tested_too(world):
    world.control.create(draft("mean", **small(rule="dp-nas-released")))
    with world.web() as web:
        web.post("/v1/experiments/mean/test")
        given = ask(web, *[f"unit-{one}" for one in range(6)], name="mean")
        assert {one["arm"] for one in given} == {None}
        tell(web, *[(one, number / 10) for number, one in enumerate(given)])
        report = web.get("/v1/experiments/mean/test").json()
    assert report["findings"][0]["words"] == "All is well: 6 units, 6 rewards from 0 to 0.5."


def test_logs_say_nothing_about_a_test(tested, caplog):
    with tested.web() as web:
        (given,) = ask(web, "ann")
        tell(web, (given, ODD))
        assert str(ODD) not in web.get("/metrics").text
    assert str(ODD) not in caplog.text
    assert "ann" not in caplog.text


def test_many_writers_fill_a_test_to_the_last_unit(tested):
    """Requests that come together get places of their own."""
    with tested.web() as web:
        sent = [("POST", f"{ONE}/assignments", {"units": [f"u-{one}", "all"]}) for one in range(20)]
        answers = [said.json()["assignments"] for said in web.together(*sent)]
        report = web.get(f"{ONE}/test").json()
    assert len({one["assignment"] for given in answers for one in given}) == 21
    assert report["units"] == len(report["assignments"]) == 21
    assert sorted(one["number"] for one in report["assignments"]) == list(range(21))
    assert {one["unit"]: one["asks"] for one in report["assignments"]}["all"] == 20

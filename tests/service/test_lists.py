"""Lists: a constant number of statements, pages with search and states, and threads of their own."""

import threading
from fractions import Fraction

import pytest

from discreet.service import threads
from discreet.service.experiments.control import Control
from discreet.service.messages import ExperimentsQuery, KeysQuery, LedgerQuery, NewKey
from discreet.service.storage import schema
from tests._tools.patience import LONG
from tests._tools.service_copies import copies, statements
from tests._tools.service_tools import draft, small

SOME, MANY = 3, 60


def release_one(world, name="banners", **more):
    world.start(name, **small(**more))
    world.finish_epoch(name, lambda arm: 1.0)
    return world


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("stale", [False, True])
def test_a_list_takes_as_many_statements_for_many_as_for_some(world, stale):
    release_one(world, privacy_unit="person")
    copies(world, "banners", MANY)
    if stale:  # snapshots that are behind: algorithms are rebuilt, from what was read at once
        world.run("UPDATE experiment SET covered = 0")
    counts = []
    with world.web() as web:
        web.get("/v1/experiments")  # the key is known from here on
        for limit in (SOME, MANY):
            with statements() as seen:
                found = web.get(f"/v1/experiments?limit={limit}").json()["experiments"]
            assert len(found) == limit
            assert all(one["arms"][0]["mean"] is not None for one in found)
            counts.append(len(seen))
    assert counts[0] == counts[1] <= 6


def test_the_ledger_takes_as_many_statements_for_many_lines_as_for_some(world):
    release_one(world)
    counts = []
    for more in (0, MANY):
        for number in range(more):
            world.control.set_budget("crowd", str(900 - number))
        with statements() as seen:
            world.control.ledger("crowd")
            world.control.ledger_page("crowd", 1, 50, 12)
            world.control.populations()
        counts.append(len(seen))
    assert counts[1] <= counts[0] <= 11


def test_experiments_are_seen_page_by_page(world):
    for number in range(7):
        world.control.create(draft(f"draft-{number}"))
    for name, then in (("runs", ()), ("waits", ("pause",)), ("ended", ("stop",)), ("old", ("stop", "archive"))):
        world.start(name, **small())
        for step in then:
            getattr(world.control, step)(name)
    seen, after = [], ""
    while True:
        page = world.control.experiments(ExperimentsQuery(limit=3, after=after))
        assert len(page.experiments) <= 3
        seen += [one.name for one in page.experiments]
        after = page.next
        if after is None:
            break
    assert seen == ["runs", "waits", *(f"draft-{number}" for number in reversed(range(7))), "ended", "old"]
    views, total = world.control.page_of_experiments(ExperimentsQuery(limit=3), 2)
    assert ([one.name for one in views], total) == (seen[3:6], 11)


def test_experiments_are_found_by_name_population_and_state(world):
    for name, more in (("banners-a", {}), ("banners-b", small()), ("other", small())):
        world.control.create(draft(name, **more))
    world.control.start("other")

    def found(**query):
        return {one.name for one in world.control.experiments(ExperimentsQuery(**query)).experiments}

    assert found(search="ANNERS") == {"banners-a", "banners-b"}
    assert found(search=" crowd ") == {"banners-b", "other"}
    assert found(search="crowd", state="draft") == {"banners-b"}
    assert found(state="paused") == found(search="%") == found(search="_") == found(search="' OR 1=1") == set()


def test_lists_over_http(world):
    for number in range(5):
        world.control.create(draft(f"draft-{number}"))
        world.control.make_key(NewKey(f"key-{number}", ["report"]))
    only = world.control.make_key(NewKey("guest", ["analyse"], "draft-1")).key
    with world.web() as web:
        first = web.get("/v1/experiments?limit=3&search=draft").json()
        second = web.get("/v1/experiments", params={"limit": 3, "search": "draft", "after": first["next"]}).json()
        names = [one["name"] for page in (first, second) for one in page["experiments"]]
        assert names == [f"draft-{number}" for number in reversed(range(5))]
        assert second["next"] is None
        guest = web.get("/v1/experiments", headers={"Authorization": f"Bearer {only}"}).json()
        assert [one["name"] for one in guest["experiments"]] == ["draft-1"]
        for wrong in (
            "limit=0",
            "limit=201",
            "limit=x",
            "after=5.1",
            "after=x",
            "state=gone",
            "search=%00",
            "page=2",
            "state=null",
            "state=draft&state=draft",
        ):
            assert web.get(f"/v1/experiments?{wrong}").status_code == 422, wrong
        assert web.get("/v1/experiments?search=&state=&after=").status_code == 200
        assert web.get("/v1/experiments?after=4.999999999").json() == {"experiments": [], "next": None}
        first = web.get("/v1/keys?limit=4").json()
        second = web.get(f"/v1/keys?limit=4&after={first['next']}").json()
        assert len({one["id"] for page in (first, second) for one in page["keys"]}) == 7
        assert second["next"] is None
        for wrong in ("after=zz", "after=00000000", "limit=0"):
            assert web.get(f"/v1/keys?{wrong}").status_code == 422, wrong
        assert web.get("/v1/populations/crowd/ledger?after=-1").status_code == 422
        assert web.get("/v1/populations/nobody/ledger?verify=true").status_code == 404
        assert web.get("/v1/populations/crowd/ledger?after=2000000000&limit=200").json()["entries"] == []


def test_a_ledger_is_seen_page_by_page(world):
    for number in range(6):
        world.control.set_budget("crowd", str(900 - number))
    pages = [world.control.ledger("crowd", LedgerQuery(limit=3, after=after)) for after in (0, 3, 6)]
    assert [[one.number for one in page.entries] for page in pages] == [[1, 2, 3], [4, 5, 6], [7]]
    assert [page.next for page in pages] == [3, 6, None]
    shown = world.control.ledger_page("crowd", 2, 3, 12)
    assert ([one.number for one in shown.entries], shown.lines) == ([4, 3, 2], 7)
    assert world.control.ledger_page("crowd", 9, 3, 12).entries == []


def test_keys_that_are_valid_come_first(world, clock):
    for number in range(4):
        clock.wait(1)
        world.control.make_key(NewKey(f"key-{number}", ["report"], expires_in=60.0 if number == 2 else None))
    made = {one.name: one.id for one in world.control.keys(KeysQuery(limit=200)).keys}
    world.control.revoke_key(made["key-3"])
    clock.wait(100)
    found = [*world.control.page_of_keys(1, 3)[0], *world.control.page_of_keys(2, 3)[0]]
    assert [one.name for one in found] == ["key-1", "key-0", "first key", "key-3", "key-2"]


def test_one_damaged_experiment_does_not_take_the_others_with_it(world):
    release_one(world)
    release_one(world, "fine")
    world.run("UPDATE release SET steps = '1' WHERE experiment = 1 AND part = 0")
    found = {one.name: one for one in world.control.experiments().experiments}
    assert "was changed in the database" in found["banners"].problem
    assert [arm.mean for arm in found["banners"].arms] == [None, None]
    assert (found["banners"].best, found["banners"].settled) == (None, False)
    assert found["fine"].problem is None
    assert found["fine"].arms[0].mean == pytest.approx(1.0, abs=0.1)
    with world.web() as web:
        assert web.get("/v1/experiments").status_code == 200
        assert web.get("/v1/experiments/fine").status_code == 200
        assert web.get("/v1/experiments/banners").status_code == 500
        assert web.get("/v1/populations/crowd/ledger").status_code == 200


def test_a_list_finds_a_change_of_releases_that_it_has_shown_before(world):
    """Checked releases are remembered by what they say, and not by whose they are."""
    release_one(world)
    assert world.control.experiments().experiments[0].problem is None
    (row,) = world.rows(schema.experiment)
    stored = world.rows(schema.release, experiment=row["id"])
    world.run("UPDATE release SET scale = scale + 1")
    assert world.control.experiments().experiments[0].problem is not None
    world.run("UPDATE release SET scale = :scale", scale=stored[0]["scale"])
    assert world.control.experiments().experiments[0].problem is None


# ---------------------------------------------------------------------- what has changed


def test_facts_change_with_everything_that_a_page_shows(world):
    query = ExperimentsQuery()

    def facts():
        return world.control.list_facts(query, 1), world.control.facts(identity)

    identity = world.control.create(draft(**small(window=60.0))).id
    before = facts()
    assert facts() == before
    for step in (
        lambda: world.control.replace("banners", draft(**small(epsilon="90", privacy_unit="person"))),
        lambda: world.control.start("banners"),
        lambda: world.ask("banners", "ann"),
        lambda: world.finish_epoch("banners"),
        lambda: world.control.pause("banners"),
        lambda: world.control.resume("banners"),
        lambda: world.control.stop("banners"),
        lambda: world.control.archive("banners"),
    ):
        step()
        after = facts()
        assert after[0] != before[0]
        assert after[1] != before[1]
        before = after
    world.control.create(draft("another"))
    assert facts()[0] != before[0]


def test_facts_take_one_statement_and_rewards_do_not_change_them(world):
    world.start(**small())
    (given,) = world.ask("banners", "ann")
    before = world.control.list_facts(ExperimentsQuery(), 1), world.control.facts("banners")
    world.tell((given, 1.0))
    with statements() as seen:
        assert world.control.list_facts(ExperimentsQuery(), 1) == before[0]
        assert world.control.facts("banners") == before[1]
    assert len([one for one in seen if one.startswith("SELECT")]) == 2


# ---------------------------------------------------------------------- threads and connections


@pytest.fixture
def stuck(monkeypatch):
    """Lists that do not end before they are let go, and a count of those that have begun: no place to wait is left."""
    go, begun, original = threading.Event(), threading.Semaphore(0), Control.experiments

    def wait(*given):
        begun.release()
        assert go.wait(LONG)
        return original(*given)

    monkeypatch.setattr(Control, "experiments", wait)
    monkeypatch.setattr(threads, "MOST_WAITING", threads.THREADS)
    yield go, begun
    go.set()


def test_nobody_who_assigns_or_reports_waits_for_lists_and_too_many_of_them_are_refused(world, stuck):
    world.start("fed", **small(source="totals"))
    world.start(**small())
    with world.web() as web:
        said, (go, begun) = [], stuck
        readers = [
            threading.Thread(target=lambda: said.append(web.get("/v1/experiments").status_code))
            for _ in range(threads.THREADS)
        ]
        for one in readers:
            one.start()
        for _ in readers:
            assert begun.acquire(timeout=LONG)
        refused = web.get("/v1/experiments")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert web.get("/login", headers={"Accept": "text/html"}).status_code == 503
        # A new key is looked up, units are assigned, rewards counted, and an epoch closed.
        key = world.control.make_key(NewKey("new", ["assign", "report", "analyse"])).key
        own = {"Authorization": f"Bearer {key}"}
        given = web.post("/v1/experiments/banners/assignments", json={"units": ["ann"]}, headers=own).json()
        token = given["assignments"][0]["assignment"]
        assert web.put(f"/v1/rewards/{token}", json={"reward": 1}, headers=own).status_code == 202
        plan = web.get("/v1/experiments/fed/plan", headers=own).json()
        totals = {"epoch": 1, "totals": dict.fromkeys(plan["pulls"], 0)}
        assert web.post("/v1/experiments/fed/totals", json=totals, headers=own).status_code == 204
        assert web.get("/readyz").status_code == 200
        assert web.post("/v1/experiments/banners/pause").status_code == 200
        go.set()
        for one in readers:
            one.join()
        assert said == [200] * threads.THREADS
        assert web.get("/v1/experiments").status_code == 200


@pytest.mark.usefixtures("unhurried")
def test_lists_take_no_connection_of_those_who_assign(world):
    world.start(**small())
    with world.web() as web:
        assert web.get("/v1/experiments").status_code == 200  # the key is known from here on
        with statements(world.database.engine) as seen:
            for path in ("/v1/experiments", "/v1/experiments/banners", "/v1/populations/crowd/ledger", "/v1/keys"):
                assert web.get(path).status_code == 200
        assert [one for one in seen if "api_key" not in one and "BEGIN" not in one] == []


def test_a_view_of_a_list_is_the_view_of_one(world):
    release_one(world, privacy_unit="person")
    (listed,) = world.control.experiments().experiments
    assert listed == world.control.experiment("banners")
    assert Fraction(listed.spent) > 0

"""Keys: hashed where they are kept, ended by time or by hand, and good for nothing but their scopes."""

from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from discreet.service.http import authorization as access
from discreet.service.http.api import OPERATIONS
from discreet.service.messages import NewKey
from discreet.service.storage import schema
from tests._tools.service_tools import small


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """Keys are looked up at every request, so that no test waits for a second to pass."""
    monkeypatch.setattr(access, "_MOMENT", 0.0)


UNKNOWN = f"dk_00000000_{'x' * 43}"


def made(world, *scopes, **more):
    return world.control.make_key(NewKey("somebody", list(scopes), **more))


def bearer(key):
    return {"Authorization": f"Bearer {getattr(key, 'key', key)}"}


def test_a_key_is_kept_as_a_digest(world):
    new = made(world, "report")
    kept = str(world.rows(schema.api_key))
    assert new.key.startswith(f"dk_{new.about.id}_")
    for part in (new.key, new.key.split("_", 2)[2], world.key):
        assert part not in kept
    assert world.control.authenticate(new.key).id == new.about.id
    assert len(new.key) > 50


def test_a_key_ends_by_time(world):
    new = made(world, "analyse", expires_in=100.0)
    with world.web() as web:
        assert web.get("/v1/experiments", headers=bearer(new)).status_code == 200
        world.clock.wait(99.5)
        assert web.get("/v1/experiments", headers=bearer(new)).status_code == 200
        world.clock.wait(0.5)
        assert web.get("/v1/experiments", headers=bearer(new)).status_code == 401


def test_a_key_ends_by_hand(world):
    new = made(world, "analyse")
    with world.web() as web:
        assert web.get("/v1/experiments", headers=bearer(new)).status_code == 200
        ended = web.delete(f"/v1/keys/{new.about.id}").json()["revoked_at"]
        world.clock.wait(10)
        assert web.get("/v1/experiments", headers=bearer(new)).status_code == 401
        assert web.delete(f"/v1/keys/{new.about.id}").json()["revoked_at"] == ended
        assert web.delete("/v1/keys/nothing").status_code == 404


def test_an_ended_key_is_refused_within_a_moment_even_if_it_was_just_used(world, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(access, "_MOMENT", 1.0)
    monkeypatch.setattr(access, "time", SimpleNamespace(monotonic=lambda: now[0]))
    new = made(world, "analyse")
    with world.web() as web:
        for later, status in ((0.0, 200), (0.9, 200), (1.0, 401), (1.1, 401)):
            now[0] = 100.0 + later
            assert web.get("/v1/experiments", headers=bearer(new)).status_code == status
            world.control.revoke_key(new.about.id)


def test_all_who_show_a_key_at_once_wait_for_one_look(world, monkeypatch):
    looks, look = [], world.control.authenticate
    monkeypatch.setattr(world.control, "authenticate", lambda key: looks.append(key) or look(key))
    crowd = [("GET", "/v1/algorithms", None)] * 30
    with world.web() as web:
        assert {one.status_code for one in web.together(*crowd)} == {200}
        assert looks == [world.key]
        assert {one.status_code for one in web.together(*crowd, headers=bearer(UNKNOWN))} == {401}
        assert looks == [world.key, UNKNOWN]


def test_a_look_that_fails_is_not_remembered(world, monkeypatch):
    look, broken = world.control.authenticate, [OperationalError("", {}, Exception())]
    monkeypatch.setattr(world.control, "authenticate", lambda key: throw(broken.pop()) if broken else look(key))
    crowd = [("GET", "/v1/algorithms", None)] * 5
    with world.web() as web:
        assert {one.status_code for one in web.together(*crowd)} == {503}
        assert {one.status_code for one in web.together(*crowd)} == {200}


def throw(error):
    raise error


WRONG = ["", "Bearer", "Bearer ", "Basic abc", "Bearer dk_", "Bearer dk_00000000_" + "A" * 43, "Bearer \xe9", "dk_x"]


@pytest.mark.parametrize("header", WRONG)
def test_without_a_key_there_is_nothing(world, header):
    key = {"Authorization": header.encode("latin-1")}
    for operations in batched(OPERATIONS, 20):  # fewer than the keys of an address that are refused in a minute
        with world.web() as web:
            for operation in operations:
                path = operation.path.replace("{experiment}", "x").replace("{assignment}", "x")
                path = path.replace("{population}", "everybody").replace("{key}", "x")
                said = web.request(operation.method, path, headers=key)
                assert (said.status_code == 401) == (operation.scopes is not None), (operation.name, said.status_code)
            assert web.get("/metrics", headers=key).status_code == 401


def batched(things, size):
    return [things[start : start + size] for start in range(0, len(things), size)]


@pytest.mark.parametrize("scope", ["assign", "report", "analyse"])
def test_a_key_is_good_for_its_scope_alone(world, scope):
    world.start("banners", **small())
    new = made(world, scope)
    with world.web() as web:
        for operation in OPERATIONS:
            if operation.scopes is None:
                continue
            path = operation.path.replace("{experiment}", "banners").replace("{assignment}", "x")
            path = path.replace("{population}", "everybody").replace("{key}", "x")
            said = web.request(operation.method, path, headers=bearer(new))
            assert (said.status_code == 403) == (scope not in operation.scopes), (operation.name, said.status_code)
        assert web.get("/metrics", headers=bearer(new)).status_code == 403


def test_a_key_for_one_experiment_does_not_see_others(world):
    one, _ = world.start("one", **small()), world.start("other", **small())
    new = made(world, "assign", "report", "analyse", experiment="one")
    assert new.about.experiment == one.id
    assert new.warning
    with world.web() as web:
        mine = bearer(new)
        assert [each["name"] for each in web.get("/v1/experiments", headers=mine).json()["experiments"]] == ["one"]
        missing = web.get("/v1/experiments/other", headers=mine)
        never = web.get("/v1/experiments/never", headers=mine)
        assert missing.status_code == never.status_code == 404
        for path in ("epochs", "releases", "plan"):
            assert web.get(f"/v1/experiments/one/{path}", headers=mine).status_code == 200
            assert web.get(f"/v1/experiments/other/{path}", headers=mine).status_code == 404
        for path in ("/v1/populations", "/v1/populations/crowd/ledger"):
            assert web.get(path, headers=mine).status_code == 403
        body = {"units": ["ann"]}
        assert web.post("/v1/experiments/other/assignments", json=body, headers=mine).status_code == 404
        assert web.post("/v1/experiments/one/assignments", json=body, headers=mine).status_code == 200


def test_a_key_for_one_experiment_cannot_be_an_admin_or_for_nothing(world):
    world.start("one", **small())
    with world.web() as web:
        key = {"name": "x", "scopes": ["admin"], "experiment": "one"}
        assert web.post("/v1/keys", json=key).status_code == 422
        assert web.post("/v1/keys", json={**key, "scopes": ["report"], "experiment": "none"}).status_code == 404
        assert web.post("/v1/keys", json={"name": "x", "scopes": []}).status_code == 422
        assert web.post("/v1/keys", json={"name": "x", "scopes": ["all"]}).status_code == 422


def test_the_first_key_is_made_once(world):
    assert world.control.authenticate(world.key).scopes == ["admin"]
    assert world.control.set_up() is None


def test_pages_of_named_sites_may_assign_and_report(world):
    shop, other = "https://shop.example", "https://other.example"
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    for origins, origin, allowed in (((shop,), shop, True), ((shop,), other, False), ((), shop, False)):
        with world.web(origins=origins) as web:
            answer = web.request("OPTIONS", "/v1/rewards:batch", headers={"Origin": origin, **asks})
        assert (answer.headers.get("access-control-allow-origin") == origin) is allowed
        assert "access-control-allow-credentials" not in answer.headers


def test_the_last_admin_key_that_does_not_expire_cannot_be_revoked(world):
    first = world.control.authenticate(world.key).id
    passing = made(world, "admin", expires_in=100.0)  # ends by itself one day: it does not count
    made(world, "report", "assign", "analyse")
    with world.web() as web:
        said = web.delete(f"/v1/keys/{first}")
        assert said.status_code == 409
        assert "the last one with the scope admin that does not expire" in said.json()["detail"]
        assert web.get("/v1/keys").status_code == 200
        assert web.delete(f"/v1/keys/{passing.about.id}").status_code == 200
        second = web.post("/v1/keys", json={"name": "second", "scopes": ["admin"]}).json()
        assert web.delete(f"/v1/keys/{first}").status_code == 200
        said = web.delete(f"/v1/keys/{second['about']['id']}", headers=bearer(second["key"]))
        assert said.status_code == 409
        assert (
            web.delete(f"/v1/keys/{first}", headers=bearer(second["key"])).status_code == 200
        )  # as often as one likes

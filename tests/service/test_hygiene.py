"""Rewards and keys stay out of everything that is written, said or counted; and one bad request harms no other."""

import logging
import re
from dataclasses import replace

import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from discreet.service.errors import ServiceProblem
from discreet.service.experiments import assignments as traffic
from discreet.service.experiments.control import Control
from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.http.background import Closer
from discreet.service.http.metrics import Metrics
from discreet.service.storage import schema
from tests._tools.service_tools import do_now, draft, small

ODD = 0.7310585  # a reward that nothing else looks like
UNITS = round(ODD * 2**20)


def looks(count=1):
    """How it could look: as it was sent, in grid units, and added up."""
    return [str(ODD), "7310585", *{str(UNITS * times) for times in range(1, count + 1)}]


def assert_silent(said):
    for look in looks(8):
        assert look not in said, (look, said)


# ---------------------------------------------------------------------- logs and answers


def failures(world, web, token):
    """Requests with a good reward that go wrong, and some that do not."""
    body = {"reward": ODD}
    yield web.put(f"/v1/rewards/{token}", json=body)
    yield web.put(f"/v1/rewards/{token}", json=body)
    yield web.put(f"/v1/rewards/{token}x", json=body)
    yield web.put(f"/v1/rewards/{token}", json={**body, "more": 1})
    yield web.put(f"/v1/rewards/{token}", json={"reward": str(ODD)})
    yield web.put(f"/v1/rewards/{token}", json={"reward": [ODD]})
    yield web.put(f"/v1/rewards/{token}", content=f'{{"reward": {ODD}')
    yield web.put(f"/v1/rewards/{token}", content=f'{{"reward": {ODD}e999}}')
    yield web.put(f"/v1/rewards/{token}", json=body, headers={"Authorization": "Bearer wrong"})
    yield web.post(f"/v1/rewards/{token}", json=body)
    yield web.post("/v1/rewards:batch", json={"rewards": [{"assignment": token, **body}, {"assignment": "x", **body}]})
    yield web.post("/v1/rewards:batch", json={"rewards": [{"assignment": token, "reward": str(ODD)}]})
    yield web.post("/v1/rewards:batch", json={"rewards": []})
    yield web.post("/v1/rewards:batch", json=[ODD])
    yield web.post("/v1/experiments/banners/totals", json={"epoch": 1, "totals": {"a": UNITS, "b": UNITS}})
    yield web.post("/v1/experiments/logged/totals", json={"epoch": 1, "totals": {"a": UNITS * 10**9, "b": UNITS}})
    yield web.post("/v1/experiments/logged/totals", json={"epoch": 1, "totals": {"a": ODD, "b": UNITS}})
    yield web.post("/v1/experiments/logged/totals", json={"epoch": 1, "totals": {"a": -UNITS, "b": UNITS}})
    yield web.post("/v1/experiments/logged/totals", json={"epoch": 1, "totals": {"a": UNITS}})
    world.run("ALTER TABLE counter RENAME TO gone")
    more = world.ask("banners", "bob")[0].assignment
    yield web.put(f"/v1/rewards/{more}", json=body)
    yield web.post("/v1/rewards:batch", json={"rewards": [{"assignment": more, **body}]})
    world.run("ALTER TABLE gone RENAME TO counter")
    yield web.put(f"/v1/rewards/{more}", json=body)


def test_no_answer_and_no_log_holds_a_reward_or_a_key(world, caplog, capfd, tmp_path):
    caplog.set_level(logging.DEBUG)
    world.start(**small())
    world.start("logged", source="totals", **small())
    token = world.ask("banners", "ann")[0].assignment
    statuses = []
    with world.web() as web:
        for said in failures(world, web, token):
            statuses.append(said.status_code)
            assert_silent(said.text + str(said.headers))
        for path in ("/v1/experiments", "/v1/experiments/banners/epochs", "/v1/experiments/banners/plan", "/metrics",
                     "/v1/populations/crowd/ledger", "/v1/keys", "/readyz"):  # fmt: skip
            assert_silent(web.get(path).text)
    assert statuses[0] == statuses[-1] == 202
    assert statuses[-3:-1] == [503, 503]
    assert set(statuses) == {200, 202, 400, 401, 404, 405, 409, 422, 503}
    world.clock.wait(60)
    Closer(world.database, Metrics(), Journal(tmp_path / "journal")).look()
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    written = "\n".join(ours) + "".join(capfd.readouterr())
    assert "a transaction of 1 requests failed" in written
    for secret in (world.key, world.key.split("_", 2)[2], token):
        assert secret not in written
    assert_silent(written)


def test_an_error_of_the_database_does_not_quote_what_it_was_given(world):
    with pytest.raises(DBAPIError) as caught:
        world.run("INSERT INTO counter VALUES (1, 1, '-', 0, 1, :total), (1, 1, '-', 0, 1, :total)", total=UNITS)
    assert isinstance(caught.value, IntegrityError)
    assert str(UNITS) not in str(caught.value)
    assert str(UNITS) not in repr(caught.value)


def test_metrics_count_no_rewards_and_know_no_experiment(world):
    world.start(**small())
    given = world.ask_all("banners", [f"u{number}" for number in range(6)])
    with world.web() as web:

        def counted():
            return {
                line.split()[0]: line.split()[1] for line in web.get("/metrics").text.splitlines() if line[0] != "#"
            }

        before = counted()
        for one in given:
            assert web.put(f"/v1/rewards/{one.assignment}", json={"reward": ODD}).status_code == 202
        with_rewards = counted()
        for _ in given:
            assert web.post("/v1/experiments/banners/assignments", json={"units": ["u0"]}).status_code == 200
        text = web.get("/metrics").text
        with_questions = counted()
    for name in ("banners", "crowd", "{arm", "told", "reward", "experiment="):
        assert name not in text
    changed = {name for name in before if before[name] != with_rewards[name]}
    assert all(name.startswith("discreet_http") for name in changed), changed
    answered = 'discreet_http_responses_total{code="2xx"}'
    assert int(with_questions[answered]) - int(with_rewards[answered]) == len(given) + 2  # as any request is counted
    assert set(re.findall(r"{(\w+)=", text)) <= {"code", "le", "version"}


def test_closes_that_found_nothing_are_not_counted(world):
    world.start(**small())
    world.fill("banners")
    world.clock.wait(60)
    metrics = Metrics()
    closer = Closer(world.database, metrics, None)
    assert closer.look() == 1
    assert closer.look() == 0
    assert "discreet_closed_epochs_total 1\n" in metrics.text()


def test_one_reward_changes_nothing_that_others_can_see(world):
    """All views, of all keys, before and after rewards: the same to the byte."""
    world.start(**small())
    given = world.ask_all("banners", [f"u{number}" for number in range(8)])
    paths = ["/v1/experiments", "/v1/experiments/banners", "/v1/experiments/banners/epochs",
             "/v1/experiments/banners/releases", "/v1/experiments/banners/summary", "/v1/experiments/banners/plan",
             "/v1/populations",
             "/v1/populations/crowd/ledger", "/readyz", "/healthz"]  # fmt: skip
    with world.web() as web:
        before = [web.get(path).content for path in paths]
        asked = web.post("/v1/experiments/banners/assignments", json={"units": ["u0", "u7", "new"]}).content
        for one in given[:5]:
            web.put(f"/v1/rewards/{one.assignment}", json={"reward": ODD})
        assert [web.get(path).content for path in paths] == before
        assert web.post("/v1/experiments/banners/assignments", json={"units": ["u0", "u7", "new"]}).content == asked


# ---------------------------------------------------------------------- one bad request among good ones


def test_a_request_that_breaks_does_not_take_others_with_it(world, monkeypatch):
    """Requests share transactions; one that fails by itself must fail alone."""
    world.start("good", **small())
    world.start("bad", **small())
    honest = traffic.order

    def broken(secret, *more):
        if secret == world.control.started("bad").secret:
            raise RuntimeError("a fault")
        return honest(secret, *more)

    token = world.ask("good", "ann")[0].assignment
    monkeypatch.setattr(traffic, "order", broken)
    with world.web() as web:
        ask = {"units": ["bob"]}
        said = web.together(
            *[("POST", "/v1/experiments/bad/assignments", ask)] * 3,
            ("POST", "/v1/experiments/good/assignments", ask),
            ("PUT", f"/v1/rewards/{token}", {"reward": 1.0}),
            *[("POST", "/v1/experiments/bad/assignments", ask)] * 3,
        )
    assert [one.status_code for one in said] == [503, 503, 503, 200, 202, 503, 503, 503]
    assert sum(told for told, _ in world.sums("good").values()) == 1
    assert world.count(schema.assignment) == 2


class Broken(Exception):
    pass


@pytest.mark.parametrize(("error", "status"), [
    (OperationalError("SELECT", {}, Broken()), 503), (NoConnectionLeft(), 503), (Broken(str(ODD)), 500),
])  # fmt: skip
def test_a_database_that_is_away_is_said_so(world, monkeypatch, error, status, caplog):
    def broken(*_):
        raise error

    with world.web() as web:
        assert web.get("/v1/experiments").status_code == 200
        monkeypatch.setattr(Control, "experiments", broken)
        said = web.get("/v1/experiments")
        assert said.status_code == status
        assert said.headers["content-type"] == "application/problem+json"
        monkeypatch.setattr(world.control, "authenticate", broken)
        assert (
            web.get("/v1/populations", headers={"Authorization": f"Bearer dk_00000000_{'x' * 43}"}).status_code
            == status
        )
    assert type(error).__name__ in caplog.text
    assert_silent(caplog.text + said.text)


def test_a_writer_says_when_it_is_overloaded(world, monkeypatch):
    monkeypatch.setattr("discreet.service.storage.group_commit._MOST_WAITING", -1)
    world.start(**small())
    with world.web() as web:
        said = web.post("/v1/experiments/banners/assignments", json={"units": ["ann"]})
    assert said.status_code == 503
    assert said.headers["retry-after"] == "1"
    assert world.count(schema.assignment) == 0


def test_batches_have_a_writer_of_their_own_where_it_need_not_wait(world):
    writers = traffic.Writers.of(world.database)
    alone = world.database.engine.dialect.name == "sqlite"
    assert (writers.single in writers.batches) == alone
    assert len(writers.batches) == (1 if alone else 2)
    writers.stop()


def test_a_writer_answers_threads_as_well(world):
    world.start(**small())
    writer = traffic.Writer(world.database)
    (given,) = do_now(writer, traffic.Ask(world.control.started("banners"), ["ann"]))
    assert given.learn
    world.control.create(draft("unstarted", **small()))
    draft_row = world.rows(schema.experiment, name="unstarted")[0]
    running = world.control.started("banners")
    ghost = replace(running, id=draft_row["id"], uid=draft_row["uid"], secret=draft_row["secret"])
    with pytest.raises(ServiceProblem):
        do_now(writer, traffic.Ask(ghost, ["ann"]))
    writer.stop()

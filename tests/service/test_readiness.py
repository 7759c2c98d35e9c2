"""The state of a service: a full disk, a journal that cannot be written, a clock that jumped back; and its own time."""

import pytest
from sqlalchemy import event

from discreet.service.experiments.upkeep import readiness
from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.messages import NewKey
from discreet.service.storage import schema
from tests._tools.service_tools import World, is_sqlite, small


@pytest.fixture(autouse=True)
def attentive(monkeypatch):
    """Each request is a new look."""
    monkeypatch.setattr(readiness, "_FRESH", 0.0)


def ready(web):
    """The status and the reasons. Nobody needs a key for them."""
    said = web.get("/readyz", headers={"Authorization": ""})
    return said.status_code, said.json()["reasons"]


def test_a_service_that_is_well_is_ready(world, tmp_path):
    with world.web(journal=Journal(tmp_path / "journal")) as web:
        assert ready(web) == (200, [])
        assert web.get("/readyz").json() == {"status": "ok", "reasons": []}


def test_a_full_disk(world, caplog):
    if not is_sqlite(world):
        pytest.skip("the server's own disk")
    full = True

    def cap(connection, *_):
        pages = connection.execute("PRAGMA page_count").fetchone()[0] if full else 2**30
        connection.execute(f"PRAGMA max_page_count={pages}")

    event.listen(world.database.engine, "checkout", cap)
    with world.web() as web:
        for _ in range(2):
            assert ready(web) == (503, ["the database cannot be written: database or disk is full"])
        full = False
        assert ready(web) == (200, [])
    said = [record.getMessage() for record in caplog.records if record.getMessage().startswith(("not ready", "ready"))]
    assert said == ["not ready: the database cannot be written: database or disk is full", "ready again"]


def test_a_journal_that_cannot_be_written(world, tmp_path):
    folder = tmp_path / "later"
    with world.web(journal=Journal(folder / "journal")) as web:
        assert ready(web) == (503, ["the journal cannot be written: No such file or directory"])
        assert "discreet_failed_journal_writes_total 1\n" in web.get("/metrics").text
        folder.mkdir()
        world.start(**small())
        world.finish_epoch("banners")
        assert ready(web) == (200, [])


def test_a_clock_that_has_jumped_back(world):
    with world.web() as web:
        assert ready(web) == (200, [])
        world.clock.wait(-1)  # as time servers do
        assert ready(web) == (200, [])
        world.clock.wait(-3600)
        status, reasons = ready(web)
        assert status == 503
        assert "the clock is 3601 seconds behind" in reasons[0]
        world.clock.wait(3601)
        assert ready(web) == (200, [])


def test_late_rewards_stay_late_when_the_clock_jumps_back(world):
    world.start(**small())
    (ann,) = world.ask("banners", "ann")
    world.clock.wait(61)
    assert world.tell((ann, 1.0)) == ["late"]
    world.clock.wait(-60)
    assert world.tell((ann, 1.0)) == ["late"]
    assert world.sums("banners") == {}


def test_a_new_process_knows_the_latest_time_of_the_one_before(world):
    world.start(**small())
    (ann,) = world.ask("banners", "ann")
    key = world.key
    world.clock.wait(61)
    with world.web() as web:
        assert ready(web) == (200, [])
    world.clock.wait(-60)
    again = World(world.url, world.clock)
    again.key = key
    with again.web(tick=1000.0):  # it looks once before it serves
        assert again.tell((ann, 1.0)) == ["late"]
        with again.database.reading() as transaction:
            assert transaction.now() == world.clock.now + 60
    again.database.close()


def test_a_key_that_was_over_stays_over_when_the_clock_jumps_back(world):
    made = world.control.make_key(NewKey("somebody", ["analyse"], expires_in=100.0))
    world.clock.wait(100)
    assert world.control.authenticate(made.key) is None
    world.clock.wait(-50)
    assert world.control.authenticate(made.key) is None


def test_a_look_leaves_nothing_but_the_time(world):
    before = {table.name: world.rows(table) for table in schema.metadata.sorted_tables}
    world.clock.wait(5)
    with world.web() as web:
        assert ready(web) == (200, [])
    for table in schema.metadata.sorted_tables:
        rows = world.rows(table)
        if table.name == "setting":
            (noted,) = [row for row in rows if row["name"] == readiness.LATEST]
            assert float(noted["value"]) == world.clock.now
            noted["value"] = "0"
        assert rows == before[table.name]

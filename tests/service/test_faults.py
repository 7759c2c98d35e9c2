"""Faults: killed closers, servers and databases, no connections, no disk. Counts and releases stay exact."""

import random
import sys
import threading
import time
from collections import Counter

import pytest
from sqlalchemy import event, text

from discreet.mechanisms.curator import Curator
from discreet.service.experiments import assignments as traffic
from discreet.service.experiments import closing, tokens
from discreet.service.experiments.upkeep import readiness
from discreet.service.messages import NewPopulation
from discreet.service.storage import postgresql, schema
from tests._tools.service_faults import noise_ratio, race, siege
from tests._tools.service_tools import (
    BASE,
    FULL,
    World,
    crowd,
    do_now,
    hang_up,
    is_sqlite,
    new_database,
    new_file,
    small,
)

FAULTS = "Service under faults"  # on the page that `make verify` ends with

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")


def kind(world):
    return "SQLite" if is_sqlite(world) else "PostgreSQL"


# ---------------------------------------------------------------------- kill -9


@pytest.mark.system
def test_closers_that_are_killed_release_everything_once(world, tmp_path):
    expected, deaths = race(world, tmp_path, experiments=4, epochs=4, closers=2, seed=1)
    assert len(expected) == 16
    assert deaths.total() > 0


@pytest.mark.study
def test_a_thousand_epochs_closed_by_racing_closers_that_are_killed(world, tmp_path, page):
    expected, deaths = race(world, tmp_path, experiments=125, epochs=8, closers=3, seed=2)
    ratio = noise_ratio(world, expected)
    page(
        FAULTS,
        fault=f"{kind(world)}: kill -9 of 3 racing closers",
        faults=deaths.total(),
        checked=f"{2 * len(expected):,} releases; mean noise {ratio:.2f} scales (law: 1)",
    )
    assert len(expected) == 1000
    assert deaths.total() >= 50
    assert abs(ratio - 1) < 0.12


@pytest.mark.system
def test_everything_sent_three_times_through_kills_is_counted_once(world, tmp_path):
    siege(world, tmp_path, clients=8, each=5, kills=1, seed=1)


@pytest.mark.study
def test_64_clients_through_20_server_kills(world, tmp_path, page):
    met, killed = siege(world, tmp_path, clients=64, each=30, kills=20, seed=2)
    page(
        FAULTS,
        fault=f"{kind(world)}: kill -9 of a server of 64 clients",
        faults=killed,
        checked=f"{met.done:,} units, told three times; {met.errors:,} requests failed",
    )
    assert killed == 20


def live_close(world, name, choice, *, tellers, closers):
    """Tell and close at the same time; gives what was answered for each arm, and what was closed."""
    given = world.fill(name, lambda arm: None)
    world.clock.now = world.control.experiment(name).epoch.due_at  # in all windows still, and due already
    answers, closed, line = [], [], threading.Barrier(tellers + closers)
    identity, moment = world.control.started(name).id, choice.randrange(len(given))

    def teller(number):
        line.wait()
        for one in given[number::tellers]:
            (status,) = world.tell((one, 1.0), shard=f"s{number}")
            answers.append((one.arm, status))

    def closer(number):
        line.wait()
        while len(answers) < moment:
            time.sleep(0.001)
        for _ in range(1 + number):
            closed.append(closing.close_if_due(world.database, identity))

    threads = [threading.Thread(target=teller, args=(number,)) for number in range(tellers)]
    threads += [threading.Thread(target=closer, args=(number,)) for number in range(closers)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return answers, [one for one in closed if one is not None]


def live_closes(world, experiments, epochs):
    """Closes under traffic; gives how many rewards were counted and how many came too late."""
    choice, said = random.Random(experiments), Counter()
    for number in range(experiments):
        name = f"banners-{number}"
        world.control.create_population(NewPopulation(name, "100"))
        world.start(name, **small(population=name))
        for epoch in range(1, epochs + 1):
            answers, closed = live_close(world, name, choice, tellers=4, closers=2)
            assert closed == [epoch]
            said.update(status for _, status in answers)
            for one in world.control.epochs(name)[epoch - 1].releases:
                statuses = [status for told, status in answers if told == one.arm]
                assert set(statuses) <= {"accepted", "late"}
                assert round(one.value) == statuses.count("accepted")
            if world.control.experiment(name).epoch is None:  # one arm had so much more that all is found out
                break
    assert world.count(schema.counter) == 0
    return said


def test_every_reward_is_before_the_close_or_late(world):
    assert live_closes(world, 1, 4)["accepted"]


@pytest.mark.study
def test_forty_experiments_closed_under_traffic(world, page):
    said = live_closes(world, 40, 3)
    page(
        FAULTS,
        fault=f"{kind(world)}: rewards during a close",
        faults=said["late"],
        checked=f"{said['accepted']:,} counted in time, the others late",
    )
    assert min(said["accepted"], said["late"]) > 100


def test_who_asks_during_a_close_is_in_the_next_epoch(world):
    """On PostgreSQL a question waits for the close and then sees an epoch that was not there when it began."""
    world.start(**small())
    world.fill("banners", lambda arm: 0.5)
    world.clock.wait(60)
    identity, found = world.control.started("banners").id, []
    with world.database.writing() as transaction:
        row, epoch = closing.hold(transaction, identity)
        closing.close(transaction, row, epoch, now=world.clock.now)
        asking = threading.Thread(target=lambda: found.extend(world.ask("banners", "ann")))
        asking.start()
        if not is_sqlite(world):
            until_somebody_waits(world)
    asking.join()
    assert (found[0].epoch, found[0].learn) == (2, True)


def test_who_asks_during_a_pause_is_not_dealt(world):
    world.start(**small())
    identity, found = world.control.started("banners").id, []
    with world.database.writing() as transaction:
        closing.hold(transaction, identity)
        transaction.execute(text("UPDATE experiment SET state = 'paused'"))
        asking = threading.Thread(target=lambda: found.extend(world.ask("banners", "ann")))
        asking.start()
        if not is_sqlite(world):
            until_somebody_waits(world)
    asking.join()
    assert not found[0].learn
    assert world.count(schema.assignment) == 0


def until_somebody_waits(world):
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    for _ in range(100_000):
        with world.database.reading() as transaction:
            if transaction.execute(query).scalar_one():
                return
    raise AssertionError("nobody waits")


# ---------------------------------------------------------------------- a database that fails


@pytest.mark.system
def test_a_killed_postgresql_loses_nothing_that_was_confirmed(server, clock):
    world = crowd(World(new_database(server), clock))
    server.checkpoint()
    world.start(**small(policy="dp-bai"))
    given = world.fill("banners", lambda arm: None)
    started = world.control.started("banners")
    writer = traffic.Writer(world.database)
    tells = [told(started, one) for one in given]
    confirmed = []
    for number, one in enumerate(tells):
        if number == len(tells) // 2:
            server.kill()
            with pytest.raises(Exception, match="safe to try again"):
                do_now(writer, [one])
            with world.web() as web:
                assert web.get("/v1/experiments").status_code == 503
                assert web.get("/readyz").status_code == 503
                assert web.get("/healthz").status_code == 200
            server.start()
        if number % 40 == 0 or number >= len(tells) // 2 - 5:
            confirmed += do_now(writer, [one])
    assert set(confirmed) == {"accepted"}
    writer.stop()
    assert sum(count for count, _ in world.sums("banners").values()) == len(confirmed)
    world.clock.wait(60)
    assert world.close("banners") == 1
    assert sum(round(one.value) for one in world.control.releases("banners")) == len(confirmed)
    world.database.close()


def told(started, assignment):
    return traffic.Tell(started, tokens.open_token(started.token_secret, assignment.assignment), FULL)


@pytest.fixture
def careless(server, clock):
    """A PostgreSQL whose defaults are not good enough."""
    address = new_database(server)
    wrong = {"default_transaction_isolation": "'repeatable read'", "synchronous_commit": "off", "jit": "on"}
    for name, value in wrong.items():
        server.query(BASE, f'ALTER DATABASE "{BASE}" SET {name} = {value}')
    world = crowd(World(address, clock))
    yield world
    world.database.close()
    for name in wrong:
        server.query(BASE, f'ALTER DATABASE "{BASE}" RESET {name}')


@pytest.mark.system
def test_what_must_hold_does_not_depend_on_how_postgresql_is_set_up(careless):
    """With an old snapshot, a close would miss rewards that it has waited for; and a lost release is drawn again."""
    with careless.database.writing() as transaction:
        assert transaction.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"
        assert transaction.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
        assert transaction.execute(text("SHOW jit")).scalar_one() == "off", "each small query would be compiled"
    assert live_closes(careless, 1, 3)["accepted"]


@pytest.mark.system
def test_a_connection_that_died_while_idle_is_replaced_unnoticed(server, clock, monkeypatch):
    monkeypatch.setattr(postgresql, "_IDLE", 0.0)
    world = crowd(World(new_database(server), clock))
    world.start(**small())
    assert hang_up(server) > 0
    assert len(world.ask("banners", "ann")) == 1
    world.database.close()


def test_without_connections_left_it_says_so_and_recovers(world, monkeypatch):
    monkeypatch.setattr(readiness, "_FRESH", 0.0)
    world.start(**small())
    token = world.ask("banners", "ann")[0].assignment
    world.database.engine.pool._timeout = 0.05
    pool = world.database.engine.pool
    with world.web() as web:
        assert web.get("/v1/experiments").status_code == 200
        held = [world.database.engine.connect() for _ in range(pool.size() + pool._max_overflow)]
        assert web.put(f"/v1/rewards/{token}", json={"reward": 1.0}).status_code == 503
        assert web.get("/v1/experiments/banners/plan").status_code == 503
        assert web.get("/readyz").status_code == 503
        for one in held:
            one.close()
        assert web.put(f"/v1/rewards/{token}", json={"reward": 1.0}).json() == {"status": "accepted"}
        assert web.get("/readyz").status_code == 200


def test_on_a_full_disk_nothing_happens_and_then_everything(file, tmp_path, clock):
    world = crowd(World(new_file(file, tmp_path), clock))
    world.start(**small(policy="dp-bai"))
    given = world.ask_all("banners", [f"u{number}" for number in range(300)])
    started = world.control.started("banners")
    writer = traffic.Writer(world.database)
    full = True

    def cap(connection, *_):
        pages = connection.execute("PRAGMA page_count").fetchone()[0] if full else 2**30
        connection.execute(f"PRAGMA max_page_count={pages}")

    event.listen(world.database.engine, "checkout", cap)
    before = {table.name: world.rows(table) for table in schema.metadata.sorted_tables}
    for work in (traffic.Ask(started, [f"v{number}" for number in range(400)]),):
        with pytest.raises(Exception, match="safe to try again"):
            do_now(writer, work)
    with world.web() as web:
        asked = {"units": [f"v{number}" for number in range(400)]}
        assert web.post("/v1/experiments/banners/assignments", json=asked).status_code == 503
    assert {table.name: world.rows(table) for table in schema.metadata.sorted_tables} == before
    full = False
    assert set(do_now(writer, [told(started, one) for one in given])) == {"accepted"}
    assert (
        sum(one.learn for one in do_now(writer, traffic.Ask(started, [f"v{number}" for number in range(400)]))) == 400
    )
    assert sum(count for count, _ in world.sums("banners").values()) == 300
    writer.stop()
    world.database.close()


def test_a_close_on_a_full_disk_releases_nothing_and_then_once(file, tmp_path, clock, monkeypatch):
    """Room is found before anything is drawn: whether a close succeeds does not depend on the noise."""
    world = crowd(World(new_file(file, tmp_path), clock))
    world.start(**small())
    world.fill("banners", lambda arm: 1.0)
    world.clock.wait(60)
    honest, drawn, full = Curator.release, [], True

    def release(self, *given):
        drawn.append(given)
        return honest(self, *given)

    monkeypatch.setattr(Curator, "release", release)

    def cap(connection, *_):
        pages = connection.execute("PRAGMA page_count").fetchone()[0] if full else 2**30
        connection.execute(f"PRAGMA max_page_count={pages}")

    event.listen(world.database.engine, "checkout", cap)
    for _ in range(3):
        with pytest.raises(Exception, match="full"):
            world.close("banners")
        assert drawn == world.control.releases("banners") == []
        assert sum(total for _, total in world.sums("banners").values()) == 8 * FULL
    full = False
    assert world.close("banners") == 1
    assert len(drawn) == 1
    assert [round(one.value) for one in world.control.releases("banners")] == [4, 4]
    world.database.close()

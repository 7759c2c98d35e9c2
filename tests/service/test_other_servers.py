"""A database that goes on at another server of PostgreSQL: what may have been lost on the way is forfeited."""

import time

import pytest

from discreet.service.http.background import Closer
from discreet.service.http.metrics import Metrics
from discreet.service.http.server import Settings, prepare
from tests._tools import postgres
from tests._tools.patience import LONG
from tests._tools.service_tools import World, crowd, make_tables, small

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not postgres.available(), reason=postgres.HINT),
]


@pytest.fixture
def servers():
    """A list of servers that are removed at the end; the first one has a database."""
    made = [postgres.Postgres()]
    make_tables(made[0].fresh("team"))
    yield made
    for one in made:
        one.remove()


def fail_over(servers):
    """Return a standby that has taken over from a server that died at once."""
    primary = servers[0]
    standby = postgres.Postgres(follows=primary)
    servers.append(standby)
    ((written,),) = primary.query("postgres", "SELECT pg_current_wal_lsn()")
    deadline = time.monotonic() + LONG
    while standby.query("postgres", f"SELECT pg_last_wal_replay_lsn() < '{written}'") != [(False,)]:
        assert time.monotonic() < deadline, "the standby does not follow"
        time.sleep(0.05)
    primary.kill()
    assert standby.query("postgres", "SELECT pg_promote()") == [(True,)]
    return standby


def upgrade(servers):
    """Return a server that has the data of one that was stopped."""
    servers[0].stop()
    servers.append(servers[0].upgrade())
    return servers[-1]


@pytest.mark.parametrize("move", [fail_over, upgrade])
def test_open_epochs_are_forfeited_at_another_server(servers, move, clock):
    here = crowd(World(servers[0].url("team"), clock))
    begun = here.start(**small())
    here.finish_epoch("banners")
    seen = here.control.releases("banners")
    given = here.fill("banners", lambda arm: 0.5)
    assert prepare(Settings(database=here.url)).forfeited == []  # it is where it was
    here.database.close()

    url = move(servers).url("team")
    left = World(url, clock)  # as a worker that has not been started again since
    clock.wait(10**6)
    assert Closer(left.database, Metrics(), None).look() == 0
    left.database.close()
    assert prepare(Settings(database=url)).forfeited == [(begun.id, 2)]

    there = World(url, clock)
    assert [one.state for one in there.control.epochs("banners")] == ["closed", "forfeited", "open"]
    assert there.control.releases("banners") == seen != []
    assert set(there.tell(*[(one, 1.0) for one in given])) == {"late"}
    there.finish_epoch("banners")
    assert prepare(Settings(database=url)).forfeited == []  # it is found out once
    there.database.close()

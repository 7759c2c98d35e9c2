import pytest

from discreet.service.dashboard import shared
from discreet.service.experiments import testmode
from discreet.service.http import authorization
from tests._tools import postgres
from tests._tools.service_tools import BASE, Clock, World, crowd, make_tables, new_database, new_file


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL for all tests of a process."""
    if not postgres.available():
        pytest.skip(postgres.HINT)
    running = postgres.Postgres()
    make_tables(running.fresh(BASE))
    yield running
    running.remove()


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """An SQLite file with all tables, which tests copy."""
    path = tmp_path_factory.mktemp("service") / f"{BASE}.db"
    make_tables(path)
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def url(request, tmp_path):
    """A fresh database."""
    if request.param == "sqlite":
        return new_file(request.getfixturevalue("file"), tmp_path)
    return new_database(request.getfixturevalue("server"))


HOUR = 3600.0


@pytest.fixture
def unhurried(monkeypatch):
    """What is remembered for a moment is remembered for an hour: a slow machine asks for nothing again."""
    for module, name in ((authorization, "_MOMENT"), (testmode, "_FRESH"), (shared, "LASTS")):
        monkeypatch.setattr(module, name, HOUR)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def world(url, clock):
    """A fresh database with a first key and a population that can pay for everything."""
    opened = crowd(World(url, clock))
    yield opened
    opened.database.close()

"""A service without a network and without waiting: both databases, a clock that tests move, and short calls."""

import asyncio
import itertools
import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from sqlalchemy import func, select, text

from discreet.service.experiments import assignments as traffic
from discreet.service.experiments import closing, descriptions, standing, tokens
from discreet.service.experiments import control as control_module
from discreet.service.experiments.control import Control
from discreet.service.http.app import make_app
from discreet.service.messages import LedgerQuery, NewExperiment, NewPopulation
from discreet.service.storage import SQLite, open_database, schema
from discreet.service.storage.migrations import migrate
from tests._tools.service_web import Web

FULL = 2**20  # grid units of a reward of 1 where the range is [0, 1]
VERIFY = LedgerQuery(verify=True)  # the whole ledger, now
BASE = "ready"  # a database that has all tables
_numbers = itertools.count(1)
_WITH_TABLES = set()  # copies of a migrated file, which need not be migrated again


class Clock:
    """Seconds that pass when a test says so; whole ones, so that sums of them are exact."""

    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds


class World:
    """One database with its control plane, and the traffic as plain calls."""

    def __init__(self, url, clock=None):
        self.url, self.clock = url, clock
        self.database = open_database(url, clock=clock)
        self.control = Control(self.database)
        with patch.object(control_module, "migrate") if str(url) in _WITH_TABLES else nullcontext():
            self.key = self.control.set_up()

    # ------------------------------------------------------------------ what people do

    def start(self, name="banners", epsilon="1", **more):
        """A running experiment; its arms are `a` and `b` unless it is told otherwise."""
        self.control.create(draft(name, epsilon, **more))
        return self.control.start(name)

    def ask(self, name, *units, count=0):
        """What these units get, or so many without a name."""
        return self.ask_all(name, list(units) or [None] * count)

    def ask_all(self, name, units):
        wanted = traffic.Ask(self.control.started(name), units)

        def work(transaction):
            transaction.lock(wanted.experiment.id, shared=True)
            return _answered(traffic.assign(transaction, "-", [wanted]))

        return self.database.write(work)

    def tell(self, *rewards, shard="-"):
        """Rewards as pairs of an assignment (or its token) and a number; what became of them."""
        told = []
        for given, reward in rewards:
            token = getattr(given, "assignment", given)
            place = tokens.open_token(self.control.token_secret, token)
            started = self.control.started(place.experiment)
            told.append(traffic.Tell(started, place, started.description.encode(reward)))

        def work(transaction):
            transaction.lock(*sorted({one.experiment.id for one in told}), shared=True)
            return traffic.tell(transaction, shard, told)

        return self.database.write(work)

    def fill(self, name, reward=lambda arm: 0.0, prefix="unit"):
        """Deal all slots that the open epoch has left, to new units, and report what `reward` says for each arm."""
        epoch = self.control.experiment(name).epoch
        missing = epoch.quota - epoch.dealt
        given = []
        for start in range(0, missing, 1000):
            size = min(1000, missing - start)
            given += self.ask_all(name, [f"{prefix}-{epoch.number}-{start + one}" for one in range(size)])
        told = [(one, reward(one.arm)) for one in given if one.learn]
        assert set(self.tell(*[one for one in told if one[1] is not None])) <= {"accepted"}
        return given

    def close(self, name):
        """What the closer does."""
        return closing.close_if_due(self.database, self.control.started(name).id)

    def finish_epoch(self, name, reward=lambda arm: 0.0):
        """Fill an epoch, wait for its window to pass, and close it."""
        view = self.control.experiment(name)
        self.fill(name, reward)
        self.clock.wait(view.window)
        assert self.close(name) == view.epoch.number

    def erase(self):
        """Delete the assignments of epochs that have ended."""
        while closing.delete_assignments(self.database):
            pass

    # ------------------------------------------------------------------ what only a test looks at

    def rows(self, table, **where):
        """All rows of a table, in the order of its key."""
        columns = [table.c[name] == value for name, value in where.items()]
        with self.database.reading() as transaction:
            found = transaction.execute(select(table).where(*columns).order_by(*table.primary_key.columns))
            return [dict(row) for row in found.mappings()]

    def count(self, table):
        with self.database.reading() as transaction:
            return transaction.execute(select(func.count()).select_from(table)).scalar_one()

    def run(self, statement, **given):
        """A statement of somebody who has the database."""
        with self.database.writing() as transaction:
            transaction.execute(text(statement), given)

    def sums(self, name):
        """The exact count and total of each arm in the open epoch, which nobody may see."""
        found = {}
        for row in self.rows(schema.counter, experiment=self.control.started(name).id):
            told, total = found.get(row["arm"], (0, 0))
            found[row["arm"]] = told + row["told"], total + row["total"]
        return found

    def learned(self, name):
        """What the algorithm has learned, as it is stored."""
        (row,) = self.rows(schema.experiment, uid=self.control.experiment(name).id)
        assert row["covered"] == row["epochs"]
        return json.loads(row["snapshot"])

    def replayed(self, name):
        """The algorithm, rebuilt from its releases alone."""
        with self.database.reading() as transaction:
            return standing.replay(transaction, descriptions.find(transaction, name))

    def reopened(self):
        """The same database after all connections were lost."""
        self.database.close()
        return World(self.url, self.clock)

    def web(self, **more):
        """The API, as an HTTP client with the first key."""
        return Web(make_app(self.control, **{"tick": None, **more}), self.key)


def _answered(answers):
    """The answer to the one request, or its problem."""
    (answer,) = answers
    if isinstance(answer, Exception):
        raise answer
    return answer


def do_now(writer, work):
    """Do the work of a request without a server."""
    return asyncio.run(writer.do(work))


def draft(name="banners", epsilon="1", **more):
    """A description with little to say: two arms, whose missing rewards count as 0."""
    if "rule" not in more:
        more = {"arms": ["a", "b"], **more}
    return NewExperiment(name, epsilon, **more)


def small(**more):
    """A description with epochs of a few units: much epsilon, so that the noise is far below one reward."""
    return {"epsilon": "100", "privacy_unit": "event", "window": 60.0, "population": "crowd", **more}


def crowd(world, budget="1000"):
    """A population that can pay for `small` experiments."""
    world.control.create_population(NewPopulation("crowd", budget))
    return world


# ---------------------------------------------------------------------- databases


def new_file(file, folder):
    path = Path(folder) / f"service-{next(_numbers)}.db"
    shutil.copy(file, path)
    _WITH_TABLES.add(str(path))
    return str(path)


def new_database(server):
    """All tables, empty; a database of its own would be made of a thousand files."""
    tables = ", ".join(f'"{name}"' for name in schema.metadata.tables)
    hang_up(server)
    server.query(BASE, f"TRUNCATE {tables} RESTART IDENTITY")
    return server.url(BASE)


def hang_up(server):
    """End all connections to the tests' database, and return their number."""
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    return len(server.query(BASE, f"{others} AND pid <> pg_backend_pid()"))


def make_tables(url):
    """Make all tables of an empty database, and leave nothing in its log."""
    database = open_database(url)
    migrate(database)
    database.erase_traces()
    database.close()


def is_sqlite(world):
    return isinstance(world.database, SQLite)

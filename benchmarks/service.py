"""The service under load, on loopback: durable questions and reports of 64 clients, against one transaction a request.

python -m benchmarks.service [--json] [--first]

Both ways serve a database of their own and take turns, so that a busy machine disturbs them alike. After every
measurement the database is counted: what was answered is there, once, and its sums are exact. All of them wait for the
disk, so a write that it confirms is timed, too: clients that all wait for one such write cannot be quicker than that.
On a machine that is busy with other programs most of that is not the disk's time: see `go_first`, which --first calls.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from sqlalchemy import text
from tests._tools import postgres

from benchmarks.rows import Row, go_first, show
from discreet.service.experiments.control import Control
from discreet.service.messages import NewExperiment
from discreet.service.storage import open_database

CLIENTS, SECONDS, ROUNDS = 64, 1.5, 7
BATCH, AT_ONCE, WRITES = 100, 1000, 100
GOALS = {  # as multiples of the rate of bare requests
    "SQLite": {"asks": 0.55, "tells": 0.55, "batched tells": 5.5},
    "PostgreSQL": {"asks": 0.5, "tells": 0.5, "batched tells": 5.5},
}
TIMES = 7  # faster than one transaction a request
WAYS = ("together", "plain")


@dataclass
class Measured:
    rate: float
    p50: float
    p99: float
    processor: float  # the server's microseconds for each ask or tell

    def __str__(self):
        return f", p50 {self.p50 * 1e3:.0f} ms, p99 {self.p99 * 1e3:.0f} ms, {self.processor:.0f} us CPU"


class Server:
    """A server process and its database, with an experiment whose first epoch takes all that is asked."""

    def __init__(self, database, way, workers=1):
        self.store = open_database(database)
        control = Control(self.store)
        self.key = control.set_up()
        new = NewExperiment("load", "0.0001", arms=["a", "b", "c", "d"], policy="dp-se", privacy_unit="event")
        control.create(new)
        control.start("load")
        self.width = control.started("load").description.grid.width
        self.port, self.tokens = _free_port(), []
        self.units = self.asked = self.told = self.ones = 0
        command = {
            "together": [
                "-m",
                "discreet",
                "serve",
                "--database",
                database,
                "--port",
                str(self.port),
                "--workers",
                str(workers),
            ],
            "plain": ["-m", "benchmarks.plain", database, str(self.port)],
        }[way]
        self.process = psutil.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
        self._wait()

    def greet(self, seconds=SECONDS):
        """Requests that need no database: what the machine and the web server can do at best just now."""
        given, processor = self._load("GET", ["/healthz"] * 40_000, [""] * 40_000, seconds, 200)
        return _measured(given, given["requests"], processor)

    def ask(self, seconds=SECONDS, experiments=("load",)):
        """Single questions, about one experiment or about several in turn."""
        bodies = [f'{{"units": ["{unit}"]}}' for unit in self._names(60_000)]
        return self._asking(bodies, seconds, experiments)

    def stock(self, count):
        """Ask for many at once, so that there is something to tell."""
        names = self._names(count)
        bodies = [json.dumps({"units": names[at : at + AT_ONCE]}) for at in range(0, count, AT_ONCE)]
        self._asking(bodies, 60.0)

    def _asking(self, bodies, seconds, experiments=("load",)):
        names = itertools.islice(itertools.cycle(experiments), len(bodies))
        paths = [f"/v1/experiments/{name}/assignments" for name in names]
        given, processor = self._load("POST", paths, bodies, seconds, 200, keep=True)
        found = [one["assignment"] for body in given["bodies"] for one in json.loads(body)["assignments"]]
        self.tokens += found
        self.asked += len(found)
        return _measured(given, len(found), processor)

    def tell(self, seconds=SECONDS):
        """Single reports, of 0 and 1 in turn. They go out in order, so those that were answered are the first ones."""
        tokens, self.tokens = self.tokens, []
        paths = [f"/v1/rewards/{token}" for token in tokens]
        bodies = [f'{{"reward": {number % 2}}}' for number in range(len(tokens))]
        given, processor = self._load("PUT", paths, bodies, seconds, 202)
        self.told += given["requests"]
        self.ones += given["requests"] // 2
        return _measured(given, given["requests"], processor)

    def tell_many(self, seconds=SECONDS):
        """Reports in batches, of 0 and 1 in turn."""
        tokens, self.tokens = self.tokens, []
        batches = [tokens[at : at + BATCH] for at in range(0, len(tokens) - BATCH + 1, BATCH)]
        bodies = [
            json.dumps({"rewards": [{"assignment": one, "reward": at % 2} for at, one in enumerate(batch)]})
            for batch in batches
        ]
        given, processor = self._load("POST", ["/v1/rewards:batch"] * len(bodies), bodies, seconds, 200)
        self.told += given["requests"] * BATCH
        self.ones += given["requests"] * BATCH // 2
        return _measured(given, given["requests"] * BATCH, processor)

    def check(self):
        """What was answered is there, once, and the sum of all rewards is exact; return how many are counted."""
        with self.store.reading() as connection:
            dealt, told, counted, total = connection.execute(text(_CHECK)).one()
        assert dealt == self.asked, f"{self.asked} asked, {dealt} dealt"
        assert told == counted == self.told, f"{self.told} told, {told} marked, {counted} counted"
        assert total == self.ones * self.width, f"{self.ones} rewards of 1, and {total / self.width} of them counted"
        return counted

    def _names(self, count):
        self.units += count
        return [f"unit-{number}" for number in range(self.units - count, self.units)]

    def _load(self, method, paths, bodies, seconds, status, *, keep=False):
        job = {
            "method": method, "paths": paths, "bodies": bodies, "seconds": seconds, "status": status, "keep": keep,
            "port": self.port, "key": self.key, "clients": min(CLIENTS, len(paths)),
        }  # fmt: skip
        before = self._processor()
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = Path(folder) / "job.json", Path(folder) / "answer.json"
            asked.write_text(json.dumps(job))
            subprocess.run([sys.executable, "-m", "benchmarks.load", asked, answered], check=True)
            return json.loads(answered.read_text()), self._processor() - before

    def _processor(self):
        times = [one.cpu_times() for one in (self.process, *self.process.children(recursive=True))]
        return sum(used.user + used.system for used in times)

    def _wait(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1):
                    return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.store.close()


_CHECK = """SELECT (SELECT sum(dealt) FROM lease WHERE experiment = 1),
    (SELECT count(*) FROM assignment WHERE experiment = 1 AND told >= 1),
    (SELECT coalesce(sum(told), 0) FROM counter WHERE experiment = 1),
    (SELECT coalesce(sum(total), 0) FROM counter WHERE experiment = 1)"""


def _measured(given, count, processor):
    return Measured(count / given["seconds"], given["p50"], given["p99"], processor / count * 1e6)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure(servers):
    """What was measured in each round, by kind of request and way. Bare requests, kinds and ways take turns."""
    found = {}
    server = servers["together"]
    for _ in range(ROUNDS):
        _add(found, "bare", "together", server.greet())
        for kind, work in (("asks", Server.ask), ("tells", Server.tell)):
            for way, one in servers.items():
                _add(found, kind, way, work(one))
                one.check()
        server.stock(80_000)
        _add(found, "batched tells", "together", server.tell_many())
        server.check()
    return found


def _add(found, kind, way, measured):
    found.setdefault((kind, way), []).append(measured)


def rows_of(name, found):
    """The rate of each kind over that of bare requests in its round, and over that of one transaction each."""
    bare = found["bare", "together"]
    fastest = max(bare, key=lambda one: one.rate)
    what = f"{name}, {CLIENTS} clients"
    rows = [Row(f"{what}, bare requests", fastest.rate, "requests/s", "-", True, "-", math.nan, str(fastest))]
    for kind, goal in GOALS[name].items():
        ours, plain = found[kind, "together"], found["asks" if kind == "asks" else "tells", "plain"]
        ratio, times = _ratio(ours, bare), _ratio(ours, plain)
        fastest = max(ours, key=lambda one: one.rate)
        met = ratio >= goal and times >= TIMES
        goals, more = f">= {goal}, {TIMES} x plain", f" ({fastest.rate:,.0f}/s{fastest}; {times:.1f} x plain)"
        rows.append(
            Row(f"{what}, durable {kind}", ratio, "x bare", goals, met, "one transaction each", 1 / times, more)
        )
    return rows


def _ratio(ones, others):
    """The median over rounds of the ratio of rates."""
    return statistics.median(one.rate / other.rate for one, other in zip(ones, others, strict=True))


def disk_row(folder):
    """The time that a small write takes until the disk has confirmed it."""
    taken = []
    with (Path(folder) / "written").open("wb") as file:
        for _ in range(WRITES):
            file.write(b"." * 32_768)
            file.flush()
            start = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - start)
    median = statistics.median(taken)
    bound = f", at most {CLIENTS / median:,.0f}/s if {CLIENTS} clients wait for each"
    return Row("a write that the disk confirms", median * 1e3, "ms", "-", True, "-", math.nan, bound)


def store_rows(name, databases):
    with contextlib.ExitStack() as stack:
        servers = {}
        for way, database in zip(WAYS, databases, strict=True):
            servers[way] = Server(database, way)
            stack.callback(servers[way].stop)
        return rows_of(name, measure(servers))


@contextlib.contextmanager
def _postgres():
    server = postgres.Postgres(durable=True)
    try:
        yield server
    finally:
        server.remove()


def service():
    """SQLite, and PostgreSQL if it is there."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [disk_row(folder), *store_rows("SQLite", [str(Path(folder) / f"{way}.db") for way in WAYS])]
    if not postgres.available():
        return [*rows, Row("PostgreSQL under load", math.nan, postgres.HINT, "-", True, "-", math.nan)]
    with _postgres() as server:
        return rows + store_rows("PostgreSQL", [server.fresh(way) for way in WAYS])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--first", action="store_true", help="go before all other programs of this machine")
    given = parser.parse_args()
    if given.first:
        go_first()
    show(service(), "discreet: the service under load", as_json=given.json)

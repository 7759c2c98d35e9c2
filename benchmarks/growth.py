"""What grows with an epoch: processor time of asks, tells and closes, and how its deletion disturbs the others.

python -m benchmarks.growth [--most 7] [--json]

An epoch is filled by SQL up to its last slots. These are asked for, reported and closed as requests are, in groups of
32. Then its assignments are deleted beside single asks and closes of other experiments. Processor times are those of
this process, and of PostgreSQL's.
"""

import argparse
import contextlib
import math
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from sqlalchemy import text
from tests._tools import postgres

from benchmarks.rows import Row, show
from discreet.service.experiments import closing, tokens
from discreet.service.experiments.assignments import Ask, Tell, Writer
from discreet.service.experiments.control import Control
from discreet.service.http.background import Closer, Eraser
from discreet.service.http.metrics import Metrics
from discreet.service.messages import NewExperiment, NewPopulation
from discreet.service.storage import SQLite, open_database

GROUP, ROUNDS, CLOSES = 32, 60, 12
LAST = GROUP * ROUNDS
EXPONENT, SLOWEST, LOG, LATE = 0.05, 0.25, 2.0, 2.5
WINDOW = 3600.0
_FILL = {
    "sqlite": [
        "WITH RECURSIVE slots (slot) AS (SELECT 0 UNION ALL SELECT slot + 1 FROM slots WHERE slot + 1 < :count) "
        "INSERT INTO assignment SELECT :experiment, 1, slot, randomblob(16), slot % 2, :deadline, 0 FROM slots"
    ],
    "postgresql": [
        "INSERT INTO assignment SELECT :experiment, 1, slot, uuid_send(gen_random_uuid()), slot % 2, :deadline, 0 "
        "FROM generate_series(0, :count - 1) AS slot"
    ],
}
_UNITS = (
    "INSERT INTO unit_slot SELECT experiment, epoch, unit, slot FROM assignment WHERE experiment = :experiment "
    "ORDER BY unit"
)
_LEASE = "INSERT INTO lease VALUES (:experiment, 1, :writer, :count, :quota, :count, :now, :deadline)"
_LEASED = "UPDATE epoch SET leased = quota WHERE experiment = :experiment"


class World:
    """A database of one process, with a clock that can be put forward."""

    def __init__(self, url, server=None):
        self.ahead, self.server = 0.0, server
        self.url = url
        self.database = open_database(url, clock=lambda: time.time() + self.ahead)
        self.control = Control(self.database)
        self.control.set_up()
        self.control.create_population(NewPopulation("crowd", "1000"))
        self.writer = Writer(self.database)
        self.units = self.epochs = 0

    def start(self, name, quota, window=WINDOW):
        """A running experiment of two arms, whose first epoch has so many slots."""
        new = NewExperiment(
            name, "1", arms=["a", "b"], policy="dp-imed", options={"first_batch": quota // 2}, privacy_unit="event",
            population="crowd", window=window,
        )  # fmt: skip
        self.control.create(new)
        self.control.start(name)
        return self.control.started(name)

    def fill(self, started, quota):
        """Deal all slots but the last ones."""
        now = time.time()
        given = {
            "experiment": started.id, "count": quota - LAST, "quota": quota, "now": now, "deadline": now + 10 * WINDOW,
            "writer": self.writer.shard,
        }  # fmt: skip
        kind = "sqlite" if isinstance(self.database, SQLite) else "postgresql"
        for statement in [*_FILL[kind], _UNITS, _LEASE, _LEASED]:
            with self.database.writing() as transaction:
                transaction.execute(text(statement), given)
        if self.server is not None:
            with self.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql("VACUUM ANALYZE")

    def do(self, works):
        return self.database.write(lambda transaction: self.writer._answer_all(transaction, works))

    def ask(self, started, size=GROUP):
        self.units += size
        return self.do([Ask(started, [f"u{self.units - one}"]) for one in range(size)])

    def processor(self):
        """Processor seconds until now, of this process and of the database's."""
        spent = time.process_time()
        for one in [] if self.server is None else psutil.Process(self.server.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                spent += times.user + times.system
        return spent

    def log_size(self):
        """Bytes of the write-ahead log."""
        if self.server is None:
            return Path(f"{self.url}-wal").stat().st_size
        with self.database.reading() as transaction:
            return int(transaction.execute(text("SELECT sum(size) FROM pg_ls_waldir()")).scalar_one())

    def size(self):
        """Bytes of the database."""
        if self.server is None:
            return Path(self.url).stat().st_size
        with self.database.reading() as transaction:
            return transaction.execute(text("SELECT pg_database_size(current_database())")).scalar_one()

    def close(self):
        self.writer.stop()
        self.database.close()


def grow(world, quota):
    """Microseconds of processor time an ask, a tell and a close of an epoch of this size."""
    world.epochs += 1
    started = world.start(f"epoch-{world.epochs}", quota)
    world.fill(started, quota)
    key, encode = world.control.token_secret, started.description.grid.encode
    before, given = world.processor(), []
    for _ in range(ROUNDS):
        given += [one for (one,) in world.ask(started)]
    asked = world.processor()
    assert all(one.learn for one in given)
    told = [[Tell(started, tokens.open_token(key, one.assignment), encode(1.0))] for one in given]
    before_telling = world.processor()
    for at in range(0, len(told), GROUP):
        world.do(told[at : at + GROUP])
    after_telling = world.processor()
    world.ahead += 20 * WINDOW
    assert closing.close_if_due(world.database, started.id) == 1
    closed = world.processor()
    return [
        (asked - before) / LAST * 1e6,
        (after_telling - before_telling) / LAST * 1e6,
        (closed - after_telling) * 1e6,
    ]


def disturb(world):
    """Delete the last epoch: the slowest ask meanwhile, the largest log, the latest close of others, and how long."""
    busy = world.start("busy", 10**6)
    others = [world.start(f"other-{number}", 2, window=1.0) for number in range(CLOSES)]
    threads = [Closer(world.database, Metrics(), None), Eraser(world.database)]
    size, log, slowest, began = world.size(), 0, 0.0, time.perf_counter()
    left = list(others)
    for one in threads:
        one.start()
    while left or _to_erase(world):
        if left and time.perf_counter() - began > 2 * (CLOSES - len(left)):
            world.do([Ask(left.pop(), [None, None])])
        start = time.perf_counter()
        world.ask(busy, 1)
        slowest = max(slowest, time.perf_counter() - start)
        log = max(log, world.log_size())
        time.sleep(0.01)
    took = time.perf_counter() - began
    time.sleep(4)
    for one in threads:
        one.stop()
    late = []
    for one in others:
        first = world.control.epochs(one.uid)[0]
        late.append(math.inf if first.closed_at is None else first.closed_at - first.due_at)
    return slowest, log / size, max(late), took


def _to_erase(world):
    with world.database.reading() as transaction:
        query = text("SELECT count(*) FROM epoch WHERE state <> 'open' AND NOT erased")
        return transaction.execute(query).scalar_one()


def rows_of(name, world, most):
    sizes = [10**power for power in range(4, most + 1)]
    grow(world, sizes[0])  # the first one loads modules and opens connections
    found = np.array([grow(world, size) for size in sizes])
    rows = []
    for kind, values in zip(("ask", "tell", "close"), found.T, strict=True):
        exponent = float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
        shown = ", ".join(f"{value:,.0f}" for value in values)
        what = f"{name}: exponent of CPU a{'n' if kind == 'ask' else ''} {kind}, 1e4 to 1e{most} assignments"
        met = exponent <= EXPONENT
        rows.append(Row(what, exponent, "", f"<= {EXPONENT}", met, "-", math.nan, f"({shown} us)"))
    slowest, log, late, took = disturb(world)
    what = f"{name}: deletion of 1e{most}"
    return [
        *rows,
        Row(
            f"{what}, slowest ask",
            slowest,
            "s",
            f"<= {SLOWEST}",
            slowest <= SLOWEST,
            "-",
            math.nan,
            f", in {took:.0f} s",
        ),
        Row(f"{what}, largest log over the file", log, "", f"<= {LOG}", log <= LOG, "-", math.nan),
        Row(f"{what}, latest other close", late, "s", f"<= {LATE}", late <= LATE, "-", math.nan),
    ]


def growth(most=7):
    """SQLite, and PostgreSQL if it is there."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(str(Path(folder) / "growth.db"))
        rows = rows_of("SQLite", world, most)
        world.close()
    if not postgres.available():
        return [*rows, Row("PostgreSQL's growth", math.nan, postgres.HINT, "-", True, "-", math.nan)]
    server = postgres.Postgres(durable=True)
    try:
        world = World(server.fresh("growth"), server)
        rows += rows_of("PostgreSQL", world, most)
        world.close()
    finally:
        server.remove()
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--most", type=int, default=7, help="the largest epoch, as a power of ten")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    show(growth(given.most), "discreet: growth with an epoch's assignments", as_json=given.json)

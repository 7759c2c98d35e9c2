"""A server under mixed traffic for a long time: what must stay flat, and what must be exact.

python -m benchmarks.soak [--minutes 30] [--workers 2] [--postgresql] [--json]

Clients ask and report all the time, some of it twice; experiments start, close epochs and stop; dashboards are open;
strangers send what is refused. Every few seconds memory, connections and the write-ahead log are read. At the end, the
sums of an experiment that never closed must be those that clients remember, and medians over the last third of the time
must be those over the second.
"""

import argparse
import asyncio
import contextlib
import math
import random
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from tests._tools import postgres

from benchmarks.crowd import sign_in
from benchmarks.rows import Row, show
from benchmarks.service import Server

EVERY, PAUSE, LANES, BROWSERS = 5.0, 0.02, 3, 10
WINDOW, QUOTA, EPOCHS = 3.0, 40, 3
FLAT = {"memory": 1.1, "connections": 1.1, "median wait of asks": 1.3, "median wait of reports": 1.3}
LOG = {"SQLite": 64e6, "PostgreSQL": 1.1e9}  # bytes of the write-ahead log; PostgreSQL keeps up to max_wal_size


@dataclass
class Sample:
    """What was read at one time.

    Args:
        memory: Bytes of all processes of the server.
        connections: Their connections, and those to the database.
        log: Bytes of the write-ahead log.
        waits: Seconds that requests took since the last sample, by kind.
    """

    memory: float
    connections: int
    log: float
    waits: dict[str, list[float]]


@dataclass
class Soak:
    """Clients of a server, and what they remember.

    Args:
        server: The server.
        web: Their connections.
        ends: When they stop, by the monotonic clock.
    """

    server: Server
    web: httpx.AsyncClient
    ends: float
    dice: random.Random = field(default_factory=lambda: random.Random(1))
    units: int = 0
    closed: int = 0
    refused: int = 0
    lanes: int = 0
    waits: dict[str, list[float]] = field(default_factory=lambda: {"asks": [], "reports": []})

    async def until_the_end(self, work):
        while time.monotonic() < self.ends:
            await work()

    async def send(self, kind, method, path, body=None, expected=(200, 202)):
        """An answer, whose time is counted if it has a kind."""
        start = time.perf_counter()
        answer = await self.web.request(method, path, json=body)
        if kind:
            self.waits[kind].append(time.perf_counter() - start)
        assert answer.status_code in expected, (method, path.split("?")[0], answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def unit(self):
        self.units += 1
        return f"unit-{self.units}"

    # ------------------------------------------------------------------ traffic

    async def steady(self):
        """Single asks and reports about an experiment whose first epoch takes them all, one in five of them twice."""
        unit, reward = self.unit(), self.dice.randint(0, 1)
        path = "/v1/experiments/load/assignments"
        given = (await self.send("asks", "POST", path, {"units": [unit]}))["assignments"][0]
        self.server.asked += 1
        if self.dice.random() < 0.2:
            again = await self.send("asks", "POST", path, {"units": [unit]})
            assert again["assignments"] == [given]
        if self.dice.random() < 0.9:
            reports = [reward] + [1 - reward] * (self.dice.random() < 0.2)  # the first one stands
            for one in reports:
                receipt = await self.send("reports", "PUT", f"/v1/rewards/{given['assignment']}", {"reward": one})
                assert receipt == {"status": "accepted"}
            self.server.told += 1
            self.server.ones += reward
        await asyncio.sleep(PAUSE)

    async def lane(self):
        """An experiment with a few small epochs, which closes by itself, and is stopped and archived."""
        self.lanes += 1
        name = f"lane-{self.lanes}"
        new = {
            "name": name, "epsilon": "0.001", "arms": ["a", "b"], "policy": "dp-imed", "privacy_unit": "event",
            "options": {"first_batch": QUOTA // 2}, "population": "crowd", "window": WINDOW,
        }  # fmt: skip
        await self.send("", "POST", "/v1/experiments", new, (201,))
        await self.send("", "POST", f"/v1/experiments/{name}/start")
        for epoch in range(1, EPOCHS + 1):
            await self.fill(name, epoch)
        await self.send("", "POST", f"/v1/experiments/{name}/stop")
        await self.send("", "POST", f"/v1/experiments/{name}/archive")

    async def fill(self, name, epoch):
        """Fill an epoch in batches, with a forged token in each batch of reports, and wait for its release."""
        path = f"/v1/experiments/{name}"
        while True:
            units = [self.unit() for _ in range(QUOTA)]
            given = (await self.send("", "POST", f"{path}/assignments", {"units": units}))["assignments"]
            mine = [one for one in given if one["epoch"] == epoch and one["learn"]]
            if not mine:
                break
            rewards = [{"assignment": one["assignment"], "reward": self.dice.random()} for one in mine]
            forged = {"assignment": mine[0]["assignment"][::-1], "reward": 1}
            answered = await self.send("", "POST", "/v1/rewards:batch", {"rewards": [*rewards, forged, rewards[0]]})
            assert "late" not in answered["statuses"], f"a batch took {WINDOW} s: the machine is busy with other work"
            assert answered["statuses"] == ["accepted"] * len(mine) + ["unknown", "accepted"], answered
            await asyncio.sleep(PAUSE)
        for _ in range(100):
            if (await self.send("", "GET", f"{path}/epochs"))["epochs"][epoch - 1]["state"] == "closed":
                self.closed += 1
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"epoch {epoch} of {name} did not close")

    async def stranger(self):
        """A request that is refused."""
        requests = [
            {"method": "POST", "url": "/v1/experiments/load/assignments", "content": b"{" * 1000},
            {"method": "POST", "url": "/v1/experiments/load/assignments", "content": b'{"units": [1]}'},
            {"method": "GET", "url": "/v1/experiments", "headers": {"Authorization": "Bearer " + "x" * 500}},
            {"method": "PUT", "url": "/v1/rewards/forged", "content": b'{"reward": 1}'},
            {"method": "GET", "url": f"/v1/experiments/{self.dice.random()}"},
            {"method": "POST", "url": "/login", "content": b"key=x&token=y"},
        ]
        answer = await self.web.request(**self.dice.choice(requests))
        assert 400 <= answer.status_code < 500, answer.text
        self.refused += 1
        await asyncio.sleep(0.2)

    async def browser(self, cookie, number):
        """An open dashboard: the list, or an experiment."""
        page, tag = ("/refresh", "/experiments/load/live")[number % 2], ""
        await asyncio.sleep(number)
        while time.monotonic() < self.ends:
            answer = await self.web.get(page, headers={"Cookie": cookie, "If-None-Match": tag})
            assert answer.status_code in {200, 304}, answer.status_code
            tag = answer.headers["etag"]
            await asyncio.sleep(10)

    # ------------------------------------------------------------------ samples

    def sample(self, log):
        processes = [self.server.process, *self.server.process.children(recursive=True)]
        waits, self.waits = self.waits, {kind: [] for kind in self.waits}
        return Sample(
            sum(one.memory_info().rss for one in processes),
            sum(len(one.net_connections("inet")) for one in processes),
            log(),
            waits,
        )


async def soak(server, minutes, log):
    """All samples, and the clients."""
    headers = {"Authorization": f"Bearer {server.key}"}
    limits = httpx.Limits(max_connections=40)
    address = f"http://127.0.0.1:{server.port}"
    async with httpx.AsyncClient(base_url=address, headers=headers, limits=limits, timeout=30) as web:
        clients = Soak(server, web, time.monotonic() + 60 * minutes)
        await clients.send("", "POST", "/v1/populations", {"name": "crowd", "budget": "1000"}, (201,))
        cookie = sign_in(server)
        works = [clients.steady, clients.steady, clients.stranger, *[clients.lane] * LANES]
        tasks = [asyncio.create_task(clients.until_the_end(work)) for work in works]
        tasks += [asyncio.create_task(clients.browser(cookie, number)) for number in range(BROWSERS)]
        everything, samples = asyncio.gather(*tasks), []
        while not everything.done():
            await asyncio.wait([everything], timeout=EVERY)
            samples.append(clients.sample(log))
        await everything
    return samples, clients


def rows_of(name, samples, clients, counted):
    """The last third over the second, the largest log, and the rewards that the database has counted."""
    third = len(samples) // 3
    figures = {
        "memory": [one.memory for one in samples],
        "connections": [one.connections for one in samples],
        **{f"median wait of {kind}": [statistics.median(one.waits[kind]) for one in samples if one.waits[kind]]
           for kind in clients.waits},
    }  # fmt: skip
    rows = []
    for kind, values in figures.items():
        early, late = (statistics.median(part) for part in (values[third : 2 * third], values[2 * third :]))
        ratio, goal = late / early, FLAT[kind]
        more = f" ({early / 1e6:.0f} MB to {late / 1e6:.0f})" if kind == "memory" else f" ({early:.3g} to {late:.3g})"
        what = f"{name}: {kind}, last third"
        rows.append(Row(what, ratio, "of the second", f"<= {goal}", ratio <= goal, "-", math.nan, more))
    largest, most = max(one.log for one in samples), LOG[name.partition(",")[0]]
    rows.append(
        Row(f"{name}: largest log", largest / 1e6, "MB", f"<= {most / 1e6:.0f}", largest <= most, "-", math.nan)
    )
    told, more = clients.server.told, f" ({clients.closed:,} epochs closed, {clients.refused:,} requests refused)"
    rows.append(Row(f"{name}: rewards counted", counted, "", f"{told:,}", counted == told, "-", math.nan, more))
    return rows


def run(minutes, workers, *, on_postgresql):
    with contextlib.ExitStack() as stack:
        if on_postgresql:
            database = postgres.Postgres(durable=True)
            stack.callback(database.remove)
            url, name = database.fresh("soak"), f"PostgreSQL, {workers} workers"

            def log():
                return int(database.query("soak", "SELECT sum(size) FROM pg_ls_waldir()")[0][0])
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            url, name = str(Path(folder) / "soak.db"), "SQLite"

            def log():
                return Path(f"{url}-wal").stat().st_size

        server = Server(url, "together", workers)
        stack.callback(server.stop)
        samples, clients = asyncio.run(soak(server, minutes, log))
        time.sleep(2)
        return rows_of(f"{name}, {minutes:g} minutes", samples, clients, server.check())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=1, help="processes of the server, on PostgreSQL")
    parser.add_argument("--postgresql", action="store_true", help="instead of SQLite")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = run(given.minutes, given.workers, on_postgresql=given.postgresql)
    show(rows, "discreet: a long time under mixed traffic", as_json=given.json)

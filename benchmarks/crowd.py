"""The service in a crowd, on loopback: a thousand experiments, a hundred open dashboards, two workers.

python -m benchmarks.crowd [--json] [--first]

Each is compared with the same server without the crowd, in turns: asks about a thousand experiments with asks about
one; asks beside dashboards that refresh themselves as browsers do with asks alone; and two workers with one, beside
bare requests of both.
"""

import argparse
import asyncio
import contextlib
import http.cookiejar
import math
import multiprocessing
import re
import statistics
import tempfile
import time
import urllib.parse
import urllib.request
from html import unescape
from pathlib import Path

import httpx
from tests._tools import postgres

from benchmarks.rows import Row, go_first, show
from benchmarks.service import Server
from discreet.service.experiments.control import Control
from discreet.service.messages import NewExperiment, NewPopulation

MANY, READERS, EVERY = 1_000, 100, 10.0
ROUNDS, SECONDS = 3, 4.0
MANY_GOAL, READERS_GOAL, WORKERS_GOAL, TELLS_GOAL = 1.5, 0.8, 1.3, 1.1


def start_many(server):
    """A thousand running experiments beside the one of the server."""
    control = Control(server.store)
    control.create_population(NewPopulation("crowd", "1000"))
    names = [f"many-{number}" for number in range(MANY)]
    for name in names:
        control.create(NewExperiment(name, "0.01", arms=["a", "b"], privacy_unit="event", population="crowd"))
        control.start(name)
    return names


def many_experiments(server, names):
    """Processor time of an ask over all experiments, over that of asks about one."""
    ratios = []
    server.ask(SECONDS, names)  # every experiment is looked up once
    for _ in range(ROUNDS):
        alone, spread = server.ask(SECONDS), server.ask(SECONDS, names)
        ratios.append(spread.processor / alone.processor)
    ratio = statistics.median(ratios)
    what = f"CPU an ask over {MANY:,} experiments"
    more = f" ({spread.processor:.0f} us)"
    return Row(what, ratio, "x one", f"<= {MANY_GOAL}", ratio <= MANY_GOAL, "asks about one", ratio, more)


def dashboards(server):
    """The rate of asks beside open dashboards, over that of asks alone."""
    ratios = []
    for _ in range(ROUNDS):
        alone = server.ask(SECONDS)
        with reading(server):
            beside = server.ask(SECONDS)
        ratios.append(beside.rate / alone.rate)
    ratio = statistics.median(ratios)
    what = f"asks beside {READERS} dashboards of {MANY:,} experiments"
    more = f" (p99 {beside.p99 * 1e3:.0f} ms, alone {alone.p99 * 1e3:.0f} ms)"
    return Row(what, ratio, "of alone", f">= {READERS_GOAL}", ratio >= READERS_GOAL, "asks alone", 1 / ratio, more)


@contextlib.contextmanager
def reading(server):
    """Dashboards in a process of their own, all of them open."""
    cookie = sign_in(server)
    ready, ended = multiprocessing.Event(), multiprocessing.Event()
    process = multiprocessing.Process(target=read, args=(server.port, cookie, ready, ended))
    process.start()
    ready.wait(30)
    yield
    ended.set()
    process.join(30)
    assert process.exitcode == 0, "a dashboard was refused"


def sign_in(server):
    """The cookie of a session."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    address = f"http://127.0.0.1:{server.port}/login"
    token = re.search(r'name="token" value="([^"]+)"', browser.open(address).read().decode())
    data = urllib.parse.urlencode({"token": unescape(token[1]), "key": server.key, "next": "/"}).encode()
    browser.open(urllib.request.Request(address, data, {"Origin": f"http://127.0.0.1:{server.port}"}))
    return "; ".join(f"{one.name}={one.value}" for one in jar)


def read(port, cookie, ready, ended):
    """Refresh each dashboard every few seconds, at times of its own."""

    async def dashboard(browser, number):
        await asyncio.sleep(EVERY * number / READERS)
        tag = ""
        while not ended.is_set():
            answer = await browser.get("/refresh", headers={"If-None-Match": tag})
            assert answer.status_code in {200, 304}, answer.status_code
            tag = answer.headers["etag"]
            await asyncio.sleep(EVERY)

    async def all_of_them():
        limits = httpx.Limits(max_connections=READERS)
        address = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(
            base_url=address, headers={"Cookie": cookie}, limits=limits, timeout=30
        ) as browser:
            ready.set()
            await asyncio.gather(*(dashboard(browser, number) for number in range(READERS)))

    asyncio.run(all_of_them())


def workers(databases):
    """Asks and tells of one experiment with two workers, over those with one, beside bare requests."""
    with contextlib.ExitStack() as stack:
        servers = []
        for count, database in enumerate(databases, 1):
            servers.append(Server(database, "together", count))
            stack.callback(servers[-1].stop)
        time.sleep(3)  # the second worker
        found = {"bare": [], "asks": [], "tells": [], "processor": []}
        for _ in range(ROUNDS):
            one, two = servers
            found["bare"].append(two.greet(SECONDS).rate / one.greet(SECONDS).rate)
            found["asks"].append(two.ask(SECONDS).rate / one.ask(SECONDS).rate)
            told = [server.tell(SECONDS) for server in servers]
            found["tells"].append(told[1].rate / told[0].rate)
            found["processor"].append(told[1].processor / told[0].processor)
            for server in servers:
                server.check()
    bare, asks, tells, processor = (statistics.median(values) for values in found.values())
    able = bare >= WORKERS_GOAL  # whether this machine has room for a second worker at all
    goal = f">= {WORKERS_GOAL} where bare has it"
    more = f" (bare requests {bare:.2f}, tells {tells:.2f})"
    return [
        Row("PostgreSQL, asks of one experiment", asks, "x one worker", goal, asks >= WORKERS_GOAL or not able,
            "one worker", 1 / asks, more),
        Row("PostgreSQL, CPU a tell with two workers", processor, "x one worker", f"<= {TELLS_GOAL}",
            processor <= TELLS_GOAL, "one worker", processor),
    ]  # fmt: skip


def crowd():
    """All of them; workers only where PostgreSQL is there."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(str(Path(folder) / "crowd.db"), "together")
        try:
            rows = [many_experiments(server, start_many(server)), dashboards(server)]
        finally:
            server.stop()
    if not postgres.available():
        return [*rows, Row("PostgreSQL with two workers", math.nan, postgres.HINT, "-", True, "-", math.nan)]
    database = postgres.Postgres(durable=True)
    try:
        return rows + workers([database.fresh("one"), database.fresh("two")])
    finally:
        database.remove()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--first", action="store_true", help="go before all other programs of this machine")
    given = parser.parse_args()
    if given.first:
        go_first()
    show(crowd(), "discreet: the service in a crowd", as_json=given.json)

"""Processes that close epochs until they are killed, servers killed under traffic, and what must be true then."""

import asyncio
import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from fractions import Fraction

import httpx
from sqlalchemy import event

from discreet.service.errors import ServiceProblem
from discreet.service.experiments import assignments as traffic
from discreet.service.experiments import closing, tokens
from discreet.service.messages import NewPopulation
from discreet.service.storage import open_database, schema
from tests._tools.killing import note
from tests._tools.patience import LONG
from tests._tools.ports import free_port
from tests._tools.service_tools import FULL, VERIFY, Clock, small

EACH = 100  # what an experiment of `small` costs, and so the noise: a hundredth of a reward

# ---------------------------------------------------------------------- closers


def close_until_killed(url, trace, length):
    """Close whatever is due; die at a statement of a close if there is a length, or wait to be killed."""
    database = open_database(url)
    left = length

    def count(*_):
        nonlocal left
        if left is not None:
            left -= 1
            if left < 0:
                note(trace, "within")
                os.kill(os.getpid(), signal.SIGKILL)

    while True:
        due = closing.due(database)
        event.listen(database.engine, "before_cursor_execute", count)
        event.listen(database.engine, "commit", count)
        for experiment in due:
            closing.close_if_due(database, experiment)
        event.remove(database.engine, "before_cursor_execute", count)
        event.remove(database.engine, "commit", count)
        if not due:
            time.sleep(0.002)


class Closers:
    """Some processes that race for the same epochs; whoever dies is replaced."""

    def __init__(self, url, folder, count, seed):
        self.url, self.trace, self.count = url, str(folder / "trace"), count
        self.choice = random.Random(seed)
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests._tools.service_faults", "opendp.prelude"])
        self.living, self.deaths, self.closed = [], Counter(), 0

    def tend(self, closed):
        """Bury the dead, start others in their place, and now and then kill a living one.

        Only once more epochs are closed than at the last time: else, on a busy machine, none would live long enough.
        """
        for one in [one for one in self.living if not one.is_alive()]:
            one.join()
            assert one.exitcode == -signal.SIGKILL, one.exitcode
            self.deaths["within a close"] += 1
            self.living.remove(one)
        if len(self.living) == self.count and closed > self.closed and self.choice.random() < 0.3:
            self.closed = closed
            self._kill(self.living.pop(self.choice.randrange(self.count)))
            self.deaths["from without"] += 1
        while len(self.living) < self.count:
            length = self.choice.choice([None, self.choice.randrange(25), self.choice.randrange(25, 200)])
            new = self.context.Process(target=close_until_killed, args=(self.url, self.trace, length))
            new.start()
            self.living.append(new)

    def end(self):
        for one in self.living:
            self._kill(one)

    def _kill(self, one):
        one.kill()
        one.join()


def race(world, folder, *, experiments, epochs, closers, seed):
    """Fill so many epochs of so many experiments while racing closers die; tells what was released and who died.

    The clock of whoever fills stands still in the past, so every epoch is due as soon as it is full.
    """
    assert isinstance(world.clock, Clock)
    choice, names = random.Random(seed), [f"x{number}" for number in range(experiments)]
    world.control.set_budget("crowd", "1000")
    for name in names:
        world.start(name, policy="dp-bai-sharp", **small(population=_population(world, name)))
    expected, seen = {}, {}
    racing = Closers(world.url, folder, closers, seed)
    try:
        while (closed := _all_closed(world)) < epochs * experiments:
            racing.tend(closed)
            for name in choice.sample(names, min(10, len(names))):
                _fill(world, name, expected, choice, epochs)
            _unchanged(world, seen)
    finally:
        racing.end()
    _unchanged(world, seen)
    check(world, names, expected, epochs)
    return expected, racing.deaths


def _population(world, name):
    """Ten experiments share one."""
    population = f"crowd-{int(name[1:]) // 10}"
    with contextlib.suppress(ServiceProblem):
        world.control.create_population(NewPopulation(population, "1000"))
    return population


def _all_closed(world):
    return sum(row["state"] == "closed" for row in world.rows(schema.epoch))


def _fill(world, name, expected, choice, epochs):
    """Deal and report a whole epoch, with a sum that is known here alone.

    It is due once its last slot is dealt, so that one is dealt and reported in the same transaction.
    """
    view = world.control.experiment(name).epoch
    if view.number > epochs or view.dealt == view.quota:
        return
    ones = expected[name, view.number] = choice.randint(0, view.quota // 2)
    by_arm = Counter()

    def rewarded(one):
        by_arm[one.arm] += 1
        return one, float(by_arm[one.arm] <= ones)

    given = world.ask_all(name, [f"{view.number}-{number}" for number in range(view.quota - 1)])
    assert set(world.tell(*map(rewarded, given))) == {"accepted"}
    started, last = world.control.started(name), traffic.Ask(world.control.started(name), [f"{view.number}-last"])

    def work(transaction):
        transaction.lock(started.id, shared=True)
        ((one,),) = traffic.assign(transaction, "-", [last])
        reward = float(by_arm[one.arm] < ones) * FULL
        told = traffic.Tell(started, tokens.open_token(started.token_secret, one.assignment), int(reward))
        return traffic.tell(transaction, "-", [told])

    assert world.database.write(work) == ["accepted"]


def _unchanged(world, seen):
    """What was released before is there, and as it was."""
    now = {(row["experiment"], row["epoch"], row["part"]): row for row in world.rows(schema.release)}
    assert all(now.get(key) == row for key, row in seen.items())
    seen.update(now)


def check(world, names, expected, epochs):
    """Every epoch has one release for each arm with the exact sum in it, one is open, and the ledger has it all."""
    populations = set()
    for name in names:
        view = world.control.experiment(name)
        found = world.control.epochs(name)
        populations.add(view.population)
        assert [one.state for one in found] == ["closed"] * epochs + ["open"]
        for one in found[:-1]:
            assert [release.arm for release in one.releases] == ["a", "b"]
            assert [round(release.value) for release in one.releases] == [expected[name, one.number]] * 2
        identity = world.control.started(name).id
        assert not [row for row in world.rows(schema.counter, experiment=identity) if row["epoch"] <= epochs]
    for population in populations:
        ledger = world.control.ledger(population, VERIFY)
        mine = [name for name in names if world.control.experiment(name).population == population]
        assert ledger.intact
        assert Counter(line["kind"] for line in world.rows(schema.ledger, population=population)) == {
            "budget": 1, "reserve": len(mine), "release": len(mine) * epochs,
        }  # fmt: skip
        assert Fraction(ledger.population.reserved) == EACH * len(mine)


def noise_ratio(world, expected):
    """The mean size of the noise in all releases, in parts of its scale: 1 if each was drawn once and kept."""
    names = {world.control.started(name).id: name for name, _ in expected}
    sizes = [
        abs(int(row["steps"]) - expected[names[row["experiment"]], row["epoch"]] * FULL) / (FULL / EACH)
        for row in world.rows(schema.release)
    ]
    return sum(sizes) / len(sizes)


# ---------------------------------------------------------------------- servers


class Server:
    """`discreet serve` as a process of its own, on one port through all its lives."""

    def __init__(self, database, folder):
        self.port, self.database, self.log = free_port(), str(database), folder / "server.log"
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [sys.executable, "-m", "discreet", "serve", "--database", self.database, "--port", str(self.port),
                   "--tick", "0.2"]  # fmt: skip
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait(self):
        deadline = time.monotonic() + LONG
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.address}/readyz", timeout=5).status_code == 200:
                    return
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Crowd:
    """Clients that send everything three times and do not give up; what they were told is kept."""

    def __init__(self, address, key, experiment, seed):
        self.address, self.experiment, self.headers = address, experiment, {"Authorization": f"Bearer {key}"}
        self.choice = random.Random(seed)
        self.errors = 0
        self.tokens, self.receipts, self.done = {}, 0, 0

    async def run(self, clients, each):
        limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
        async with httpx.AsyncClient(base_url=self.address, headers=self.headers, timeout=10, limits=limits) as web:
            self.web = web
            await asyncio.gather(*[self._client(number, each) for number in range(clients)])

    async def _client(self, number, each):
        for start in range(0, each, 5):
            units = [f"c{number}-{one}" for one in range(start, min(start + 5, each))]
            for _ in range(3):
                path = f"/v1/experiments/{self.experiment}/assignments"
                for given in (await self._send("POST", path, {"units": units}))["assignments"]:
                    assert given["learn"]
                    before = self.tokens.setdefault(given["unit"], (given["assignment"], given["arm"]))
                    assert before == (given["assignment"], given["arm"])
            for _ in range(3):
                await self._report(units)
            self.done += len(units)

    async def _report(self, units):
        if self.choice.random() < 0.5:
            batch = [{"assignment": self.tokens[unit][0], "reward": reward_of(unit)} for unit in units]
            said = (await self._send("POST", "/v1/rewards:batch", {"rewards": batch}))["statuses"]
        else:
            said = [
                (await self._send("PUT", f"/v1/rewards/{self.tokens[unit][0]}", {"reward": reward_of(unit)}))["status"]
                for unit in units
            ]
        assert set(said) == {"accepted"}
        self.receipts += len(said)

    async def _send(self, method, path, body):
        while True:
            try:
                answer = await self.web.request(method, path, json=body)
            except httpx.HTTPError:
                self.errors += 1
                await asyncio.sleep(0.05)
                continue
            if answer.status_code < 300:
                return answer.json()
            assert answer.status_code == 503, (answer.status_code, answer.text)
            self.errors += 1
            await asyncio.sleep(0.05)


def reward_of(unit):
    """Something else for everybody, exact on the grid."""
    return (sum(unit.encode()) * 7919 % 1024) / 1024


def siege(world, folder, *, clients, each, kills, seed):
    """Clients send everything three times while their server is killed again and again; tells what they met."""
    world.start("siege", epsilon="0.01", window=86_400.0)
    server = Server(world.url, folder)
    crowd = Crowd(server.address, world.key, "siege", seed)
    server.start()
    server.wait()
    sending = threading.Thread(target=lambda: asyncio.run(crowd.run(clients, each)), daemon=True)
    sending.start()
    choice, killed = random.Random(seed), 0
    try:
        while killed < kills and sending.is_alive():
            due = crowd.done + clients * each // (kills + 2)
            deadline = time.monotonic() + LONG
            while crowd.done < due and sending.is_alive() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(choice.random() * 0.05)
            server.kill()
            killed += 1
            server.start()
            server.wait()
        sending.join(300)
        assert not sending.is_alive()
    finally:
        server.kill()
    count = clients * each
    assert crowd.done == count
    assert_exact(world, crowd, count)
    return crowd, killed


def assert_exact(world, crowd, count):
    """Told, summed and assigned to the last unit, in every arm."""
    expected = {}
    for unit, (_, arm) in crowd.tokens.items():
        told, total = expected.get("ab".index(arm), (0, 0))
        expected["ab".index(arm)] = told + 1, total + round(reward_of(unit) * FULL)
    assert world.sums("siege") == expected
    assert world.count(schema.assignment) == count == len(crowd.tokens)
    assert len({token for token, _ in crowd.tokens.values()}) == count
    assert crowd.receipts == 3 * count

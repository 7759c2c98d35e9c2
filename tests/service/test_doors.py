"""What a stranger can cost is bounded: heads, bodies, connections, keys, tokens and rows."""

import asyncio
import contextlib
import gc
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from discreet.core.errors import ArgumentError
from discreet.service import bodies
from discreet.service.errors import ServiceProblem
from discreet.service.experiments import tokens
from discreet.service.http import api, connections, refusals
from discreet.service.http.authorization import Authorizer
from discreet.service.http.connections import AHEAD, HEAD_BYTES, Connection
from discreet.service.http.server import Settings
from discreet.service.storage import group_commit
from discreet.service.storage.group_commit import GroupCommit
from tests._tools.live_service import served
from tests._tools.patience import LONG
from tests._tools.ports import free_port
from tests._tools.service_tools import small

# ---------------------------------------------------------------------- connections


async def echo(scope, receive, send):
    """Answers with the number of bytes of a body."""
    assert scope["type"] == "http"
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"%d" % size})


def serving():
    """A server of connections with limits, and the address to connect to."""
    return served(echo, log_level="critical", lifespan="off")


@pytest.fixture(scope="module")
def address():
    with serving() as found:
        yield found


@contextlib.contextmanager
def client(address):
    with socket.create_connection(address, timeout=LONG) as opened:
        yield opened


def answer_to(opened, *parts):
    """The status of the answer to what is sent; None if the connection is closed without one."""
    with contextlib.suppress(OSError):  # it may be closed while we send
        for part in parts:
            opened.sendall(part)
    return status(opened)


def status(opened):
    with contextlib.suppress(OSError):
        head = b""
        while b"\r\n" not in head:
            got = opened.recv(4096)
            if not got:
                return None
            head += got
        return int(head.split()[1])
    return None


def request(body=b"", *headers):
    lines = [b"POST /x HTTP/1.1", b"host: here", b"content-length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


def test_usual_requests_pass_one_after_the_other(address):
    with client(address) as opened:
        for size in (0, 10, 1_000_000, 3):
            opened.sendall(request(b"x" * size))
            said = b""
            while not said.endswith(b"\r\n0\r\n\r\n") and not said.endswith(b"\r\n%d\r\n0\r\n\r\n" % size):
                said += opened.recv(4096)
            assert said.startswith(b"HTTP/1.1 200")
            assert b"\r\n%d\r\n" % size in said


def test_a_head_just_within_the_limit_passes_and_a_larger_one_does_not(address):
    empty = len(request(b"", b"x: "))
    with client(address) as opened:
        assert answer_to(opened, request(b"", b"x: " + b"y" * (HEAD_BYTES - empty))) == 200
    with client(address) as opened:
        assert answer_to(opened, request(b"", b"x: " + b"y" * (HEAD_BYTES - empty + 1))) == 431


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nauthorization: Bearer "])
def test_an_endless_line_is_refused_early(address, start):
    with client(address) as opened:
        assert answer_to(opened, start, *[b"a" * 1000] * 20) == 431


def test_a_second_head_is_bounded_too(address):
    with client(address) as opened:
        assert answer_to(opened, request()) == 200
        opened.recv(4096)
        assert answer_to(opened, b"GET / HTTP/1.1\r\nx: ", *[b"a" * 100_000] * 10) in (431, None)


def test_a_slow_head_is_given_up(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with serving() as address, client(address) as silent, client(address) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert status(silent) == 408
        assert status(slow) == 408


def test_a_slow_second_head_is_given_up(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    with serving() as address, client(address) as opened:
        assert answer_to(opened, request()) == 200
        assert answer_to(opened, b"GET / HT") in (408, 200)  # 200: what is left of the first answer


def test_a_slow_body_is_given_up(monkeypatch):
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.2)
    with serving() as address, client(address) as opened:
        assert answer_to(opened, request(b"x" * 1000)[:-500]) is None


def test_a_few_requests_may_be_sent_ahead(address):
    with client(address) as opened:
        opened.sendall(request() * (AHEAD + 1))
        said = b""
        while said.count(b"HTTP/1.1 200") < AHEAD + 1:
            got = opened.recv(4096)
            assert got, said
            said += got


def test_of_many_requests_sent_ahead_few_are_kept(address):
    before = cycles()
    with client(address) as opened, contextlib.suppress(OSError):
        opened.sendall(request() * 5_000)
        while opened.recv(4096):
            pass
    assert cycles() - before <= AHEAD + 1


def test_whoever_leaves_before_the_answers_leaves_no_line_in_the_log(caplog):
    async def late(scope, receive, send):
        await asyncio.sleep(0.01)
        await echo(scope, receive, send)

    with served(late, log_level="error", log_config=None, lifespan="off") as address:
        for many in (AHEAD + 1, 5_000):
            with client(address) as opened, contextlib.suppress(OSError):
                opened.sendall(request() * many)
            with client(address) as opened:
                assert answer_to(opened, request()) == 200
    assert [record.getMessage() for record in caplog.records] == []


def cycles():
    """The number of requests that servers of this process keep."""
    gc.collect()
    return sum(isinstance(one, RequestResponseCycle) for one in gc.get_objects())


def test_one_address_has_so_many_connections_and_no_more(monkeypatch):
    monkeypatch.setattr(Connection, "per_address", 3)
    with serving() as address, contextlib.ExitStack() as several:
        opened = [several.enter_context(client(address)) for _ in range(3)]
        for one in opened:
            assert answer_to(one, request()) == 200
        with client(address) as fourth:
            assert status(fourth) == 503
        opened[0].close()
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            with client(address) as again:
                if answer_to(again, request()) == 200:
                    break
        else:
            pytest.fail("the place of a closed connection was never free again")
    assert not connections._open


# ---------------------------------------------------------------------- keys


def check(web, key):
    return web.get("/v1/experiments", headers={"Authorization": f"Bearer {key}"}).status_code


def test_what_is_no_key_is_never_looked_up_or_kept(world, monkeypatch):
    looked = []
    monkeypatch.setattr(world.database, "read", looked.append)
    for text in ("x", "dk_" + "y" * 1_000_000, "dk_0123abcd_" + "z" * 42, "dk_0123ABCD_" + "z" * 43, "\0"):
        assert world.control.authenticate(text) is None
    assert not looked


def test_unknown_keys_leave_nothing_behind(world, monkeypatch):
    made = []
    monkeypatch.setattr(api, "Authorizer", lambda control: made.append(Authorizer(control)) or made[0])
    with world.web() as web:
        unknown = [f"dk_{number:08x}_{'u' * 43}" for number in range(5)]
        assert {check(web, key) for key in unknown} == {401}
        assert check(web, world.key) == 200
    assert set(made[0]._good) == {world.key}
    assert not made[0]._looking


def test_whoever_guesses_keys_is_not_looked_up_for_a_while_and_good_keys_still_pass(world, monkeypatch):
    monkeypatch.setattr(refusals, "MOST_REFUSED", 5)
    with world.web() as web:
        assert check(web, world.key) == 200
        found = [check(web, f"dk_{number:08x}_{'u' * 43}") for number in range(8)]
        assert found == [401] * 5 + [429] * 3
        assert check(web, world.key) == 200
        assert int(web.get("/v1/keys", headers={"Authorization": "Bearer x"}).headers["retry-after"]) >= 1
        monkeypatch.setattr(refusals, "WINDOW", 0.0)
        assert check(web, f"dk_00000000_{'u' * 43}") == 401


def test_addresses_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr(refusals, "MOST_ADDRESSES", 3)
    kept = refusals.Refusals()
    for address in "abcdefa":
        kept.add(address)
    assert len(kept._refused) == 3


# ---------------------------------------------------------------------- bodies, hosts, zero bytes


def test_a_body_is_refused_while_it_streams(world):
    sent = []

    async def endless():
        while len(sent) < 10_000:
            sent.append(1)
            yield b" " * 65_536

    with world.web() as web:
        assert web.post("/v1/experiments", content=endless()).status_code == 413
    assert bodies._reading == 0


def test_all_bodies_together_are_bounded(world, monkeypatch):
    monkeypatch.setattr(bodies, "MOST_READING", 1000)
    with world.web() as web:
        said = web.post("/v1/experiments", content=b" " * 1001)
        assert (said.status_code, said.headers["retry-after"]) == (503, "1")
        assert web.post("/v1/experiments", content=b"{}").status_code == 422
    assert bodies._reading == 0


def test_requests_for_other_hosts_are_refused(world):
    with world.web(host_names=["Shop.example"]) as web:
        for host in ("shop.example", "SHOP.EXAMPLE:8477"):
            assert web.get("/healthz", headers={"Host": host}).status_code == 200
        for host in ("evil.example", "shop.example.evil.example", "", "[::1]:80"):
            assert web.get("/healthz", headers={"Host": host}).status_code == 421


def test_nobody_is_redirected_to_the_host_that_a_request_names(world):
    with world.web() as web:
        said = web.get("/v1/experiments/", headers={"Host": "evil.example"})
        assert said.status_code == 404
        assert "location" not in said.headers


@pytest.mark.parametrize(
    ("path", "status"), [("/ledger?population=%00", 404), ("/login?next=a%00b", 404), ("/v1/planner?arms=%00", 422)]
)
def test_zero_bytes_in_queries_are_refused(world, path, status):
    with world.web() as web:
        assert web.get(path).status_code == status


def test_zero_bytes_in_forms_are_refused(world):
    with world.web() as web:
        said = web.post("/login", data={"key": "a\0b"})
        assert said.status_code == 400


# ---------------------------------------------------------------------- tokens


def test_a_forged_token_never_reaches_the_database_and_fails_alone(world, monkeypatch):
    world.start(**small())
    started = world.control.started("banners")
    given = world.ask("banners", "ann")[0].assignment
    place = tokens.open_token(started.token_secret, given)
    forged = [tokens.seal(b"guess", place._replace(experiment=number)) for number in (1, 2**31, 2**32 - 1)]
    ghost = tokens.seal(started.token_secret, place._replace(experiment=2**31))  # ours, and of no experiment
    looked = []
    monkeypatch.setattr(world.control, "_look_up", lambda *name: looked.append(name) or (_ for _ in ()).throw(gone()))
    with world.web() as web:
        sent = {"rewards": [{"assignment": one, "reward": 1.0} for one in (*forged, given)]}
        assert web.post("/v1/rewards:batch", json=sent).json() == {"statuses": [*["unknown"] * 3, "accepted"]}
        assert not looked
        assert web.put(f"/v1/rewards/{ghost}", json={"reward": 1.0}).status_code == 404
    assert len(looked) == 1


def gone():
    return ServiceProblem(404, "not found", "there is no such experiment")


# ---------------------------------------------------------------------- rows


class Slow:
    """A database of which every transaction waits until the test lets it go."""

    def __init__(self):
        self.begun, self.go = threading.Event(), threading.Event()

    def write(self, work):
        self.begun.set()
        assert self.go.wait(LONG)
        return work(None)


def test_a_transaction_has_so_many_rows_and_small_requests_go_first():
    database, done = Slow(), []

    def answer(_, works):
        done.append(list(works))
        return list(works)

    async def crowd():
        commits = GroupCommit(database, answer, len)
        blocker = asyncio.ensure_future(commits.do("x"))
        assert await asyncio.to_thread(database.begun.wait, LONG)
        sizes = [1000] * 6 + [1] * 20
        waiting = [asyncio.ensure_future(commits.do("y" * size)) for size in sizes]
        await asyncio.sleep(0)  # they have begun to wait
        database.go.set()
        await asyncio.gather(blocker, *waiting)
        commits.stop()

    asyncio.run(crowd())
    rows = [sum(map(len, works)) for works in done]
    assert sum(rows) == 6021
    assert max(rows) <= group_commit._ROWS
    assert sum(len(work) == 1 for work in done[1]) == 20  # all small ones in the first transaction after the open one
    assert all(any(len(work) == 1000 for work in works) for works in done[1:])


def test_those_who_were_answered_are_waited_for(monkeypatch):
    monkeypatch.setattr(group_commit, "_MOMENT", 3600.0)
    database, done = Slow(), []

    def answer(_, works):
        done.append(len(works))
        return list(works)

    async def crowd():
        commits = GroupCommit(database, answer, len)
        blocker = asyncio.ensure_future(commits.do("x"))
        await asyncio.sleep(0)
        while commits.waiting():
            await asyncio.sleep(0.01)  # its transaction begins
        waiting = [asyncio.ensure_future(commits.do("y")) for _ in range(8)]
        await asyncio.sleep(0)
        database.go.set()
        await asyncio.gather(blocker, *waiting)
        while commits._enough == 1:
            await asyncio.sleep(0.01)
        assert commits._enough == 8
        again = [asyncio.ensure_future(commits.do("z")) for _ in range(7)]
        await asyncio.sleep(0.05)
        assert done == [1, 8]
        again.append(asyncio.ensure_future(commits.do("z")))
        await asyncio.gather(*again)
        assert done == [1, 8, 8]
        commits.stop()

    asyncio.run(crowd())


def test_a_request_of_more_rows_than_a_transaction_has_goes_alone():
    database = Slow()
    database.go.set()

    async def one():
        commits = GroupCommit(database, lambda _, works: list(works), len)
        assert await commits.do("z" * 10_000) == "z" * 10_000
        commits.stop()

    asyncio.run(one())


def test_a_large_batch_is_counted_whole(world, monkeypatch):
    monkeypatch.setattr(api, "TOGETHER", 2)
    world.start(**small())
    given = [one.assignment for one in world.ask("banners", *"abcde")]
    with world.web() as web:
        sent = {"rewards": [{"assignment": one, "reward": 1.0} for one in (*given[:3], "nobody", *given[3:])]}
        found = web.post("/v1/rewards:batch", json=sent).json()["statuses"]
    assert found == ["accepted"] * 3 + ["unknown"] + ["accepted"] * 2


def test_settings_of_doors_are_checked():
    with pytest.raises(ArgumentError, match="per_address must be at least 1, got 0"):
        replace(Settings(), per_address=0)


# ---------------------------------------------------------------------- a real server under attack

MIB = 2**20


@contextlib.contextmanager
def real_server(folder):
    """A service in a process of its own, and its address, its key and its process."""
    port = free_port()
    command = [sys.executable, "-m", "discreet", "serve", "--database", "attacked.db", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        lines = iter(process.stdout.readline, "")
        key = next(line.split(": ")[1].strip() for line in lines if line.startswith("admin key"))
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), client(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield ("127.0.0.1", port), key, process
    finally:
        process.terminate()
        process.wait(LONG)
        process.stdout.close()


def memory(process):
    """The bytes that a process has in memory."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def long_keys(address, _):
    for number in range(300):
        with client(address) as opened, contextlib.suppress(OSError):
            opened.sendall(b"GET /v1/experiments HTTP/1.1\r\nhost: x\r\nauthorization: Bearer dk_%d" % number)
            for _ in range(16):
                opened.sendall(b"k" * 65_536)


def many_keys(address, _):
    for number in range(3000):
        with client(address) as opened:
            answer_to(
                opened,
                b"GET /v1/experiments HTTP/1.1\r\nauthorization: Bearer dk_%08x_%s\r\n\r\n" % (number, b"u" * 43),
            )


def open_heads(address, _):
    with contextlib.ExitStack() as several:
        for _ in range(600):
            opened = several.enter_context(client(address))
            with contextlib.suppress(OSError):
                opened.sendall(b"GET / HTTP/1.1\r\nx: " + b"y" * (HEAD_BYTES - 100))
        time.sleep(1)


def large_bodies(address, key):
    def send():
        with client(address) as opened, contextlib.suppress(OSError):
            head = (
                f"POST /v1/experiments HTTP/1.1\r\nauthorization: Bearer {key}\r\ncontent-length: {100 * MIB}\r\n\r\n"
            )
            opened.sendall(head.encode())
            for _ in range(100):
                opened.sendall(b" " * MIB)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def requests_ahead(address, _):
    with contextlib.ExitStack() as several:
        for _ in range(200):
            opened = several.enter_context(client(address))
            with contextlib.suppress(OSError):
                opened.sendall(b"GET / HTTP/1.1\r\n\r\n" * 14_000)  # as many as one read of the socket brings
        time.sleep(1)


ATTACKS = {"long keys": (long_keys, 30), "many keys": (many_keys, 30), "open heads": (open_heads, 100),
           "requests ahead": (requests_ahead, 30), "large bodies": (large_bodies, 64 + 40)}  # fmt: skip


@pytest.mark.study
@pytest.mark.system
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of a process is read from /proc")
@pytest.mark.parametrize("name", ATTACKS)
def test_memory_under_attack_is_bounded(tmp_path, page, name):
    attack, most = ATTACKS[name]
    with real_server(tmp_path) as (address, key, process):
        usual = f"GET /v1/experiments HTTP/1.1\r\nauthorization: Bearer {key}\r\n\r\n".encode()
        for _ in range(50):
            with client(address) as opened:
                assert answer_to(opened, usual) == 200
        before, highest = memory(process), 0
        attacker = threading.Thread(target=attack, args=(address, key))
        attacker.start()
        while attacker.is_alive():
            highest = max(highest, memory(process))
            time.sleep(0.02)
        attacker.join()
        with client(address) as opened:
            assert answer_to(opened, usual) == 200
    grown = (highest - before) / MIB
    page("Service under attack", attack=name, megabytes=grown, limit=most)
    assert grown < most

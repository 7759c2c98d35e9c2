"""The clients: retries, batches, fallback, trials. Both behave alike, and neither shows a reward."""

import asyncio
import inspect
import json
import logging
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import httpx
import pytest

import discreet
from discreet import ArgumentError, FinishedError, ServiceError, UnreachableError
from discreet._install import install
from discreet.client import AsyncClient, Client, logic
from discreet.client.api import Call
from discreet.client.outbox import Outbox
from discreet.client.running import Blocking
from discreet.service.messages import EpochTotals
from tests._tools.patience import LONG
from tests._tools.stub_service import KEY, Stub, problem

ODD = 0.7312459  # a reward that nothing else looks like
DOWN = httpx.ConnectError("connection refused")


class Driven:
    """A client of either kind, used the same way: coroutines are run to their end."""

    def __init__(self, kind, stub, **options):
        self.runner = asyncio.Runner() if kind is AsyncClient else None
        options = {"patience": 30.0, "timeout": 10.0, "delay": 0.02, **options}

        async def make():
            return AsyncClient("http://stub", KEY, transport=httpx.MockTransport(stub), **options)

        sync = {} if self.runner else {"transport": httpx.MockTransport(stub)}
        self.client = self.runner.run(make()) if self.runner else Client("http://stub", KEY, **sync, **options)

    def do(self, thing):
        return self.runner.run(thing) if inspect.isawaitable(thing) and self.runner else thing

    def trial(self, experiment, unit, act):
        if not self.runner:
            with experiment.trial(unit) as trial:
                act(trial)
            return trial

        async def inside():
            async with experiment.trial(unit) as trial:
                act(trial)
            return trial

        return self.runner.run(inside())

    def sleep(self, seconds):
        self.runner.run(asyncio.sleep(seconds)) if self.runner else time.sleep(seconds)

    def until(self, condition):
        for _ in range(3000):
            if condition():
                return
            self.sleep(0.01)
        raise AssertionError("it never happened")

    def close(self):
        self.do(self.client.close())
        if self.runner:
            self.runner.close()


@pytest.fixture
def stub():
    return Stub()


@pytest.fixture(params=[Client, AsyncClient], ids=["blocking", "awaiting"])
def driven(request, stub):
    made = []

    def make(**options):
        made.append(Driven(request.param, stub, **options))
        return made[-1]

    yield make
    stub.trouble.clear()
    stub.always = None
    for one in made:
        one.close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(logic, "FIRST_PAUSE", 0.01)


# ---------------------------------------------------------------------- assign and report


def test_assign_one_and_many(driven, stub):
    d = driven()
    banners = d.client.experiment("banners")
    one = d.do(banners.assign("ann"))
    assert (one.unit, one.arm, one.learn) == ("ann", "blue", True)
    many = d.do(banners.assign([f"u{i}" for i in range(2500)]))
    assert [assignment.unit for assignment in many] == [f"u{i}" for i in range(2500)]
    assert [len(body["units"]) for body in stub.requests("assignments")] == [1, 1000, 1000, 500]
    assert d.do(banners.assign("ann")) == one
    assert d.do(banners.assign([])) == []
    assert len(d.do(banners.assign_nameless(1200))) == 1200


def test_reports_are_batched_by_size_and_by_time(driven, stub):
    d = driven(batch=10, delay=0.05)
    banners = d.client.experiment("banners")
    for i in range(25):
        assert d.do(banners.report(f"t{i}", 1)) is True
    d.until(lambda: len(stub.rewards) == 25)
    assert max(len(body["rewards"]) for body in stub.requests(":batch")) <= 10
    assert len(stub.requests(":batch")) <= 5
    d.until(lambda: d.client.pending == 0)
    assert d.client.lost == 0


def test_a_full_batch_does_not_wait(driven, stub):
    d = driven(batch=5, delay=3600)
    for i in range(5):
        d.do(d.client.experiment("banners").report(f"t{i}", 1))
    d.until(lambda: len(stub.rewards) == 5)


def test_close_sends_the_rest_and_then_refuses(driven, stub):
    d = driven(delay=3600)
    banners = d.client.experiment("banners")
    d.do(banners.report("t1", 1))
    assert stub.rewards == {}
    d.do(d.client.close())
    assert stub.rewards == {"t1": 1.0}
    with pytest.raises(FinishedError, match="closed"):
        d.do(banners.report("t2", 1))
    d.do(d.client.close())  # twice is fine


def test_flush_sends_the_rest_and_goes_on(driven, stub):
    d = driven(delay=3600)
    d.do(d.client.experiment("banners").report("t1", 1))
    assert d.do(d.client.flush()) is True
    assert stub.rewards == {"t1": 1.0}
    stub.always = 503
    d.do(d.client.experiment("banners").report("t2", 1))
    assert d.do(d.client.flush(0.05)) is False
    assert d.client.pending == 1


def test_the_first_reward_stands(driven, stub):
    d = driven(delay=3600)
    banners = d.client.experiment("banners")
    d.do(banners.report("t1", 1))
    d.do(banners.report("t1", 0))
    d.do(d.client.flush())
    d.do(banners.report("t1", 0.5))
    d.do(d.client.flush())
    assert stub.rewards == {"t1": 1.0}


def test_reports_survive_an_outage_in_order(driven, stub):
    d = driven(batch=2)
    stub.trouble.extend([DOWN, 503, 429, 502, httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut")])
    for i in range(6):
        d.do(d.client.experiment("banners").report(f"t{i}", i / 8))
    d.until(lambda: len(stub.rewards) == 6)
    assert list(stub.rewards) == [f"t{i}" for i in range(6)]
    assert d.client.lost == 0


def test_a_lost_answer_is_sent_again_and_changes_nothing(driven, stub):
    d = driven()
    stub.lose_answers = 1
    d.do(d.client.experiment("banners").report("t1", 1))
    d.until(lambda: d.client.pending == 0)
    assert stub.rewards == {"t1": 1.0}
    assert len(stub.requests(":batch")) == 2


def test_no_room_drops_the_newest(driven, stub, caplog):
    d = driven(room=3, delay=3600)
    banners = d.client.experiment("banners")
    assert [d.do(banners.report(f"t{i}", ODD)) for i in range(5)] == [True, True, True, False, False]
    assert (d.client.pending, d.client.lost) == (3, 2)
    said = [one for one in caplog.records if one.name == "discreet.client"]
    assert len(said) == 1  # and it does not say how many
    d.do(d.client.flush())
    assert list(stub.rewards) == ["t0", "t1", "t2"]


def test_no_room_can_also_wait(driven, stub):
    d = driven(room=3, delay=3600, when_full="wait")
    banners = d.client.experiment("banners")
    assert all(d.do(banners.report(f"t{i}", 1)) for i in range(10))
    d.do(d.client.flush())
    assert len(stub.rewards) == 10
    stub.always = DOWN
    d.client.logic.patience = 0.3
    assert [d.do(banners.report(f"s{i}", 1)) for i in range(5)] == [True, True, True, False, False]  # not for ever
    assert d.client.lost == 2


def test_refused_reports_are_not_sent_for_ever(driven, stub, caplog):
    d = driven()
    stub.trouble.append(401)
    d.do(d.client.experiment("banners").report("t1", ODD))
    d.until(lambda: d.client.pending == 0)
    assert d.client.lost == 1
    d.until(lambda: "refused" in caplog.text)
    d.do(d.client.experiment("banners").report("t2", 1))
    d.until(lambda: stub.rewards == {"t2": 1.0})


def test_what_cannot_be_sent_at_the_end_is_said(driven, stub, caplog):
    d = driven(delay=3600, patience=0.1)
    d.do(d.client.experiment("banners").report("t1", ODD))
    stub.always = DOWN
    d.do(d.client.close())
    assert d.client.lost == 1
    assert "could not be sent" in caplog.text


def test_what_a_visitor_made_up_harms_nobody_else(driven, stub):
    """A page takes assignments and names from cookies, which anybody can change."""
    d = driven(delay=3600)
    banners = d.client.experiment("banners", fallback="green")
    made_up = ["x" * 201, "\ud800", "ü", ""]
    assert [d.do(banners.report(token, 1)) for token in made_up] == [False] * 4
    assert d.do(banners.report("t1", 1))
    assert d.do(d.client.flush())
    assert stub.rewards == {"t1": 1.0}
    assert d.do(banners.assign("\ud800")).arm == "green"
    assert d.do(banners.assign("ann")).arm == "blue"
    with pytest.raises(ServiceError, match="no Unicode"):
        d.do(d.client.experiment("banners").assign("\ud800"))
    with pytest.raises(ArgumentError, match="assignment must be an Assignment or its text, got a int"):
        d.do(banners.report(17, 1))


def test_flush_keeps_its_time_when_the_service_hangs(driven, stub):
    d = driven(delay=3600)
    limits = []
    runtime = d.client.logic.runtime
    request = runtime.request
    runtime.request = lambda *call, **options: limits.append(options["timeout"]) or request(*call, **options)
    d.do(d.client.experiment("banners").report("t1", 1))
    assert d.do(d.client.flush(0.5))
    assert limits[0] <= 0.5


# ---------------------------------------------------------------------- always-report


def test_a_trial_reports_in_every_case(driven, stub):
    d = driven()
    banners = d.client.experiment("banners")

    def click(trial):
        assert trial.arm == "blue"
        trial.reward = True

    def crash(trial):
        trial.reward = 0.5
        raise KeyError("the page is broken")

    d.trial(banners, "clicks", click)
    d.trial(banners, "leaves", lambda trial: None)
    with pytest.raises(KeyError, match="broken"):
        d.trial(banners, "crashes", crash)
    d.do(d.client.flush())
    assert stub.rewards == {"t0": 1.0, "t1": 0.25, "t2": 0.5}  # 0.25 is the experiment's default
    assert len([1 for method, *_ in stub.seen if method == "GET"]) == 1


def test_a_trial_with_a_key_that_may_not_read(driven, stub):
    d = driven()
    stub.may_read = False
    with pytest.raises(ServiceError, match="give its default_reward"):
        d.trial(d.client.experiment("banners"), "ann", lambda trial: None)
    assert d.trial(d.client.experiment("banners", fallback="green"), "ann", lambda trial: None).arm == "green"
    d.trial(d.client.experiment("banners", default_reward=0), "ann", lambda trial: None)
    d.do(d.client.flush())
    assert stub.rewards == {"t0": 0.0}


def test_a_trial_shows_no_reward(driven):
    d = driven()

    def look(trial):
        trial.reward = ODD
        assert str(ODD) not in repr(trial) + str(trial)
        with pytest.raises(ArgumentError, match=r"^reward must be a finite number$"):
            trial.reward = float("nan")

    d.trial(d.client.experiment("banners"), "ann", look)


# ---------------------------------------------------------------------- when the service fails


@pytest.mark.parametrize("trouble", [DOWN, httpx.ReadTimeout(""), httpx.ReadError(""), 429, 502, 503, 504])
def test_a_passing_trouble_is_not_seen(driven, stub, trouble):
    d = driven()
    stub.trouble.extend([trouble, trouble])
    assert d.do(d.client.experiment("banners").assign("ann")).arm == "blue"
    assert len(stub.seen) == 3


def test_a_lasting_one_is_an_error(driven, stub):
    d = driven(patience=0.1)
    stub.always = DOWN
    with pytest.raises(UnreachableError, match="cannot be reached: connection refused"):
        d.do(d.client.experiment("banners").assign("ann"))
    stub.always = 503
    with pytest.raises(UnreachableError, match="Trouble: on command") as error:
        d.do(d.client.experiment("banners").assign("ann"))
    assert error.value.status == 503


@pytest.mark.parametrize(
    ("header", "least"), [("2.5", 2.5), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0), ("-5", 0.0), ("nan", 0.0)]
)
def test_the_pause_that_a_busy_service_asks_for_is_kept(header, least):
    replies = [httpx.Response(429, headers={"retry-after": header}), httpx.Response(204)]
    pauses = []

    class Scripted:
        async def request(self, *_, **__):
            return replies.pop(0)

        async def pause(self, seconds):
            pauses.append(seconds)

    one = logic.ClientLogic(Scripted(), 10, 1, 1, 1, 1, "drop", lambda: 0.0)
    Blocking().run(one.ask(Call("GET", "/v1/experiments", type(None))))
    (pause,) = pauses
    assert least <= pause <= least + logic.FIRST_PAUSE


@pytest.mark.parametrize("header", ["0.05", "Wed, 21 Oct 2026 07:28:00 GMT", "-5", "nan"])
def test_a_busy_service_is_asked_again(driven, stub, header):
    d = driven()
    busy = problem(429, "Busy", "later")
    busy.headers["retry-after"] = header
    stub.trouble.append(busy)
    assert d.do(d.client.experiment("banners").assign("ann")).arm == "blue"


def test_what_is_refused_is_not_repeated(driven, stub):
    d = driven()
    with pytest.raises(ServiceError, match="Not found: there is nothing at /v1/experiments/banners/plan") as error:
        d.do(d.client.experiment("banners").plan())
    assert (error.value.status, error.value.detail) == (404, "there is nothing at /v1/experiments/banners/plan")
    assert len(stub.seen) == 1


def test_what_may_have_been_done_is_not_repeated(driven, stub):
    d = driven()
    for trouble in (httpx.ReadTimeout(""), 502, 503, 504):
        stub.trouble.append(trouble)
        with pytest.raises(ServiceError):
            d.do(d.client.create("banners", epsilon=1, arms=["a", "b"], policy="dp-se"))
    assert len(stub.seen) == 4
    stub.trouble.extend([DOWN, httpx.ConnectTimeout(""), httpx.PoolTimeout(""), 429])  # these were not
    assert d.do(d.client.create("banners", epsilon=1, arms=["a", "b"], policy="dp-se")).state == "draft"
    assert len(stub.seen) == 9


def test_what_answers_is_no_discreet_service(driven, stub):
    d = driven()
    for reply in (
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json={"hello": 1}),
        httpx.Response(200, content=b"\xff"),
    ):
        stub.trouble.append(reply)
        with pytest.raises(ServiceError, match="no discreet service"):
            d.do(d.client.experiment("banners").view())
    stub.trouble.append(httpx.Response(404, text="<html>"))
    with pytest.raises(ServiceError, match="answered with status 404"):
        d.do(d.client.experiment("banners").view())


def test_fallback_never_raises_and_learns_nothing(driven, stub, caplog):
    now = [0.0]
    d = driven(patience=0.2, clock=lambda: now[0])
    banners = d.client.experiment("banners", fallback="green")
    stub.always = DOWN
    one = d.do(banners.assign("ann"))
    assert (one.unit, one.arm, one.assignment, one.learn) == ("ann", "green", None, False)
    assert d.do(banners.report(one, ODD)) is False
    asked = len(stub.seen)
    assert [a.arm for a in d.do(banners.assign(["bob", "cem"]))] == ["green", "green"]
    trial = d.trial(banners, "dan", lambda trial: setattr(trial, "reward", ODD))
    assert trial.arm == "green"
    assert len(stub.seen) == asked  # a service that was down just now is not waited for
    stub.always = None
    now[0] = 1.0
    assert d.do(banners.assign("ann")).arm == "blue"
    stub.always = 404
    assert d.do(banners.assign("ann")).arm == "green"
    assert d.trial(banners, "ann", lambda trial: None).arm == "green"
    assert d.do(d.client.flush())
    assert stub.rewards == {}


# ---------------------------------------------------------------------- the rest of the API


def test_create_checks_as_the_service_would(driven, stub):
    d = driven()
    with pytest.raises(ArgumentError, match="there is no field 'arm' in this request; did you mean 'arms'\\?"):
        d.do(d.client.create("banners", epsilon=1, arm=["a"]))
    with pytest.raises(ArgumentError, match="epsilon"):
        d.do(d.client.create("banners", epsilon="much"))
    with pytest.raises(ArgumentError, match="epsilon must be a number above 0"):
        d.do(d.client.create("banners", epsilon=-1.0))
    d.do(d.client.create("banners", epsilon=2e-5, arms=["a", "b"], policy="dp-se"))
    assert stub.seen[-1][2]["epsilon"] == "0.00002"


def test_other_calls(driven, stub):
    d = driven()
    banners = d.client.experiment("banners")
    assert d.do(banners.start()).state == "running"
    assert d.do(banners.releases()) == []
    assert d.do(banners.delete()) is None
    stub.view = {"settled": True}
    assert d.do(banners.wait_until_settled()).settled
    stub.view = {}
    assert not d.do(banners.wait_until_settled(timeout=0.05, every=0.02)).settled
    assert repr(banners).endswith("Experiment('banners')")


def test_both_clients_offer_the_same(stub):
    def offers(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    def arguments(function):
        return list(inspect.signature(function).parameters)

    assert offers(Client) == offers(AsyncClient)
    assert arguments(Client) == arguments(AsyncClient)
    blocking = Client("http://stub", KEY).experiment("x")
    awaiting = discreet.client.AsyncExperiment(None, "x", None, None)
    assert offers(type(blocking)) == offers(type(awaiting))
    for name in offers(type(blocking)) - {"name", "fallback"}:
        assert arguments(getattr(blocking, name)) == arguments(getattr(awaiting, name)), name
        assert getattr(blocking, name).__doc__


def test_arguments_are_checked(stub, monkeypatch):
    for options in (
        {"patience": 0},
        {"batch": 0},
        {"batch": 20_000},
        {"when_full": "weep"},
        {"room": -1},
        {"delay": 0},
    ):
        with pytest.raises(ArgumentError, match=next(iter(options))):
            Client("http://stub", KEY, **options)
    with pytest.raises(ArgumentError, match="address must start with http"):
        Client("stub:8000", KEY)
    for bad in ("", "a b", "a\nb", "schlüssel"):
        with pytest.raises(ArgumentError, match="key must be") as error:
            Client("http://stub", bad)
        assert not bad or bad not in str(error.value)
    monkeypatch.setenv("DISCREET_ADDRESS", "http://stub/")
    monkeypatch.setenv("DISCREET_KEY", KEY)
    client = Client(transport=httpx.MockTransport(stub))
    assert client.experiment("x").assign("ann").arm == "blue"
    assert repr(client) == "Client('http://stub')"
    assert KEY not in repr(client._connection)
    with pytest.raises(ArgumentError, match="unit must be text"):
        client.experiment("x").assign([17])
    for reward in ("0.5x", None, float("inf"), [], 10**400):
        with pytest.raises(ArgumentError, match=r"^reward must be a finite number$"):
            client.experiment("x").report("t", reward)


def test_the_core_does_without(monkeypatch):
    for missing in ("httpx", "msgspec"):
        with monkeypatch.context() as patch:
            for module in [name for name in sys.modules if name.startswith(("discreet.client", "discreet.service"))]:
                patch.delitem(sys.modules, module)
            patch.delattr(discreet, "client", raising=False)
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(
                ModuleNotFoundError, match=rf"discreet.Client needs {missing}: {re.escape(install('client'))}"
            ):
                discreet.Client  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Klient'"):
        discreet.Klient  # noqa: B018
    lazily = (
        "import sys, discreet; assert not {'httpx', 'msgspec', 'duckdb', 'polars'} & set(sys.modules); discreet.Client"
    )
    subprocess.run([sys.executable, "-c", lazily], check=True)


# ---------------------------------------------------------------------- secrets


@pytest.mark.parametrize("trouble", [DOWN, httpx.ReadTimeout("x"), httpx.LocalProtocolError("x"), 401, 422, 503, None])
def test_no_reward_in_logs_or_exceptions(driven, stub, trouble, caplog):
    caplog.set_level(logging.DEBUG)
    d = driven(patience=0.1, room=2)
    stub.always = trouble
    banners = d.client.experiment("banners", default_reward=ODD)
    said, seen = "", []
    for attempt in (
        lambda: d.do(banners.report("t1", ODD)),
        lambda: d.do(banners.report("t2", float("inf"))),
        lambda: d.do(banners.report("t3", str(ODD) + "x")),
        lambda: d.do(banners.close_with(EpochTotals(1, {"a": 73124597}))),
        lambda: d.trial(banners, "ann", lambda trial: 1 / 0),
        lambda: d.do(d.client.close()),
    ):
        try:
            attempt()
        except Exception as error:
            said += "".join(traceback.format_exception(error)) + repr(error) + repr(error.args)
            seen.append(error)
    assert not any(hasattr(error, "request") for error in seen)  # an error of httpx would hold the body
    said += caplog.text + repr(d.client) + repr(banners)
    assert "73124" not in said.replace('EpochTotals(1, {"a": 73124597})', "")
    assert KEY not in said


# ---------------------------------------------------------------------- threads, exits, forks


def test_many_threads_lose_nothing_and_repeat_nothing(stub):
    stub.trouble.extend([503, None, httpx.ReadTimeout(""), None, None, 502] * 5)
    with Client("http://stub", KEY, batch=7, delay=0.001, transport=httpx.MockTransport(stub)) as client:
        banners = client.experiment("banners")
        barrier = threading.Barrier(8)

        def work(worker):
            barrier.wait()
            for i in range(200):
                with banners.trial(f"{worker}-{i}") as trial:
                    trial.reward = i % 2
                if i % 50 == 0:
                    client.flush()

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(stub.rewards) == 1600
    assert client.lost == client.pending == 0
    names = {token: unit for (_, unit), (_, token) in stub.deals.items()}
    assert all(reward == int(names[token].split("-")[1]) % 2 for token, reward in stub.rewards.items())


def test_what_was_queued_before_close_arrives_whoever_wins_the_race(stub):
    for _ in range(20):
        stub.rewards.clear()
        client = Client("http://stub", KEY, batch=3, delay=0.001, transport=httpx.MockTransport(stub))
        banners, queued = client.experiment("banners"), []
        go = threading.Event()

        def work(name, banners=banners, queued=queued, go=go):
            go.wait()
            for i in range(100):
                try:
                    if banners.report(f"{name}-{i}", 1):
                        queued.append(f"{name}-{i}")
                except FinishedError:
                    return

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        go.set()
        time.sleep(0.002)
        client.close()
        for thread in threads:
            thread.join()
        assert set(queued) == set(stub.rewards)


SERVER = """
import atexit, json, os, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
arrived = []
atexit.register(lambda: print(json.dumps(arrived)))  # registered first, so called last

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        arrived.extend(item["assignment"] for item in body["rewards"])
        answer = json.dumps({"statuses": ["accepted"] * len(body["rewards"])}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
from discreet import Client
client = Client(f"http://127.0.0.1:{server.server_port}", "k", delay=3600)
"""


def run_script(text):
    """Run a program that has a service of its own, and return the assignments that were reported to it."""
    command = [sys.executable, "-W", "ignore", "-c", SERVER + textwrap.dedent(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_reports_are_sent_when_the_program_ends():
    assert run_script("client.experiment('x').report('t1', 1)") == ["t1"]
    assert run_script("client.experiment('x').report('t1', 1); client.close()") == ["t1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_its_own_outbox():
    program = """
        x = client.experiment('x')
        x.report('parents', 1)
        child = os.fork()
        if child == 0:
            assert client.pending == 0
            x.report('childs', 1)
            client.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert client.pending == 1
    """
    assert run_script(program) == ["childs", "parents"]


# ---------------------------------------------------------------------- the outbox


def test_an_outbox_is_first_in_first_out_and_what_failed_comes_first():
    now = [0.0]
    box = Outbox(room=4, batch=2, delay=5, clock=lambda: now[0])
    assert box.due_in() is None
    assert all(box.add(name, 1) for name in "abc")
    assert box.due_in() == 0
    batch = box.take()
    assert [name for name, _ in batch] == ["a", "b"]
    assert box.add("d", 1)
    assert not box.add("e", 1)  # what is on its way takes room
    assert box.add("d", 2)
    box.put_back(batch)
    assert [name for name, _ in box.take() + box.take()] == ["a", "b", "c", "d"]
    box.delivered([("a", 1), ("b", 1), ("c", 1), ("d", 1)])
    assert box.add("f", 1)
    assert box.due_in() == 5
    now[0] = 4.0
    assert box.due_in() == 1
    box.hold(3)
    assert box.due_in() == 3


def test_what_failed_stands_against_what_was_reported_since():
    box = Outbox(room=4, batch=2, delay=5)
    box.add("a", 1.0)
    batch = box.take()
    box.add("a", 0.0)
    box.put_back(batch)
    assert box.take() == [("a", 1.0)]

"""Logs of real traffic: who asked for what and how it ended, and nothing that a reward, a unit, a token or a key is."""

import io
import json
import logging
import multiprocessing
import os
import signal
import time
from types import SimpleNamespace

import pytest

from discreet.service.experiments.control import Control
from discreet.service.http import logs, workers
from discreet.service.messages import NewKey
from tests._tools.patience import LONG
from tests._tools.service_tools import small

ODD, UNIT = 0.7310585, "ann-of-green-gables"


@pytest.fixture(params=["text", "json"])
def written(request, monkeypatch):
    """What is logged, as a function; loggers are as before afterwards."""
    root, stream = logging.getLogger(), io.StringIO()
    monkeypatch.setattr(logs, "sys", SimpleNamespace(stderr=stream))
    before = root.handlers[:], root.level, logs.access.disabled
    root.handlers[:] = []  # or they would be closed
    logging.getLogger("httpx").setLevel(logging.WARNING)  # the tests' own client
    logs.configure("debug", request.param, access_log=True)
    yield stream.getvalue
    root.handlers[:], root.level, logs.access.disabled = before


def traffic(world):
    """Requests of all kinds, good and bad; their secrets."""
    world.start(**small())
    reporter = world.control.make_key(NewKey("reporter", ["report"])).key
    mine = {"Authorization": f"Bearer {reporter}"}
    with world.web() as web:
        (given,) = web.post("/v1/experiments/banners/assignments", json={"units": [UNIT]}).json()["assignments"]
        token = given["assignment"]
        for _ in range(3):
            web.put(f"/v1/rewards/{token}", json={"reward": ODD}, headers=mine)
        web.post("/v1/rewards:batch", json={"rewards": [{"assignment": token, "reward": ODD}]}, headers=mine)
        web.put(f"/v1/rewards/{token}x", json={"reward": ODD}, headers=mine)
        web.put(f"/v1/rewards/{token}", json={"reward": str(ODD)}, headers=mine)
        web.put(f"/v1/rewards/{token}/more", json={"reward": ODD}, headers=mine)
        web.get(f"/v1/experiments/{UNIT}?unit={UNIT}", headers=mine)
        web.get(f"/v1/experiments/banners?unit={UNIT}&key={reporter}")
        web.get(f"/nowhere/{UNIT}", headers={"Accept": "text/html"})
        web.get(f"/{UNIT}")
        web.get(f"/login?next=/{UNIT}")
        web.get("/v1/keys", headers={"Authorization": f"Bearer dk_00000000_{'x' * 43}"})
    return [str(ODD), "7310585", UNIT, "green", token, token[:20], reporter, reporter[12:], world.key, "x" * 43]


def test_logs_of_real_traffic_hold_no_secret(world, written):
    secrets = traffic(world)
    said = written()
    assert len(said.splitlines()) >= 14
    for secret in secrets:
        assert secret not in said, secret


def test_an_access_line_has_a_method_a_route_a_status_a_time_and_a_key(world, written):
    admin = Control(world.database).authenticate(world.key).id
    with world.web() as web:
        web.get("/v1/experiments/secret-name?more=secret")
    (line,) = [line for line in written().splitlines() if "/v1/experiments" in line]
    assert "secret" not in line
    if line.startswith("{"):
        found = json.loads(line)
        assert found.pop("time")
        assert found.pop("ms") >= 0
        assert found == {
            "level": "info", "method": "GET", "route": "/v1/experiments/{experiment}", "status": "404", "key": admin,
        }  # fmt: skip
    else:
        assert "INFO GET /v1/experiments/{experiment} 404 " in line
        assert line.endswith(f" ms key {admin}")


def test_the_number_of_rewards_is_not_in_the_log(world, written):
    """Where only successes are reported, it is the number of successes: an ask and a report leave the same line."""
    world.start(**small())
    with world.web() as web:
        (given,) = web.post("/v1/experiments/banners/assignments", json={"units": ["ann"]}).json()["assignments"]
        web.put(f"/v1/rewards/{given['assignment']}", json={"reward": 1.0})
        web.post("/v1/rewards:batch", json={"rewards": [{"assignment": given["assignment"], "reward": 1.0}]})
    lines = [line for line in written().splitlines() if "rewards" in line]
    assert len(lines) == 3
    if lines[0].startswith("{"):
        kinds = {tuple(json.loads(line)[name] for name in ("method", "route", "status", "key")) for line in lines}
        assert kinds == {("*", "/v1 assignments and rewards", "2xx", None)}
    else:
        assert all("INFO * /v1 assignments and rewards 2xx " in line and line.endswith("key -") for line in lines)


def test_without_the_option_there_is_no_access_log(world, written):
    logs.configure("warning", "text", access_log=False)
    with world.web() as web:
        web.get("/healthz")
    assert written() == ""


# ---------------------------------------------------------------------- workers


def die(file, pulse):
    """A worker that notes that it lives, and waits."""
    with open(file, "a") as opened:
        opened.write(f"{os.getpid()}\n")
    time.sleep(LONG)


def supervised(file):
    logging.basicConfig(format="%(message)s", filename=f"{file}.log", force=True)
    workers.supervise(2, die, file)


@pytest.mark.system
def test_a_killed_worker_is_replaced_and_leaves_a_line(tmp_path):
    file = tmp_path / "lives"
    parent = multiprocessing.get_context("spawn").Process(target=supervised, args=(str(file),))
    parent.start()

    def lives(count):
        deadline = time.monotonic() + LONG
        while not file.exists() or len(file.read_text().splitlines()) < count:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    lives(2)
    victim = int(file.read_text().split()[0])
    os.kill(victim, signal.SIGKILL)
    lives(3)
    parent.terminate()
    parent.join(LONG)
    assert parent.exitcode == 0
    said = (tmp_path / "lives.log").read_text()
    assert f"worker {victim} ended by SIGKILL; " in said
    assert said.count("takes its place") == 1


def hang(file, pulse):
    """A worker that serves for a moment, and hangs."""
    with open(file, "a") as opened:
        opened.write(f"{os.getpid()}\n")
    for _ in range(5):
        pulse.beat()
        time.sleep(0.02)
    time.sleep(LONG)


def watched(file):
    logging.basicConfig(format="%(message)s", filename=f"{file}.log", force=True)
    workers.SILENCE = 3.0
    workers.supervise(1, hang, file)


@pytest.mark.system
def test_a_worker_that_hangs_is_killed_and_replaced(tmp_path):
    file = tmp_path / "lives"
    parent = multiprocessing.get_context("spawn").Process(target=watched, args=(str(file),))
    parent.start()
    deadline = time.monotonic() + LONG
    while not file.exists() or len(file.read_text().split()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.terminate()
    parent.join(LONG)
    assert parent.exitcode == 0
    victim = file.read_text().split()[0]
    said = (tmp_path / "lives.log").read_text()
    assert f"worker {victim} has not served for " in said
    assert f"worker {victim} ended by SIGKILL; " in said


def test_a_worker_is_hung_by_its_silence_alone(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(workers.time, "monotonic", lambda: now[0])
    counted = SimpleNamespace(
        RawValue=lambda *_: SimpleNamespace(value=0), Process=lambda **_: SimpleNamespace(start=int)
    )
    worker = workers.Worker(counted, print, ())
    now[0] += workers.START
    assert not worker.is_hung()  # a start may take longer
    now[0] += 1
    assert worker.is_hung()
    worker._pulse.beat()
    assert not worker.is_hung()
    now[0] += workers.SILENCE + 1
    assert worker.is_hung()

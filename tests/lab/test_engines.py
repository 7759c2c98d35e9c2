"""Every engine gives the same numbers, hands errors on, and ends when it is told to."""

import os
import re
import socket
import sys
import threading
import time
import uuid
from types import SimpleNamespace

import numpy as np
import pytest

from discreet._install import install
from discreet.core.errors import ArgumentError
from discreet.lab.engines import ENGINES, Dask, Processes, Ray, Serial, Threads, make_engine, usable_cpus
from tests._tools.patience import LONG

LOCAL = ("threads", "processes")


# These travel to other processes, which import this module: they must stay at its top level.
def draw(task):
    label, number = task
    return np.random.default_rng([2019, *label.encode(), number]).normal(size=50) / 3


def refuse_three(number):
    if number == 3:
        raise ArgumentError(f"number must not be 3, got {number}")
    time.sleep(0.01)
    return number


def nap(seconds):
    time.sleep(seconds)
    return os.getpid()


def leave_a_file(task):
    """Sleep, then leave a file in a folder: what was given up leaves none."""
    folder, seconds = task
    time.sleep(seconds)
    (folder / uuid.uuid4().hex).touch()


class Counter:
    """Counts the calls, for engines that stay in this process."""

    def __init__(self):
        self.calls = 0
        self._lock = threading.Lock()

    def __call__(self, task):
        with self._lock:
            self.calls += 1
        time.sleep(0.01)
        return task


def check_contract(engine, folder):
    """What every running engine must do; one engine for all of it, since a cluster takes seconds to start."""
    same_numbers(engine)
    assert list(engine.run(draw, [])) == []

    seen = []
    with pytest.raises(ArgumentError, match=r"^number must not be 3, got 3$") as caught:
        seen.extend(index for index, _ in engine.run(refuse_three, range(200)))
    assert type(caught.value) is ArgumentError
    assert len(seen) < 20

    results = engine.run(leave_a_file, [(folder, 0.05)] * 200)
    next(results)
    results.close()
    same_numbers(engine)  # nothing of what was given up is in the way
    assert len(list(folder.iterdir())) < 20


def same_numbers(engine):
    tasks = [(label, number) for label in ("dp-se/C2", "dp-ucb/C2") for number in range(10)]
    with Serial() as serial:
        expected = dict(serial.run(draw, tasks))
    found = dict(engine.run(draw, tasks))
    assert sorted(found) == list(range(len(tasks)))
    for index, numbers in found.items():
        assert numbers.tobytes() == expected[index].tobytes()
        assert numbers.flags.writeable


def test_serial():
    tasks = ["a", "b", "c"]
    with make_engine("serial") as engine:
        assert list(engine.run(str.upper, tasks)) == [(0, "A"), (1, "B"), (2, "C")]
        results = engine.run(refuse_three, range(2, 10))
        assert next(results) == (0, 2)
        with pytest.raises(ArgumentError, match="must not be 3"):
            next(results)


@pytest.mark.parametrize("name", LOCAL)
def test_local_engines(name, tmp_path):
    with make_engine(name, workers=2) as engine:
        check_contract(engine, tmp_path)


@pytest.mark.system
def test_dask(tmp_path):
    with Dask(workers=2) as engine:
        check_contract(engine, tmp_path)
        assert len({pid for _, pid in engine.run(nap, [0.2] * 4)} - {os.getpid()}) == 2


@pytest.mark.system
def test_dask_at_an_address_is_left_running():
    import distributed

    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        with make_engine("dask", address=cluster.scheduler_address) as engine:
            same_numbers(engine)
        with make_engine("dask", address=cluster.scheduler_address) as engine:
            same_numbers(engine)
        assert cluster.status.name == "running"


@pytest.mark.system
def test_ray(tmp_path):
    with Ray(workers=2) as engine:
        import ray

        check_contract(engine, tmp_path)
        assert len({pid for _, pid in engine.run(nap, [0.2] * 4)} - {os.getpid()}) == 2
        assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]
        with Ray() as guest:  # uses what is there, and leaves it
            same_numbers(guest)
        same_numbers(engine)
    assert not ray.is_initialized()


def test_ray_at_an_address_is_only_joined(monkeypatch):
    """With a stand-in for Ray: a second real one takes long, and may ask for a token."""
    calls = []
    stand_in = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda address, **options: calls.append((address, sorted(options))),
        shutdown=lambda: calls.append("shutdown"),
        remote=lambda function: function,
    )
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    with make_engine("ray", address="host:6379"):
        assert calls == [("host:6379", ["log_to_driver", "logging_level"])]
    assert calls[1:] == ["shutdown"]  # of the connection: Ray ends only what this process has started


def test_threads_that_cannot_be_stopped_are_not_waited_for_after_an_interrupt():
    """A compiled kernel cannot be stopped: Ctrl-C must come through while it runs."""
    running, finish, ended = threading.Event(), threading.Event(), []

    def stubborn(_):
        running.set()
        finish.wait(LONG)
        ended.append(True)

    def interrupted():
        with make_engine("threads", workers=1) as engine:
            engine._submit(stubborn, 0, 0)
            running.wait(LONG)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not ended
    finish.set()


@pytest.mark.system
def test_nobody_at_an_address_is_said_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"  # nobody listens there
        with pytest.raises(ArgumentError, match=f"address must be that of a running Dask scheduler, got '{address}'"):
            make_engine("dask", address=address).__enter__()


@pytest.mark.system
def test_an_address_that_is_none():
    with pytest.raises(ArgumentError, match="address must be that of a running Dask scheduler, got 'nonsense'"):
        make_engine("dask", address="nonsense").__enter__()


@pytest.mark.parametrize("name", LOCAL)
def test_an_interrupted_caller_is_not_kept_waiting(name, tmp_path):
    def sweep():
        with make_engine(name, workers=2) as engine:
            for _ in engine.run(leave_a_file, [(tmp_path, 0.05)] * 200):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep()
    assert len(list(tmp_path.iterdir())) < 20


def test_processes_do_not_finish_what_was_given_up(tmp_path):
    with Processes(2) as engine:
        results = engine.run(leave_a_file, [(tmp_path, 0.0)] + [(tmp_path, 20.0)] * 5)
        next(results)
    assert len(list(tmp_path.iterdir())) == 1


def test_few_tasks_are_handed_out_at_a_time():
    work = Counter()
    with Threads(2) as engine:
        results = engine.run(work, range(100))
        next(results)
        time.sleep(0.2)
        assert work.calls <= 6  # three at first, and one for each that has finished
        results.close()
    assert work.calls <= 6


def test_tasks_start_in_the_order_given():
    started = []
    with Threads(1) as engine:
        list(engine.run(started.append, range(50)))
    assert started == list(range(50))


def test_several_sweeps_share_an_engine():
    with Threads(2) as engine:
        first, second = engine.run(abs, [-1, -2, -3]), engine.run(abs, [-4, -5, -6])
        pairs = list(zip(first, second, strict=True))
    assert {one for one, _ in pairs} == {(0, 1), (1, 2), (2, 3)}
    assert {other for _, other in pairs} == {(0, 4), (1, 5), (2, 6)}


def test_an_engine_that_does_not_run_says_so():
    engine = Threads(2)
    with pytest.raises(ArgumentError, match="inside `with engine:`"):
        next(engine.run(abs, [1]))
    with engine:
        results = engine.run(abs, range(100))
        next(results)
    with pytest.raises(ArgumentError, match="inside `with engine:`"):
        list(results)
    with engine:  # it can be started again, but not go on
        results = engine.run(abs, range(100))
        next(results)
    with engine:
        with pytest.raises(ArgumentError, match="inside `with engine:`"):
            list(results)
        assert len(list(engine.run(abs, range(100)))) == 100


def test_workers_default_to_the_usable_processors():
    assert Threads().workers == Processes().workers == usable_cpus() >= 1
    assert make_engine("processes", workers=3).workers == 3


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
@pytest.mark.parametrize("name", ENGINES)
def test_workers_must_be_a_whole_number(name, workers):
    with pytest.raises(ArgumentError, match="workers must be"):
        make_engine(name, workers=workers)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "spark"}, "engine must be 'serial', 'threads', 'processes', 'dask' or 'ray', got 'spark'"),
        ({"name": "threads", "address": "tcp://host:1"}, "address must be left out: engine 'threads'"),
        ({"name": "serial", "workers": 2}, "workers must be 1 or left out with engine 'serial', got 2"),
        ({"name": "dask", "address": "tcp://host:1", "workers": 2}, "workers must be left out with an address"),
    ],
)
def test_bad_choices(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        make_engine(**arguments)


@pytest.mark.parametrize(("name", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_named(monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ArgumentError, match=rf"engine '{name}' needs {module}: {re.escape(install(name))}"):
        make_engine(name)

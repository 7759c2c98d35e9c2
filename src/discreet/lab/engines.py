"""Engines run the tasks of a sweep: here, in threads, in processes, or on a Dask or Ray cluster.

A task is a whole configuration (0.1 s and more), so one small interface is enough for all of them: `run` takes a
function and its tasks, and yields each result as soon as it is there.
"""

import importlib
import logging
import multiprocessing
import os
import pickle
import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

from discreet._install import install
from discreet.core.checks import choice, whole
from discreet.core.errors import ArgumentError
from discreet.lab.carried import check_script

Task = TypeVar("Task")
Result = TypeVar("Result")
Future = futures.Future[Any]


class Engine(ABC):
    """Base class of engines. Use one in a `with` statement, which ends whatever it has started.

    >>> with make_engine("threads", workers=2) as engine:
    ...     sorted(engine.run(abs, [-3, 5, -8]))
    [(0, 3), (1, 5), (2, 8)]

    Attributes:
        elsewhere: True if tasks run in other processes, which have not seen what was defined in this one.
    """

    elsewhere: ClassVar[bool] = False

    @abstractmethod
    def run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """Yield the index of each task and its result, as they finish. Tasks start in the order given.

        An exception in a task is raised here. It cancels the tasks that have not started, and so does closing the
        iterator or leaving the `with` statement. Except with "serial" and "threads", `work`, the tasks and the
        results are pickled.

        Args:
            work: The function from a task to its result.
            tasks: The tasks.
        """

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """End what was started here."""


class Serial(Engine):
    """One task after the other, in this thread."""

    def __exit__(self, *_: object) -> None:
        """Nothing was started."""

    def run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """Yield the index of each task and its result, in order.

        Args:
            work: The function from a task to its result.
            tasks: The tasks.
        """
        for index, task in enumerate(tasks):
            yield index, work(task)


class Concurrent(Engine):
    """Base class of engines with workers. Only as many tasks as can run, and one to follow, are handed out at a time.

    So memory stays small however many tasks there are, and little is left to finish when a sweep is given up.

    Args:
        workers: The number of workers, by default one for each usable processor.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = usable_cpus() if workers is None else whole("workers", workers)
        self._resources: ExitStack | None = None  # there while the engine runs
        self._sweeps: list[dict[Future, int]] = []  # for each run under way: its tasks and their numbers

    def __enter__(self) -> Self:
        with ExitStack() as resources:
            self._start(resources)
            self._resources = resources.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        """Cancel what has not started, and end what was started here."""
        resources, self._resources = self._resources or ExitStack(), None
        try:
            for pending in self._sweeps:
                self._give_up(pending)
        finally:
            resources.__exit__(*error)

    def run(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """Yield the index of each task and its result, as they finish.

        Args:
            work: The function from a task to its result.
            tasks: The tasks.
        """
        remaining = iter(enumerate(tasks))
        pending: dict[Future, int] = {}
        finished: dict[Future, int] = {}
        session = self._resources
        self._sweeps.append(pending)
        try:
            while True:
                if session is None or session is not self._resources:
                    raise ArgumentError(
                        "the engine does not run: call run, and read its results, inside `with engine:`"
                    )
                # First the next tasks, so that no worker idles while the caller looks at a result.
                room = max(0, self._slots() + 1 - len(pending))
                for index, task in islice(remaining, room):
                    pending[self._submit(work, task, index)] = index
                if finished:
                    future, index = finished.popitem()
                    yield index, self._result(future)
                elif pending:
                    done = futures.wait(pending, return_when=futures.FIRST_COMPLETED).done
                    finished = {future: pending.pop(future) for future in done}
                else:
                    return
        finally:
            self._give_up(pending)
            self._sweeps = [sweep for sweep in self._sweeps if sweep is not pending]

    def _give_up(self, pending: dict[Future, int]) -> None:
        """Cancel these tasks, once: an iterator may be closed long after its engine."""
        given_up = list(pending)
        pending.clear()
        for future in given_up:
            self._cancel(future)

    @abstractmethod
    def _start(self, resources: ExitStack) -> None:
        """Start the workers, and put what ends them again on the stack."""

    def _slots(self) -> int:
        """Return the number of tasks that can run at the same time just now."""
        return self.workers

    @abstractmethod
    def _submit(self, work: Callable[[Task], Result], task: Task, index: int) -> Future:
        """Hand a task out."""

    def _result(self, future: Future) -> Any:
        """Return the result of a finished task, or raise its exception."""
        return future.result()

    def _cancel(self, future: Future) -> None:
        """Cancel a task, as far as possible."""
        future.cancel()


class Pool(Concurrent):
    """Base class of threads and processes: an executor of the standard library."""

    _pool: futures.Executor

    def _submit(self, work: Callable[[Task], Result], task: Task, index: int) -> Future:
        return self._pool.submit(work, task)


class Threads(Pool):
    """Threads of this process: for compiled kernels, which release Python's lock.

    A task that runs cannot be stopped: after an error or Ctrl-C it ends in the background, and its result is lost.
    """

    def _start(self, resources: ExitStack) -> None:
        self._pool = pool = futures.ThreadPoolExecutor(self.workers)
        resources.push(lambda kind, *_: pool.shutdown(wait=kind is None, cancel_futures=True))


class Processes(Pool):
    """Processes of this machine. A script that uses them needs `if __name__ == "__main__":`, and so with Dask."""

    elsewhere = True

    def _start(self, resources: ExitStack) -> None:
        check_script("processes")
        # Not forked: private objects refuse a forked child, and a fork beside threads can hang.
        spawn = multiprocessing.get_context("spawn")
        pool = futures.ProcessPoolExecutor(self.workers, spawn, initializer=_leave_interrupts_to_the_parent)
        self._pool = resources.enter_context(pool)
        resources.callback(_end_workers, pool)


def _end_workers(pool: futures.ProcessPoolExecutor) -> None:
    """End the tasks of a sweep that was given up. The pool alone would finish them, and the ones that follow."""
    for process in list(pool._processes.values()):
        process.terminate()


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; a worker that it stops between two tasks can hang the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Cluster(Concurrent):
    """Base class of clusters.

    Args:
        address: The address of a cluster to join; None starts local workers.
        workers: The number of local workers, by default one for each usable processor.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        super().__init__(workers)
        if address is not None and workers is not None:
            raise ArgumentError(f"workers must be left out with an address: {address!r} has its own")
        self.address = address


class Dask(Cluster):
    """A Dask cluster: the scheduler at `address`, which is left running, or local worker processes."""

    elsewhere = True

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        super().__init__(address, workers)
        self._distributed = _needed("distributed", "dask")

    def _start(self, resources: ExitStack) -> None:
        if self.address is None:
            check_script("dask")
        where = self.address if self.address is not None else resources.enter_context(self._local_cluster())
        try:
            if self.address is not None:
                self._distributed.comm.resolve_address(self.address)  # a client that fails here holds up the exit
                _reach(self.address)
            client = self._distributed.Client(where, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ArgumentError(f"address must be that of a running Dask scheduler, got {self.address!r}") from error
        self._client = resources.enter_context(client)
        self._executor = client.get_executor(pure=False)

    def _local_cluster(self) -> Any:
        return self._distributed.LocalCluster(
            n_workers=self.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # None would still take port 8787, and warn if it is not free
            silence_logs=logging.CRITICAL,
        )

    def _slots(self) -> int:
        return sum(self._client.nthreads().values())

    def _submit(self, work: Callable[[Task], Result], task: Task, index: int) -> Future:
        # Dask looks into arguments for futures and graphs, but not into a partial.
        future: Future = self._executor.submit(partial(work, task), priority=-index)
        return future


class Ray(Cluster):
    """A Ray cluster: the one at `address`, which is left running, or local worker processes.

    If this process already uses Ray, that is taken as it is.
    """

    elsewhere = True

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        super().__init__(address, workers)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address is None:
            # Ray would listen on every network interface, whatever address it is given. This is what keeps it to
            # the loopback on macOS and Windows, and it works on Linux too; Ray reads it when it is imported.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        self._ray = _needed("ray", "ray")

    def _start(self, resources: ExitStack) -> None:
        if not self._ray.is_initialized():
            quiet = {"logging_level": logging.CRITICAL, "log_to_driver": False}
            resources.callback(self._ray.shutdown)
            if self.address is None:
                local = {"num_cpus": self.workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
                self._ray.init("local", **local, **quiet)
            else:
                try:
                    self._ray.init(self.address, **quiet)
                except (OSError, ValueError) as error:
                    raise ArgumentError(f"address must be that of a running Ray, got {self.address!r}") from error
        self._pickled = self._ray.remote(_pickled)

    def _slots(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def _submit(self, work: Callable[[Task], Result], task: Task, index: int) -> Future:
        future: Future = self._pickled.remote(work, task).future()
        return future

    def _result(self, future: Any) -> Any:
        try:
            return pickle.loads(future.result())
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error

    def _cancel(self, future: Any) -> None:
        self._ray.cancel(future.object_ref)


def _pickled(work: Callable[[Task], Any], task: Task) -> bytes:
    """Return the result as bytes: Ray itself would return arrays that are read-only and stay in its store."""
    result: bytes = importlib.import_module("ray").cloudpickle.dumps(work(task))
    return result


def _reach(address: str) -> None:
    """Fail within seconds if an address such as tcp://host:8786 does not answer; a client would try for a minute."""
    parts = urlsplit(address)
    if parts.hostname and parts.port:
        socket.create_connection((parts.hostname, parts.port), timeout=5).close()


def _needed(module: str, extra: str) -> Any:
    """Return an optional module, or raise an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ArgumentError(f"engine {extra!r} needs {module}: {install(extra)}") from error


def usable_cpus() -> int:
    """Return the number of processors that this process may use: on a shared machine often fewer than it has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


ENGINES: dict[str, type[Engine]] = {
    "serial": Serial,
    "threads": Threads,
    "processes": Processes,
    "dask": Dask,
    "ray": Ray,
}


def make_engine(name: str, workers: int | None = None, address: str | None = None) -> Engine:
    """Return an engine by its name.

    >>> make_engine("spark")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: engine must be 'serial', 'threads', ... or 'ray', got 'spark'

    Args:
        name: "serial", "threads", "processes", "dask" or "ray".
        workers: The number of workers, by default one for each usable processor.
        address: The address of a Dask or Ray cluster to join.

    Raises:
        ArgumentError: If there is no such engine, or if it takes no workers or no address.
    """
    kind = ENGINES[choice("engine", name, tuple(ENGINES))]
    if issubclass(kind, Cluster):
        return kind(address, workers)
    if address is not None:
        raise ArgumentError(f"address must be left out: engine {name!r} runs on this machine, got {address!r}")
    if issubclass(kind, Pool):
        return kind(workers)
    if workers is not None and whole("workers", workers) != 1:
        raise ArgumentError(f"workers must be 1 or left out with engine {name!r}, got {workers!r}")
    return kind()

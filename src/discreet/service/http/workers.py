"""Several processes that serve one socket. Whoever ends is replaced, and the log says so."""

import logging
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

log = logging.getLogger("discreet.service")
_PAUSE = 1.0  # seconds before a worker is replaced, so that one that cannot start does not keep a processor busy
_GRACE = 30.0  # seconds that workers have to finish their requests
SILENCE, START = 30.0, 300.0  # seconds without a beat after which a worker is killed: later on, and from its start


class Pulse:
    """A number that a worker raises while it serves, and that the process that started it can read.

    Args:
        number: An integer in memory that both share.
    """

    def __init__(self, number: Any) -> None:
        self._number = number

    def beat(self) -> None:
        """Say that the worker serves."""
        self._number.value += 1

    @property
    def beats(self) -> int:
        """The number of beats so far."""
        return int(self._number.value)


class Worker:
    """A process that serves, and when it was last seen to do so.

    Args:
        spawn: The context of processes.
        work: What it runs.
        given: The arguments of that, before the pulse.
    """

    def __init__(self, spawn: SpawnContext, work: Callable[..., None], given: tuple[Any, ...]) -> None:
        self._pulse, self._beats = Pulse(spawn.RawValue("Q", 0)), 0
        self.process: SpawnProcess = spawn.Process(target=work, args=(*given, self._pulse))
        self.process.start()
        self._seen = time.monotonic()

    def silence(self) -> float:
        """Return the seconds since it was seen to serve, or since it was started."""
        beats, now = self._pulse.beats, time.monotonic()
        if beats != self._beats:
            self._beats, self._seen = beats, now
        return now - self._seen

    def is_hung(self) -> bool:
        """Return True if it has not served for so long that it should be killed."""
        silence = self.silence()
        return silence > (SILENCE if self._beats else START)


def supervise(count: int, work: Callable[..., None], *given: Any) -> None:
    """Run some processes until this one is told to end. One that ends, or hangs and is killed, is replaced.

    Args:
        count: The number of processes.
        work: What each of them runs; its last argument is the pulse by which it says that it serves.
        *given: Its other arguments.
    """
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    spawn = multiprocessing.get_context("spawn")
    living = [Worker(spawn, work, given) for _ in range(count)]
    while not stopped.is_set():
        connection.wait([worker.process.sentinel for worker in living], timeout=0.5)
        for place, worker in enumerate(living):
            process = worker.process
            if stopped.is_set():
                break
            if process.is_alive() and worker.is_hung():
                log.error("worker %s has not served for %.0f seconds: it is killed", process.pid, worker.silence())
                process.kill()
            elif process.is_alive():
                continue
            process.join()
            stopped.wait(_PAUSE)
            if not stopped.is_set():
                living[place] = Worker(spawn, work, given)
                successor = living[place].process.pid
                log.error("worker %s ended %s; %s takes its place", process.pid, ending(process), successor)
    for worker in living:
        worker.process.terminate()
    for worker in living:
        worker.process.join(_GRACE)
        if worker.process.is_alive():
            log.error("worker %s did not end: it is killed", worker.process.pid)
            worker.process.kill()


def ending(process: Any) -> str:
    """Return how a process has ended, in words."""
    code = process.exitcode
    return f"by {signal.Signals(-code).name}" if code is not None and code < 0 else f"with code {code}"

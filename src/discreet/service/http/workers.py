"""Several processes that serve one socket. Whoever ends is replaced, and the log says so."""

import logging
import multiprocessing
import signal
import threading
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any

log = logging.getLogger("discreet.service")
_PAUSE = 1.0  # seconds before a worker is replaced, so that one that cannot start does not keep a processor busy
_GRACE = 30.0  # seconds that workers have to finish their requests


def supervise(count: int, work: Callable[..., None], *given: Any) -> None:
    """Run some processes until this one is told to end.

    Args:
        count: The number of processes.
        work: What each of them runs.
        *given: Its arguments.
    """
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    spawn = multiprocessing.get_context("spawn")

    def start() -> SpawnProcess:
        process = spawn.Process(target=work, args=given)
        process.start()
        return process

    living = [start() for _ in range(count)]
    while not stopped.is_set():
        connection.wait([process.sentinel for process in living], timeout=0.5)
        for place, process in enumerate(living):
            if process.is_alive() or stopped.is_set():
                continue
            process.join()
            stopped.wait(_PAUSE)
            if not stopped.is_set():
                living[place] = start()
                log.error("worker %s ended %s; %s takes its place", process.pid, ending(process), living[place].pid)
    for process in living:
        process.terminate()
    for process in living:
        process.join(_GRACE)


def ending(process: Any) -> str:
    """Return how a process has ended, in words."""
    code = process.exitcode
    return f"by {signal.Signals(-code).name}" if code is not None and code < 0 else f"with code {code}"

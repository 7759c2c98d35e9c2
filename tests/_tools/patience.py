"""Limits of time: an error if a computation does not end, and how long another process is waited for."""

import signal
from contextlib import contextmanager

PATIENCE = 20  # seconds of processor time, which other work on the machine does not lengthen
LONG = 600  # seconds after which another process or thread has surely gone wrong, however busy the machine is


@contextmanager
def in_time():
    """Raise if the block computes for longer than anybody would wait."""

    def late(*_):
        raise TimeoutError(f"more than {PATIENCE} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

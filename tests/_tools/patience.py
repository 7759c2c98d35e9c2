"""An error if something takes too long."""

import signal
from contextlib import contextmanager

PATIENCE = 20  # seconds


@contextmanager
def in_time():
    """Raise if the block takes longer than anybody would wait."""

    def late(*_):
        raise TimeoutError(f"more than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)

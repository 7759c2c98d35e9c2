"""Threads that come into each other's way as often as they can."""

import sys
import threading
from contextlib import contextmanager


@contextmanager
def switching_often(seconds=1e-6):
    """Have Python go from thread to thread far more often than it would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def at_once(works):
    """Run functions in threads of their own, and return the errors that they have raised."""
    errors = []

    def run(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    with switching_often(1e-5):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return errors

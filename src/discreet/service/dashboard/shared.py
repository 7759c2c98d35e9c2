"""Parts of pages that many visitors see alike, built once in a while for all of them."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

from discreet.service.experiments.control import Control

LASTS, _MOST = 1.0, 64  # seconds, and the largest number of parts


class Shared:
    """Values that are computed at most once a second, whoever asks. Safe for threads."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return the value of a key, at most a second old.

        Args:
            key: All that the value depends on, but for what changes by itself.
            compute: Returns the present value. One thread computes at a time; others wait and take what it found.
        """
        with self._lock:
            found = self._found.get(key)
            if found is None or time.monotonic() - found[0] >= LASTS:
                found = self._found[key] = time.monotonic(), compute()
                self._found.move_to_end(key)
                while len(self._found) > _MOST:
                    self._found.popitem(last=False)
            return found[1]


_OF: WeakKeyDictionary[Control, Shared] = WeakKeyDictionary()


def shared_parts(control: Control) -> Shared:
    """Return the shared parts of the pages about a control plane."""
    return _OF.setdefault(control, Shared())

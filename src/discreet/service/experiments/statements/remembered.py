"""Values that take long to compute and never change for the same key, such as what a ledger of one length says."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Remembered:
    """The values of the keys that were asked for last. Safe for threads; two may compute the same value at once.

    Args:
        most: The largest number of values.

    >>> squares = Remembered(2)
    >>> squares.get(3, lambda: 9), squares.get(3, lambda: 10)
    (9, 9)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value of a key.

        Args:
            key: All that the value depends on.
            compute: Returns the value, if it is not known.
        """
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                known: T = self._found[key]
                return known
        value = compute()
        with self._lock:
            self._found[key] = value
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return value

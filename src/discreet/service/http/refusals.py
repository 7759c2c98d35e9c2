"""Refused keys by address: whoever guesses keys is not looked up any more for a while."""

import time
from collections import OrderedDict

MOST_REFUSED = 30
"""The number of refused keys of one address, within `WINDOW`, after which no unknown key of it is looked up."""
WINDOW = 60.0
"""Seconds after which an address starts anew."""
MOST_ADDRESSES = 4096
"""The number of addresses that are remembered: those that were refused last."""


class Refusals:
    """The refused keys of each address within the present window."""

    def __init__(self) -> None:
        self._refused: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def is_blocked(self, address: str) -> bool:
        """Return True if too many keys of this address were refused lately."""
        began, count = self._refused.get(address, (0.0, 0))
        return count >= MOST_REFUSED and time.monotonic() - began < WINDOW

    def add(self, address: str) -> None:
        """Count a refused key of this address."""
        now = time.monotonic()
        began, count = self._refused.pop(address, (now, 0))
        self._refused[address] = (began, count + 1) if now - began < WINDOW else (now, 1)
        if len(self._refused) > MOST_ADDRESSES:
            self._refused.popitem(last=False)

"""How kernels are compiled: without the interpreter's lock, and kept on disk for the next process.

numba keeps a compiled function until *its own* file changes, but compiles what it calls into it. So the stamp of
every kernel here is that of the whole folder, and of what is compiled from elsewhere: a change anywhere in it compiles
everything again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

from discreet.core import divergences as coins
from discreet.core import tails


@cache
def stamp() -> str:
    """A digest of all kernels' sources."""
    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(coins.__file__), Path(tails.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def compiled(function: Callable[..., Any]) -> Any:
    """The function as a compiled kernel."""
    dispatcher = njit(nogil=True)(function)
    try:
        dispatcher.enable_caching()
        dispatcher._cache._cache_file._source_stamp = stamp()
    except RuntimeError:
        pass  # no folder to write to: compiled anew in each process
    return dispatcher

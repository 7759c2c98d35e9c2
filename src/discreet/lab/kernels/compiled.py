"""The decorator of kernels: compiled without the interpreter's lock, and kept on disk for the next process.

numba keeps a compiled function until *its own* file changes, but compiles what it calls into it. So kernels are kept in
a folder that is named after the sources of all of them, and of what is compiled from elsewhere: a change anywhere in
them compiles everything again.

Kernels call the formulas of `core.divergences`, `core.lead_evidence` and `core.tails` as they are: one formula, two
speeds.
"""

import hashlib
import inspect
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.extending import register_jitable

from discreet.core.probability import divergences, lead_evidence, tails

_HERE = Path(__file__).parent
_FORMULAS = divergences, lead_evidence, tails

for _module in _FORMULAS:
    for _formula in vars(_module).values():
        if inspect.isfunction(_formula):
            register_jitable(_formula)  # a compiled function may call it


@cache
def cache_folder() -> str | None:
    """Return the folder of these sources' compiled kernels; None if no place can be written to."""
    digest = hashlib.sha256()
    for path in (*sorted(_HERE.glob("[a-z]*.py")), *(Path(inspect.getfile(module)) for module in _FORMULAS)):
        digest.update(path.read_bytes())
    for parent in (config.CACHE_DIR or _HERE / "__pycache__", Path.home() / ".cache" / "discreet"):
        folder = Path(parent) / f"kernels-{digest.hexdigest()[:16]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return None


def compiled(function: Callable[..., Any]) -> Any:
    """Return the function as a compiled kernel."""
    dispatcher = njit(nogil=True)(function)
    if cache_folder() is not None:  # else compiled anew in each process
        before, config.CACHE_DIR = config.CACHE_DIR, cache_folder()
        try:
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = before
    return dispatcher

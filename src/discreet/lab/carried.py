"""Algorithms of one's own on their way to other processes, which have not run the notebook or script that defines them.

A class of an importable module travels by its name. One of a notebook, a script or a file that was loaded by its path
travels as a whole, by cloudpickle. Each worker imports the script that started it, and must not run it again.
"""

import importlib
import importlib.util
import multiprocessing
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from discreet.core.errors import ArgumentError
from discreet.core.registry import find, register

_IMPORTED = "__mp_main__"  # the name that a worker imports the script by
_GUARD = re.compile(r"^\s*if\b.*__main__", re.MULTILINE)


def is_shipped(key: str) -> bool:
    """Return True for an algorithm of this package, which every worker has."""
    return find(key).__module__.split(".")[0] == "discreet"


def pack_class(key: str) -> bytes:
    """Return the class of an algorithm as bytes.

    Raises:
        ArgumentError: It cannot travel: cloudpickle is missing, or the class holds on to something of this process.
    """
    kind = find(key)
    if is_shipped(key):
        return pickle.dumps(kind)
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError as error:
        raise ArgumentError(
            f"{kind.__name__} is defined in {kind.__module__}, which workers do not have: pip install cloudpickle, "
            "or use the engine 'threads'"
        ) from error
    module = sys.modules.get(kind.__module__)
    by_value = module is not None and kind.__module__ != "__main__" and not _importable(kind.__module__)
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed: bytes = cloudpickle.dumps(kind)
    except Exception as error:  # whatever a class holds on to fails in its own way
        raise ArgumentError(
            f"{kind.__name__} cannot be sent to worker processes: {error}; use the engine 'threads', or keep what "
            "cannot be pickled out of the class"
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)
    return packed


def unpack_class(packed: bytes) -> Any:
    """Enter a class that came from another process, and return it."""
    return register(pickle.loads(packed))


def _importable(module: str) -> bool:
    """Return True if another process finds a module by its name."""
    try:
        return importlib.util.find_spec(module) is not None and not getattr(sys.modules[module], "__by_path__", False)
    except (ImportError, ValueError):
        return False


def check_script(engine: str) -> None:
    """Refuse to start processes from a script that each of them would run again from its first line."""
    if not may_start_processes():
        script = Path(getattr(_main(), "__file__", "") or "the script").name
        raise ArgumentError(
            f'engine {engine!r} needs an `if __name__ == "__main__":` around what {script} does: every worker imports '
            "the script, and would run it again; or use the engine 'threads'"
        )


def may_start_processes() -> bool:
    """Return True if a worker process can import the running script without running it again.

    A script without `if __name__ == "__main__":` cannot be imported like that. A prompt or notebook has no file.
    """
    main = _main()
    if multiprocessing.parent_process() is not None or main.__name__ == _IMPORTED:
        return False
    path = getattr(main, "__file__", None)
    try:
        return path is None or _GUARD.search(Path(path).read_text(errors="replace")) is not None
    except OSError:  # a console script of Windows lies inside an exe file; elsewhere it came through a pipe
        return sys.platform == "win32"


def _main() -> ModuleType:
    """Return the script: in a worker the module that it is imported as, also while that runs."""
    main = sys.modules.get(_IMPORTED)
    return main if main is not None and main.__name__ == _IMPORTED else sys.modules["__main__"]

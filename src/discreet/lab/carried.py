"""Algorithms of one's own on their way to other processes, which have not run the notebook or script that defines them.

A class of an importable module travels by its name. One of a notebook, a script or a file that was loaded by its path
travels as a whole, by cloudpickle.
"""

import importlib
import importlib.util
import pickle
import sys
from typing import Any

from discreet.core.errors import ArgumentError
from discreet.core.registry import find, register


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

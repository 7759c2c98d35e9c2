"""A folder that remembers finished settings, so that an interrupted evaluation goes on where it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from discreet import _version
from discreet.core.errors import DiscreetError
from discreet.lab.results import Simulation


class Stored(Protocol):
    """What a store asks of a setting."""

    @property
    def store_key(self) -> tuple[str, str]:
        """A name for its file, and all that its result depends on."""
        ...


class Store:
    """One file for each setting, named after everything that its result depends on, this version included."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, setting: Stored) -> Path:
        """Where the result of a setting lies, or would lie."""
        name, text = setting.store_key
        key = hashlib.sha256(f"{text} {_version.__version__}".encode()).hexdigest()[:24]
        return self.folder / f"{name}-{key}.npz"

    def get(self, setting: Stored, load: Callable[[Path], Any] = Simulation.load) -> Any:
        """The result of a setting if it is there and whole, else None; `load` reads a file of its kind."""
        path = self.path(setting)
        if not path.exists():
            return None
        try:
            return load(path)
        except (DiscreetError, ValueError):
            return None  # damaged: simulated again, and overwritten

    def put(self, result: Any) -> None:
        """Remember a result."""
        result.save(self.path(result.setting))

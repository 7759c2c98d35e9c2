"""A folder of finished settings, so that an interrupted evaluation goes on where it was."""

import hashlib
import os
from pathlib import Path

from discreet import _version
from discreet.core.errors import DiscreetError
from discreet.lab.results import Simulation
from discreet.lab.setting import Setting


class Store:
    """One file for each setting, named after everything that its result depends on, this version included.

    Args:
        folder: Where the files lie. It is made when the first one is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, setting: Setting) -> Path:
        """Return the path of a setting's result, whether it is there or not."""
        name, text = setting.store_key
        key = hashlib.sha256(f"{text} {_version.__version__}".encode()).hexdigest()[:24]
        return self.folder / f"{name}-{key}.npz"

    def get(self, setting: Setting) -> Simulation | None:
        """Return the result of a setting; None if it is not there or damaged."""
        path = self.path(setting)
        if not path.exists():
            return None
        try:
            return Simulation.load(path)
        except (DiscreetError, ValueError):
            return None  # damaged: simulated again, and overwritten

    def put(self, result: Simulation) -> None:
        """Keep a result."""
        result.save(self.path(result.setting))

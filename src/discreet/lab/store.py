"""A folder that remembers finished settings, so that an interrupted evaluation goes on where it was."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from discreet import _version
from discreet.errors import DiscreetError
from discreet.lab.results import Results, Simulation
from discreet.lab.setting import Setting


class Store:
    """One file for each setting, named after everything that its result depends on, this version included."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, setting: Setting) -> Path:
        """Where the result of a setting lies, or would lie."""
        rest = f"{setting.runs} {setting.seed} {setting.checkpoints} {_version.__version__}"
        key = hashlib.sha256(f"{setting.identity} {setting.instance.name} {rest}".encode()).hexdigest()[:24]
        return self.folder / f"{setting.policy}-{key}.npz"

    def get(self, setting: Setting) -> Simulation | None:
        """The result of a setting if it is there and whole."""
        path = self.path(setting)
        if not path.exists():
            return None
        try:
            (found,) = Results.load(path)
        except (DiscreetError, ValueError):
            return None  # damaged: simulated again, and overwritten
        return found

    def put(self, simulation: Simulation) -> None:
        """Remember a result."""
        simulation.save(self.path(simulation.setting))

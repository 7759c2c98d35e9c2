"""Objects whose constructor arguments are their public attributes: for `repr`, saving and rebuilding."""

from __future__ import annotations

import inspect
from typing import Any


class Configured:
    """Every constructor argument but `noise` is kept as an attribute of the same name."""

    __slots__ = ()

    def options(self) -> dict[str, Any]:
        """The constructor arguments that rebuild this object, as JSON values."""
        names = inspect.signature(type(self)).parameters
        values = {name: getattr(self, name) for name in names if name != "noise"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.options().items() if value is not None]
        if getattr(self, "simulated", False):
            shown.append("noise=<simulated>")
        return f"{type(self).__name__}({', '.join(shown)})"

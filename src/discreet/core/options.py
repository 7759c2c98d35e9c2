"""Objects whose constructor arguments are their public attributes: for `repr`, saving and rebuilding."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def parameters_of(kind: type[Any]) -> Mapping[str, inspect.Parameter]:
    """What a constructor takes; looked up once, since simulations build thousands of objects."""
    return inspect.signature(kind).parameters


class Configured:
    """Every constructor argument but `noise` is kept as an attribute of the same name."""

    __slots__ = ()

    def options(self) -> dict[str, Any]:
        """The constructor arguments that rebuild this object, as JSON values."""
        names = parameters_of(type(self))  # type: ignore[arg-type]  # mypy takes its objects' hash for the class's
        values = {name: getattr(self, name) for name in names if name != "noise"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.options().items() if value is not None]
        if getattr(self, "simulated", False):
            shown.append("noise=<simulated>")
        return f"{type(self).__name__}({', '.join(shown)})"

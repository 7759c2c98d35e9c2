"""The dashboard."""

from __future__ import annotations

from typing import Any

from starlette.routing import BaseRoute


def routes(control: Any, *, secure: bool) -> list[BaseRoute]:
    """Its pages."""
    return []

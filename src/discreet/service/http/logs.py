"""Logs on stderr, as lines of text or of JSON. None has a reward, a unit, a token, a key or a query.

The access log names routes, not paths, and a key by its id. Asking and reporting that went well are one kind of line
without a key: where only successes are reported, the number of reports would be the number of successes.
"""

import json
import logging
import sys
from typing import Any

from starlette.types import Scope

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
KEY_ID = "discreet.key"
"""The name in a request's scope of the id of its key."""
access = logging.getLogger("discreet.access")
_HOT = ("/v1/rewards", "/v1/experiments/{experiment}/assignments")


def configure(level: str, form: str, *, access_log: bool) -> None:
    """Set up the logs of this process.

    Args:
        level: The least level that is logged.
        form: "text" or "json".
        access_log: True for a line for each request.
    """
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonFormatter() if form == "json" else plain)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    access.disabled = not access_log
    access.setLevel(logging.INFO)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        said: dict[str, Any] = {"time": self.formatTime(record), "level": record.levelname.lower()}
        said |= getattr(record, "fields", None) or {"message": record.getMessage()}
        return json.dumps(said)


def log_access(scope: Scope, status: int, seconds: float) -> None:
    """Log a request that was answered.

    Args:
        scope: The request's scope, after the application has worked on it.
        status: The status of the answer.
        seconds: The time that it took.
    """
    if access.disabled:
        return
    method, route, key, said = scope["method"], template(scope), scope.get(KEY_ID), str(status)
    if status < 300 and route.startswith(_HOT):
        method, route, key, said = "*", "/v1 assignments and rewards", None, "2xx"
    fields = {"method": method, "route": route, "status": said, "ms": round(seconds * 1000, 1), "key": key}
    access.info("%s %s %s %.1f ms key %s", method, route, said, seconds * 1000, key or "-", extra={"fields": fields})


def template(scope: Scope) -> str:
    """Return the route of a request, with the names of its parameters in place of what they are.

    >>> template({"path": "/v1/rewards/abc", "path_params": {"assignment": "abc"}, "endpoint": print})
    '/v1/rewards/{assignment}'
    >>> template({"path": "/v1/rewards/abc/more"})
    '-'
    """
    if "endpoint" not in scope:
        return "-"
    path = str(scope["path"])
    for name, value in scope.get("path_params", {}).items():
        if value:
            path = path.replace(str(value), f"{{{name}}}")
    return path

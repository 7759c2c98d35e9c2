"""Where the service is, who asks, and how httpx's words become ours. No error repeats a body, which holds rewards."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import httpx

from discreet._version import __version__
from discreet.client.effects import Reply, Unanswered
from discreet.core.errors import ArgumentError

ADDRESS, KEY = "DISCREET_ADDRESS", "DISCREET_KEY"  # variables of the environment
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


@dataclass(frozen=True, slots=True)
class Connection:
    """An address and a key, which is never shown."""

    address: str
    key: str = field(repr=False)

    @classmethod
    def make(cls, address: str | None, key: str | None) -> Connection:
        """What is given, or else what the environment says."""
        where = address if address is not None else os.environ.get(ADDRESS, "")
        secret = key if key is not None else os.environ.get(KEY, "")
        if not where.startswith(("http://", "https://")):
            raise ArgumentError(f"address must start with http:// or https://, got {where!r}; or set {ADDRESS}")
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ArgumentError(f"key must be a key of the service (discreet serve prints one); or set {KEY}")
        return cls(where.rstrip("/"), secret)

    @property
    def options(self) -> dict[str, Any]:
        """For a client of httpx."""
        headers = {
            "authorization": f"Bearer {self.key}",
            "user-agent": f"discreet/{__version__}",
            "accept": "application/json",
            "content-type": "application/json",
        }
        return {"base_url": self.address, "headers": headers}


def as_reply(response: httpx.Response) -> Reply:
    """What httpx brought."""
    return Reply(
        response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content
    )


def as_unanswered(error: httpx.HTTPError) -> Unanswered:
    """What httpx could not bring. The error itself holds the request, so it goes no further."""
    arrived = not isinstance(error, NEVER_SENT)
    if isinstance(error, httpx.TimeoutException):
        return Unanswered("no answer in time", arrived)
    if isinstance(error, httpx.ConnectError):
        return Unanswered(str(error) or "no connection", arrived)
    return Unanswered(f"the connection broke ({type(error).__name__})", arrived)

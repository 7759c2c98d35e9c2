"""Keys of requests and their scopes. A key is cached for a second."""

import asyncio
import time

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from discreet.service.errors import ServiceProblem
from discreet.service.experiments.control import Control
from discreet.service.messages import KeyView, Scope

_MOMENT = 1.0  # seconds for which a key is cached, and so the time that a revocation may take
_MOST = 10_000


class Authorizer:
    """Looks keys up in the database, and caches them for a second: most requests have the same one.

    Args:
        control: The control plane.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._seen: dict[str, tuple[float, KeyView | None]] = {}
        self._looking: dict[str, asyncio.Task[KeyView | None]] = {}

    async def check(self, request: Request, *scopes: Scope) -> KeyView:
        """Return the key of a request.

        Args:
            request: The request.
            *scopes: The scopes of which the key must have one; an admin's key may do everything.

        Raises:
            ServiceProblem: There is no valid key, or it has none of the scopes.
        """
        key = bearer(request)
        found = self._cached(key)
        if found is None:
            found = await asyncio.shield(self._looking.get(key) or self._look(key))
        if found is None:
            raise ServiceProblem(401, "unauthorized", "this key is unknown, expired or revoked")
        if "admin" not in found.scopes and not any(scope in found.scopes for scope in scopes):
            needed = " or ".join(scopes or ("admin",))
            having = ", ".join(found.scopes)
            raise ServiceProblem(403, "forbidden", f"this key has the scopes {having}; needed: {needed}")
        return found

    def _look(self, key: str) -> asyncio.Task[KeyView | None]:
        """Look a key up once for all requests that have it meanwhile, or each second all of them would do so."""

        async def look() -> KeyView | None:
            try:
                found = await run_in_threadpool(self._control.authenticate, key)
            finally:
                del self._looking[key]
            if len(self._seen) >= _MOST:
                self._seen.clear()
            self._seen[key] = (time.monotonic(), found)
            return found

        self._looking[key] = asyncio.create_task(look())
        return self._looking[key]

    def _cached(self, key: str) -> KeyView | None:
        at, found = self._seen.get(key, (0.0, None))
        return found if time.monotonic() - at < _MOMENT else None


def bearer(request: Request) -> str:
    """Return the key in the Authorization header."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not key:
        raise ServiceProblem(401, "unauthorized", "give a key in the header, as Authorization: Bearer dk_...")
    return key.strip()

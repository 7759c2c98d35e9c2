"""Keys of requests and their scopes. A good key is cached for a second; of a bad one nothing is kept."""

import asyncio
import time

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from discreet.service.errors import ServiceProblem
from discreet.service.experiments import keys
from discreet.service.experiments.control import Control
from discreet.service.http.logs import KEY_ID
from discreet.service.http.refusals import Refusals
from discreet.service.messages import KeyView, Scope

_MOMENT = 1.0  # seconds for which a key is cached, and so the time that a revocation may take
_MOST = 10_000  # good keys that are remembered


class Authorizer:
    """Looks keys up in the database, and caches them for a second: most requests have the same one.

    A text that is no key is refused without a look-up. An address whose keys were refused often is not looked up for a
    while, but for keys that were good before: somebody who guesses keys cannot lock out others behind the same proxy.

    Args:
        control: The control plane.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._good: dict[str, tuple[float, KeyView]] = {}  # keys that were good, and when they were last looked up
        self._looking: dict[str, asyncio.Task[KeyView | None]] = {}
        self._refusals = Refusals()

    async def check(self, request: Request, *scopes: Scope) -> KeyView:
        """Return the key of a request.

        Args:
            request: The request.
            *scopes: The scopes of which the key must have one; an admin's key may do everything.

        Raises:
            ServiceProblem: There is no valid key, or it has none of the scopes, or this address has guessed too often.
        """
        key = bearer(request)
        at, found = self._good.get(key, (0.0, None))
        if found is None or time.monotonic() - at >= _MOMENT:
            found = await self._find(key, request.client.host if request.client else "", known=found is not None)
        request.scope[KEY_ID] = found.id
        if "admin" not in found.scopes and not any(scope in found.scopes for scope in scopes):
            needed = " or ".join(scopes or ("admin",))
            having = ", ".join(found.scopes)
            raise ServiceProblem(403, "forbidden", f"this key has the scopes {having}; needed: {needed}")
        return found

    async def _find(self, key: str, address: str, *, known: bool) -> KeyView:
        if not known and self._refusals.is_blocked(address):
            raise ServiceProblem(429, "too many refused keys", "too many keys were refused here; wait for a minute")
        found = None
        if keys.is_key(key):
            found = await asyncio.shield(self._looking.get(key) or self._look(key))
        if found is None:
            self._refusals.add(address)
            raise ServiceProblem(401, "unauthorized", "this key is unknown, expired or revoked")
        return found

    def _look(self, key: str) -> asyncio.Task[KeyView | None]:
        """Look a key up once for all requests that have it meanwhile, or each second all of them would do so."""

        async def look() -> KeyView | None:
            try:
                found = await run_in_threadpool(self._control.authenticate, key)
            finally:
                del self._looking[key]
            if found is None:
                self._good.pop(key, None)
            else:
                if len(self._good) >= _MOST:
                    self._good.clear()
                self._good[key] = (time.monotonic(), found)
            return found

        self._looking[key] = asyncio.create_task(look())
        return self._looking[key]


def bearer(request: Request) -> str:
    """Return the key in the Authorization header."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not key:
        raise ServiceProblem(401, "unauthorized", "give a key in the header, as Authorization: Bearer dk_...")
    return key.strip()

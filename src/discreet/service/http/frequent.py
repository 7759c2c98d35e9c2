"""Assignments and rewards, served past the framework: its layers cost a small request more than its work does."""

from collections.abc import Awaitable, Callable, Sequence
from re import Pattern
from typing import NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

Endpoint = Callable[[Request], Awaitable[Response]]


class FrequentRoute(NamedTuple):
    """A route that is looked at before all others.

    Attributes:
        method: The HTTP method.
        path: The pattern of its paths, with a named group for each parameter.
        endpoint: Answers a request.
    """

    method: str
    path: Pattern[str]
    endpoint: Endpoint


class Frequent:
    """Serves some routes by itself, and hands all other requests on.

    Args:
        app: The application for all other requests.
        routes: The routes.
        failed: Returns the answer to an error, as the application would; None to one that nobody foresaw.
        unforeseen: The answer to such an error, which is raised again once it was sent.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: Sequence[FrequentRoute],
        failed: Callable[[Request, Exception], Response | None],
        unforeseen: Response,
    ) -> None:
        self._app, self._routes, self._failed, self._unforeseen = app, tuple(routes), failed, unforeseen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http":
            for method, path, endpoint in self._routes:
                if method == scope["method"] and (found := path.match(scope["path"])):
                    scope["path_params"], scope["endpoint"] = found.groupdict(), endpoint
                    await self._serve(endpoint, scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _serve(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            response = await endpoint(request)
        except ClientDisconnect:
            raise
        except Exception as error:
            known = self._failed(request, error)
            await (known or self._unforeseen)(scope, receive, send)
            if known is None:
                raise
        else:
            await response(scope, receive, send)

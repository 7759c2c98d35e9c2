"""One process of the service: the API, the dashboard, a writer, and a thread that closes due epochs."""

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.service import dashboard
from discreet.service.dashboard.authentication import guarded
from discreet.service.errors import ServiceProblem, not_found
from discreet.service.experiments.assignments import Writers
from discreet.service.experiments.control import Control
from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.http import docs
from discreet.service.http.api import API, Slow
from discreet.service.http.background import TICK, Background, Checking, Closer, Eraser, Noting
from discreet.service.http.frequent import Frequent
from discreet.service.http.logs import log_access
from discreet.service.http.metrics import Metrics
from discreet.service.messages import Problem
from discreet.service.storage import UNAVAILABLE
from discreet.service.threads import Threads

log = logging.getLogger("discreet.service")
_CLIENT = Path(__file__).parent / "static" / "discreet.js"


def make_app(
    control: Control,
    *,
    journal: Journal | None = None,
    tick: float | None = TICK,
    secure: bool = False,
    origins: Sequence[str] = (),
    host_names: Sequence[str] = (),
    writers: Writers | None = None,
) -> ASGIApp:
    """Return the application.

    Args:
        control: The control plane.
        journal: The journal of releases, if there is one.
        tick: Seconds between looks for due epochs; None to close nothing by itself.
        secure: True to have cookies sent over TLS only.
        origins: Sites whose pages may assign and report.
        host_names: The names that requests must be for; empty for any.
        writers: Assign units and count rewards; by default those of the database.
    """
    metrics = Metrics()
    writers = writers or Writers.of(control.database)
    pages, threads = control.beside(), Threads()  # of their own: nobody who assigns or reports waits for a page
    api = API(control, writers, metrics, journal, Slow(pages, threads))
    background: list[Background] = [
        Noting(api.readiness),
        Closer(control.database, metrics, journal, tick or TICK),
        Eraser(control.database, tick or TICK),
        Checking(pages.checker, tick or TICK),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for thread in background if tick is not None else ():
            thread.start()
        yield
        for thread in reversed(background) if tick is not None else ():
            thread.stop()
        writers.stop()
        threads.stop()
        pages.database.close()

    routes = [
        *api.routes(),
        Route("/client.js", _client),
        Route("/docs", guarded(pages, secure, docs.show, "anybody", threads.run)),
        *dashboard.routes(pages, secure=secure, run=threads.run),
    ]
    handlers: dict[Any, Callable[[Request, Any], Response]] = {
        ServiceProblem: lambda _, problem: problem_response(problem),
        HTTPException: _http_problem,
        **dict.fromkeys(UNAVAILABLE, _unavailable),
    }
    everything = {**handlers, Exception: lambda _, __: _unforeseen()}
    starlette = Starlette(routes=routes, exception_handlers=everything, lifespan=lifespan)
    starlette.router.redirect_slashes = False  # it would redirect to wherever the Host header says

    def failed(request: Request, error: Exception) -> Response | None:
        return next((handle(request, error) for kind, handle in handlers.items() if isinstance(error, kind)), None)

    app: ASGIApp = Frequent(starlette, api.frequent_routes(), failed, _unforeseen())
    if origins:  # whose pages may send what the browser's client sends, with a key and without cookies
        headers = ("authorization", "content-type")
        app = CORSMiddleware(app, allow_origins=origins, allow_methods=("POST", "PUT"), allow_headers=headers)
    return Outermost(app, metrics, host_names)


class Outermost:
    """The outermost application: times and counts requests, sets headers, and logs unexpected errors.

    Args:
        app: The application inside.
        metrics: Counters of this process.
        host_names: The names that requests must be for; empty for any.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, host_names: Sequence[str] = ()) -> None:
        self._app, self._metrics = app, metrics
        self._host_names = frozenset(name.lower() for name in host_names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        work = self._refusal(scope) or self._app
        try:
            await work(scope, receive, watch)
        except ClientDisconnect:
            log.debug("%s was broken off", scope["method"])
        except Exception as error:  # its text could hold a reward, so only its kind is logged
            log.error("%s failed: %s", scope["method"], type(error).__name__)
        finally:
            took = time.perf_counter() - began
            self._metrics.answered(status or 500, took)
            log_access(scope, status or 500, took)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request for another host, or with a zero byte, which PostgreSQL does not take."""
        if "\0" in scope["path"]:
            return problem_response(not_found("such page"))
        if self._host_names:
            host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
            if name.lower() not in self._host_names:
                return problem_response(ServiceProblem(421, "misdirected request", "this service has another name"))
        return None


_WITH = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "60"}, 503: {"Retry-After": "1"}}
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


def problem_response(problem: ServiceProblem) -> Response:
    """Return a problem as RFC 9457 has it."""
    kind = f"urn:discreet:{problem.title.replace(' ', '-')}"
    said = Problem(kind, problem.title, problem.status, problem.detail, problem.field)
    headers = _WITH.get(problem.status)
    return Response(msgspec.json.encode(said), problem.status, headers, media_type="application/problem+json")


def _http_problem(_: Request, error: Any) -> Response:
    response = problem_response(ServiceProblem(error.status_code, error.detail.lower(), error.detail))
    response.headers.update(error.headers or {})
    return response


def _unavailable(request: Request, error: Any) -> Response:
    log.error("%s failed: %s", request.method, type(error).__name__)
    return problem_response(ServiceProblem(503, "unavailable", "the database does not answer; try again"))


def _unforeseen() -> Response:
    return problem_response(ServiceProblem(500, "internal error", "something is wrong here; it is logged"))


async def _client(_: Request) -> Response:
    """Return the client for browsers."""
    return FileResponse(_CLIENT, media_type="text/javascript")

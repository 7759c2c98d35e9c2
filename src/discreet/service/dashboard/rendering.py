"""Templates to answers, with the headers of every page."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from discreet import _version
from discreet.service.dashboard import formatting
from discreet.service.dashboard.requests import Visit

HERE = Path(__file__).parent
STATIC = HERE / "static"

# No page carries a script or a style of its own, so a text that slipped through unescaped could still do nothing.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
DONE = {
    "created": "The draft is saved. Nothing is charged until you start it.",
    "saved": "The draft is saved.",
    "deleted": "The draft is deleted.",
    "started": "The experiment has started, and its epsilon is reserved in the ledger.",
    "paused": "The experiment is paused: nobody is assigned until you resume it.",
    "resumed": "The experiment goes on.",
    "stopped": "The experiment is stopped.",
    "archived": "The experiment is archived.",
    "population": "The population is there.",
    "revoked": "The key is revoked: it opens nothing any more.",
    "goodbye": "You are signed out.",
}

WORDS = (
    *(formatting.whole, formatting.figure, formatting.fixed, formatting.within, formatting.factor, formatting.short),
    *(formatting.span, formatting.since, formatting.exact, formatting.machine, formatting.listed, formatting.sentence),
)


class Static(StaticFiles):
    """Files that a browser may keep for ever, since their address changes with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file with the same headers as pages have.

        Args:
            path: The file's path.
            scope: The request's scope.
        """
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        if b"v=" in scope.get("query_string", b""):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def page(visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
    """Return a template as an answer.

    Args:
        visit: The request.
        template: The template's name.
        status: The status of the answer.
        **values: The template's variables.
    """
    return answer(text(visit, template, **values), status)


def answer(html: str, status: int = 200) -> Response:
    """Return HTML with the headers of a page, which is not to be cached.

    Args:
        html: The page.
        status: The status of the answer.
    """
    return HTMLResponse(html, status, headers=HEADERS | {"Cache-Control": "no-store"})


def text(visit: Visit, template: str, **values: Any) -> str:
    """Return a template as text.

    Args:
        visit: The request.
        template: The template's name.
        **values: The template's variables.
    """
    done = DONE.get(visit.query.get("done", ""), "")
    return _environment().get_template(template).render(visit=visit, now=visit.now, done=done, **values)


def fingerprint(html: str) -> str:
    """Return a short digest of a part of a page, so that it is only sent again when it has changed."""
    return hashlib.sha256(html.encode()).hexdigest()[:16]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {word.__name__: word for word in WORDS}
    environment.globals.update(asset=_asset, plural=formatting.plural, version=_version.__version__)
    return environment


@cache
def _asset(name: str) -> str:
    """Return the address of a static file, with a part that changes when the file does."""
    return f"/static/{name}?v={hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"

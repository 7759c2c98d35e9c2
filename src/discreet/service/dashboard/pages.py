"""A request to the dashboard, with its key and its form, and its answer: templates, and the headers of every page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from discreet import _version
from discreet._wording import about, duration, plural
from discreet.service.dashboard import formatting
from discreet.service.dashboard.sessions import Session
from discreet.service.errors import ServiceProblem
from discreet.service.experiments.control import Control
from discreet.service.experiments.statements.numbers import change, power
from discreet.service.messages import KeyView

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
NOT_CACHED = HEADERS | {"Cache-Control": "no-store"}
DONE = {
    "created": "The draft is saved. Nothing is charged until you start it.",
    "saved": "The draft is saved.",
    "deleted": "The draft is deleted.",
    "test": "The draft is in test mode. What is sent now is shown here, and is not protected.",
    "test-ended": "The test is over, and all that was sent in it is deleted.",
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
    *(
        formatting.since,
        formatting.exact,
        formatting.machine,
        formatting.listed,
        formatting.sentence,
        about,
        duration,
        change,
        power,
    ),
)


class Form:
    """The fields of a form. A field that was not sent reads as an empty text.

    Args:
        pairs: Names and values, in the order of the form.

    >>> form = Form([("name", " buttons "), ("scopes", "assign"), ("scopes", "report")])
    >>> form.text("name"), form.text("nothing"), form.all("scopes")
    ('buttons', '', ['assign', 'report'])
    """

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self._pairs = list(pairs)

    def text(self, name: str) -> str:
        """Return the first value of a field, without the spaces around it."""
        return next((value.strip() for key, value in self._pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        """Return every value of a field, such as of ticked boxes."""
        return [value for key, value in self._pairs if key == name]

    def values(self) -> dict[str, str]:
        """Return each field's first value, to be shown again."""
        return {name: self.text(name) for name, _ in self._pairs}


@dataclass(frozen=True)
class Visit:
    """A request with everything that a page needs. Pages are plain functions of it that run in a worker thread.

    Args:
        control: The control plane.
        request: The request.
        now: The time.
        secure: True if cookies are sent over TLS only.
        form: The form that was posted, or an empty one.
        key: The key that is signed in, if any.
        token: The token of forms on the page.
        session: The session, where a key is signed in.
    """

    control: Control
    request: Request
    now: float
    secure: bool
    form: Form
    key: KeyView | None = None
    token: str = ""
    session: Session | None = None

    @property
    def path(self) -> str:
        """The path of the request."""
        return self.request.url.path

    @property
    def query(self) -> Mapping[str, str]:
        """The query of the request."""
        return self.request.query_params

    @property
    def is_refresh(self) -> bool:
        """True if htmx asks for a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def may_change(self) -> bool:
        """True if the key has the scope `admin`."""
        return self.key is not None and "admin" in self.key.scopes

    @property
    def sees_all(self) -> bool:
        """True if the key is for every experiment, and so for budgets and keys too."""
        return self.key is not None and self.key.experiment is None

    @property
    def experiment_id(self) -> str:
        """The experiment in the path, if this key is for it."""
        wanted = str(self.request.path_params["id"])
        if self.key is not None and self.key.experiment not in (None, wanted):
            raise ServiceProblem(403, "Not with this key", "The key that you signed in with is for another experiment.")
        return wanted


def may_read(key: KeyView) -> bool:
    """Return True if a key opens the dashboard: whoever may change things may also look at them."""
    return "analyse" in key.scopes or "admin" in key.scopes


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
    return HTMLResponse(html, status, headers=NOT_CACHED)


def text(visit: Visit, template: str, **values: Any) -> str:
    """Return a template as text.

    Args:
        visit: The request.
        template: The template's name.
        **values: The template's variables.
    """
    done = DONE.get(visit.query.get("done", ""), "")
    return _environment().get_template(template).render(visit=visit, now=visit.now, done=done, **values)


def fingerprint(facts: str) -> str:
    """Return a short digest of what a part of a page shows, so that it is only sent again when that has changed."""
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


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
    environment.globals.update(asset=_asset, plural=plural, version=_version.__version__)
    return environment


@cache
def _asset(name: str) -> str:
    """Return the address of a static file, with a part that changes when the file does."""
    return f"/static/{name}?v={hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"

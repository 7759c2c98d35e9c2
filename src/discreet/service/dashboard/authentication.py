"""Checks between a request and a page: the session, the key's scopes, and the form's token."""

from collections.abc import Awaitable, Callable
from typing import Literal
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from discreet.service.bodies import body_of
from discreet.service.dashboard import sessions
from discreet.service.dashboard.pages import NOT_CACHED, Form, Visit, may_read, page
from discreet.service.errors import ServiceProblem
from discreet.service.experiments.control import Control

MOST_BYTES = 100_000
MOST_FIELDS = 1000

Page = Callable[[Visit], Response]
Run = Callable[..., Awaitable[Response]]
Audience = Literal["anybody", "readers", "overseers", "admins", "trustees"]
"""Those who may open a page. Readers look and admins change; overseers and trustees do the same to what concerns all
experiments, so their key must not be for one alone."""


def guarded(
    control: Control, secure: bool, show: Page, audience: Audience, run: Run
) -> Callable[[Request], Awaitable[Response]]:
    """Return a page as an endpoint that runs it in a worker thread, for those who may see it.

    Args:
        control: The control plane.
        secure: True if cookies are sent over TLS only.
        show: The page.
        audience: Those who may open it; others get a page that says why not.
        run: Runs a page in a thread.
    """

    def _serve(request: Request, form: Form, problem: ServiceProblem | None) -> Response:
        visit = _visit(control, secure, request, form)
        try:
            if problem is not None:
                raise problem
            return _answer(visit, show, audience)
        except ServiceProblem as refused:
            return refusal(visit, refused)

    async def endpoint(request: Request) -> Response:
        try:
            if b"%00" in request.scope["query_string"]:
                raise ServiceProblem(404, "There is no such page", "Nothing has a zero byte in its name.")
            return await run(_serve, request, await _form(request), None)
        except ServiceProblem as problem:
            if problem.status == 503:  # no thread is free, not even to say who asks
                response = refusal(Visit(control, request, 0.0, secure, Form()), problem)
                response.headers["Retry-After"] = "1"
                return response
            return await run(_serve, request, Form(), problem)

    return endpoint


def _answer(visit: Visit, show: Page, audience: Audience) -> Response:
    posted = visit.request.method == "POST"
    if posted:
        _check_origin(visit)
    if audience == "anybody":
        return show(visit)
    if visit.key is None:
        return moved(f"/login?next={quote(_wanted(visit))}", visit)
    if posted:
        check_token(visit, sessions.cookie_name(visit.secure))
    _check_audience(visit, audience)
    return show(visit)


def moved(path: str, visit: Visit | None = None) -> Response:
    """Redirect to a path. htmx is told in its own way, or it would paint the page into a part of this one.

    Args:
        path: The path.
        visit: The request, where htmx may have made it.
    """
    if visit is not None and visit.is_refresh:
        return Response(status_code=401, headers=NOT_CACHED | {"HX-Redirect": path})
    return RedirectResponse(path, 303, headers=NOT_CACHED)


def local(path: str) -> str:
    """Return a path on this site, or the first page if it leads elsewhere.

    >>> local("/ledger?population=everybody"), local("//evil.example"), local("https://evil.example")
    ('/ledger?population=everybody', '/', '/')
    """
    parts = urlsplit(path)
    safe = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc and path.isprintable()
    return path if safe else "/"


def refusal(visit: Visit, problem: ServiceProblem) -> Response:
    """Return a problem as a page.

    Args:
        visit: The request.
        problem: The problem.
    """
    return page(visit, "problem.html", problem.status, problem=problem)


def _visit(control: Control, secure: bool, request: Request, form: Form) -> Visit:
    now, secret = control.now(), control.session_secret
    cookie = request.cookies.get(sessions.cookie_name(secure))
    session = sessions.unseal(secret, cookie, now)
    key = control.session_key(session.id, session.key) if session is not None else None
    if key is None or not may_read(key):
        return Visit(control, request, now, secure, form)
    request.scope["discreet.key"] = key.id  # for the access log
    return Visit(control, request, now, secure, form, key, sessions.form_token(secret, cookie or ""), session)


def _wanted(visit: Visit) -> str:
    if visit.request.method not in ("GET", "HEAD") or visit.is_refresh:
        return "/"
    url = visit.request.url
    return f"{url.path}?{url.query}" if url.query else url.path


def _check_audience(visit: Visit, audience: Audience) -> None:
    if audience in ("admins", "trustees") and not visit.may_change:
        raise ServiceProblem(
            403, "Not with this key", "To change something, sign in with a key that has the scope admin."
        )
    if audience in ("overseers", "trustees") and not visit.sees_all:
        raise ServiceProblem(
            403, "Not with this key", "The key that you signed in with is for one experiment. This page is about all."
        )


def _check_origin(visit: Visit) -> None:
    """Refuse a form of another site, as the browser says; before all else."""
    if visit.request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ServiceProblem(403, "From another site", "This form was sent by another site, so nothing was done.")


def check_token(visit: Visit, cookie: str) -> None:
    """Refuse a form that was not shown to the browser with this cookie.

    Args:
        visit: The request.
        cookie: The cookie's name.

    Raises:
        ServiceProblem: The form's token is not that of the cookie.
    """
    if not sessions.is_form_token(
        visit.control.session_secret, visit.request.cookies.get(cookie), visit.form.text("token")
    ):
        raise ServiceProblem(
            403,
            "The form was out of date",
            "It was shown before you signed in, or by another site. Nothing was done. Go back, reload, and try again.",
        )


async def _form(request: Request) -> Form:
    """Return the form that was posted, read up to a limit; an empty one if this is no form."""
    if request.method != "POST":
        return Form()
    body = await body_of(request, MOST_BYTES, "The form is larger than anything that this page asks for.", "Too large")
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        if any("\0" in text for field in fields for text in field):
            raise ValueError("no field has a zero byte, and PostgreSQL takes none")
        return Form(fields)
    except ValueError as error:
        raise ServiceProblem(400, "Not a form", "What was sent cannot be read as a form.") from error

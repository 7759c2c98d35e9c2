"""Pages to sign in and out, and the page for addresses that do not exist.

A pasted key is checked once and not stored: the session has its id.
"""

from starlette.responses import Response

from discreet.service.dashboard import sessions
from discreet.service.dashboard.authentication import check_token, local, moved, refusal
from discreet.service.dashboard.formatting import listed
from discreet.service.dashboard.pages import Visit, may_read, page
from discreet.service.errors import ServiceProblem

UNKNOWN = "This key is unknown, has expired or was revoked. Check that all of it was copied."


def show_sign_in(visit: Visit) -> Response:
    """Show the sign-in form, or the first page to those who are signed in."""
    return moved("/") if visit.key is not None else _form(visit)


def sign_in(visit: Visit) -> Response:
    """Open a session for a key that may read."""
    check_token(visit, sessions.VISIT_COOKIE)
    pasted = visit.form.text("key")
    if not pasted:
        return _form(visit, "Paste your key here.", 422)
    key = visit.control.authenticate(pasted)
    if key is None:
        return _form(visit, UNKNOWN, 401)
    if not may_read(key):
        return _form(
            visit,
            f"This key is for {listed(key.scopes)} only: a program uses it. To look at experiments you need a key with "
            "the scope analyse or admin.",
            403,
        )
    response = moved(local(visit.form.text("next")))
    session = sessions.new_session(key.id, visit.now)
    _set(response, visit, sessions.cookie_name(visit.secure), sessions.seal(visit.control.session_secret, session))
    return response


def sign_out(visit: Visit) -> Response:
    """End the session, in this browser and wherever else its cookie may be."""
    if visit.session is not None:
        visit.control.end_session(visit.session.id, visit.session.until)
    response = moved("/login?done=goodbye")
    _set(response, visit, sessions.cookie_name(visit.secure), "", lasts=0)
    return response


def show_not_found(visit: Visit) -> Response:
    """Say that there is no such page."""
    return refusal(
        visit, ServiceProblem(404, "There is no such page", "Nothing is at this address; it may be mistyped.")
    )


def _form(visit: Visit, error: str = "", status: int = 200) -> Response:
    cookie = visit.request.cookies.get(sessions.VISIT_COOKIE) or sessions.new_visit()
    token = sessions.form_token(visit.control.session_secret, cookie)
    wanted = visit.form.text("next") or visit.query.get("next", "/")
    response = page(visit, "sign-in.html", status, error=error, form_token=token, wanted=local(wanted))
    _set(response, visit, sessions.VISIT_COOKIE, cookie)
    return response


def _set(response: Response, visit: Visit, name: str, value: str, lasts: float = sessions.LASTS) -> None:
    response.set_cookie(name, value, int(lasts), path="/", secure=visit.secure, httponly=True, samesite="strict")

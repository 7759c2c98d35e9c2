"""The dashboard: pages for people, on the same control as the API.

    sessions, authentication                 sessions, and who may open a page
    pages, formatting                        requests, templates to answers, numbers to text
    login, experiments, testmode, reports, ledger, planner, keys    the pages
    forms                                    reading forms
    summaries                                sentences and pictures of what was released and planned

Pages show what was released, what was planned, who was assigned, and what follows from these: nothing else, but for
tests of drafts (`testmode`), whose units are not protected, as each of their pages says. They work without scripts;
htmx refreshes parts of them and uPlot draws, both from files of our own.
"""

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import Scope

from discreet.service.dashboard import experiments, keys, ledger, login, planner, reports, testmode
from discreet.service.dashboard.authentication import Audience, Page, Run, guarded
from discreet.service.dashboard.pages import STATIC, Static
from discreet.service.experiments.control import Control

PAGES: list[tuple[str, str, Page, Audience]] = [
    ("GET", "/", experiments.show_all, "readers"),
    ("GET", "/refresh", experiments.refresh_all, "readers"),
    ("GET", "/login", login.show_sign_in, "anybody"),
    ("POST", "/login", login.sign_in, "anybody"),
    ("POST", "/logout", login.sign_out, "readers"),
    ("GET", "/experiments/new", experiments.show_new, "trustees"),
    ("POST", "/experiments/new", experiments.create, "trustees"),
    ("GET", "/experiments/new/options", experiments.show_options, "trustees"),
    ("GET", "/experiments/{id}", experiments.show, "readers"),
    ("GET", "/experiments/{id}/live", experiments.refresh, "readers"),
    ("GET", "/experiments/{id}/edit", experiments.show_edit, "admins"),
    ("POST", "/experiments/{id}/edit", experiments.edit, "admins"),
    ("POST", "/experiments/{id}/delete", experiments.delete, "admins"),
    ("GET", "/experiments/{id}/test", testmode.show, "readers"),
    ("GET", "/experiments/{id}/test/live", testmode.refresh, "readers"),
    ("POST", "/experiments/{id}/test", testmode.begin, "admins"),
    ("POST", "/experiments/{id}/test/end", testmode.end, "admins"),
    ("GET", "/experiments/{id}/report", reports.show, "readers"),
    ("POST", "/experiments/{id}/{action}", experiments.act, "admins"),
    ("GET", "/ledger", ledger.show, "overseers"),
    ("POST", "/ledger", ledger.create, "trustees"),
    ("GET", "/ledger/{name}/report", reports.show_population, "overseers"),
    ("GET", "/planner", planner.show, "readers"),
    ("GET", "/keys", keys.show, "trustees"),
    ("POST", "/keys", keys.make, "trustees"),
    ("POST", "/keys/{id}/revoke", keys.revoke, "trustees"),
]


def routes(control: Control, secure: bool, run: Run = run_in_threadpool) -> list[BaseRoute]:
    """Return the dashboard's routes, to be mounted at `/`.

    Args:
        control: The control plane.
        secure: True to have cookies sent over TLS only.
        run: Runs a page in a thread.
    """
    pages: list[BaseRoute] = [
        Route(path, guarded(control, secure, show, audience, run), methods=[method])
        for method, path, show, audience in PAGES
    ]
    not_found = NotFound("/{path:path}", guarded(control, secure, login.show_not_found, "anybody", run))
    return [*pages, Mount("/static", Static(directory=STATIC)), not_found]


class NotFound(Route):
    """The page for people who typed an address that does not exist; programs and the API get their own answer."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match browsers that look for a page."""
        wanted = Headers(scope=scope).get("accept", "") if scope["type"] == "http" else ""
        if "text/html" not in wanted or scope["path"].startswith("/v1/"):
            return Match.NONE, {}
        return super().matches(scope)

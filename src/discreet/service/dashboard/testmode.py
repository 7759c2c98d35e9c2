"""The page about the test of a draft: every assignment and reward that was sent, and what is wrong with them.

It is the one page that shows rewards. It says that these units are not protected, and so do all others that name a
test.
"""

from starlette.responses import Response

from discreet.service.dashboard.authentication import moved
from discreet.service.dashboard.experiments import address, refreshed, tag_of
from discreet.service.dashboard.pages import Visit, page, text
from discreet.service.dashboard.paging import Pager, page_number
from discreet.service.errors import ServiceProblem
from discreet.service.messages import PAGE, TestReport


def show(visit: Visit) -> Response:
    """Show a test."""
    return _whole_page(visit)


def refresh(visit: Visit) -> Response:
    """Show the part of the page that changes, if it has changed."""
    tag = _tag(visit)
    return refreshed(visit, tag, lambda tag: _live(visit, tag))


def begin(visit: Visit) -> Response:
    """Put a draft into test mode. A refusal is shown on the same page."""
    try:
        visit.control.tests.begin(visit.experiment_id)
    except ServiceProblem as problem:
        if problem.status == 404:
            raise
        return _whole_page(visit, problem)
    return moved(f"{address(visit.experiment_id)}/test?done=test")


def end(visit: Visit) -> Response:
    """End a test, and delete what was sent."""
    visit.control.tests.end(visit.experiment_id)
    return moved(f"{address(visit.experiment_id)}?done=test-ended")


def _whole_page(visit: Visit, problem: ServiceProblem | None = None) -> Response:
    tag = _tag(visit)  # before the page is read: what changes meanwhile is shown later
    view = visit.control.experiment(visit.experiment_id)
    status = 200 if problem is None else problem.status
    return page(visit, "test.html", status, view=view, live=_live(visit, tag), problem=problem)


def _live(visit: Visit, tag: str) -> str:
    identity, number = visit.experiment_id, page_number(visit.query)
    base = f"{address(identity)}/test"
    report = _report(visit)
    rows = [] if report is None else report.assignments[(number - 1) * PAGE : number * PAGE]
    pager = Pager(number, 0 if report is None else report.units, base, {})
    again = f"{base}/live?page={number}" if number > 1 else f"{base}/live"
    shown = {"base": base, "again": again, "report": report, "rows": rows, "pager": pager}
    return text(visit, "test-live.html", view=visit.control.experiment(identity), tag=tag, **shown)


def _report(visit: Visit) -> TestReport | None:
    """Return the test; None if there is none."""
    try:
        return visit.control.tests.report(visit.experiment_id)
    except ServiceProblem as problem:
        if problem.status != 404:
            raise
        return None


def _tag(visit: Visit) -> str:
    return tag_of(visit, f"{visit.control.tests.facts(visit.experiment_id)} {page_number(visit.query)}")

"""Pages about experiments: the list, one of them, the form for a new one, and the buttons."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from discreet._version import __version__
from discreet.service.dashboard.authentication import moved
from discreet.service.dashboard.forms import experiment as form
from discreet.service.dashboard.forms.fields import Fields
from discreet.service.dashboard.pages import NOT_CACHED, Visit, answer, fingerprint, page, text
from discreet.service.dashboard.paging import Pager, page_number
from discreet.service.dashboard.shared import shared_parts
from discreet.service.dashboard.summaries import (
    MOST,
    chart,
    eliminations,
    headline,
    hue,
    lifts,
    per_second,
    progress,
    recent,
)
from discreet.service.errors import ServiceProblem
from discreet.service.experiments.control import Control
from discreet.service.messages import MOST_NAME, ExperimentsQuery, ExperimentView, SummaryQuery
from discreet.service.storage.queries import ORDER

LASTS = 600.0  # seconds for which a forecast is shown
ACTIONS: dict[str, tuple[Callable[[Control, str], object], str]] = {
    "start": (lambda control, identity: control.start(identity), "started"),
    "pause": (lambda control, identity: control.pause(identity), "paused"),
    "resume": (lambda control, identity: control.resume(identity), "resumed"),
    "stop": (lambda control, identity: control.stop(identity), "stopped"),
    "archive": (lambda control, identity: control.archive(identity), "archived"),
}

# ---------------------------------------------------------------------- the list


def show_all(visit: Visit) -> Response:
    """Show a page of the experiments that the key is for, running ones first."""
    chosen = _chosen(visit)
    live = _live_list(visit, chosen, _list_tag(visit, chosen))
    is_chosen = bool(chosen.search or chosen.state)
    return page(visit, "experiments.html", live=live, chosen=chosen, is_chosen=is_chosen, states=ORDER)


def refresh_all(visit: Visit) -> Response:
    """Show the list again, if it has changed. Whoever sees the same list shares what was built within a second."""
    chosen, parts = _chosen(visit), shared_parts(visit.control)
    wanted = chosen.search, chosen.state, page_number(visit.query), _only(visit), visit.may_change, visit.sees_all
    tag = parts.get(wanted, lambda: _list_tag(visit, chosen))
    return refreshed(visit, tag, lambda tag: parts.get((*wanted, tag), lambda: _live_list(visit, chosen, tag)))


def _chosen(visit: Visit) -> ExperimentsQuery:
    """Return the choice of experiments in the query; what is not understood chooses nothing."""
    chosen = ExperimentsQuery(visit.query.get("search", "").strip()[:MOST_NAME])
    for state in ORDER:
        if state == visit.query.get("state"):
            chosen.state = state
    return chosen


def _list_tag(visit: Visit, chosen: ExperimentsQuery) -> str:
    rights = f"{visit.may_change} {visit.sees_all}"
    return tag_of(visit, visit.control.list_facts(chosen, page_number(visit.query), _only(visit)), rights)


def _live_list(visit: Visit, chosen: ExperimentsQuery, tag: str) -> str:
    number = page_number(visit.query)
    views, total = visit.control.page_of_experiments(chosen, number, _only(visit))
    query = {name: text for name, text in (("search", chosen.search), ("state", chosen.state)) if text}
    again = urlencode(query | ({"page": str(number)} if number > 1 else {}))
    rows = [(view, headline(view), progress(view, visit.now)) for view in views]
    shown = {"rows": rows, "pager": Pager(number, total, "/", query), "is_chosen": bool(query)}
    return text(visit, "experiments-live.html", **shown, tag=tag, again=f"/refresh?{again}" if again else "/refresh")


def _only(visit: Visit) -> str | None:
    return visit.key.experiment if visit.key is not None else None


# ---------------------------------------------------------------------- one experiment


def show(visit: Visit) -> Response:
    """Show one experiment: what is promised, what was released, and what follows from it."""
    return _whole_page(visit, visit.experiment_id)


def refresh(visit: Visit) -> Response:
    """Show the part of the page that changes, if it has changed."""
    identity = visit.experiment_id
    return refreshed(visit, _tag(visit, identity), lambda tag: _live(visit, identity, tag)[1])


def act(visit: Visit) -> Response:
    """Start, pause, resume, stop or archive. A refusal is shown on the experiment's own page."""
    name, identity = str(visit.request.path_params["action"]), visit.experiment_id
    if name not in ACTIONS:
        raise ServiceProblem(404, "There is no such page", "Nothing can be done to an experiment by this name.")
    do, done = ACTIONS[name]
    try:
        do(visit.control, identity)
    except ServiceProblem as problem:
        if problem.status == 404:
            raise
        return _whole_page(visit, identity, problem)
    return moved(f"{address(identity)}?done={done}")


def delete(visit: Visit) -> Response:
    """Delete a draft."""
    visit.control.delete(visit.experiment_id)
    return moved("/?done=deleted")


def _whole_page(visit: Visit, identity: str, problem: ServiceProblem | None = None) -> Response:
    status = 200 if problem is None else problem.status
    tag = _tag(visit, identity)  # before the page is read: what changes meanwhile is shown later
    view, live = _live(visit, identity, tag)
    return page(visit, "experiment.html", status, view=view, live=live, problem=problem)


def _tag(visit: Visit, identity: str) -> str:
    asked = _summary_query(visit)
    return tag_of(visit, f"{visit.control.facts(identity)} {asked.control} {asked.drifting}")


def _summary_query(visit: Visit) -> SummaryQuery:
    """Return the summary that the query asks for."""
    drifting = {"true": True, "false": False}.get(visit.query.get("drifting", ""))
    return SummaryQuery(visit.query.get("control", "")[:MOST_NAME], drifting=drifting)


def _live(visit: Visit, identity: str, tag: str) -> tuple[ExperimentView, str]:
    asked = _summary_query(visit)
    view, epochs, seen = visit.control.whole(identity, asked)
    query = {name: visit.query[name] for name in ("control", "drifting") if visit.query.get(name)}
    shown = text(
        visit,
        "experiment-live.html",
        view=view,
        headline=headline(view),
        progress=progress(view, visit.now),
        epochs=recent(epochs),
        hidden=max(0, len(epochs) - MOST),
        chart=chart(view, epochs),
        gone=eliminations(epochs, tested=bool(view.verdicts)),
        hue=hue,
        planner=_planner_address(view, visit.now),
        seen=seen,
        lifts=None if seen is None else lifts(view, seen),
        again=f"?{urlencode(query)}" if query else "",
        tag=tag,
    )
    return view, shown


def _planner_address(view: ExperimentView, now: float) -> str:
    """Return the planner's address, filled in for this experiment and its rate of assignments."""
    values: dict[str, Any] = {"arms": len(view.arms), "epsilon": view.privacy.epsilon, "policy": view.algorithm}
    values["privacy_unit"] = view.privacy.unit
    if isinstance(view.options.get("beta"), float):
        values["beta"] = view.options["beta"]
    rate = per_second(view.epoch, now) if view.epoch is not None else None
    if rate is not None:
        values["per_hour"] = max(1, round(rate * 3600))
    return "/planner?" + urlencode(values | {"window": f"{view.window:g}", "window_unit": "seconds"})


# ---------------------------------------------------------------------- new, and changed


def show_new(visit: Visit) -> Response:
    """Show a form with first values."""
    control = visit.control
    return _form(visit, Fields(form.first_values(control.algorithms(), control.populations().populations)))


def create(visit: Visit) -> Response:
    """Save a draft, or show the form again with what was typed and what is wrong with it."""
    return _save(visit, visit.control.create, "created")


def show_edit(visit: Visit) -> Response:
    """Show the form of a draft."""
    view = _draft(visit)
    first = form.option_values(form.find(visit.control.algorithms(), view.algorithm))
    return _form(visit, Fields(first | form.values_of(view)), view)


def edit(visit: Visit) -> Response:
    """Save a changed draft."""
    view = _draft(visit)
    return _save(visit, lambda new: visit.control.replace(view.id, new), "saved", view)


def show_options(visit: Visit) -> Response:
    """Show the options of the algorithm that was just chosen."""
    algorithm = form.find(visit.control.algorithms(), visit.query.get("algorithm", ""))
    fields = Fields(form.option_values(algorithm))
    return page(visit, "options.html", fields=fields, **form.shown_options(fields, algorithm))


def _draft(visit: Visit) -> ExperimentView:
    view = visit.control.experiment(visit.experiment_id)
    if view.state != "draft":
        raise ServiceProblem(
            409, "It cannot be changed", "The experiment has started, and what was promised must stay. Make a new one."
        )
    return view


def _save(
    visit: Visit, save: Callable[[Any], ExperimentView], done: str, view: ExperimentView | None = None
) -> Response:
    fields = Fields(visit.form.values())
    new = form.read(fields, visit.control.algorithms())
    saved = fields.submit(lambda: save(new))
    return _form(visit, fields, view) if saved is None else moved(f"{address(saved.id)}?done={done}")


def _form(visit: Visit, fields: Fields, view: ExperimentView | None = None) -> Response:
    algorithms = visit.control.algorithms()
    return page(
        visit,
        "experiment-form.html",
        fields.status,
        fields=fields,
        view=view,
        groups=form.groups(algorithms),
        populations=visit.control.populations().populations,
        units=list(form.SECONDS),
        **form.shown_options(fields, form.find(algorithms, fields.text("algorithm"))),
    )


# ---------------------------------------------------------------------- parts that are refreshed


def tag_of(visit: Visit, facts: str, who: str | None = None) -> str:
    """Return the ETag of a part of a page that shows these facts.

    Times are told by the browser. Forecasts change while nothing happens, so a part is sent again once in a while.

    Args:
        visit: The request.
        facts: All that may change.
        who: What it depends on of the visitor; by default on the session.
    """
    seen_by = visit.token if who is None else who
    return f'"{fingerprint(f"{facts} {seen_by} {__version__} {visit.now // LASTS}")}"'


def refreshed(visit: Visit, tag: str, build: Callable[[str], str]) -> Response:
    """Return a part of a page; only its tag if the browser has it, without building it.

    Args:
        visit: The request.
        tag: The ETag of the part.
        build: Returns the part with this tag.
    """
    same = visit.request.headers.get("if-none-match") == tag
    response = Response(status_code=304, headers=NOT_CACHED) if same else answer(build(tag))
    response.headers["ETag"] = tag
    return response


def address(identity: str) -> str:
    """Return the address of an experiment's page."""
    return f"/experiments/{quote(identity, safe='')}"

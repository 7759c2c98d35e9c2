"""The page of keys: making them, which shows them once, and revoking them."""

from typing import cast

from starlette.responses import Response

from discreet.service.dashboard.authentication import moved
from discreet.service.dashboard.forms.fields import Fields
from discreet.service.dashboard.pages import Visit, page
from discreet.service.dashboard.paging import Pager, page_number
from discreet.service.experiments.keys import is_valid
from discreet.service.messages import MOST_NAME, PAGE, MadeKey, NewKey, Scope

SCOPES = {
    "assign": "ask who gets which arm",
    "report": "send rewards",
    "analyse": "look at what was released",
    "admin": "change experiments, budgets and keys",
}
SUGGESTED = 100  # names of experiments; others can be typed
FIRST = {"name": "", "experiment": "", "days": "90"}
LASTING = {"30": "30 days", "90": "90 days", "365": "a year", "": "without an end"}


def show(visit: Visit) -> Response:
    """Show every key, and a form for a new one."""
    return _page(visit, Fields(FIRST), [])


def make(visit: Visit) -> Response:
    """Make a key and show it this once."""
    fields = Fields({"name": "", "experiment": "", "days": ""} | visit.form.values())
    scopes = [scope for scope in SCOPES if scope in visit.form.all("scopes")]
    name = fields.needed("name", "Say who or what it is for.")
    if len(name) > MOST_NAME:
        fields.refuse("name", f"Use {MOST_NAME} letters at most.")
    if not scopes:
        fields.refuse("scopes", "Choose what the key may do.")
    days = fields.text("days")
    if days not in LASTING:
        fields.refuse("days", "Choose one of these.")
    lasts = float(days) * 86400 if days in LASTING and days else None
    new = NewKey(name, cast("list[Scope]", scopes), fields.text("experiment") or None, lasts)
    made = fields.submit(lambda: visit.control.make_key(new))
    return _page(visit, fields, scopes) if made is None else _page(visit, Fields(FIRST), [], made)


def revoke(visit: Visit) -> Response:
    """Revoke a key, at once and for good."""
    visit.control.revoke_key(str(visit.request.path_params["id"]))
    return moved("/keys?done=revoked")


def _page(visit: Visit, fields: Fields, ticked: list[str], made: MadeKey | None = None) -> Response:
    number = page_number(visit.query)
    keys, total, names = visit.control.page_of_keys(number, PAGE)
    return page(
        visit,
        "keys.html",
        fields.status,
        keys=[(key, is_valid(key, visit.now)) for key in keys],
        pager=Pager(number, total, "/keys", {}),
        made=made,
        last=visit.control.last_admin(),
        fields=fields,
        ticked=ticked,
        scopes=SCOPES,
        lasting=LASTING,
        experiments=visit.control.names(SUGGESTED),
        names=names,
    )

"""The page of budgets, with the lines of a population's ledger."""

from dataclasses import dataclass
from fractions import Fraction

from starlette.responses import Response

from discreet.service.dashboard.authentication import moved
from discreet.service.dashboard.forms.fields import Fields
from discreet.service.dashboard.pages import Visit, page
from discreet.service.dashboard.paging import Pager, page_number
from discreet.service.experiments.epsilon import as_text
from discreet.service.experiments.reading import LedgerPage
from discreet.service.messages import PAGE, LedgerQuery, NewPopulation, PopulationView

KINDS = {
    "budget": "budget set",
    "reserve": "reserved at the start",
    "release": "spent by a release",
    "forfeit": "forfeited without a release",
    "refund": "given back",
}
HOLDERS = 12  # experiments that have a part of the bar to themselves


@dataclass(frozen=True)
class Holding:
    """One experiment's part of a budget, and of the bar that shows it.

    Args:
        experiment: The experiment's id; None for all others together.
        name: Its name.
        epsilon: Its part of the budget.
        start: Where its part of the bar begins, in percent.
        width: The width of its part, in percent.
    """

    experiment: str | None
    name: str
    epsilon: str
    start: float
    width: float


def show(visit: Visit) -> Response:
    """Show every population's budget, and one population's ledger."""
    return _page(visit, Fields({"name": "", "budget": "10"}))


def create(visit: Visit) -> Response:
    """Make a population."""
    fields = Fields({"name": "", "budget": ""} | visit.form.values())
    new = NewPopulation(name=fields.slug("name"), budget=fields.decimal("budget"))
    made = fields.submit(lambda: visit.control.create_population(new))
    return _page(visit, fields) if made is None else moved(f"/ledger?population={made.name}&done=population")


def holdings(population: PopulationView, shown: LedgerPage) -> list[Holding]:
    """Return the part of a budget that each experiment has, and all others together.

    Args:
        population: The population.
        shown: The page of its ledger.
    """
    whole = Fraction(population.budget) or Fraction(1)
    others = shown.reserved - sum((part for _, _, part in shown.holders), Fraction(0))
    parts: list[Holding] = []
    start = Fraction(0)
    for experiment, name, part in [*shown.holders, (None, "others", others)]:
        if part > 0:
            width = 100 * part / whole
            parts.append(Holding(experiment, name, as_text(part), float(100 * start / whole), float(width)))
            start += part
    return parts


def _page(visit: Visit, fields: Fields) -> Response:
    which = page_number({"page": visit.query.get("populations", "1")})
    populations, total = visit.control.page_of_populations(which, PAGE)
    wanted = visit.query.get("population") or (populations[0].name if populations else None)
    number = page_number(visit.query)
    if wanted is not None and visit.query.get("verify") == "true":
        visit.control.ledger(wanted, LedgerQuery(limit=1, verify=True))
    shown = None if wanted is None else visit.control.ledger_page(wanted, number, PAGE, HOLDERS)
    chosen = None if shown is None else shown.population
    return page(
        visit,
        "ledger.html",
        fields.status,
        populations=populations,
        population=chosen,
        ledger=shown,
        holdings=holdings(chosen, shown) if chosen is not None and shown is not None else [],
        kinds=KINDS,
        at_delta=_at_delta(shown),
        others=Pager(which, total, "/ledger", {}, "populations"),
        pager=Pager(number, shown.lines if shown else 0, "/ledger", {"population": wanted or ""}),
        fields=fields,
    )


def _at_delta(shown: LedgerPage | None) -> float | None:
    """Return what all experiments cost together at the usual delta; None where it is hardly less than the sum."""
    return None if shown is None or shown.at_delta > 0.99 * float(shown.reserved) else shown.at_delta

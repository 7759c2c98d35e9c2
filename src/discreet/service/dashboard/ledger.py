"""The page of budgets, with every line of a population's ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from starlette.responses import Response

from discreet.service.dashboard.authentication import moved
from discreet.service.dashboard.fields import Fields
from discreet.service.dashboard.pages import Visit, page
from discreet.service.experiments.budget import SIGNS
from discreet.service.messages import LedgerEntry, NewPopulation, PopulationView

KINDS = {
    "budget": "budget set",
    "reserve": "reserved at the start",
    "release": "spent by a release",
    "forfeit": "forfeited without a release",
    "refund": "given back",
}
FIRST, MOST = 20, 500  # lines that are shown at once, and lines that are shown at all


@dataclass(frozen=True)
class Holding:
    """One experiment's part of a budget, and of the bar that shows it.

    Args:
        experiment: The experiment's id.
        epsilon: Its part of the budget.
        start: Where its part of the bar begins, in percent.
        width: The width of its part, in percent.
    """

    experiment: str
    epsilon: Decimal
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


def holdings(population: PopulationView, entries: Sequence[LedgerEntry]) -> list[Holding]:
    """Return the part of a budget that each experiment has, the oldest first.

    Args:
        population: The population.
        entries: Its ledger.
    """
    held: dict[str, Decimal] = {}
    for entry in entries:
        if entry.experiment is not None:
            change = SIGNS[entry.kind] * Decimal(entry.epsilon)
            held[entry.experiment] = held.get(entry.experiment, Decimal(0)) + change
    budget = Decimal(population.budget) or Decimal(1)
    parts: list[Holding] = []
    start = Decimal(0)
    for experiment, epsilon in held.items():
        if epsilon > 0:
            parts.append(Holding(experiment, epsilon, float(100 * start / budget), float(100 * epsilon / budget)))
            start += epsilon
    return parts


def _page(visit: Visit, fields: Fields) -> Response:
    populations = visit.control.populations()
    wanted = visit.query.get("population") or (populations[0].name if populations else None)
    chosen = visit.control.ledger(wanted) if wanted is not None else None
    return page(
        visit,
        "ledger.html",
        fields.status,
        populations=populations,
        ledger=chosen,
        holdings=holdings(chosen.population, chosen.entries) if chosen is not None else [],
        names={view.id: view.name for view in visit.control.experiments()},
        kinds=KINDS,
        newest=list(reversed(chosen.entries))[:MOST] if chosen is not None else [],
        first=FIRST,
        fields=fields,
    )

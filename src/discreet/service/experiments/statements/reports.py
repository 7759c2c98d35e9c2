"""Privacy reports of experiments and populations, for whoever must answer for people's data."""

import dataclasses
from collections import Counter
from fractions import Fraction

import msgspec

from discreet.core.errors import PrivacyError
from discreet.core.probability.composition import composed_epsilon
from discreet.reporting import PrivacyReport, entries
from discreet.service import messages as m
from discreet.service.errors import ServiceProblem
from discreet.service.experiments import budget
from discreet.service.experiments.descriptions import OURS, Description, described
from discreet.service.experiments.epsilon import as_text
from discreet.service.experiments.standing import History, histories, verified
from discreet.service.experiments.statements.numbers import number, power
from discreet.service.experiments.statements.summaries import ledger_of
from discreet.service.experiments.upkeep.checking import Checked
from discreet.service.storage import Experiment, Transaction, queries

_ROUNDING = 1 + 1e-9  # of the sum of the floats of a ledger
_CLOSE = 0.99  # of the sum: what is nearer to it is hardly less
_PERSON = "For each person: whatever all these experiments show together is at most e^epsilon times as likely with one"


def experiment_report(transaction: Transaction, row: Experiment) -> m.PrivacyReport:
    """Return the privacy report of an experiment: its releases, added up anew.

    Args:
        transaction: The transaction.
        row: The experiment.

    Raises:
        ServiceProblem: A release was changed, added or deleted in the database.
    """
    (history,) = histories(transaction, [row])
    try:
        _complete(row, history)
    except PrivacyError as error:
        raise ServiceProblem(500, "changed release", str(error)) from None
    description = described(row)
    privacy = dataclasses.replace(description.make().privacy, simulated=False)
    report = PrivacyReport(privacy, ledger_of(description, history.released), row.algorithm)
    found = report.to_dict()
    kept, verdict = _verdict(row, description, history, report)
    return m.PrivacyReport(
        made_at=transaction.now(),
        made_by=found["made_by"],
        experiment=row.uid,
        name=row.name,
        population=row.population,
        description=description.request.description,
        state=row.state,
        algorithm=row.algorithm,
        options={name: one for name, one in description.options.items() if one is not None and name not in OURS},
        privacy=description.label(),
        spent=as_text(row.spent),
        paid=report.paid,
        kept=kept,
        verdict=verdict,
        releases=len(report.ledger),
        released=msgspec.convert(report.summary(), list[m.ReleasedOfArm]),
        sha256=found["ledger"]["sha256"],
        checked=report.checked,
        entries=msgspec.convert(entries(report.ledger), list[m.LedgerRow]),
    )


def _complete(row: Experiment, history: History) -> None:
    """Check that releases are as they were stored, and that each closed epoch that learned has some."""
    released = verified(row, history.released)
    learned = {epoch.number for epoch in history.epochs if epoch.state == "closed" and epoch.learns}
    if different := sorted(learned ^ released.keys()):
        raise PrivacyError(f"releases of epoch {different[0]} of {row.name!r} were added or deleted in the database")


def _verdict(row: Experiment, description: Description, history: History, report: PrivacyReport) -> tuple[bool, str]:
    """Return True if the promise was kept, and that in words; after a restore by what is charged.

    What was released after the backup was made is not in the ledger, but in what is charged.
    """
    spent, promised = row.spent, description.epsilon
    restored = row.epsilon > promised or any(epoch.state == "forfeited" for epoch in history.epochs)
    if not report.kept:
        return False, report.verdict
    if report.paid > float(min(spent, row.epsilon)) * _ROUNDING:
        return False, f"BROKEN: the ledger adds up to {report.paid:g}, more than the {float(spent):g} that was charged."
    if not restored:
        return True, report.verdict
    charged = f"after a restore up to {float(spent):g} is charged, since what was lost may have been released"
    ledger = f"the ledger itself adds up to {report.paid:g}"
    if spent <= promised:
        return True, f"Kept: {charged}, of the promised epsilon = {float(promised):g}; {ledger}."
    now = f"the promise is epsilon = {float(row.epsilon):g} by now, and was {float(promised):g}"
    return False, f"MORE THAN AT FIRST: {charged}; {now}; {ledger}."


def population_report(
    transaction: Transaction, name: str, query: m.PopulationReportQuery, checked: Checked
) -> m.PopulationReport:
    """Return what all experiments on a population may cost one of its people.

    Args:
        transaction: The transaction.
        name: The population's name.
        query: The delta.
        checked: What the last check of its ledger found.

    Raises:
        ServiceProblem: There is no such population.
    """
    state = budget.state(transaction, name)
    population = budget.view(state)
    held = queries.list_holders(transaction, name, m.MOST_LISTED)
    parts, count = part_counts(transaction, name, state.reserved)
    at_delta = composed_epsilon(parts, query.delta)
    return m.PopulationReport(
        made_at=transaction.now(),
        population=population,
        experiments=count,
        delta=query.delta,
        epsilon_at_delta=at_delta,
        words=_words(population, at_delta, query.delta),
        parts=[_part(row) for row in held],
        intact=not checked.problems,
        verified=checked.lines,
    )


def part_counts(transaction: Transaction, name: str, reserved: Fraction) -> tuple[Counter[Fraction], int]:
    """Return how many experiments have which part of a population's budget, and how many there are.

    What is reserved besides, as for epochs that were forfeited after a restore, counts as one more.

    Args:
        transaction: The transaction.
        name: The population's name.
        reserved: What is reserved of the budget.
    """
    parts = Counter(queries.budget_parts(transaction, name))
    count = parts.total()
    more = reserved - sum(one * times for one, times in parts.items())
    if more > 0:
        parts[Fraction(more)] += 1
    return parts, count


def _part(row: Experiment) -> m.BudgetPart:
    unit = described(row).request.privacy_unit
    return m.BudgetPart(row.uid, row.name, row.state, unit, as_text(queries.part_of(row)))


def _words(population: m.PopulationView, at_delta: float, delta: float) -> list[str]:
    found = [
        f"{_PERSON} person’s rewards as with others in their place, with epsilon {population.reserved} so far, and "
        f"never more than {population.budget}. Experiments whose unit is an event protect one reward that far, and a "
        "person with many of them less.",
        "This sum is enforced: an experiment that would exceed the budget does not start.",
    ]
    if at_delta < _CLOSE * float(population.reserved):
        found.append(
            f"If a chance of {power(delta)} that this fails is accepted (delta), the same experiments cost "
            f"{number(at_delta)} together, since their losses seldom add up; that holds for epsilons that were fixed "
            "beforehand: none was chosen, and no experiment was stopped early, because of what was released. It is for "
            "comparison, and nothing is spent by it."
        )
    else:
        found.append(f"At a delta of {power(delta)} the same experiments cost hardly less: they are few, or large.")
    return found

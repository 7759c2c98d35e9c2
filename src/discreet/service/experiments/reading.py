"""Reading: all that people look at of experiments, populations and keys, as against what changes them.

Synchronous and safe for threads. No method returns a reward, a count of rewards or an exact sum.
"""

from fractions import Fraction
from typing import NamedTuple

from discreet.core.probability.composition import composed_epsilon
from discreet.service import messages as m
from discreet.service.errors import invalid, not_found
from discreet.service.experiments import budget, descriptions, keys, planning, standing
from discreet.service.experiments.descriptions import find
from discreet.service.experiments.statements import reports, summaries, views
from discreet.service.experiments.upkeep.checking import Checked, Checker
from discreet.service.storage import Database, EndedSession, Experiment, Key, Transaction, queries
from discreet.service.storage.queries import Place, Wanted

_ALL, _AS_DESCRIBED = m.ExperimentsQuery(), m.SummaryQuery()
_FIRST_LINES, _FIRST_KEYS, _FIRST_POPULATIONS = m.LedgerQuery(), m.KeysQuery(), m.PopulationsQuery()
_USUAL_DELTA = m.PopulationReportQuery()


class LedgerPage(NamedTuple):
    """A page of a ledger, and who holds the budget.

    Attributes:
        entries: The lines, the newest first.
        lines: The number of all lines.
        population: The population.
        at_delta: What all its experiments cost together at the usual delta.
        reserved: What is reserved of the budget.
        holders: Experiments with their id, name and part of it: the first ones of the list.
        names: The names of the experiments in these lines, by id.
        checked: What the last check found.
    """

    entries: list[m.LedgerEntry]
    lines: int
    population: m.PopulationView
    at_delta: float
    reserved: Fraction
    holders: list[tuple[str, str, Fraction]]
    names: dict[str, str]
    checked: Checked


class Reading:
    """Reads one database's experiments, populations and keys.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.checker = Checker(database)

    def now(self) -> float:
        """Return the time, by the database's clock."""
        return self.database.read(Transaction.now)

    # ------------------------------------------------------------------ experiments

    def experiments(self, query: m.ExperimentsQuery = _ALL, only: str | None = None) -> m.Experiments:
        """Return a page of experiments: those that go on first, the newest first.

        Args:
            query: The choice, and the place of the page.
            only: The id of the one experiment that the caller may see; None for all.
        """
        after = None if not query.after else Place(*map(int, query.after.split(".")))
        with self.database.reading() as transaction:
            rows = queries.list_experiments(transaction, _wanted(query, only), query.limit + 1, after=after)
            shown = views.experiment_views(transaction, rows[: query.limit])
        if len(rows) <= query.limit:
            return m.Experiments(shown, None)
        last = rows[query.limit - 1]
        return m.Experiments(shown, f"{queries.ORDER.index(last.state)}.{last.id}")

    def page_of_experiments(
        self, query: m.ExperimentsQuery, page: int, only: str | None = None
    ) -> tuple[list[m.ExperimentView], int]:
        """Return a page of experiments by its number, and the number of all experiments of the choice.

        Args:
            query: The choice.
            page: The page's number, from 1.
            only: The id of the one experiment that the caller may see; None for all.
        """
        wanted = _wanted(query, only)
        with self.database.reading() as transaction:
            rows = queries.list_experiments(transaction, wanted, query.limit, offset=(page - 1) * query.limit)
            return views.experiment_views(transaction, rows), queries.count_experiments(transaction, wanted)

    def list_facts(self, query: m.ExperimentsQuery, page: int, only: str | None = None) -> str:
        """Return a text that is another one whenever something on a page of experiments has changed.

        Args:
            query: The choice.
            page: The page's number, from 1.
            only: The id of the one experiment that the caller may see; None for all.
        """
        wanted, offset = _wanted(query, only), (page - 1) * query.limit
        return repr(self.database.read(lambda each: queries.list_facts(each, wanted, query.limit, offset)))

    def facts(self, name: str) -> str:
        """Return a text that is another one whenever something about an experiment has changed.

        Args:
            name: The experiment's id.
        """
        return repr(self.database.read(lambda transaction: queries.facts(transaction, name)))

    def names(self, most: int) -> list[str]:
        """Return the names of the first experiments of the list that are not archived.

        Args:
            most: The largest number of them.
        """
        return self.database.read(lambda transaction: queries.list_names(transaction, most))

    def experiment(self, name: str, only: str | None = None) -> m.ExperimentView:
        """Return one experiment, by its id or its name.

        Args:
            name: The experiment's id or name.
            only: The id of the one experiment that the caller may see; None for all.
        """
        return self.database.read(lambda transaction: views.experiment_view(transaction, find(transaction, name, only)))

    def epochs(self, name: str, only: str | None = None) -> list[m.EpochView]:
        """Return an experiment's epochs, the oldest first.

        Args:
            name: The experiment's id or name.
            only: The id of the one experiment that the caller may see; None for all.
        """
        return self.database.read(lambda transaction: views.epoch_views(transaction, find(transaction, name, only)))

    def releases(self, name: str, only: str | None = None) -> list[m.ReleaseView]:
        """Return an experiment's releases, the oldest first.

        Args:
            name: The experiment's id or name.
            only: The id of the one experiment that the caller may see; None for all.
        """
        return self.database.read(lambda transaction: views.release_views(transaction, find(transaction, name, only)))

    def summary(self, name: str, query: m.SummaryQuery = _AS_DESCRIBED, only: str | None = None) -> m.Summary:
        """Return what an experiment's releases say of its arms.

        Args:
            name: The experiment's id or name.
            query: The control, the level, and whether means may change.
            only: The id of the one experiment that the caller may see; None for all.
        """

        def work(transaction: Transaction) -> tuple[Experiment, standing.History]:
            row = find(transaction, name, only)
            return row, standing.histories(transaction, [row])[0]

        row, history = self.database.read(work)
        return summaries.summary_in(row, history, query)

    def privacy_report(self, name: str, only: str | None = None) -> m.PrivacyReport:
        """Return the privacy report of an experiment.

        Args:
            name: The experiment's id or name.
            only: The id of the one experiment that the caller may see; None for all.
        """
        return self.database.read(lambda each: reports.experiment_report(each, find(each, name, only)))

    def whole(self, name: str, query: m.SummaryQuery) -> tuple[m.ExperimentView, list[m.EpochView], m.Summary | None]:
        """Return an experiment, its epochs and its summary, read once; no summary of a draft.

        Args:
            name: The experiment's id or name.
            query: The control of the summary, its level, and whether means may change.
        """

        def work(
            transaction: Transaction,
        ) -> tuple[Experiment, standing.History, m.ExperimentView, list[m.EpochView]]:
            row = find(transaction, name)
            (history,) = standing.histories(transaction, [row])
            return row, history, views.view_in(row, history), views.epochs_in(row, history)

        row, history, view, epochs = self.database.read(work)
        return view, epochs, None if row.state == "draft" else summaries.summary_in(row, history, query)

    def open_plan(self, name: str, only: str | None = None) -> m.PlanView:
        """Return the plan of an experiment's open epoch.

        Args:
            name: The experiment's id or name.
            only: The id of the one experiment that the caller may see; None for all.
        """
        return self.database.read(lambda transaction: views.plan_view(transaction, find(transaction, name, only)))

    # ------------------------------------------------------------------ populations, keys, planning

    def populations(self, query: m.PopulationsQuery = _FIRST_POPULATIONS) -> m.Populations:
        """Return a page of populations, by name.

        Args:
            query: The place of the page.
        """
        found = self.database.read(lambda each: queries.list_populations(each, query.limit + 1, after=query.after))
        shown = [budget.view(row) for row in found[: query.limit]]
        return m.Populations(shown, shown[-1].name if len(found) > query.limit else None)

    def page_of_populations(self, page: int, limit: int) -> tuple[list[m.PopulationView], int]:
        """Return a page of populations by its number, and the number of all populations.

        Args:
            page: The page's number, from 1.
            limit: The largest number of populations.
        """
        with self.database.reading() as transaction:
            found = queries.list_populations(transaction, limit, offset=(page - 1) * limit)
            return [budget.view(row) for row in found], queries.count_populations(transaction)

    def population_report(self, name: str, query: m.PopulationReportQuery = _USUAL_DELTA) -> m.PopulationReport:
        """Return what all experiments on a population may cost one of its people, as a sum and at a delta.

        Args:
            name: The population's name.
            query: The delta.
        """
        checked = self.checker.checked(name)
        return self.database.read(lambda each: reports.population_report(each, name, query, checked))

    def ledger(self, population: str, query: m.LedgerQuery = _FIRST_LINES) -> m.Ledger:
        """Return a page of a population's ledger, and what the last check of it found.

        Args:
            population: The population's name.
            query: The place of the page, and whether the whole ledger is to be checked now.
        """
        checked = self.checker.verify(population) if query.verify else self.checker.checked(population)
        with self.database.reading() as transaction:
            row, last = budget.state(transaction, population), query.after + query.limit
            lines = queries.list_lines(transaction, population, query.after, last + 1)
        more = bool(lines) and lines[-1].number > last
        entries = [budget.entry(line) for line in lines if line.number <= last]
        return m.Ledger(
            population=budget.view(row),
            entries=entries,
            next=last if more else None,
            intact=not checked.problems,
            verified=checked.lines,
            verified_at=checked.at,
            problems=list(checked.problems),
        )

    def ledger_page(self, population: str, page: int, limit: int, holders: int) -> LedgerPage:
        """Return a page of a population's ledger by its number, the newest line first, and who holds its budget.

        Args:
            population: The population's name.
            page: The page's number, from 1.
            limit: The largest number of lines.
            holders: The largest number of experiments.
        """
        with self.database.reading() as transaction:
            ends = queries.ledger_ends(transaction, population)
            if not ends:
                raise not_found(f"population {population!r}")
            upto = ends[0].last - (page - 1) * limit
            lines = queries.list_lines(transaction, population, upto - limit, upto)
            held = queries.list_holders(transaction, population, holders)
            counts, _ = reports.part_counts(transaction, population, ends[0].reserved)
            named = queries.names(transaction, {line.experiment for line in lines if line.experiment is not None})
        parts = [(row.uid, row.name, queries.part_of(row)) for row in held]
        entries = [budget.entry(line) for line in reversed(lines)]
        at_delta = composed_epsilon(counts, _USUAL_DELTA.delta)
        return LedgerPage(
            entries=entries,
            lines=ends[0].last,
            population=budget.view(ends[0]),
            at_delta=at_delta,
            reserved=ends[0].reserved,
            holders=parts,
            names=named,
            checked=self.checker.checked(population),
        )

    def keys(self, query: m.KeysQuery = _FIRST_KEYS) -> m.Keys:
        """Return a page of keys, the newest first.

        Args:
            query: The place of the page.
        """

        def work(transaction: Transaction) -> m.Keys:
            after = None if not query.after else transaction.find(Key, id=query.after)
            if query.after and after is None:
                raise invalid("after", f"after must be what `next` of a page says, got {query.after!r}")
            found = queries.list_keys(transaction, query.limit + 1, after=after)
            shown = [keys.view(key) for key in found[: query.limit]]
            return m.Keys(shown, shown[-1].id if len(found) > query.limit else None)

        return self.database.read(work)

    def page_of_keys(self, page: int, limit: int) -> tuple[list[m.KeyView], int, dict[str, str]]:
        """Return a page of keys, valid ones first, the number of all keys, and the names of their experiments.

        Args:
            page: The page's number, from 1.
            limit: The largest number of keys.
        """
        with self.database.reading() as transaction:
            found, total = queries.page_of_keys(transaction, transaction.now(), limit, (page - 1) * limit)
            named = queries.names(transaction, {key.experiment for key in found if key.experiment is not None})
        return [keys.view(key) for key in found], total, named

    def last_admin(self) -> str | None:
        """Return the id of the only key by which others can always be made; None if there are several."""
        found = self.database.read(keys.lasting_admins)
        return found[0] if len(found) == 1 else None

    def session_key(self, session: str, uid: str) -> m.KeyView | None:
        """Return the key of a session; None if the key is not valid, or the session was ended.

        Args:
            session: The session's id.
            uid: The key's id.
        """

        def work(transaction: Transaction) -> m.KeyView | None:
            ended = transaction.find(EndedSession, id=session) is not None
            return None if ended else keys.find(transaction, id=uid)

        return self.database.read(work)

    def authenticate(self, secret: str) -> m.KeyView | None:
        """Return the key with this secret; None if it is unknown, expired or revoked."""
        if not keys.is_key(secret):
            return None
        return self.database.read(lambda transaction: keys.find(transaction, digest=keys.digest(secret)))

    def algorithms(self) -> list[m.AlgorithmView]:
        """Return the policies and rules that can be run."""
        return descriptions.algorithms()

    def plan(self, wanted: m.PlannerRequest) -> m.ExperimentPlan:
        """Return the epochs that an experiment would take."""
        return planning.plan_experiment(wanted)


def _wanted(query: m.ExperimentsQuery, only: str | None) -> Wanted:
    return Wanted(query.search.strip(), query.state or None, only)

"""The HTTP API: each method does one operation, once its key is checked and its message is read."""

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, compile_path

from discreet.service import messages as m
from discreet.service import wording
from discreet.service.bodies import body_of
from discreet.service.errors import NotStarted, ServiceProblem, invalid, not_found
from discreet.service.experiments import testmode, tokens
from discreet.service.experiments.assignments import Ask, Started, Tell, Writers, units_of
from discreet.service.experiments.control import Control
from discreet.service.experiments.upkeep.journal import Journal
from discreet.service.experiments.upkeep.readiness import Readiness
from discreet.service.http.authorization import Authorizer
from discreet.service.http.frequent import Endpoint, FrequentRoute
from discreet.service.http.metrics import Metrics
from discreet.service.http.operations import OPERATIONS, Operation, document, operation
from discreet.service.threads import Threads

MOST_BYTES = 2_000_000
"""The largest body of a request: 10,000 rewards have 1.1 MB."""
TOGETHER = 1_000
"""The largest number of rewards of a batch that are counted in one transaction: others do not wait for all of them."""
ONE = "/v1/experiments/{experiment}"
READ: tuple[m.Scope, ...] = ("analyse",)
ADMIN: tuple[m.Scope, ...] = ()
_TOO_LARGE = f"a request has at most {MOST_BYTES:,} bytes"
_ENCODER = msgspec.json.Encoder()
T = TypeVar("T")


class Slow(NamedTuple):
    """The control plane and the threads that lists, other slow reads and tests have for themselves.

    Attributes:
        control: The control plane, with database connections of its own.
        threads: The threads.
    """

    control: Control
    threads: Threads


class API:
    """The operations of the API. Those that are not coroutines run in a thread; slow ones in threads of their own.

    Args:
        control: The control plane.
        writers: Assign units and count rewards.
        metrics: Counters of this process.
        journal: The journal of releases, if there is one.
        slow: For lists and other slow reads, and for tests.
    """

    def __init__(
        self, control: Control, writers: Writers, metrics: Metrics, journal: Journal | None, slow: Slow
    ) -> None:
        self.control, self.writers, self.metrics, self.journal = control, writers, metrics, journal
        self.slow = slow
        self.readiness = Readiness(control.database, journal)
        self.authorizer = Authorizer(control)
        self._document = _ENCODER.encode(document())
        self._endpoints = [(one, self._endpoint(one)) for one in OPERATIONS]

    def routes(self) -> list[Route]:
        """Return the routes of all operations."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for one, endpoint in self._endpoints:
            by_path.setdefault(one.path, {})[one.method] = endpoint
        return [
            *[Route(path, _by_method(methods), methods=list(methods)) for path, methods in by_path.items()],
            Route("/metrics", self.show_metrics),
            Route("/openapi.json", self.show_document),
        ]

    def frequent_routes(self) -> list[FrequentRoute]:
        """Return the routes of frequent operations, which are among all routes too."""
        return [
            FrequentRoute(one.method, compile_path(one.path)[0], endpoint)
            for one, endpoint in self._endpoints
            if one.frequent
        ]

    def _endpoint(self, one: Operation) -> Endpoint:
        method = getattr(self, one.name)
        run = self.slow.threads.run if one.slow else run_in_threadpool
        work: Callable[..., Awaitable[Any]] = method if inspect.iscoroutinefunction(method) else partial(run, method)
        decoder: Any = None if one.body is None else msgspec.json.Decoder(one.body)

        async def endpoint(request: Request) -> Response:
            given: dict[str, Any] = dict(request.path_params)
            if one.scopes is not None:
                given["caller"] = await self.authorizer.check(request, *one.scopes)
            if decoder is not None:
                given["body"] = await read(request, decoder)
            if one.query is not None:
                given["query"] = read_query(request, one.query)
            found = await work(**{name: given[name] for name in one.takes})
            if isinstance(found, Response):
                return found
            return Response(status_code=204) if one.answer is None else Answer(found, one.status)

        return endpoint

    # ------------------------------------------------------------------ assign and report: first in the list of routes

    @operation("POST", f"{ONE}/assignments", ("assign",), 404, 409, 503, frequent=True)
    async def assign(self, caller: m.KeyView, experiment: str, body: m.AssignRequest) -> m.Assignments:
        """Assign units: to the same arms again within an epoch. Safe to repeat. In test mode they are marked.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
            body: The request.
        """
        try:
            started = await self._started(experiment, caller)
        except NotStarted:
            assign = self.slow.control.tests.assign
            return m.Assignments(await self.slow.threads.run(assign, experiment, body, caller.experiment))
        units = units_of(started.description, body)
        assigned = await self.writers.single.do(Ask(started, units))
        self.metrics.assigned(len(units))
        return m.Assignments(assigned)

    @operation("PUT", "/v1/rewards/{assignment}", ("report",), 404, 503, status=202, frequent=True)
    async def reward(self, caller: m.KeyView, assignment: str, body: m.RewardRequest) -> m.Receipt:
        """Report one reward. The first one stands; safe to repeat.

        Args:
            caller: The key of the request.
            assignment: The assignment's token.
            body: The request.
        """
        (told,) = await self._tells(caller, [(assignment, body.reward)])
        if told == "unknown":
            raise not_found("such assignment")
        if not isinstance(told, Tell):
            return m.Receipt(told)
        (status,) = await self.writers.single.do([told])
        return m.Receipt(status)

    @operation("POST", "/v1/rewards:batch", ("report",), 503, frequent=True)
    async def rewards(self, caller: m.KeyView, body: m.RewardBatch) -> m.Receipts:
        """Report many rewards; each has its own status. Safe to repeat.

        Args:
            caller: The key of the request.
            body: The request.
        """
        told = await self._tells(caller, [(one.assignment, one.reward) for one in body.rewards])
        known = [one for one in told if isinstance(one, Tell)]
        parts = [known[start : start + TOGETHER] for start in range(0, len(known), TOGETHER)]
        found = chain.from_iterable(await asyncio.gather(*map(self.writers.count_batch, parts)))
        return m.Receipts([next(found) if isinstance(one, Tell) else one for one in told])

    async def _tells(self, caller: m.KeyView, given: list[tuple[str, float]]) -> list[Tell | m.Status]:
        """Return a report for each token of a started experiment that this key may report to; a status for others."""
        secret = self.control.token_secret
        places = tokens.open_tokens(secret, [token for token, _ in given])
        named = {place.experiment for place in places if place is not None}
        known = {number: await self._reportable(caller, number) for number in named}
        told: list[Tell | m.Status] = []
        others: list[testmode.Report] = []
        for place, (_, reward) in zip(places, given, strict=True):
            started = None if place is None else known[place.experiment]
            if place is None or started is None:
                told.append("unknown")
                others.append((place, reward))
                continue
            if not math.isfinite(reward):
                raise invalid("reward", "reward must be a finite number")
            told.append(Tell(started, place, started.description.encode(reward)))
        return await self._with_tests(caller, told, others) if others else told

    async def _with_tests(
        self, caller: m.KeyView, told: list[Tell | m.Status], others: list[testmode.Report]
    ) -> list[Tell | m.Status]:
        """Return the same with the statuses of those that are of a test. Unknown tokens alone make no report fail."""
        tests, places = self.slow.control.tests, [place for place, _ in others]
        if not tests.concerns(places):
            return told
        try:
            statuses = iter(await self.slow.threads.run(tests.tell, others, caller.experiment))
        except ServiceProblem as problem:
            if problem.status != 503 or any(map(testmode.is_of_test, places)):
                raise
            return told
        return [one if isinstance(one, Tell) else next(statuses) for one in told]

    async def _reportable(self, caller: m.KeyView, number: int) -> Started | None:
        """Return the experiment of this number; None if there is none that this key may report to."""
        try:
            return await self._started(number, caller)
        except ServiceProblem:
            return None

    async def _started(self, name: str | int, caller: m.KeyView) -> Started:
        """Return a started experiment. A key for another one does not learn that it exists, nor its state."""
        if self.control.is_cached(name):
            return self.control.started(name, caller.experiment)
        return await run_in_threadpool(self.control.started, name, caller.experiment)

    # ------------------------------------------------------------------ experiments

    @operation("GET", "/v1/experiments", READ, slow=True)
    def list_experiments(self, caller: m.KeyView, query: m.ExperimentsQuery) -> m.Experiments:
        """Experiments, page by page: those that go on first, the newest first.

        Args:
            caller: The key of the request.
            query: The choice, and the place of the page.
        """
        return self.slow.control.experiments(query, caller.experiment)

    @operation("POST", "/v1/experiments", ADMIN, 409, status=201)
    def create_experiment(self, body: m.NewExperiment) -> m.ExperimentView:
        """Make an experiment, as a draft."""
        return self.control.create(body)

    @operation("GET", ONE, READ, 404, slow=True)
    def show_experiment(self, caller: m.KeyView, experiment: str) -> m.ExperimentView:
        """One experiment, by id or name.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
        """
        return self.slow.control.experiment(experiment, caller.experiment)

    @operation("PUT", ONE, ADMIN, 404, 409)
    def replace_experiment(self, experiment: str, body: m.NewExperiment) -> m.ExperimentView:
        """Change a draft. A test of it is thrown away.

        Args:
            experiment: The draft's id or name.
            body: Its new description.
        """
        return self.control.replace(experiment, body)

    @operation("DELETE", ONE, ADMIN, 404, 409)
    def delete_experiment(self, experiment: str) -> None:
        """Delete a draft."""
        self.control.delete(experiment)

    @operation("POST", f"{ONE}/start", ADMIN, 404, 409)
    def start_experiment(self, experiment: str) -> m.ExperimentView:
        """Start a draft: its test is thrown away, its epsilon is reserved, and its first epoch opens."""
        return self.control.start(experiment)

    @operation("POST", f"{ONE}/test", ADMIN, 404, 409)
    def begin_test(self, experiment: str) -> m.TestReport:
        """Put a draft into test mode, for a day or 1,000 units, which are not protected. It costs no epsilon."""
        return self.slow.control.tests.begin(experiment)

    @operation("GET", f"{ONE}/test", READ, 404, slow=True)
    def show_test(self, caller: m.KeyView, experiment: str) -> m.TestReport:
        """Every assignment and reward that was sent in test mode, and what is wrong with them.

        Args:
            caller: The key of the request.
            experiment: The draft's id or name.
        """
        return self.slow.control.tests.report(experiment, caller.experiment)

    @operation("DELETE", f"{ONE}/test", ADMIN, 404)
    def end_test(self, experiment: str) -> None:
        """End test mode, and throw away what was sent."""
        self.slow.control.tests.end(experiment)

    @operation("POST", f"{ONE}/pause", ADMIN, 404, 409)
    def pause_experiment(self, experiment: str) -> m.ExperimentView:
        """Assign nobody new and release nothing for a while."""
        return self.control.pause(experiment)

    @operation("POST", f"{ONE}/resume", ADMIN, 404, 409)
    def resume_experiment(self, experiment: str) -> m.ExperimentView:
        """Go on after a pause."""
        return self.control.resume(experiment)

    @operation("POST", f"{ONE}/stop", ADMIN, 404, 409)
    def stop_experiment(self, experiment: str) -> m.ExperimentView:
        """End it. The open epoch is discarded without a release; what was not spent is refunded."""
        return self.control.stop(experiment)

    @operation("POST", f"{ONE}/archive", ADMIN, 404, 409)
    def archive_experiment(self, experiment: str) -> m.ExperimentView:
        """Archive a stopped experiment: it assigns nobody any more."""
        return self.control.archive(experiment)

    @operation("GET", f"{ONE}/epochs", READ, 404, slow=True)
    def epochs(self, caller: m.KeyView, experiment: str) -> m.Epochs:
        """Its epochs, oldest first.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
        """
        return m.Epochs(self.slow.control.epochs(experiment, caller.experiment))

    @operation("GET", f"{ONE}/releases", READ, 404, slow=True)
    def releases(self, caller: m.KeyView, experiment: str) -> m.Releases:
        """Its releases, oldest first.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
        """
        return m.Releases(self.slow.control.releases(experiment, caller.experiment))

    @operation("GET", f"{ONE}/summary", READ, 404, slow=True)
    def summary(self, caller: m.KeyView, experiment: str, query: m.SummaryQuery) -> m.Summary:
        """Lifts against a control with intervals that hold at every look, and which arms may be the best.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
            query: The control, the level, and whether means may change during the experiment.
        """
        return self.slow.control.summary(experiment, query, caller.experiment)

    @operation("GET", f"{ONE}/report", READ, 404, slow=True)
    def privacy_report(self, caller: m.KeyView, experiment: str) -> m.PrivacyReport:
        """Its privacy report, for the file: what was released, at what price, with which proof.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
        """
        return self.slow.control.privacy_report(experiment, caller.experiment)

    @operation("GET", f"{ONE}/plan", ("analyse", "report"), 404, 409)
    def plan(self, caller: m.KeyView, experiment: str) -> m.PlanView:
        """The plan of the open epoch, for whoever aggregates an event log.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
        """
        return self.control.open_plan(experiment, caller.experiment)

    @operation("POST", f"{ONE}/totals", ("report",), 404, 409)
    def totals(self, caller: m.KeyView, experiment: str, body: m.EpochTotals) -> None:
        """Close the open epoch with exact totals from an event log; once.

        Args:
            caller: The key of the request.
            experiment: The experiment's id or name.
            body: The totals.
        """
        self.control.close_with(experiment, body.epoch, body.totals, caller.experiment)
        if self.journal is not None:
            self.journal.catch_up(self.control.database)

    # ------------------------------------------------------------------ populations, keys, planning

    @operation("GET", "/v1/populations", READ, slow=True)
    def populations(self, caller: m.KeyView, query: m.PopulationsQuery) -> m.Populations:
        """Populations and their budgets, page by page, by name.

        Args:
            caller: The key of the request.
            query: The place of the page.
        """
        _for_all(caller)
        return self.slow.control.populations(query)

    @operation("POST", "/v1/populations", ADMIN, 409, status=201)
    def create_population(self, body: m.NewPopulation) -> m.PopulationView:
        """Make a population with its budget."""
        return self.control.create_population(body)

    @operation("PUT", "/v1/populations/{population}", ADMIN, 404, 409)
    def set_budget(self, population: str, body: m.NewBudget) -> m.PopulationView:
        """Change a budget; never to less than is reserved.

        Args:
            population: The population's name.
            body: The new budget.
        """
        return self.control.set_budget(population, body.budget)

    @operation("GET", "/v1/populations/{population}/ledger", READ, 404, slow=True)
    def ledger(self, caller: m.KeyView, population: str, query: m.LedgerQuery) -> m.Ledger:
        """A population's ledger, page by page, and what the last check of it found.

        Args:
            caller: The key of the request.
            population: The population's name.
            query: The place of the page, and whether to check the whole ledger now.
        """
        _for_all(caller)
        return self.slow.control.ledger(population, query)

    @operation("GET", "/v1/populations/{population}/report", READ, 404, slow=True)
    def population_report(
        self, caller: m.KeyView, population: str, query: m.PopulationReportQuery
    ) -> m.PopulationReport:
        """Report the most that all experiments on a population cost one person: the sum, and less at a delta.

        Args:
            caller: The key of the request.
            population: The population's name.
            query: The delta.
        """
        _for_all(caller)
        return self.slow.control.population_report(population, query)

    @operation("GET", "/v1/keys", ADMIN, slow=True)
    def keys(self, query: m.KeysQuery) -> m.Keys:
        """Keys, without their secrets, page by page: the newest first."""
        return self.slow.control.keys(query)

    @operation("POST", "/v1/keys", ADMIN, 404, status=201)
    def make_key(self, body: m.NewKey) -> m.MadeKey:
        """Make a key. It is shown this once."""
        return self.control.make_key(body)

    @operation("DELETE", "/v1/keys/{key}", ADMIN, 404, 409)
    def revoke_key(self, key: str) -> m.KeyView:
        """Revoke a key; never the last admin key that does not expire."""
        return self.control.revoke_key(key)

    @operation("GET", "/v1/algorithms", READ)
    async def algorithms(self) -> m.Algorithms:
        """The policies and rules that can be run."""
        return m.Algorithms(self.control.algorithms())

    @operation("GET", "/v1/planner", READ, slow=True)
    def planner(self, query: m.PlannerRequest) -> m.ExperimentPlan:
        """The length of an experiment before it is run."""
        return self.control.plan(query)

    # ------------------------------------------------------------------ machines

    @operation("GET", "/healthz", None)
    async def health(self) -> m.Health:
        """Answers if the process is alive."""
        return m.Health("ok")

    @operation("GET", "/readyz", None, 503)
    def ready(self) -> m.Health | Response:
        """Answers 200 if the database and the journal can be written, and the clock has not jumped back."""
        reasons = self.readiness.reasons()
        return Answer(m.Health("unavailable", reasons), 503) if reasons else m.Health("ok")

    async def show_metrics(self, request: Request) -> Response:
        """Return counts of requests in Prometheus' format. They need an admin's key: even sums depend on rewards."""
        await self.authorizer.check(request)
        failed = 0 if self.journal is None else self.journal.failures
        return Response(self.metrics.text(failed_journal_writes=failed), media_type="text/plain; version=0.0.4")

    async def show_document(self, _: Request) -> Response:
        """Return the OpenAPI document."""
        return Response(self._document, media_type="application/json")


class Answer(Response):
    """A message as JSON, with the two headers that it needs.

    Args:
        message: The message.
        status: The status of the answer.
    """

    def __init__(self, message: Any, status: int = 200) -> None:
        self.status_code, self.background, self.body = status, None, _ENCODER.encode(message)
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]


async def read(request: Request, decoder: msgspec.json.Decoder[Any]) -> Any:
    """Return the body of a request as a message.

    Args:
        request: The request.
        decoder: The decoder of the message's type.

    Raises:
        ServiceProblem: The body is too large, no JSON, or not of this type; it names the field at fault.
    """
    body = await body_of(request, MOST_BYTES, _TOO_LARGE)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _badly_formed(error, decoder.type) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServiceProblem(400, "not JSON", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise ServiceProblem(400, "not JSON", "the body is nested too deeply") from None


def read_query(request: Request, kind: type[T]) -> T:
    """Return the query of a request as a message.

    Args:
        request: The request.
        kind: The message's type.

    Raises:
        ServiceProblem: The query is not of this type; it names the field at fault.
    """
    given = request.query_params
    hashable: Any = kind
    wordless = _wordless(hashable)
    for name, text in given.items():
        if len(given.getlist(name)) > 1:
            raise invalid(name, f"{name} must be given once")
        if name in wordless and text.lower() == "null":
            raise invalid(name, f"{name} must be left out or have a value, got {text}")  # a query has no null
    try:
        return msgspec.convert(dict(given), kind, strict=False)
    except msgspec.ValidationError as error:
        raise _badly_formed(error, kind) from None


@cache
def _wordless(kind: type) -> frozenset[str]:
    """Return the names of a query's fields that take no text."""
    types = get_type_hints(kind).items()
    return frozenset(name for name, one in types if str not in (one, *get_args(one)))


def _badly_formed(error: msgspec.ValidationError, kind: type) -> ServiceProblem:
    detail, field = wording.in_words(error, kind)
    return ServiceProblem(422, "invalid request", detail, field)


def _for_all(key: m.KeyView) -> None:
    """Refuse a key for one experiment: it does not learn about others."""
    if key.experiment is not None:
        raise ServiceProblem(403, "forbidden", "this key is for one experiment")


def _by_method(methods: dict[str, Endpoint]) -> Endpoint:
    if len(methods) == 1:
        (only,) = methods.values()
        return only

    async def dispatch(request: Request) -> Response:
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return dispatch

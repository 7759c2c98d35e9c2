"""The HTTP API: each method does one operation of the table, with its key checked and its message read."""

import math
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.service import messages as m
from discreet.service.errors import ServiceProblem, conflict, invalid, not_found
from discreet.service.experiments import tokens
from discreet.service.experiments.assignments import Ask, Started, Tell, Writer
from discreet.service.experiments.control import Control
from discreet.service.experiments.journal import Journal
from discreet.service.http.authorization import Authorizer, may_see
from discreet.service.http.metrics import Metrics
from discreet.service.http.openapi import document
from discreet.service.http.operations import OPERATIONS, VERBS, Operation

Endpoint = Callable[[Request], Awaitable[Response]]
MOST_BYTES = 4_000_000
_BUSY = {"assign", "reward", "rewards"}  # first in the list of routes, which is gone through for every request
NOBODY = m.KeyView("", "", [], None, 0.0, None, None)
_ENCODER = msgspec.json.Encoder()
_DECODERS: dict[type, Any] = {one.body: msgspec.json.Decoder(one.body) for one in OPERATIONS if one.body is not None}


class Call(NamedTuple):
    """One call of an operation.

    Attributes:
        request: The HTTP request.
        key: Its key, which has one of the operation's scopes.
        body: The message in its body, if the operation takes one.
    """

    request: Request
    key: m.KeyView
    body: Any

    def name(self, parameter: str) -> str:
        """Return a parameter of the path."""
        return str(self.request.path_params[parameter])


class API:
    """The operations of the API.

    Args:
        control: The control plane.
        writer: Assigns units and counts rewards.
        metrics: Counters of this process.
        journal: The journal of releases, if there is one.
    """

    def __init__(self, control: Control, writer: Writer, metrics: Metrics, journal: Journal | None = None) -> None:
        self.control, self.writer, self.metrics, self.journal = control, writer, metrics, journal
        self.authorizer = Authorizer(control)
        self._document = _ENCODER.encode(document())

    def routes(self) -> list[Route]:
        """Return the routes of all operations."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for operation in sorted(OPERATIONS, key=lambda one: one.name not in _BUSY):
            by_path.setdefault(operation.path, {})[operation.method] = self._endpoint(operation)
        return [
            *[Route(path, _by_method(methods), methods=list(methods)) for path, methods in by_path.items()],
            Route("/metrics", self.show_metrics),
            Route("/openapi.json", self.show_document),
        ]

    def _endpoint(self, operation: Operation) -> Endpoint:
        verb = operation.name.removesuffix("_experiment")
        work = self._changing(verb) if verb in VERBS else getattr(self, operation.name)

        async def endpoint(request: Request) -> Response:
            scopes = operation.scopes
            key = NOBODY if scopes is None else await self.authorizer.check(request, *scopes)
            body = None if operation.body is None else await read(request, operation.body)
            found = await work(Call(request, key, body))
            if isinstance(found, Response):
                return found
            return Response(status_code=204) if operation.answer is None else answer(found, operation.status)

        return endpoint

    # ------------------------------------------------------------------ assign and report

    async def assign(self, call: Call) -> m.Assignments:
        """Assign units."""
        wanted: m.AssignRequest = call.body
        started = await self._started(call.name("experiment"), call.key)
        if started.description.request.source == "totals":
            raise conflict("this experiment is fed from an event log and assigns nobody")
        if (wanted.units is None) == (wanted.count is None):
            raise invalid("units", "give units (their names), or count, and not both")
        if wanted.units is None and started.description.request.privacy_unit == "person":
            raise invalid("count", "people need names, so that each counts as often as promised: give units")
        units = wanted.units if wanted.units is not None else [None] * (wanted.count or 0)
        assigned = await self.writer.do(Ask(started, units))
        self.metrics.assigned(len(units))
        return m.Assignments(assigned)

    async def reward(self, call: Call) -> m.Receipt:
        """Count one reward."""
        (told,) = await self._tells(call.key, [(call.name("assignment"), call.body.reward)])
        if told is None:
            raise not_found("such assignment")
        (status,) = await self.writer.do([told])
        return m.Receipt(status)

    async def rewards(self, call: Call) -> m.Receipts:
        """Count many rewards, each with its own status."""
        told = await self._tells(call.key, [(one.assignment, one.reward) for one in call.body.rewards])
        known = [one for one in told if one is not None]
        found = iter(await self.writer.do(known) if known else ())
        return m.Receipts(["unknown" if one is None else next(found) for one in told])

    async def _tells(self, key: m.KeyView, given: list[tuple[str, float]]) -> list[Tell | None]:
        """Return a report for each token that we made and that this key may report to; None for others."""
        places = [tokens.open_token(token) for token, _ in given]
        named = {place.experiment for place in places if place is not None}
        known = {number: await self._reportable(key, number) for number in named}
        told: list[Tell | None] = []
        for place, (token, reward) in zip(places, given, strict=True):
            started = None if place is None else known[place.experiment]
            if place is None or started is None or not tokens.is_sealed(started.secret, token, place):
                told.append(None)
                continue
            if not math.isfinite(reward):
                raise invalid("reward", "reward must be a finite number")
            told.append(Tell(started, place, started.description.grid.encode(reward, clip=True)))
        return told

    async def _reportable(self, key: m.KeyView, number: int) -> Started | None:
        """Return the experiment of this number; None if there is none that this key may report to."""
        try:
            return await self._started(number, key)
        except ServiceProblem:
            return None

    async def _started(self, name: str | int, key: m.KeyView) -> Started:
        """Return a started experiment. A key for another one does not learn that it exists, nor its state."""
        known = self.control.cached(name)
        if known is None:
            known = await run_in_threadpool(self.control.started, name, key.experiment)
        may_see(key, known.uid, name)
        return known

    # ------------------------------------------------------------------ experiments

    async def list_experiments(self, call: Call) -> m.Experiments:
        """Return all experiments that this key may see."""
        found = await run_in_threadpool(self.control.experiments)
        return m.Experiments([one for one in found if call.key.experiment in {None, one.id}])

    async def create_experiment(self, call: Call) -> m.ExperimentView:
        """Make a draft."""
        return await run_in_threadpool(self.control.create, call.body)

    async def show_experiment(self, call: Call) -> m.ExperimentView:
        """Return one experiment, if this key may see it."""
        name = call.name("experiment")
        found = await run_in_threadpool(self.control.experiment, name)
        may_see(call.key, found.id, name)
        return found

    async def replace_experiment(self, call: Call) -> m.ExperimentView:
        """Change a draft."""
        return await run_in_threadpool(self.control.replace, call.name("experiment"), call.body)

    async def delete_experiment(self, call: Call) -> None:
        """Delete a draft."""
        await run_in_threadpool(self.control.delete, call.name("experiment"))

    def _changing(self, verb: str) -> Callable[[Call], Awaitable[m.ExperimentView]]:
        async def change(call: Call) -> m.ExperimentView:
            work: Callable[[str], m.ExperimentView] = getattr(self.control, verb)
            return await run_in_threadpool(work, call.name("experiment"))

        return change

    async def releases(self, call: Call) -> m.Releases:
        """Return an experiment's releases."""
        seen = await self.show_experiment(call)
        return m.Releases(await run_in_threadpool(self.control.releases, seen.id))

    async def epochs(self, call: Call) -> m.Epochs:
        """Return an experiment's epochs."""
        seen = await self.show_experiment(call)
        return m.Epochs(await run_in_threadpool(self.control.epochs, seen.id))

    async def plan(self, call: Call) -> m.PlanView:
        """Return the plan of an experiment's open epoch."""
        seen = await self.show_experiment(call)
        return await run_in_threadpool(self.control.open_plan, seen.id)

    async def totals(self, call: Call) -> None:
        """Close an epoch with totals from an event log."""
        seen = await self.show_experiment(call)
        await run_in_threadpool(self.control.close_with, seen.id, call.body.epoch, call.body.totals)
        if self.journal is not None:
            await run_in_threadpool(self.journal.catch_up, self.control.database)

    # ------------------------------------------------------------------ populations, keys, planning

    async def populations(self, call: Call) -> m.Populations:
        """Return all populations."""
        _for_all(call.key)
        return m.Populations(await run_in_threadpool(self.control.populations))

    async def create_population(self, call: Call) -> m.PopulationView:
        """Make a population."""
        return await run_in_threadpool(self.control.create_population, call.body)

    async def set_budget(self, call: Call) -> m.PopulationView:
        """Change a population's budget."""
        return await run_in_threadpool(self.control.set_budget, call.name("population"), call.body.budget)

    async def ledger(self, call: Call) -> m.Ledger:
        """Return a population's ledger."""
        _for_all(call.key)
        return await run_in_threadpool(self.control.ledger, call.name("population"))

    async def keys(self, _: Call) -> m.Keys:
        """Return all keys, without their secrets."""
        return m.Keys(await run_in_threadpool(self.control.keys))

    async def make_key(self, call: Call) -> m.MadeKey:
        """Make a key."""
        return await run_in_threadpool(self.control.make_key, call.body)

    async def revoke_key(self, call: Call) -> m.KeyView:
        """Revoke a key."""
        return await run_in_threadpool(self.control.revoke_key, call.name("key"))

    async def algorithms(self, _: Call) -> m.Algorithms:
        """Return the policies and rules that can be run."""
        return m.Algorithms(self.control.algorithms())

    async def planner(self, call: Call) -> m.ExperimentPlan:
        """Return the epochs that an experiment would take."""
        try:
            given = msgspec.convert(dict(call.request.query_params), m.PlannerRequest, strict=False)
        except msgspec.ValidationError as error:
            raise _badly_formed(error) from None
        return await run_in_threadpool(self.control.plan, given)

    # ------------------------------------------------------------------ machines

    async def health(self, _: Call) -> m.Health:
        """Answer, which shows that the process is alive."""
        return m.Health("ok")

    async def ready(self, _: Call) -> m.Health | Response:
        """Ask the database for the time, which shows that the process can serve."""
        try:
            await run_in_threadpool(self.control.now)
        except Exception as error:  # whatever it is, this process cannot serve now
            return answer(m.Health("unavailable", type(error).__name__), 503)
        return m.Health("ok")

    async def show_metrics(self, request: Request) -> Response:
        """Return counts of requests in Prometheus' format. They need an admin's key: even sums depend on rewards."""
        await self.authorizer.check(request)
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def show_document(self, _: Request) -> Response:
        """Return the OpenAPI document."""
        return Response(self._document, media_type="application/json")


def answer(message: Any, status: int = 200) -> Response:
    """Return a message as JSON.

    Args:
        message: The message.
        status: The status of the answer.
    """
    return Response(_ENCODER.encode(message), status, media_type="application/json")


async def read(request: Request, kind: type) -> Any:
    """Return the body of a request as a message.

    Args:
        request: The request.
        kind: The message's type.

    Raises:
        ServiceProblem: The body is too large, no JSON, or not of this type; it names the field at fault.
    """
    body = await request.body()
    if len(body) > MOST_BYTES:
        raise ServiceProblem(413, "too large", f"a request has at most {MOST_BYTES:,} bytes")
    try:
        return _DECODERS[kind].decode(body)
    except msgspec.ValidationError as error:
        raise _badly_formed(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServiceProblem(400, "not JSON", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise ServiceProblem(400, "not JSON", "the body is nested too deeply") from None


def _badly_formed(error: msgspec.ValidationError) -> ServiceProblem:
    said = str(error)
    field = said.partition(" - at `$.")[2].rstrip("`") or None
    return ServiceProblem(422, "invalid request", said, field)


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

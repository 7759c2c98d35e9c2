"""The HTTP API: each method does one operation of the table, with its key checked and its message read."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.service.experiments.assignments import Ask, Started, Tell, Writer
from discreet.service.experiments.control import Control
from discreet.service.experiments.journal import Journal
from discreet.service.http import messages as m
from discreet.service.http import tokens
from discreet.service.http.authorization import Access, may_see
from discreet.service.http.errors import ServiceProblem, conflict, invalid, not_found
from discreet.service.http.metrics import Metrics
from discreet.service.http.openapi import document
from discreet.service.http.operations import OPERATIONS, VERBS, Operation

Message = TypeVar("Message")
Endpoint = Callable[[Request], Awaitable[Response]]
MOST_BYTES = 4_000_000
_BUSY = {"assign", "reward", "rewards"}  # first in the list of routes, which is gone through for every request
NOBODY = m.KeyView("", "", [], None, 0.0, None, None)
_ENCODER = msgspec.json.Encoder()
_DECODERS: dict[type, Any] = {one.body: msgspec.json.Decoder(one.body) for one in OPERATIONS if one.body is not None}


class API:
    """The operations, with what they work on. Each gets the request, its key, and the message in its body."""

    def __init__(self, control: Control, writer: Writer, metrics: Metrics, journal: Journal | None = None) -> None:
        self.control, self.writer, self.metrics, self.journal = control, writer, metrics, journal
        self.access = Access(control)
        self._document = _ENCODER.encode(document())

    def routes(self) -> list[Route]:
        """All paths."""
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
            key = NOBODY if operation.scopes is None else await self.access.check(request, *operation.scopes)
            said = await work(request, key, *([] if operation.body is None else [await read(request, operation.body)]))
            if isinstance(said, Response):
                return said
            return Response(status_code=204) if operation.answer is None else answer(said, operation.status)

        return endpoint

    # ------------------------------------------------------------------ assign and report

    async def assign(self, request: Request, key: m.KeyView, wanted: m.AssignRequest) -> m.Assignments:
        """What units get."""
        started = await self._started(request.path_params["experiment"], key)
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

    async def reward(self, request: Request, key: m.KeyView, given: m.RewardRequest) -> m.Receipt:
        """One reward."""
        (told,) = await self._tells(key, [(request.path_params["assignment"], given.reward)])
        if told is None:
            raise not_found("such assignment")
        (status,) = await self.writer.do([told])
        return m.Receipt(status)

    async def rewards(self, _: Request, key: m.KeyView, batch: m.RewardBatch) -> m.Receipts:
        """Many rewards, each with its own fate."""
        told = await self._tells(key, [(one.assignment, one.reward) for one in batch.rewards])
        known = [one for one in told if one is not None]
        found = iter(await self.writer.do(known) if known else ())
        return m.Receipts(["unknown" if one is None else next(found) for one in told])

    async def _tells(self, key: m.KeyView, given: list[tuple[str, float]]) -> list[Tell | None]:
        """Rewards of tokens that we made, and that this key may report to; None for others."""
        places = [tokens.open_token(token) for token, _ in given]
        named = {place.experiment for place in places if place is not None}
        known = {number: await self._sealing(key, number) for number in named}
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

    async def _sealing(self, key: m.KeyView, number: int) -> Started | None:
        """The experiment of this number, which a token names; None if there is none that this key may report to."""
        try:
            return await self._started(number, key)
        except ServiceProblem:
            return None

    async def _started(self, name: str | int, key: m.KeyView) -> Started:
        """An experiment that has started; a key for another one does not learn that it is there, nor in what state."""
        known = self.control.cached(name)
        if known is None:
            known = await run_in_threadpool(self.control.started, name, key.experiment)
        may_see(key, known.uid, name)
        return known

    # ------------------------------------------------------------------ experiments

    async def list_experiments(self, _: Request, key: m.KeyView) -> m.Experiments:
        """All that this key may see."""
        found = await run_in_threadpool(self.control.experiments)
        return m.Experiments([one for one in found if key.experiment in {None, one.id}])

    async def create_experiment(self, _: Request, __: m.KeyView, new: m.NewExperiment) -> m.ExperimentView:
        """A new draft."""
        return await run_in_threadpool(self.control.create, new)

    async def show_experiment(self, request: Request, key: m.KeyView) -> m.ExperimentView:
        """One experiment, if this key may see it."""
        name = request.path_params["experiment"]
        found = await run_in_threadpool(self.control.experiment, name)
        may_see(key, found.id, name)
        return found

    async def replace_experiment(self, request: Request, _: m.KeyView, new: m.NewExperiment) -> m.ExperimentView:
        """Another draft in its place."""
        return await run_in_threadpool(self.control.replace, request.path_params["experiment"], new)

    async def delete_experiment(self, request: Request, _: m.KeyView) -> None:
        """No draft any more."""
        await run_in_threadpool(self.control.delete, request.path_params["experiment"])

    def _changing(self, verb: str) -> Callable[[Request, m.KeyView], Awaitable[m.ExperimentView]]:
        async def change(request: Request, _: m.KeyView) -> m.ExperimentView:
            work: Callable[[str], m.ExperimentView] = getattr(self.control, verb)
            return await run_in_threadpool(work, request.path_params["experiment"])

        return change

    async def releases(self, request: Request, key: m.KeyView) -> m.Releases:
        """All that was released."""
        seen = await self.show_experiment(request, key)
        return m.Releases(await run_in_threadpool(self.control.releases, seen.id))

    async def epochs(self, request: Request, key: m.KeyView) -> m.Epochs:
        """All epochs."""
        seen = await self.show_experiment(request, key)
        return m.Epochs(await run_in_threadpool(self.control.epochs, seen.id))

    async def plan(self, request: Request, key: m.KeyView) -> m.PlanView:
        """What the open epoch needs."""
        seen = await self.show_experiment(request, key)
        return await run_in_threadpool(self.control.open_plan, seen.id)

    async def totals(self, request: Request, key: m.KeyView, given: m.EpochTotals) -> None:
        """An epoch's totals from an event log."""
        seen = await self.show_experiment(request, key)
        await run_in_threadpool(self.control.close_with, seen.id, given.epoch, given.totals)
        if self.journal is not None:
            await run_in_threadpool(self.journal.catch_up, self.control.database)

    # ------------------------------------------------------------------ populations, keys, planning

    async def populations(self, _: Request, key: m.KeyView) -> m.Populations:
        """All populations."""
        _for_all(key)
        return m.Populations(await run_in_threadpool(self.control.populations))

    async def create_population(self, _: Request, __: m.KeyView, new: m.NewPopulation) -> m.PopulationView:
        """A new one."""
        return await run_in_threadpool(self.control.create_population, new)

    async def set_budget(self, request: Request, _: m.KeyView, new: m.NewBudget) -> m.PopulationView:
        """Another budget."""
        return await run_in_threadpool(self.control.set_budget, request.path_params["population"], new.budget)

    async def ledger(self, request: Request, key: m.KeyView) -> m.Ledger:
        """What a population has lost, line by line."""
        _for_all(key)
        return await run_in_threadpool(self.control.ledger, request.path_params["population"])

    async def keys(self, _: Request, __: m.KeyView) -> m.Keys:
        """All keys, without their secrets."""
        return m.Keys(await run_in_threadpool(self.control.keys))

    async def make_key(self, _: Request, __: m.KeyView, new: m.NewKey) -> m.MadeKey:
        """A new key."""
        return await run_in_threadpool(self.control.make_key, new)

    async def revoke_key(self, request: Request, _: m.KeyView) -> m.KeyView:
        """A key's end."""
        return await run_in_threadpool(self.control.revoke_key, request.path_params["key"])

    async def algorithms(self, _: Request, __: m.KeyView) -> m.Algorithms:
        """What can be run."""
        return m.Algorithms(self.control.algorithms())

    async def planner(self, request: Request, _: m.KeyView) -> m.ExperimentPlan:
        """How long it would take."""
        try:
            given = msgspec.convert(dict(request.query_params), m.PlannerRequest, strict=False)
        except msgspec.ValidationError as error:
            raise _badly_formed(error) from None
        return await run_in_threadpool(self.control.plan, given)

    # ------------------------------------------------------------------ machines

    async def health(self, _: Request, __: m.KeyView) -> m.Health:
        """Whether the process is there."""
        return m.Health("ok")

    async def ready(self, _: Request, __: m.KeyView) -> m.Health | Response:
        """Whether the database answers."""
        try:
            await run_in_threadpool(self.control.now)
        except Exception as error:  # whatever it is, this process cannot serve now
            return answer(m.Health("unavailable", type(error).__name__), 503)
        return m.Health("ok")

    async def show_metrics(self, request: Request) -> Response:
        """Counts of requests, in Prometheus' format, for who runs the service: even sums say something of rewards."""
        await self.access.check(request)
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def show_document(self, _: Request) -> Response:
        """The OpenAPI document."""
        return Response(self._document, media_type="application/json")


def answer(message: Any, status: int = 200) -> Response:
    """A message as JSON."""
    return Response(_ENCODER.encode(message), status, media_type="application/json")


async def read(request: Request, kind: type) -> Any:
    """The request's body as a message; what is wrong with it is said with the place where it is wrong."""
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
    place = said.partition(" - at `$.")[2].rstrip("`") or None
    return ServiceProblem(422, "invalid request", said, place)


def _for_all(key: m.KeyView) -> None:
    """A key for one experiment does not learn about others."""
    if key.experiment is not None:
        raise ServiceProblem(403, "forbidden", "this key is for one experiment")


def _by_method(methods: dict[str, Endpoint]) -> Endpoint:
    if len(methods) == 1:
        (only,) = methods.values()
        return only

    async def dispatch(request: Request) -> Response:
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return dispatch

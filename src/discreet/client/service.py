"""Operations on a whole service, for `Client` and `AsyncClient`."""

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from discreet.client.api import Call, Connection, checked, decimal, path
from discreet.client.logic import ClientLogic
from discreet.client.running import Runtime, operation
from discreet.service import messages

Handle = TypeVar("Handle")
Page = TypeVar("Page", messages.Experiments, messages.Ledger, messages.Keys, messages.Populations)
Transport = TypeVar("Transport")


class ServiceOperations(Generic[Transport, Handle]):
    """Operations of both clients, whose arguments are those of `Client`.

    Args:
        address: The URL of the service. By default the environment's DISCREET_ADDRESS.
        key: The API key. By default the environment's DISCREET_KEY.
        patience: Seconds to keep trying a call.
        timeout: Seconds for one attempt.
        batch: The most reports in a batch.
        delay: Seconds after which a batch that is not full is sent.
        room: The most reports that may be pending.
        when_full: "drop" or "wait".
        transport: A transport of httpx, for tests.
        clock: A monotonic clock in seconds, for tests.
    """

    _handle: Callable[..., Handle]
    _runtime: Callable[..., Runtime]
    logic: ClientLogic

    def __init__(
        self,
        address: str | None = None,
        key: str | None = None,
        *,
        patience: float = 10.0,
        timeout: float = 3.0,
        batch: int = 1000,
        delay: float = 1.0,
        room: int = 100_000,
        when_full: str = "drop",
        transport: Transport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = Connection.make(address, key)
        options = {**self._connection.options, "timeout": timeout}
        self._make_logic: Callable[[], ClientLogic] = lambda: ClientLogic(
            self._runtime(transport, **options), patience, timeout, batch, delay, room, when_full, clock
        )
        self._begin()

    def _begin(self) -> None:
        """Start with an empty outbox and new connections."""
        self.logic = self._make_logic()
        self.logic.outbox.on_queued = functools.partial(self.logic.runtime.wake, self._send_reports)

    async def _send_reports(self) -> None:
        """Send reports in the background. While this runs, the client is not forgotten."""
        await self.logic.send_reports()

    def experiment(self, name: str, *, fallback: str | None = None, default_reward: float | None = None) -> Handle:
        """Return a handle on an experiment. Nothing is sent.

        Args:
            name: The experiment's name or id.
            fallback: The arm that `assign` and trials return, without learning, if the service fails. By default they
                raise an error.
            default_reward: The reward that a trial without an event reports, which must be the experiment's own. By
                default the service is asked for it once, which needs a key with the scope "analyse".
        """
        return self._handle(self, name, fallback, default_reward)

    @property
    def pending(self) -> int:
        """Number of reports that are queued or being sent."""
        return self.logic.outbox.pending

    @property
    def lost(self) -> int:
        """Number of reports that will never arrive; they count as the default reward."""
        return self.logic.outbox.lost

    @operation
    async def close(self) -> None:
        """Send all reports, for up to `patience` seconds, and close the connection."""
        if not self.logic.outbox.closed:
            try:
                await self.logic.finish()
            finally:
                await self.logic.runtime.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.address!r})"

    @operation
    async def flush(self, patience: float | None = None) -> bool:
        """Send all pending reports; return False if some could not be sent within `patience` seconds (and are kept)."""
        return await self.logic.flush(patience)

    # ------------------------------------------------------------------ experiments

    @operation
    async def create(self, /, name: str, *, epsilon: str | float, **description: Any) -> messages.ExperimentView:
        """Create an experiment, as a draft.

        Args:
            name: The name: lower-case letters, digits and dashes.
            epsilon: The privacy parameter, a number or its decimal text.
            **description: More fields of `discreet.service.messages.NewExperiment`, such as `arms`.

        Raises:
            ArgumentError: If a field is unknown or wrong.
        """
        fields = {"name": name, "epsilon": decimal("epsilon", epsilon), **description}
        message = checked(messages.NewExperiment, fields)
        return await self.logic.ask(Call("POST", path("experiments"), messages.ExperimentView, message, once=True))

    @operation
    async def experiments(self, search: str = "", state: str = "") -> list[messages.ExperimentView]:
        """Return all experiments that the key may see, those that go on first. They are asked for page by page.

        Args:
            search: A part of the name or of the population's name. By default all.
            state: The state, such as "running". By default all.

        Raises:
            ArgumentError: If there is no such state.
        """
        query = {"search": search, "state": state}
        checked(messages.ExperimentsQuery, query)
        pages = await self._pages(Call("GET", path("experiments"), messages.Experiments, query=query))
        return [one for page in pages for one in page.experiments]

    @operation
    async def algorithms(self) -> list[messages.AlgorithmView]:
        """Return all policies and rules that the service can run."""
        return (await self.logic.ask(Call("GET", path("algorithms"), messages.Algorithms))).algorithms

    @operation
    async def planner(self, /, **question: Any) -> messages.ExperimentPlan:
        """Return the number of assignments that an experiment needs.

        `planner(arms=4, epsilon=1, base_rate=0.03, lift=0.2)` simulates it; `planner(arms=4, epsilon=1, gap=0.02)` has
        the worst case alone.
        """
        query = {name: str(value) for name, value in question.items() if value is not None}
        return await self.logic.ask(Call("GET", path("planner"), messages.ExperimentPlan, query=query))

    # ------------------------------------------------------------------ populations and keys

    @operation
    async def populations(self) -> list[messages.PopulationView]:
        """Return all populations with their remaining budgets. They are asked for page by page."""
        pages = await self._pages(Call("GET", path("populations"), messages.Populations))
        return [one for page in pages for one in page.populations]

    @operation
    async def create_population(self, name: str, budget: str | float) -> messages.PopulationView:
        """Create a population, a group of people with a privacy budget.

        Args:
            name: The name: lower-case letters, digits and dashes.
            budget: The most epsilon that all experiments together may spend on one person.
        """
        message = checked(messages.NewPopulation, {"name": name, "budget": decimal("budget", budget)})
        return await self.logic.ask(Call("POST", path("populations"), messages.PopulationView, message, once=True))

    @operation
    async def set_budget(self, population: str, budget: str | float) -> messages.PopulationView:
        """Change the budget of a population.

        Args:
            population: The population's name.
            budget: The new budget. It must cover what is reserved already.
        """
        message = checked(messages.NewBudget, {"budget": decimal("budget", budget)})
        return await self.logic.ask(Call("PUT", path("populations", population), messages.PopulationView, message))

    @operation
    async def population_report(self, population: str = "everybody", delta: float = 1e-6) -> messages.PopulationReport:
        """Return what all experiments on a population may cost one of its people: the sum, and less at a delta.

        Args:
            population: The population's name.
            delta: The delta.

        Raises:
            ArgumentError: If delta does not lie between 0 and 1.
        """
        checked(messages.PopulationReportQuery, {"delta": delta})
        where = path("populations", population, "report")
        return await self.logic.ask(Call("GET", where, messages.PopulationReport, query={"delta": str(delta)}))

    @operation
    async def ledger(self, population: str = "everybody", *, verify: bool = False) -> messages.Ledger:
        """Return all charges to a population's budget. They are asked for page by page.

        Args:
            population: The population's name.
            verify: True to have the whole ledger checked now. By default `intact` is what the last check found.
        """
        query = {"verify": "true"} if verify else {}
        where = path("populations", population, "ledger")
        first, *pages = await self._pages(Call("GET", where, messages.Ledger, query=query))
        first.entries += [line for page in pages for line in page.entries]
        first.next = None
        return first

    @operation
    async def keys(self) -> list[messages.KeyView]:
        """Return all keys, without their secrets, the newest first. They are asked for page by page."""
        pages = await self._pages(Call("GET", path("keys"), messages.Keys))
        return [key for page in pages for key in page.keys]

    async def _pages(self, call: Call[Page]) -> list[Page]:
        """Return all pages of a list."""
        pages: list[Page] = []
        query = {**call.query, "limit": str(messages.MOST_LISTED)}
        while True:
            page = await self.logic.ask(replace(call, query=query))
            pages.append(page)
            if page.next is None:
                return pages
            query = {**query, "after": str(page.next)}
            query.pop("verify", None)  # once is enough

    @operation
    async def create_key(
        self, name: str, scopes: Sequence[str], experiment: str | None = None, expires_in: float | None = None
    ) -> messages.MadeKey:
        """Create a key. Its secret is in `.key` of the answer and cannot be read later.

        Args:
            name: The key's name.
            scopes: The permissions: "assign", "report", "analyse", "admin".
            experiment: The only experiment that the key may use. By default all.
            expires_in: The seconds for which the key is valid. By default for ever.
        """
        fields = {"name": name, "scopes": list(scopes), "experiment": experiment, "expires_in": expires_in}
        message = checked(messages.NewKey, fields)
        return await self.logic.ask(Call("POST", path("keys"), messages.MadeKey, message, once=True))

    @operation
    async def revoke_key(self, id: str) -> messages.KeyView:  # noqa: A002  (what the service calls it)
        """Revoke a key."""
        return await self.logic.ask(Call("DELETE", path("keys", id), messages.KeyView))

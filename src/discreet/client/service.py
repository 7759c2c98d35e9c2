"""Everything that can be done with a whole service, as steps; `Client` and `AsyncClient` run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.client.calls import Call, checked, decimal, path
from discreet.client.effects import Steps
from discreet.client.logic import Core
from discreet.client.operation import operation
from discreet.service.http.messages import (
    Algorithms,
    AlgorithmView,
    ExperimentPlan,
    Experiments,
    ExperimentView,
    Keys,
    KeyView,
    Ledger,
    MadeKey,
    NewBudget,
    NewExperiment,
    NewKey,
    NewPopulation,
    Populations,
    PopulationView,
)


class ServiceOperations:
    """What a client can do besides handing out experiments."""

    _core: Core

    @operation
    def flush(self, patience: float | None = None) -> Steps[bool]:
        """Send every report that waits; False if some could not be sent in time. They are kept."""
        return (yield from self._core.flush(patience))

    # ------------------------------------------------------------------ experiments

    @operation
    def create(self, /, name: str, *, epsilon: str | float, **description: Any) -> Steps[ExperimentView]:
        """Describe a new experiment, as a draft: its fields are those of `NewExperiment`."""
        fields = {"name": name, "epsilon": decimal("epsilon", epsilon), **description}
        message = checked(NewExperiment, fields)
        return (yield from self._core.ask(Call("POST", path("experiments"), ExperimentView, message, repeatable=False)))

    @operation
    def experiments(self) -> Steps[list[ExperimentView]]:
        """All experiments that the key may see."""
        return (yield from self._core.ask(Call("GET", path("experiments"), Experiments))).experiments

    @operation
    def algorithms(self) -> Steps[list[AlgorithmView]]:
        """Every policy and rule that the service can run."""
        return (yield from self._core.ask(Call("GET", path("algorithms"), Algorithms))).algorithms

    @operation
    def planner(self, /, **question: Any) -> Steps[ExperimentPlan]:
        """How many assignments an experiment will take, such as `planner(arms=4, epsilon=1, gap=0.02)`."""
        query = {name: str(value) for name, value in question.items() if value is not None}
        return (yield from self._core.ask(Call("GET", path("planner"), ExperimentPlan, query=query)))

    # ------------------------------------------------------------------ populations and keys

    @operation
    def populations(self) -> Steps[list[PopulationView]]:
        """All populations, and what is left of their budgets."""
        return (yield from self._core.ask(Call("GET", path("populations"), Populations))).populations

    @operation
    def create_population(self, name: str, budget: str | float) -> Steps[PopulationView]:
        """Name a group of people, and what all experiments together may cost one of them."""
        message = checked(NewPopulation, {"name": name, "budget": decimal("budget", budget)})
        return (yield from self._core.ask(Call("POST", path("populations"), PopulationView, message, repeatable=False)))

    @operation
    def set_budget(self, population: str, budget: str | float) -> Steps[PopulationView]:
        """Change what all experiments together may cost one of these people: never to less than is set aside."""
        message = checked(NewBudget, {"budget": decimal("budget", budget)})
        return (yield from self._core.ask(Call("PUT", path("populations", population), PopulationView, message)))

    @operation
    def ledger(self, population: str = "everybody") -> Steps[Ledger]:
        """Everything that was ever charged to a population."""
        return (yield from self._core.ask(Call("GET", path("populations", population, "ledger"), Ledger)))

    @operation
    def keys(self) -> Steps[list[KeyView]]:
        """All keys, without their secrets."""
        return (yield from self._core.ask(Call("GET", path("keys"), Keys))).keys

    @operation
    def create_key(
        self, name: str, scopes: Sequence[str], experiment: str | None = None, expires_in: float | None = None
    ) -> Steps[MadeKey]:
        """Make a key; `.key` of the answer is the only time that its secret is seen."""
        fields = {"name": name, "scopes": list(scopes), "experiment": experiment, "expires_in": expires_in}
        message = checked(NewKey, fields)
        return (yield from self._core.ask(Call("POST", path("keys"), MadeKey, message, repeatable=False)))

    @operation
    def revoke_key(self, id: str) -> Steps[KeyView]:  # noqa: A002  (what the service calls it)
        """Make a key useless from now on."""
        return (yield from self._core.ask(Call("DELETE", path("keys", id), KeyView)))

"""Operations on a whole service, for `Client` and `AsyncClient`."""

from collections.abc import Sequence
from typing import Any

from discreet.client.api import Call, checked, decimal, path
from discreet.client.effects import Effects, operation
from discreet.client.logic import ClientLogic
from discreet.service.messages import (
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
    """Operations of both clients."""

    logic: ClientLogic

    @operation
    def flush(self, patience: float | None = None) -> Effects[bool]:
        """Send all pending reports; return False if some could not be sent within `patience` seconds (and are kept)."""
        return (yield from self.logic.flush(patience))

    # ------------------------------------------------------------------ experiments

    @operation
    def create(self, /, name: str, *, epsilon: str | float, **description: Any) -> Effects[ExperimentView]:
        """Create an experiment, as a draft.

        Args:
            name: The name: lower-case letters, digits and dashes.
            epsilon: The privacy parameter, a number or its decimal text.
            **description: More fields of `discreet.service.messages.NewExperiment`, such as `arms`.

        Raises:
            ArgumentError: If a field is unknown or wrong.
        """
        fields = {"name": name, "epsilon": decimal("epsilon", epsilon), **description}
        message = checked(NewExperiment, fields)
        return (yield from self.logic.ask(Call("POST", path("experiments"), ExperimentView, message, repeatable=False)))

    @operation
    def experiments(self) -> Effects[list[ExperimentView]]:
        """Return all experiments that the key may see."""
        return (yield from self.logic.ask(Call("GET", path("experiments"), Experiments))).experiments

    @operation
    def algorithms(self) -> Effects[list[AlgorithmView]]:
        """Return all policies and rules that the service can run."""
        return (yield from self.logic.ask(Call("GET", path("algorithms"), Algorithms))).algorithms

    @operation
    def planner(self, /, **question: Any) -> Effects[ExperimentPlan]:
        """Return the number of assignments that an experiment needs: `planner(arms=4, epsilon=1, gap=0.02)`."""
        query = {name: str(value) for name, value in question.items() if value is not None}
        return (yield from self.logic.ask(Call("GET", path("planner"), ExperimentPlan, query=query)))

    # ------------------------------------------------------------------ populations and keys

    @operation
    def populations(self) -> Effects[list[PopulationView]]:
        """Return all populations with their remaining budgets."""
        return (yield from self.logic.ask(Call("GET", path("populations"), Populations))).populations

    @operation
    def create_population(self, name: str, budget: str | float) -> Effects[PopulationView]:
        """Create a population, a group of people with a privacy budget.

        Args:
            name: The name: lower-case letters, digits and dashes.
            budget: The most epsilon that all experiments together may spend on one person.
        """
        message = checked(NewPopulation, {"name": name, "budget": decimal("budget", budget)})
        return (yield from self.logic.ask(Call("POST", path("populations"), PopulationView, message, repeatable=False)))

    @operation
    def set_budget(self, population: str, budget: str | float) -> Effects[PopulationView]:
        """Change the budget of a population.

        Args:
            population: The population's name.
            budget: The new budget. It must cover what is reserved already.
        """
        message = checked(NewBudget, {"budget": decimal("budget", budget)})
        return (yield from self.logic.ask(Call("PUT", path("populations", population), PopulationView, message)))

    @operation
    def ledger(self, population: str = "everybody") -> Effects[Ledger]:
        """Return all charges to a population's budget."""
        return (yield from self.logic.ask(Call("GET", path("populations", population, "ledger"), Ledger)))

    @operation
    def keys(self) -> Effects[list[KeyView]]:
        """Return all keys, without their secrets."""
        return (yield from self.logic.ask(Call("GET", path("keys"), Keys))).keys

    @operation
    def create_key(
        self, name: str, scopes: Sequence[str], experiment: str | None = None, expires_in: float | None = None
    ) -> Effects[MadeKey]:
        """Create a key. Its secret is in `.key` of the answer and cannot be read later.

        Args:
            name: The key's name.
            scopes: The permissions: "assign", "report", "analyse", "admin".
            experiment: The only experiment that the key may use. By default all.
            expires_in: The seconds for which the key is valid. By default for ever.
        """
        fields = {"name": name, "scopes": list(scopes), "experiment": experiment, "expires_in": expires_in}
        message = checked(NewKey, fields)
        return (yield from self.logic.ask(Call("POST", path("keys"), MadeKey, message, repeatable=False)))

    @operation
    def revoke_key(self, id: str) -> Effects[KeyView]:  # noqa: A002  (what the service calls it)
        """Revoke a key."""
        return (yield from self.logic.ask(Call("DELETE", path("keys", id), KeyView)))

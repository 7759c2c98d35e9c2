"""What the dashboard asks of the service: the only door between the two.

Nothing behind these methods returns a reward, a count of responses or an exact sum, so no page can show one.
"""

from __future__ import annotations

from typing import Protocol

from discreet.service.http.messages import (
    AlgorithmView,
    EpochView,
    ExperimentPlan,
    ExperimentView,
    KeyView,
    Ledger,
    MadeKey,
    NewExperiment,
    NewKey,
    NewPopulation,
    PopulationView,
    PrivacyUnit,
)


class Control(Protocol):
    """The service's control of experiments, budgets and keys.

    The methods block and may be called from any thread. They raise `ServiceProblem` on bad input.
    """

    @property
    def session_secret(self) -> bytes:
        """What sessions are signed with: 32 bytes, the same in all workers."""

    def now(self) -> float:
        """The database's clock, in seconds since 1970."""

    def experiments(self) -> list[ExperimentView]:
        """All of them."""

    def experiment(self, identity: str, /) -> ExperimentView:
        """One of them."""

    def epochs(self, identity: str, /) -> list[EpochView]:
        """Its epochs, oldest first."""

    def create(self, new: NewExperiment, /) -> ExperimentView:
        """A draft."""

    def replace(self, identity: str, new: NewExperiment, /) -> ExperimentView:
        """The same draft with another description."""

    def delete(self, identity: str, /) -> object:
        """Throw a draft away."""

    def start(self, identity: str, /) -> ExperimentView:
        """Charge the budget and open the first epoch."""

    def pause(self, identity: str, /) -> ExperimentView:
        """Assign nobody for a while."""

    def resume(self, identity: str, /) -> ExperimentView:
        """Go on."""

    def stop(self, identity: str, /) -> ExperimentView:
        """End it for good."""

    def archive(self, identity: str, /) -> ExperimentView:
        """Put a stopped one away."""

    def populations(self) -> list[PopulationView]:
        """All of them, with what is left of their budgets."""

    def ledger(self, population: str, /) -> Ledger:
        """Every charge to a population."""

    def create_population(self, new: NewPopulation, /) -> PopulationView:
        """A new one with a budget."""

    def keys(self) -> list[KeyView]:
        """All keys, without their secrets."""

    def key(self, identity: str, /) -> KeyView | None:
        """A key by its id."""

    def make_key(self, new: NewKey, /) -> MadeKey:
        """A new key, with its secret."""

    def revoke_key(self, identity: str, /) -> KeyView:
        """Make a key useless."""

    def authenticate(self, key: str, /) -> KeyView | None:
        """Whose secret this is; nobody's if it is unknown, expired or revoked."""

    def algorithms(self) -> list[AlgorithmView]:
        """What can be run."""

    def plan(
        self,
        arms: int,
        epsilon: str,
        beta: float,
        gap: float,
        *,
        policy: str | None = None,
        per_hour: float | None = None,
        window: float = 0,
        privacy_unit: PrivacyUnit = "person",
    ) -> ExperimentPlan:
        """How many assignments it takes to resolve a gap, and how long."""

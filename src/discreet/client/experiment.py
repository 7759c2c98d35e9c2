"""Everything that can be done with one experiment, as steps; `Experiment` and `AsyncExperiment` run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.client.calls import TROUBLE, Call, path
from discreet.client.effects import Pause, Steps, Work
from discreet.client.logic import Core, finite, unit_name, without_service
from discreet.client.operation import operation
from discreet.client.service import ServiceOperations
from discreet.core.errors import ArgumentError, ServiceError, UnreachableError
from discreet.service.http.messages import (
    MOST_UNITS,
    Assignment,
    Assignments,
    AssignRequest,
    Epochs,
    EpochTotals,
    EpochView,
    ExperimentView,
    PlanView,
    Releases,
    ReleaseView,
)

if TYPE_CHECKING:
    from discreet.logs import Columns, Engine, LogTotals

T = TypeVar("T")


class Trial:
    """One unit, what it is shown, and the reward that will be reported for it in any case."""

    def __init__(self, assignment: Assignment, default: float) -> None:
        self.assignment = assignment
        self._reward = default

    @property
    def arm(self) -> str | None:
        """What to show."""
        return self.assignment.arm

    @property
    def reward(self) -> float:
        """What will be reported: the experiment's default, until it is set."""
        return self._reward

    @reward.setter
    def reward(self, value: Any) -> None:
        self._reward = finite(value)

    def __repr__(self) -> str:
        return f"Trial(arm={self.arm!r})"  # and not its reward


class ExperimentOperations:
    """What an experiment's handle can do.

    With a `fallback`, `assign` and trials never raise what the service did wrong: they give that arm, and it does not
    learn. `default_reward` is what a trial without an event reports, and must be the experiment's own; if it is not
    given, the service is asked for it once, which takes a key with the scope `analyse`.
    """

    def __init__(
        self, client: ServiceOperations, name: str, fallback: str | None, default_reward: float | None
    ) -> None:
        self._client = client
        self.name = name
        self.fallback = fallback
        self._default = None if default_reward is None else finite(default_reward)

    @property
    def _core(self) -> Core:
        return self._client._core  # the client's of today: a forked process has its own

    # ------------------------------------------------------------------ assign and report

    def _assign_one(self, unit: str) -> Steps[Assignment]:
        [assignment] = yield from self._assign_many([unit])
        return assignment

    def _assign_many(self, units: Sequence[str]) -> Steps[list[Assignment]]:
        names = [unit_name(unit) for unit in units]
        steps = self._core.assign(self.name, names)
        if self.fallback is None:
            return (yield from steps)
        return (yield from self._core.shielded(steps, [without_service(name, self.fallback) for name in names]))

    @operation
    def assign_nameless(self, count: int) -> Steps[list[Assignment]]:
        """Assign so many units that have no name: for event-level privacy, where nobody comes back."""
        found: list[Assignment] = []
        while len(found) < count:
            request = AssignRequest(count=min(MOST_UNITS, count - len(found)))
            call = Call("POST", self._path("assignments"), Assignments, request, repeatable=False)
            found += (yield from self._core.ask(call)).assignments
        return found

    @operation
    def report(self, assignment: Assignment | str | None, reward: Any) -> Steps[bool]:
        """Queue the reward of an assignment; a background batch takes it to the service. The first one stands.

        Gives whether it is on its way: not for an assignment that does not learn, for text that cannot be one, or when
        there is no room.
        """
        return (yield from self._core.report(assignment, reward))

    def _begin(self, unit: str) -> Steps[Trial]:
        if self.fallback is None:
            return (yield from self._try(unit))
        instead = Trial(without_service(unit_name(unit), self.fallback), self._default or 0.0)
        return (yield from self._core.shielded(self._try(unit), instead))

    def _try(self, unit: str) -> Steps[Trial]:
        if self._default is None:
            # Asked for before the unit is assigned: afterwards it would be too late to do without.
            self._default = yield from self._default_reward()
        [assignment] = yield from self._core.assign(self.name, [unit_name(unit)])
        return Trial(assignment, self._default)

    def _default_reward(self) -> Steps[float]:
        try:
            return (yield from self._core.ask(self._view())).default_reward
        except ServiceError as error:
            if error.status == 403:
                raise ServiceError(
                    f"this key cannot read experiment {self.name!r}, so give its default_reward to client.experiment",
                    status=error.status,
                ) from None
            raise

    def _end(self, trial: Trial) -> Steps[bool]:
        return (yield from self._core.report(trial.assignment, trial.reward))

    # ------------------------------------------------------------------ look

    @operation
    def view(self) -> Steps[ExperimentView]:
        """The experiment: its state, its promise, and what was released about each arm."""
        return (yield from self._core.ask(self._view()))

    @operation
    def releases(self) -> Steps[list[ReleaseView]]:
        """Every noisy total that left the private side, oldest first."""
        return (yield from self._core.ask(Call("GET", self._path("releases"), Releases))).releases

    @operation
    def epochs(self) -> Steps[list[EpochView]]:
        """All epochs, oldest first."""
        return (yield from self._core.ask(Call("GET", self._path("epochs"), Epochs))).epochs

    @operation
    def plan(self) -> Steps[PlanView]:
        """What the open epoch needs: how many contributions of each arm, on which grid."""
        return (yield from self._core.ask(Call("GET", self._path("plan"), PlanView)))

    @operation
    def wait_until_settled(self, timeout: float = 3600.0, every: float = 2.0) -> Steps[ExperimentView]:
        """Look every so many seconds until nothing is left to find out, the experiment ends, or the time is up."""
        end = self._core.clock() + timeout
        while True:
            view = yield from self._core.ask(self._view())
            if view.settled or view.state in ("stopped", "archived") or self._core.clock() + every > end:
                return view
            yield Pause(every)

    # ------------------------------------------------------------------ run

    @operation
    def start(self) -> Steps[ExperimentView]:
        """Start it: from here on it cannot be changed, and its epsilon is charged to its population."""
        return (yield from self._do("start"))

    @operation
    def pause(self) -> Steps[ExperimentView]:
        """Assign without learning for a while."""
        return (yield from self._do("pause"))

    @operation
    def resume(self) -> Steps[ExperimentView]:
        """Learn again."""
        return (yield from self._do("resume"))

    @operation
    def stop(self) -> Steps[ExperimentView]:
        """End it for good."""
        return (yield from self._do("stop"))

    @operation
    def archive(self) -> Steps[ExperimentView]:
        """Put it away."""
        return (yield from self._do("archive"))

    @operation
    def delete(self) -> Steps[None]:
        """Delete a draft."""
        yield from self._core.ask(Call("DELETE", self._path(), type(None)))

    # ------------------------------------------------------------------ from an event log

    @operation
    def close_with(self, totals: EpochTotals) -> Steps[None]:
        """Hand in the exact totals of the open epoch. The service adds the noise and releases them."""
        yield from self._hand_in(totals)

    @operation
    def close_from_log(
        self,
        log: Any,
        *,
        epoch: int = 1,
        after: Any = None,
        before: Any = None,
        columns: Columns | None = None,
        engine: Engine = "duckdb",
    ) -> Steps[LogTotals]:
        """Fill the open epoch from an event log: ask for the plan, aggregate the log here, and hand in the totals.

        What is given back has `epoch` and `until`: keep both. The next call is for `epoch + 1`, `after=until`. One for
        an epoch that is not open is refused, so that nothing is used twice by mistake. See `discreet.logs`.
        """
        from discreet.logs import epoch_totals  # noqa: PLC0415  (an extra of its own)

        view = yield from self._core.ask(self._view())
        plan = yield from self._core.ask(Call("GET", self._path("plan"), PlanView))
        if plan.epoch != epoch:
            raise ArgumentError(f"epoch must be the open one, {plan.epoch}, with the `until` before it, got {epoch!r}")

        def aggregate() -> LogTotals:
            return epoch_totals(
                log,
                plan,
                columns=columns,
                after=after,
                before=before,
                default_reward=view.default_reward,
                contribution=view.privacy.contribution,
                engine=engine,
            )

        found: LogTotals = yield Work(aggregate)
        try:
            yield from self._hand_in(found.message)
        except ServiceError as error:
            error.add_note(
                f"epoch {epoch} would have used the log until {found.until!r}. If epochs() shows it closed, go on from "
                f"there with epoch={epoch + 1}; if it is open, hand the same in again"
            )
            raise
        return found

    def _hand_in(self, totals: EpochTotals) -> Steps[None]:
        try:
            yield from self._core.ask(self._totals(totals))
        except ServiceError as error:
            if not isinstance(error, UnreachableError) and error.status not in TROUBLE:
                raise
            # It may have arrived. An epoch is closed once, so it shows.
            epochs = (yield from self._core.ask(Call("GET", self._path("epochs"), Epochs))).epochs
            if not any(one.number == totals.epoch and one.state == "closed" for one in epochs):
                raise error from None

    # ------------------------------------------------------------------ calls

    def _path(self, *parts: str) -> str:
        return path("experiments", self.name, *parts)

    def _view(self) -> Call[ExperimentView]:
        return Call("GET", self._path(), ExperimentView)

    def _do(self, verb: str) -> Steps[ExperimentView]:
        return self._core.ask(Call("POST", self._path(verb), ExperimentView, repeatable=False))

    def _totals(self, totals: EpochTotals) -> Call[None]:
        return Call("POST", self._path("totals"), type(None), totals, repeatable=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

"""Operations on one experiment, for `Experiment` and `AsyncExperiment`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.client.api import TROUBLE, Call, checked, path
from discreet.client.logic import ClientLogic, fallback_assignment, finite, unit_name
from discreet.client.running import operation
from discreet.client.service import ServiceOperations
from discreet.core.errors import ArgumentError, ServiceError, UnreachableError
from discreet.service import messages
from discreet.service.messages import Assignment, EpochTotals, ExperimentView, PlanView

if TYPE_CHECKING:
    from discreet.logs import Columns, LogTotals


class Trial:
    """One assigned unit, and the reward that will be reported for it.

    Args:
        assignment: The unit's assignment.
        default: The reward that is reported if none is set.
    """

    def __init__(self, assignment: Assignment, default: float) -> None:
        self.assignment = assignment
        self._reward = default

    @property
    def arm(self) -> str | None:
        """The arm to show."""
        return self.assignment.arm

    @property
    def reward(self) -> float:
        """The reward that will be reported: the experiment's default until it is set."""
        return self._reward

    @reward.setter
    def reward(self, value: Any) -> None:
        self._reward = finite(value)

    def __repr__(self) -> str:
        return f"Trial(arm={self.arm!r})"  # never the reward


class ExperimentOperations:
    """Operations of both handles on an experiment.

    Args:
        client: The client.
        name: The experiment's name or id.
        fallback: The arm that `assign` and trials return, without learning, if the service fails. By default they
            raise an error.
        default_reward: The reward that a trial without an event reports, which must be the experiment's own. By
            default the service is asked for it once, which needs a key with the scope "analyse".
    """

    def __init__(
        self, client: ServiceOperations[Any, Any], name: str, fallback: str | None, default_reward: float | None
    ) -> None:
        self._client = client
        self.name = name
        self.fallback = fallback
        self._default = None if default_reward is None else finite(default_reward)

    @property
    def _logic(self) -> ClientLogic:
        return self._client.logic  # looked up each time: a forked process has its own

    # ------------------------------------------------------------------ assign and report

    async def _assign(self, unit: str | Sequence[str]) -> Assignment | list[Assignment]:
        names = [unit_name(one) for one in ([unit] if isinstance(unit, str) else unit)]
        instead = None if self.fallback is None else [fallback_assignment(name, self.fallback) for name in names]
        assigned = await self._logic.with_fallback(lambda: self._logic.assign(self.name, names), instead)
        return assigned[0] if isinstance(unit, str) else assigned

    @operation
    async def assign_nameless(self, count: int) -> list[Assignment]:
        """Return assignments of `count` units without names, for event-level privacy."""
        found: list[Assignment] = []
        while len(found) < count:
            request = messages.AssignRequest(count=min(messages.MOST_UNITS, count - len(found)))
            call = Call("POST", self._path("assignments"), messages.Assignments, request, once=True)
            found += (await self._logic.ask(call)).assignments
        return found

    @operation
    async def report(self, assignment: Assignment | str | None, reward: Any) -> bool:
        """Queue the reward of an assignment, to be sent in the background. The first reward stands.

        Args:
            assignment: The assignment, or its token.
            reward: A finite number.

        Returns:
            True if it is queued; False if the assignment does not learn, its token is malformed, or the outbox is full.
        """
        return await self._logic.report(assignment, reward)

    async def _begin(self, unit: str) -> Trial:
        instead = None
        if self.fallback is not None:
            instead = Trial(fallback_assignment(unit_name(unit), self.fallback), self._default or 0.0)
        return await self._logic.with_fallback(lambda: self._try(unit), instead)

    async def _try(self, unit: str) -> Trial:
        if self._default is None:
            # Before the unit is assigned: if this fails, no assignment is left without a report.
            self._default = await self._default_reward()
        [assignment] = await self._logic.assign(self.name, [unit_name(unit)])
        return Trial(assignment, self._default)

    async def _default_reward(self) -> float:
        try:
            return (await self._logic.ask(self._view())).default_reward
        except ServiceError as error:
            if error.status == 403:
                raise ServiceError(
                    f"this key cannot read experiment {self.name!r}, so give its default_reward to client.experiment",
                    status=error.status,
                ) from None
            raise

    async def _end(self, trial: Trial) -> bool:
        return await self._logic.report(trial.assignment, trial.reward)

    # ------------------------------------------------------------------ read

    @operation
    async def view(self) -> ExperimentView:
        """Return the experiment: its state, its privacy, and the releases of each arm."""
        return await self._logic.ask(self._view())

    @operation
    async def releases(self) -> list[messages.ReleaseView]:
        """Return all releases, oldest first."""
        return (await self._logic.ask(Call("GET", self._path("releases"), messages.Releases))).releases

    @operation
    async def epochs(self) -> list[messages.EpochView]:
        """Return all epochs, oldest first."""
        return (await self._logic.ask(Call("GET", self._path("epochs"), messages.Epochs))).epochs

    @operation
    async def summary(
        self, control: str = "", level: float = 0.95, *, drifting: bool | None = None
    ) -> messages.Summary:
        """Return lifts against a control with intervals that hold at every look, and which arms may be the best.

        It follows from what was released and costs no epsilon: look as often as you like, and stop when you like.

        Args:
            control: The arm that others are compared with. By default the experiment's.
            level: The confidence of each statement, at all looks together.
            drifting: True for statements that hold if means change during the experiment. By default as it says.

        Raises:
            ArgumentError: If the level does not lie between 0.5 and 0.9999.
        """
        query = {"control": control, "level": level} | ({} if drifting is None else {"drifting": drifting})
        checked(messages.SummaryQuery, query)
        sent = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
        return await self._logic.ask(Call("GET", self._path("summary"), messages.Summary, query=sent))

    @operation
    async def privacy_report(self) -> messages.PrivacyReport:
        """Return the privacy report: what was released, about whom, at what price, with which proof."""
        return await self._logic.ask(Call("GET", self._path("report"), messages.PrivacyReport))

    @operation
    async def plan(self) -> PlanView:
        """Return the plan of the open epoch: the contributions of each arm, and the grid."""
        return await self._logic.ask(Call("GET", self._path("plan"), PlanView))

    @operation
    async def wait_until_settled(self, timeout: float = 3600.0, every: float = 2.0) -> ExperimentView:
        """Poll the experiment until it is settled or ended, or the time is up, and return it.

        Args:
            timeout: The most seconds to wait.
            every: The seconds between two requests.
        """
        end = self._logic.clock() + timeout
        while True:
            view = await self._logic.ask(self._view())
            if view.settled or view.state in ("stopped", "archived") or self._logic.clock() + every > end:
                return view
            await self._logic.runtime.pause(every)

    # ------------------------------------------------------------------ run

    @operation
    async def start(self) -> ExperimentView:
        """Start the experiment and charge its epsilon to its population. It cannot be changed afterwards."""
        return await self._do("start")

    @operation
    async def begin_test(self) -> messages.TestReport:
        """Put the draft into test mode, for a day or 1,000 units, which are not protected. It costs no epsilon."""
        return await self._logic.ask(Call("POST", self._path("test"), messages.TestReport, once=True))

    @operation
    async def test_report(self) -> messages.TestReport:
        """Return every assignment and reward that was sent in test mode, and what is wrong with them."""
        return await self._logic.ask(Call("GET", self._path("test"), messages.TestReport))

    @operation
    async def end_test(self) -> None:
        """End test mode, and throw away what was sent."""
        await self._logic.ask(Call("DELETE", self._path("test"), type(None)))

    @operation
    async def pause(self) -> ExperimentView:
        """Pause the experiment: units are assigned without learning."""
        return await self._do("pause")

    @operation
    async def resume(self) -> ExperimentView:
        """Resume a paused experiment."""
        return await self._do("resume")

    @operation
    async def stop(self) -> ExperimentView:
        """End the experiment for good."""
        return await self._do("stop")

    @operation
    async def archive(self) -> ExperimentView:
        """Archive the experiment."""
        return await self._do("archive")

    @operation
    async def delete(self) -> None:
        """Delete a draft."""
        await self._logic.ask(Call("DELETE", self._path(), type(None)))

    # ------------------------------------------------------------------ from an event log

    @operation
    async def close_with(self, totals: EpochTotals) -> None:
        """Close the open epoch with exact totals. The service adds noise and releases them."""
        await self._hand_in(totals)

    @operation
    async def close_from_log(
        self,
        log: Any,
        *,
        epoch: int = 1,
        after: Any = None,
        before: Any = None,
        columns: Columns | None = None,
    ) -> LogTotals:
        """Close the open epoch with totals of an event log, which is aggregated here. See `discreet.logs`.

        Args:
            log: A Parquet or CSV file, an Arrow table, or a data frame.
            epoch: The epoch to close, which must be the open one: so no contribution is used twice by mistake.
            after: The `until` of the previous epoch.
            before: The time from which on contributions are too young to be used.
            columns: The names of the log's columns.

        Returns:
            The totals. Keep `epoch` and `until`: the next call is for `epoch + 1` with `after=until`.

        Raises:
            ArgumentError: If `epoch` is not the open one, or an arm has too few contributions.
        """
        from discreet.logs import epoch_totals  # noqa: PLC0415  (an extra of its own)

        view = await self._logic.ask(self._view())
        plan = await self._logic.ask(Call("GET", self._path("plan"), PlanView))
        if plan.epoch != epoch:
            raise ArgumentError(f"epoch must be the open one, {plan.epoch}, with the `until` before it, got {epoch!r}")
        aggregate = functools.partial(epoch_totals, log, plan, columns=columns, after=after, before=before)
        reward, contribution = view.default_reward, view.privacy.contribution
        found = await self._logic.runtime.work(lambda: aggregate(default_reward=reward, contribution=contribution))
        try:
            await self._hand_in(found.message)
        except ServiceError as error:
            error.add_note(
                f"epoch {epoch} would have used the log until {found.until!r}. If epochs() shows it closed, go on from "
                f"there with epoch={epoch + 1}; if it is open, hand the same in again"
            )
            raise
        return found

    async def _hand_in(self, totals: EpochTotals) -> None:
        try:
            await self._logic.ask(Call("POST", self._path("totals"), type(None), totals, once=True))
        except ServiceError as error:
            if not isinstance(error, UnreachableError) and error.status not in TROUBLE:
                raise
            # The totals may have arrived; the list of epochs shows it.
            epochs = (await self._logic.ask(Call("GET", self._path("epochs"), messages.Epochs))).epochs
            if not any(each.number == totals.epoch and each.state == "closed" for each in epochs):
                raise error from None

    # ------------------------------------------------------------------ calls

    def _path(self, *parts: str) -> str:
        return path("experiments", self.name, *parts)

    def _view(self) -> Call[ExperimentView]:
        return Call("GET", self._path(), ExperimentView)

    async def _do(self, verb: str) -> ExperimentView:
        return await self._logic.ask(Call("POST", self._path(verb), ExperimentView, once=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

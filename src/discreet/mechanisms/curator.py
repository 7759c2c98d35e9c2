"""The curator: the one place where data and noise meet."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from discreet._display import Page, Shown, own_page
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError, PrivacyError, StateError
from discreet.core.grid import Grid
from discreet.core.noise import Noise, checked_noise
from discreet.core.plans import (
    Arm,
    CounterQuery,
    Plan,
    Query,
    SamplesQuery,
    StepsQuery,
    ThresholdQuery,
    TotalsQuery,
    VectorsQuery,
)
from discreet.core.privacy import Privacy, Unit
from discreet.core.releases import Kind, Release
from discreet.mechanisms._mechanism import Mechanism
from discreet.mechanisms._secret import Secret
from discreet.mechanisms.noisy_totals import NoisyTotals
from discreet.mechanisms.samples import Samples
from discreet.mechanisms.shared_vectors import SharedVectors
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.stepped_trees import SteppedTrees
from discreet.mechanisms.trees import Trees

_MECHANISMS: dict[type[Query], type[Mechanism]] = {
    TotalsQuery: NoisyTotals,
    ThresholdQuery: SparseVector,
    VectorsQuery: SharedVectors,
    CounterQuery: Trees,
    StepsQuery: SteppedTrees,
    SamplesQuery: Samples,
}
_TESTS = Kind.TESTS  # looked up once: it takes longer than a comparison


class Curator(Shown, Secret):
    """Counts rewards, charges every query against the promise, and has a mechanism answer.

    It refuses whatever exceeds the promise, whatever an algorithm asks for: a price above epsilon (for a row: times
    the arms; for a person: added up over epochs), another price within a series, a series that has ended, an epoch
    that is not the open one, and samples where anything is promised. So each reward enters one release of one
    mechanism, or several whose prices add up to at most epsilon; the rest is post-processing.

    Args:
        grid: The grid that rewards are rounded to.
        privacy: What is promised.
        noise: A simulated source for studies and tests; by default private noise.
        epoch: The number of epochs that have closed before.
        taken: The number of rewards of each arm before. Its keys are the arms.
        spent: What a person has paid in each epoch before; only where persons are protected.
    """

    def __init__(
        self,
        grid: Grid,
        privacy: Privacy,
        noise: Noise | None = None,
        *,
        epoch: int = 0,
        taken: Mapping[Arm, int],
        spent: tuple[float, ...] = (),
    ) -> None:
        super().__init__()
        self.grid, self.privacy = grid, privacy
        self._noise = checked_noise(noise) if privacy.promised else None
        self._adds_up = privacy.unit is Unit.PERSON  # the prices of epochs
        self._epoch = epoch
        self._taken = dict(taken)
        self._spent = list(spent)
        self._mechanism: Mechanism | None = None
        self._query: Query | None = None  # the last one that was charged

    @classmethod
    def of(cls, algorithm: Algorithm, noise: Noise | None = None) -> Self:
        """Return a curator, without secrets, for what an algorithm has learned. A ledger tells what persons have paid.

        Args:
            algorithm: The algorithm, with its whole ledger.
            noise: A simulated source for studies and tests; by default private noise.
        """
        privacy = algorithm.privacy
        epochs = algorithm.ledger.by_epoch() if privacy.unit is Unit.PERSON else ()
        paid = [one.epsilon for releases in epochs for one in releases if one.arm == releases[0].arm]
        return cls(algorithm.grid, privacy, noise, epoch=algorithm.epoch, taken=algorithm.taken, spent=tuple(paid))

    def _may_be_copied(self) -> bool:
        return self._noise is None or self._noise.simulated

    def _page(self) -> Page:
        """Return its promise; all else in it is secret."""
        return replace(own_page(self.privacy), title=f"curator of a promise: epsilon = {self.privacy.epsilon:g}")

    def release(self, plan: Plan, totals: Mapping[Arm, Any] | None = None) -> tuple[Release, ...]:
        """Take a plan's exact statistics, draw noise, and return what its query asks for.

        Args:
            plan: The plan of the open epoch.
            totals: Each planned arm's exact statistic in grid steps; None for a plan without a query.

        Returns:
            The releases. They may be shown once they are written down.

        Raises:
            PrivacyError: The promise does not pay for it, or it was released before. Nothing was drawn.
            ArgumentError: The totals are not those of the plan. Nothing was drawn.
        """
        self._check_process()
        if plan.epoch != self._epoch + 1:
            raise PrivacyError(f"epoch {plan.epoch} is not the open one, {self._epoch + 1}: each is released once")
        query, pulls, taken = plan.query, plan.pulls, self._taken
        if query is None:
            self.end()
            self._count(pulls)
            return ()
        if not pulls.keys() <= taken.keys():
            raise ArgumentError(f"pulls must be of the arms {list(taken)!r}, got a plan of {list(pulls)!r}")
        if totals is None:
            raise ArgumentError(f"totals must have each planned arm of {list(pulls)!r}, got None")
        mechanism = self._mechanism
        if query is not self._query or mechanism is None or self._adds_up:
            mechanism = self._admit(query)
        releases = mechanism.answer(plan, totals, taken)
        self._mechanism, self._query = mechanism, query
        if self._adds_up:
            self._spent += query.prices
        if releases and releases[0].kind == _TESTS:
            for arm, _, last in releases[0].spans:  # a test that halts leaves the rest of the plan
                taken[arm] = last
            self._epoch += releases[0].above
        else:
            self._count(pulls)
        return releases

    def check(self, plan: Plan | None) -> None:
        """Refuse a plan that no mechanism would answer, before any reward is collected for it.

        Raises:
            PrivacyError: Its query is not one of the known ones, or costs more than is promised.
        """
        if plan is not None and plan.query is not None:
            self._charge(plan.query)
            self._kind_of(plan.query)

    def _count(self, pulls: Mapping[Arm, int]) -> None:
        for arm, count in pulls.items():
            self._taken[arm] += count
        self._epoch += 1

    def _admit(self, query: Query) -> Mechanism:
        """Charge a query, and return the mechanism of its series: a new one where the series is new."""
        self._charge(query)
        before, mechanism = self._query, self._mechanism
        if before is not None and query.series < before.series:
            raise PrivacyError(f"series {before.series} has begun: {query.series} has ended for ever")
        if before is None or mechanism is None or query.series != before.series:
            return self._new_mechanism(query)
        if type(query) is not type(before) or query.terms != before.terms:
            raise PrivacyError(f"a series costs what it began with, {before.terms}, not {query.terms}")
        return mechanism

    def _new_mechanism(self, query: Query) -> Mechanism:
        return self._kind_of(query)(query, tuple(self._taken), self.grid, self._noise)

    def _kind_of(self, query: Query) -> type[Mechanism]:
        kind = _MECHANISMS.get(type(query))
        if kind is None:
            raise PrivacyError(
                f"no mechanism answers a {type(query).__name__}: what is released comes from one of "
                f"{', '.join(known.__name__ for known in _MECHANISMS)}"
            )
        return kind

    def _charge(self, query: Query) -> None:
        """Refuse what costs one unit of privacy more than was promised."""
        if not self.privacy.promised:
            return
        promised, prices = self.privacy.epsilon, query.prices
        if not prices or not all(price > 0 for price in prices):
            raise PrivacyError(f"every price must be positive, got {prices!r}")
        if self._adds_up:
            if not isinstance(query, TotalsQuery) or query.held:
                raise PrivacyError("a person may have a reward in every epoch: only whole totals of epochs add up")
            prices = (*self._spent, *prices)
        elif self.privacy.unit is Unit.ROW:
            prices = prices * len(self._taken)
        if not math.fsum((*prices, -promised)) <= 0:  # rounded once, at the end, so its sign is exact
            by = f" by a {type(query).__name__}" if math.isinf(math.fsum(prices)) else ""
            raise PrivacyError(f"a release{by} would cost {math.fsum(prices)!r}, beyond the promised {promised!r}")

    # ------------------------------------------------------------------ secrets

    def open(self, plan: Plan | None) -> None:
        """Erase open sums and threshold noise of a series that the next plan does not go on with.

        Nothing more will be released of the rewards in them.

        Args:
            plan: The next plan; None at the end.
        """
        query = None if plan is None else plan.query
        if query is not self._query and (query is None or self._query is None or query.series != self._query.series):
            self.end()

    def end(self) -> None:
        """Erase open sums and threshold noise: nothing more will be released of the rewards in them."""
        self._mechanism = None

    def state(self) -> dict[str, Any]:
        """Return the secret part of a saved file, as JSON values. It is empty when nothing is open."""
        self._check_process()
        state = {} if self._mechanism is None else self._mechanism.state()
        if not state or self._query is None:
            return {}
        return {"series": list(self._query.series), **state}

    def restore(self, state: dict[str, Any], plan: Plan | None) -> None:
        """Go on from a saved state.

        Args:
            state: What `state` returned.
            plan: The open plan.

        Raises:
            StateError: The state is not that of the plan.
        """
        if not state:
            return
        if plan is None or plan.query is None or list(plan.query.series) != state["series"]:
            raise StateError("the saved secrets are not those of the saved plan")
        self._charge(plan.query)
        mechanism = self._new_mechanism(plan.query)
        mechanism.restore(state)
        self._mechanism, self._query = mechanism, plan.query

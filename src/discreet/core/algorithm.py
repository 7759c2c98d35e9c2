"""The base class of all algorithms: options that are declared once, a plan, and learning from releases alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet._display import Page, Table
from discreet.core import checks
from discreet.core.errors import ArgumentError, FinishedError, StateError
from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.options import checked_options, field_names, learned_fields, required_options
from discreet.core.plans import Arm, Plan, StepsQuery, ThresholdQuery, TotalsQuery, Vector, VectorsQuery
from discreet.core.privacy import NOT_PRIVATE, Privacy, Theorem, Unit
from discreet.core.releases import Kind, Release
from discreet.core.statistics import Statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TESTS = Kind.TESTS  # looked up once: it takes longer than a comparison


@dataclass(kw_only=True)
class Algorithm(ABC):
    """A public value: options, and what was learned from releases.

    It plans an epoch, and learns what was released of it. The same options and the same releases give an equal object,
    in any process and at any time. It holds no reward, no noise, no lock and no file, so it is copied, pickled,
    compared and shown freely. A driver (`Bandit`, `Stream`, `Totals`) runs it on a copy.

    A subclass is a dataclass. Its options are constructor arguments whose types carry their check; what it learns is
    in fields with `init=False`, which are JSON values (with `compare=False`: caches of what follows from the others).
    It writes `_plan` and `_learn`, and `_start` if it has to.

    Attributes:
        key: The name in the registry, in files and on the command line.
        family: "policy" or "rule".
        reason: Why it is private, in one sentence; None for what is not private.
        theorem: The theorem by which the curator keeps its promise. `discreet.testing.check_algorithm` checks that it
            is about what the algorithm asks for.
        unit: Whom its promise protects.
        keeps_secrets: True if the curator keeps exact sums or threshold noise for it between epochs. A service runs
            only algorithms for which it keeps none.
        statistic: What is added up of an epoch's rewards.
        reads_samples: True if it reads samples one by one, without privacy. Its ledger has nothing to account for, so
            its file holds a snapshot instead.
        fixed_blocks: True if options alone fix how many rewards of an arm each of its releases covers, if it comes.
            Exact intervals need that. `discreet.testing.check_algorithm` checks it.
        kernel: The module of `discreet.lab.kernels` that simulates it quickly.
        experimental: Why it is not to be relied on yet; None for what is.
        epoch: The number of epochs that have closed.
    """

    key: ClassVar[str]
    family: ClassVar[str]
    reason: ClassVar[str | None] = None
    theorem: ClassVar[Theorem] = Theorem.BY_HAND
    unit: ClassVar[Unit] = Unit.REWARD
    keeps_secrets: ClassVar[bool] = False
    statistic: ClassVar[Statistic] = Statistic.TOTAL
    reads_samples: ClassVar[bool] = False
    fixed_blocks: ClassVar[bool] = False
    kernel: ClassVar[str | None] = None
    experimental: ClassVar[str | None] = None

    epoch: int = field(init=False, repr=False, default=0)
    _planned: tuple[Plan | None] | None = field(init=False, repr=False, compare=False, default=None)
    _ledger: Ledger = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check each option by its type, then all of them together."""
        for option in checked_options(type(self)):
            value = getattr(self, option.name)
            if value is not None or not option.may_be_none:
                setattr(self, option.name, option.check(option.name, value))
        self._start()
        self._ledger = Ledger(list(self.taken), self.grid, fixed_blocks=self.fixed_blocks)

    # ------------------------------------------------------------------ for drivers

    def plan(self) -> Plan | None:
        """Return what to sample next; None when nothing is left to find out. It is the same until `learn`."""
        if self._planned is None:
            self._planned = (self._plan(),)
        return self._planned[0]

    def learn(self, releases: Sequence[Release]) -> None:
        """Go on from what was released of the present plan.

        Args:
            releases: What the curator answered; empty for a plan that releases nothing.

        Raises:
            FinishedError: There is no plan.
            StateError: The releases are not those of the present plan. Nothing has changed.
        """
        plan = self.plan()
        if plan is None:
            raise FinishedError(f"this {self.key} has finished: there is nothing left to learn")
        if not self._fits(plan, releases):
            raise StateError(f"the releases are not those that epoch {plan.epoch} of this {self.key} plans")
        self._planned = None
        self._ledger.close_epoch(releases)
        if not releases or releases[0].kind != _TESTS or releases[0].above:  # tests that go on leave the epoch open
            self.epoch += 1
        self._learn(plan, releases)

    def replay(self, epochs: Iterable[Sequence[Release]]) -> Self:
        """Learn the releases of one epoch after another, as `Ledger.by_epoch` yields them, and return the object."""
        for releases in epochs:
            self.learn(releases)
        return self

    def copy(self) -> Self:
        """Return an equal object that learns apart from this one."""
        twin = object.__new__(type(self))
        values = {**self.__dict__, "_ledger": self._ledger.copy()}
        for name in field_names(type(self), init=False):
            value = values.get(name)
            if type(value) is list:
                values[name] = _copied(value)
        twin.__dict__.update(values)
        return twin

    # ------------------------------------------------------------------ what anybody may read

    @property
    def ledger(self) -> Ledger:
        """All releases that it has learned from, in order."""
        return self._ledger

    @cached_property
    def privacy(self) -> Privacy:
        """The promise: its epsilon, whom it protects, and why it holds."""
        if self.reason is None:
            return NOT_PRIVATE
        epsilon: float = self.epsilon  # type: ignore[attr-defined]
        return Privacy(epsilon, self.unit, self.reason, theorem=self.theorem)

    def dp_event(self, relation: object = "REPLACE_ONE") -> Any:
        """Return the promise as an event of `dp_accounting`: see `Privacy.to_dp_event`.

        Args:
            relation: The accountant's relation.
        """
        return self.privacy.to_dp_event(self.ledger, relation)

    @property
    def finished(self) -> bool:
        """True when nothing is left to sample."""
        return self.plan() is None

    def plot(self, ax: Axes | None = None) -> Figure:
        """Plot the released means of each arm over the epochs, with radii of 95 %, and return the figure.

        Args:
            ax: Where to draw; by default in a new figure.
        """
        viable = getattr(self, "viable", ())
        return self.ledger.plot(ax, viable=viable if len(viable) < len(self.taken) else None)

    def _page(self) -> Page:
        given = {name: value for name, value in self.options().items() if value is not None}
        options = {name: value["algorithm"] if isinstance(value, dict) else value for name, value in given.items()}
        promise = self.privacy
        private = f"epsilon = {promise.epsilon:g} for {promise.unit.words}" if promise.promised else "no"
        facts = {**options, "private": private, "closed epochs": self.epoch, "finished": self.finished}
        title = f"{type(self).__name__} ({self.key}), a {'policy' if self.family == 'policy' else 'stopping rule'}"
        return Page(title, facts, [Table(*self._standing())])

    def __str__(self) -> str:
        return self._page().text()

    def _repr_html_(self) -> str:
        return self._page().html()

    def _standing(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        """Return headings and rows of a table that says how each arm stands."""
        rows = [("-" if arm is None else str(arm), count) for arm, count in self.taken.items()]
        return ("arm", "rewards"), rows

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The grid that rewards are rounded to."""

    @property
    @abstractmethod
    def taken(self) -> dict[Arm, int]:
        """The number of rewards of each arm in epochs that have closed, and in the tests of an open one."""

    # ------------------------------------------------------------------ options and state

    def options(self) -> dict[str, Any]:
        """Return the constructor arguments, as JSON values."""
        values = {name: getattr(self, name) for name in field_names(type(self), init=True)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Return an object with these constructor arguments, which may come from JSON.

        Raises:
            ArgumentError: An option is unknown, missing or wrong.
        """
        known = field_names(cls, init=True)
        for name in sorted(set(options) - set(known)):
            meant = checks.did_you_mean(name, known)
            raise ArgumentError(f"{cls.key} has no option {name!r}; its options are {', '.join(known)}{meant}")
        for name in required_options(cls):
            if name not in options:
                raise ArgumentError(f"{cls.key} needs the option {name!r}; its options are {', '.join(known)}")
        return cls(**options)

    def snapshot(self) -> dict[str, Any]:
        """Return what it has learned, as JSON values: a cache for ledgers that take long to replay."""
        return {name: _copied(getattr(self, name)) for name in learned_fields(type(self))}

    def resume(self, snapshot: dict[str, Any]) -> Self:
        """Go on from the snapshot of an object with the same options, and return the object. The ledger is not in it.

        Raises:
            StateError: The snapshot is of another algorithm.
        """
        names = learned_fields(type(self))
        if set(snapshot) != set(names):
            raise StateError(f"this is no snapshot of a {self.key}: its fields are {sorted(names)}")
        self._start()  # empties caches
        for name, value in snapshot.items():
            setattr(self, name, _copied(value))
        self._planned = None
        return self

    # ------------------------------------------------------------------ what an algorithm writes

    def _start(self) -> None:  # noqa: B027  (most algorithms have nothing to add)
        """Check options against each other, and set up learned fields."""

    @abstractmethod
    def _plan(self) -> Plan | None:
        """Return the next plan, from options and learned fields alone."""

    def _fits(self, plan: Plan, releases: Sequence[Release]) -> bool:
        """Return True if releases are of the plan's epoch, and as many as its query asks for."""
        epoch, pulls, query, _ = plan
        if not releases:
            return not plan.releases
        first, arms = releases[0], len(pulls)
        tests = first.kind == _TESTS
        if isinstance(query, TotalsQuery):
            wanted = (arms - len(query.held)) * len(query.epsilons)
            return first.epoch == epoch and not tests and len(releases) == wanted
        if first.epoch != epoch or tests is not isinstance(query, ThresholdQuery | VectorsQuery):
            return False
        if isinstance(query, VectorsQuery):
            halted = Vector.halted(query.vectors, releases[1:])
            return first.above is bool(halted) and len(releases) == 1 + sum(map(len, halted.values()))
        if isinstance(query, StepsQuery):
            return [one.arm for one in releases] == list(self.taken)
        if isinstance(query, ThresholdQuery) and query.release_epsilon is None:
            arms = 0  # nothing follows a test that halts
        return query is not None and len(releases) == (1 + first.above * arms if tests else arms)

    @abstractmethod
    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        """Update learned fields. `epoch` is already that of the end."""


def _copied(value: Any) -> Any:
    """Return a learned value that can change apart from this one: lists, and lists in them, are copied."""
    if type(value) is not list:
        return value
    return [list(item) if type(item) is list else item for item in value]

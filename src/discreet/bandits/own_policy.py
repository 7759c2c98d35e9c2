"""The template of a policy of your own: write `plan` and `learn`, and everything else is done for you."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, dataclass_transform

from discreet.bandits._policy import Policy
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.options import Positive
from discreet.core.plans import Arm, Plan, TotalsQuery
from discreet.core.privacy import Theorem
from discreet.core.probability.tails import hoeffding_radius
from discreet.core.registry import register
from discreet.core.releases import Release


def learned(default: Any = None) -> Any:
    """Return a field that `learn` writes: not an option, but saved and compared.

    Args:
        default: Its value at first, or a function that returns it, such as `list`. It must be a JSON value.
    """
    more: dict[str, Any] = {"default_factory": default} if callable(default) else {"default": default}
    return field(init=False, repr=False, **more)


@dataclass_transform(kw_only_default=True, field_specifiers=(field, learned))
@dataclass(kw_only=True)
class OwnPolicy(Policy):
    """A private policy of your own: a subclass writes `plan` and `learn`.

    `plan(self)` returns how often to pull each arm in the next epoch, as a mapping from names of arms: `{"A": 10}`. It
    returns `{"A": None}` for one arm until the horizon, if there is one, and None when it has finished. The epoch's
    rewards are collected, and each arm's mean is released once with noise. Then `learn(self, means)` gets these means,
    by the names of the arms, and writes what it makes of them into fields that `learned` declares. `plan` must depend
    on nothing but options and such fields. A subclass that drops arms says which are left by a property `viable`, for
    reports and pages; by default all of them are.

    It is private whatever a subclass does: it sees no reward, only means that the curator has released, and each reward
    is in one of them. So the regret can be wrong, and not the privacy.

    A subclass is a dataclass and is registered by itself, under `key` or under its name in small letters with hyphens.
    Run it again in a notebook, and the new class takes the place of the old one. Options have a type and perhaps a
    default; the types of `discreet.core.options` (`Count`, `Positive`, `Probability`) check them.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, if there is an end. A plan that goes beyond it is cut short.
        low: The least reward.
        high: The largest reward.

    Attributes:
        means: The mean of each arm that was released last; None before.

    >>> class ExploreThenCommit(OwnPolicy):
    ...     rounds: int = 1000
    ...     leader: str | None = learned()
    ...
    ...     def plan(self):
    ...         if self.leader is None:
    ...             return {arm: self.rounds for arm in self.arms}
    ...         return {self.leader: None}
    ...
    ...     def learn(self, means):
    ...         self.leader = max(means, key=means.get)
    >>> import discreet
    >>> from discreet.lab import simulate
    >>> found = simulate(ExploreThenCommit, [0.6, 0.4], horizon=1e5, runs=10, seed=1, epsilon=1.0)
    >>> round(found.mean), found.failure_rate
    (200, 0.0)
    >>> _ = discreet.POLICIES.pop("explore-then-commit")  # so that other examples can have the name
    """

    reason = "each reward enters the noisy total of one arm in one epoch"
    theorem = Theorem.REWARDS
    _own_plan: ClassVar[Callable[[Any], Mapping[Arm, int | None] | None]]
    _own_learn: ClassVar[Callable[[Any, dict[Arm, float]], None]]

    epsilon: Positive
    _means: list[float | None] = field(init=False, repr=False, default_factory=list)

    def __init_subclass__(cls, **more: Any) -> None:
        """Take `plan` and `learn` of a subclass as what to do in an epoch, and enter it in the table of policies."""
        super().__init_subclass__(**more)
        for name in ("plan", "learn"):
            if name in vars(cls):
                setattr(cls, f"_own_{name}", vars(cls)[name])
                delattr(cls, name)  # drivers call that of the base class, which asks the subclass's
        if "key" not in vars(cls):
            cls.key = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()
        dataclass(kw_only=True)(cls)
        if hasattr(cls, "_own_plan") and hasattr(cls, "_own_learn"):
            register(cls)

    def _start(self) -> None:
        super()._start()
        self._means = [None] * len(self.arms)

    @property
    def means(self) -> dict[Arm, float | None]:
        """The mean of each arm that was released last; None before."""
        return dict(zip(self.arms, self._means, strict=True))

    @property
    def best_arm(self) -> Arm:
        """The arm of the largest mean that was released last; None before the first release."""
        known = [arm for arm, mean in self.means.items() if mean is not None]
        return max(known, key=lambda arm: self.means[arm] or 0.0, default=None) if known else None

    def radius(self, pulls: int, beta: float = 0.05) -> float:
        """Return how far a released mean may be off, for sampling and noise together.

        Args:
            pulls: The number of rewards in it.
            beta: The probability that it is further off.
        """
        count, level = checks.whole("pulls", pulls), math.log(2 / checks.fraction("beta", beta))
        return hoeffding_radius(count, 1, self.epsilon, level) / count * (self.high - self.low)

    def _plan(self) -> Plan | None:
        if self.remaining == 0:
            return None
        wanted = self._own_plan()
        if wanted is None:
            return None
        if not isinstance(wanted, Mapping) or not wanted.keys() <= set(self.arms):
            raise ArgumentError(f"plan must return pulls by the names of arms {list(self.arms)!r}, got {wanted!r}")
        if None in wanted.values():  # nothing follows, so nothing is released
            rest = next(arm for arm, count in wanted.items() if count is None)
            return self._plan_for({self._index[rest]: self.remaining or 0}, None)
        pulls = {arm: checks.whole(f"the pulls of {arm!r}", count, at_least=0) for arm, count in wanted.items()}
        return self._plan_for({self._index[arm]: count for arm, count in pulls.items() if count}, self._query)

    @property
    def _query(self) -> TotalsQuery:
        return TotalsQuery((self.epsilon,))

    def _decide(self, releases: Sequence[Release]) -> None:
        found = {release.arm: self.grid.mean(release.steps, release.rewards) for release in releases}
        for arm, mean in found.items():
            self._means[self._index[arm]] = mean
        self._own_learn(found)

"""Guess and double: any policy that needs a horizon, run without one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from discreet.bandits._policy import Policy, cut_short
from discreet.core import checks
from discreet.core.errors import ArgumentError, StateError
from discreet.core.options import Arms, Count, Real, check_arms, field_names
from discreet.core.plans import Arm, Plan
from discreet.core.privacy import Privacy, Unit
from discreet.core.registry import make, register
from discreet.core.releases import Release

_FIRST_GUESS = 2**14
_FROM_POLICY = ("arms", "horizon", "low", "high")


@register
@dataclass(kw_only=True)
class GuessAndDouble(Policy):
    """Runs a policy with a guessed horizon; when half of the guess is used, doubles it and starts anew.

    Each phase starts from nothing, so the price is a constant factor in the regret.

    Private because each reward enters one phase, and each phase is private by itself. A phase that ends in the middle
    of an epoch releases nothing of that epoch.

    In JSON, and in `make_policy`, the policy is an object such as `{"algorithm": "dp-se", "options": {...}}`; or it is
    a key such as "dp-se", and its options (without a horizon) are beside it.

    Args:
        policy: The policy to run. It has learned nothing yet, takes a horizon, and protects single rewards.
        first_guess: The first horizon; by default that of the policy, or 2^14 if it has none.

    >>> from discreet import DPSuccessiveElimination
    >>> policy = GuessAndDouble(DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=8000))
    >>> policy.guess, policy.plan().pulls
    (8000, {'A': 1507, 'B': 1507})
    """

    key = "guess-and-double"
    keeps_secrets = True  # if the policy does

    arms: Arms = field(init=False, repr=False, default=())
    horizon: None = field(init=False, repr=False, default=None)
    low: Real = field(init=False, repr=False, default=0.0)
    high: Real = field(init=False, repr=False, default=1.0)
    policy: Policy = field(kw_only=False)
    first_guess: Count | None = None
    guess: int = field(init=False, repr=False, default=0)
    """The present phase's horizon."""
    phase: int = field(init=False, repr=False, default=0)
    """The number of phases that have ended."""
    _before: list[int] = field(init=False, repr=False, default_factory=list)  # pulls of earlier phases, by arm index
    _previous_best: Arm = field(init=False, repr=False, default=None)
    _inner: Policy = field(init=False, repr=False)

    def _start(self) -> None:
        policy = _checked(self.policy)
        self.arms, self.low, self.high = policy.arms, policy.low, policy.high
        super()._start()
        guess = policy.horizon if self.first_guess is None else self.first_guess
        self.guess = _checked_guess(guess, len(self.arms))
        self.phase, self._previous_best, self._before = 0, None, [0] * len(self.arms)
        self._inner = replace(policy, horizon=self.guess)

    @cached_property
    def privacy(self) -> Privacy:
        """The promise of the policy: phases have no reward in common."""
        inner = self.policy.privacy
        if not inner.promised:
            return inner
        return replace(inner, reason=f"each reward enters one phase; in a phase: {inner.reason}")

    @property
    def best_arm(self) -> Arm:
        """The present phase's best arm, or the last phase's until this one has released something."""
        best = self._inner.best_arm
        return self._previous_best if best is None else best

    def _plan(self) -> Plan | None:
        left, plan = self.guess // 2 - self.time, self._inner.plan()
        assert plan is not None  # a phase ends long before the guess
        if plan.query is None or plan.size > left:
            return Plan(self.epoch + 1, cut_short(plan.pulls, left))
        return plan.within(self.phase, self.epoch + 1)

    def _learn(self, plan: Plan, releases: Sequence[Release]) -> None:
        inner = self._inner.plan()
        if not releases and inner is not None and plan.pulls == inner.pulls:  # a whole plan that releases nothing
            self._inner.learn(())
        super()._learn(plan, releases)
        while self.time >= self.guess // 2:
            self._previous_best = self.best_arm
            self.guess, self.phase, self._before = 2 * self.guess, self.phase + 1, list(self.pulls)
            self._inner = replace(self.policy, horizon=self.guess)

    def _decide(self, releases: Sequence[Release]) -> None:
        before, epoch = dict(zip(self.arms, self._before, strict=True)), self._inner.epoch + 1
        self._inner.learn([release.since(before)._replace(epoch=epoch) for release in releases])

    # ------------------------------------------------------------------ with the policy inside

    def copy(self) -> Self:
        """Return an equal object that learns apart from this one."""
        twin = super().copy()
        twin.__dict__["_inner"] = self._inner.copy()
        return twin

    def options(self) -> dict[str, Any]:
        """Return the constructor arguments, as JSON values."""
        policy = {"algorithm": self.policy.key, "options": self.policy.options()}
        return {"policy": policy, "first_guess": self.first_guess}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Return an object with these options: those of `options`, or a policy's key with its options beside it.

        Raises:
            ArgumentError: An option is unknown, missing or wrong.
        """
        given = dict(options)
        policy = given.pop("policy", "dp-se")
        if isinstance(policy, str):
            first_guess = given.pop("first_guess", None)
            if policy == cls.key or "horizon" in given:
                raise ArgumentError(f"{cls.key} sets the horizon itself: give it a plain policy without a horizon")
            given["arms"] = check_arms("arms", given.get("arms"))
            given["horizon"] = _checked_guess(first_guess, len(given["arms"]))
            return super().from_options({"policy": make(policy, given), "first_guess": first_guess})
        if isinstance(policy, Mapping):
            if set(policy) != {"algorithm", "options"}:
                raise ArgumentError(f'policy must be {{"algorithm": ..., "options": ...}}, got {policy!r}')
            policy = make(policy["algorithm"], policy["options"])
        return super().from_options({**given, "policy": policy})

    def snapshot(self) -> dict[str, Any]:
        """Return what it has learned, as JSON values, with what the policy of the present phase has learned."""
        own = {name: value for name, value in super().snapshot().items() if name not in _FROM_POLICY}
        return {**own, "_inner": self._inner.snapshot()}

    def resume(self, snapshot: dict[str, Any]) -> Self:
        """Go on from the snapshot of an object with the same options, and return the object. The ledger is not in it.

        Raises:
            StateError: The snapshot is of another algorithm.
        """
        if "_inner" not in snapshot or "guess" not in snapshot:
            raise StateError(f"this is no snapshot of a {self.key}: its fields are {sorted(self.snapshot())}")
        inner = replace(self.policy, horizon=snapshot["guess"]).resume(snapshot["_inner"])
        return super().resume({**{name: getattr(self, name) for name in _FROM_POLICY}, **snapshot, "_inner": inner})


def _checked(policy: Any) -> Policy:
    """Return a policy that can be run in phases."""
    if not isinstance(policy, Policy) or isinstance(policy, GuessAndDouble):
        raise ArgumentError(f"policy must be a plain policy, got {policy!r}")
    if "horizon" not in field_names(type(policy), init=True):
        raise ArgumentError(f"policy must take a horizon, got {policy.key!r}, which has none")
    if policy.unit is Unit.PERSON:
        raise ArgumentError(
            f"policy must protect single rewards, got {policy.key!r}: a person would pay epsilon in every phase; it "
            "needs no horizon if it is given beta"
        )
    if policy.epoch or policy.time:
        raise ArgumentError(f"policy must be new, got one that has learned from {policy.epoch} epochs")
    return policy


def _checked_guess(guess: int | None, arms: int) -> int:
    """Return a first horizon, by default 2^14, that allows two pulls of each arm."""
    return max(_FIRST_GUESS, 2 * arms) if guess is None else checks.whole("first_guess", guess, 2 * arms)

"""Guess and double: any policy that needs a horizon, run without one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from discreet.bandits._policy import Policy, cut_short
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.noise import Noise
from discreet.core.privacy import Arm, Privacy, Unit


class GuessAndDouble(Policy):
    """Starts `policy` with a guessed horizon; when half of the guess is used, doubles it and starts anew.

    `policy` is a registered name such as "dp-se", and further options (epsilon, ...) go to it. Each phase
    starts from nothing, so the price is a constant factor in the regret.

    Private because each reward enters one phase, and each phase is private by itself. A phase that ends in
    the middle of an epoch releases nothing of that epoch.

    >>> from discreet import SimulatedNoise
    >>> policy = GuessAndDouble(["A", "B"], policy="dp-se", epsilon=1.0, first_guess=8000, noise=SimulatedNoise(1))
    >>> policy.guess, policy.plan().pulls
    (8000, {'A': 1507, 'B': 1507})
    """

    key = "guess-and-double"

    def __init__(
        self,
        arms: Iterable[Arm],
        *,
        policy: str = "dp-se",
        first_guess: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        noise: Noise | None = None,
        **options: Any,
    ) -> None:
        super().__init__(arms, low=low, high=high)
        least = 2 * len(self.arms)
        self.policy = policy
        self.first_guess = max(2**14, least) if first_guess is None else checks.whole("first_guess", first_guess, least)
        self.guess = self.first_guess
        self.noise = noise
        self._inner_options = options
        self._previous_best: Arm = None
        self._start_phase()
        self.noise = self._inner.noise
        checked = self._inner.options()
        self._inner_options = {name: checked[name] for name in options}

    def options(self) -> dict[str, Any]:
        """The wrapper's own options and those of the wrapped policy."""
        own = {"policy": self.policy, "first_guess": self.first_guess, "low": self.low, "high": self.high}
        return {"arms": list(self.arms), **own, **self._inner_options}

    @property
    def best_arm(self) -> Arm:
        """The present phase's best arm, or the last phase's until this one has released something."""
        best = self._inner.best_arm
        return self._previous_best if best is None else best

    @property
    def privacy(self) -> Privacy:
        """The wrapped policy's promise."""
        inner = self._inner.privacy
        return replace(inner, reason=f"each reward enters one phase; in a phase: {inner.reason}")

    def _start_phase(self) -> None:
        from discreet.core.registry import make_policy  # noqa: PLC0415  (the registry knows this file)

        if self.policy == self.key or "horizon" in self._inner_options:
            raise ArgumentError("guess-and-double sets the horizon itself: give it a plain policy without a horizon")
        options = {**self._inner_options, "horizon": self.guess, "low": self.low, "high": self.high}
        if self.noise is not None:
            options["noise"] = self.noise
        self._inner = make_policy(self.policy, self.arms, **options)
        if self._inner.privacy_unit is Unit.PERSON:
            raise ArgumentError(
                f"policy must protect single rewards, got {self.policy!r}: a person would pay epsilon in every phase; "
                f"it needs no horizon if it is given beta"
            )
        self._offset = dict(zip(self.arms, self._pulls, strict=True))

    def _plan(self) -> tuple[dict[int, int], bool]:
        while self.time >= self.guess // 2:
            self._previous_best = self.best_arm
            self.guess *= 2
            self._start_phase()
        left = self.guess // 2 - self.time
        plan = self._inner.plan()
        assert plan is not None  # a phase ends long before the inner horizon
        pulls = {self._numbers[arm]: count for arm, count in plan.pulls.items()}
        if plan.learns and plan.size <= left:
            return pulls, True
        return cut_short(pulls, left), False

    def _close(self, totals: dict[int, int]) -> None:
        released = self._inner.close({self.arms[number]: total for number, total in totals.items()})
        for entry in released:
            spans = ((arm, self._offset[arm] + first, self._offset[arm] + last) for arm, first, last in entry.spans)
            self._enter(replace(entry, epoch=self.epoch, spans=tuple(spans)))

    def _progress(self) -> dict[str, Any]:
        return {
            "guess": self.guess,
            "inner": self._inner._dump(),
            "offset": list(self._offset.values()),
            "previous_best": self._previous_best,
        }

    def _restore(self, progress: dict[str, Any]) -> None:
        self.guess = int(progress["guess"])
        self._start_phase()
        self._inner._revive(progress["inner"])
        self._offset = dict(zip(self.arms, map(int, progress["offset"]), strict=True))
        self._previous_best = progress["previous_best"]

"""The base class of tests of arms against a control: verdicts, and what stands when."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.bandits import Policy
from discreet.core.errors import ArgumentError
from discreet.core.noise import scale_for
from discreet.core.options import NotNegative, Positive, Probability
from discreet.core.plans import Arm, Plan, TotalsQuery
from discreet.core.privacy import Theorem
from discreet.core.releases import Release
from discreet.sequential._designs import check_levels
from discreet.sequential._planned_looks import fixed_size

SHOWN, NOT_SHOWN = "shown", "not shown"
_USUAL_MISS = 0.2  # where no beta is given


@dataclass(kw_only=True)
class TwoSampleTest(Policy):
    """Tests whether arms are better than a control: the first arm. Arms are pulled equally often, block by block.

    The null hypothesis of an arm is that its mean is at most the control's minus `margin`. With probability 1 - alpha
    no arm passes that should not: each of K-1 arms has alpha/(K-1), and those that pass leave their part to the others
    (Holm). An arm whose question is answered is pulled no more; the test ends with the last one.

    A subclass writes `block`, `_judge` and `_passes`.

    Args:
        arms: The names of the arms; the first one is the control.
        epsilon: The largest privacy loss of one reward, above 0.
        base_rate: The control's mean that is expected, as a share of the range: its rate, for rewards of 0 and 1. If it
            is wrong, the test is as sure as before, but it may take longer or find less.
        effect: The smallest difference from the control that is worth finding, as a share of the range.
        margin: How much worse than the control an arm may be and still pass: above 0 for a test of non-inferiority.
        alpha: The largest chance that any arm passes that should not.
        low: The least reward.
        high: The largest reward.

    Attributes:
        verdicts: "shown" or "not shown" for each arm but the control; None while it is open.
        settled: True when each arm has a verdict.
    """

    reason = "each reward enters the noisy total of one arm in one epoch: parallel composition of Laplace mechanisms"
    theorem = Theorem.REWARDS

    horizon: None = field(init=False, repr=False, default=None)
    epsilon: Positive
    base_rate: Probability
    effect: NotNegative
    margin: NotNegative = 0.0
    alpha: Probability = 0.05
    _steps: list[int] = field(init=False, repr=False, default_factory=list)  # the sum of each arm's released totals
    _open: list[int] = field(init=False, repr=False, default_factory=list)  # arms without a verdict
    _shown: list[int] = field(init=False, repr=False, default_factory=list)  # arms that have passed

    def _start(self) -> None:
        super()._start()
        if self.effect + self.margin <= 0:
            raise ArgumentError(f"effect must be above 0 unless there is a margin, got effect={self.effect!r}")
        if not self.base_rate + self.effect < 1:
            raise ArgumentError(
                f"base_rate and effect must add up to less than 1, got {self.base_rate!r} and {self.effect!r}"
            )
        if not self.base_rate - self.margin > 0:
            raise ArgumentError(f"margin must be below base_rate, {self.base_rate:g}, got {self.margin!r}")
        check_levels(self.arm_alpha, getattr(self, "beta", None))
        scale_for(self.grid.width, self.epsilon)  # refuses an epsilon that no noise is large or small enough for
        self._steps = [0] * len(self.arms)
        self._open, self._shown = list(range(1, len(self.arms))), []

    # ------------------------------------------------------------------ what a test writes

    @property
    @abstractmethod
    def block(self) -> int:
        """The rewards of each arm between two looks."""

    @abstractmethod
    def _judge(self, arm: int, steps: int, look: int) -> bool | None:
        """Return True if an arm passes at this look by its own part of alpha, False if it is given up, None to go on.

        Args:
            arm: The arm's index.
            steps: The total of it that was just released.
            look: The look's number, from 1.
        """

    @abstractmethod
    def _passes(self, arm: int, level: float) -> bool:
        """Return True if an arm that has not passed does so with a larger part of alpha, by what was released so far.

        Whatever the looks, an arm that should not pass does so with this chance at most; and those that pass with a
        part also do so with a larger one.

        Args:
            arm: The arm's index.
            level: The part of alpha.
        """

    # ------------------------------------------------------------------ what anybody may read

    @property
    def control(self) -> Arm:
        """The arm that others are compared with: the first one."""
        return self.arms[0]

    @property
    def arm_alpha(self) -> float:
        """The chance of a false alarm that one arm may use by itself."""
        return self.alpha / (len(self.arms) - 1)

    @property
    def usual(self) -> float:
        """The rewards of each arm that a test with one look and no privacy takes."""
        beta = getattr(self, "beta", None) or _USUAL_MISS
        return fixed_size(self.base_rate, self.effect, self.arm_alpha, beta, self.margin)

    @property
    def verdicts(self) -> dict[Arm, str | None]:
        """The verdict on each arm but the control: "shown" or "not shown", and None while it is open."""
        found: dict[Arm, str | None] = {}
        for index, arm in enumerate(self.arms[1:], 1):
            found[arm] = None if index in self._open else SHOWN if index in self._shown else NOT_SHOWN
        return found

    @property
    def settled(self) -> bool:
        """True when each arm has a verdict."""
        return not self._open

    @property
    def best_arm(self) -> Arm:
        """The arm to prefer: of those that have passed the one of the best mean, or else the control.

        Before the end it is the arm of the best released mean so far, and None before the first release.
        """
        if not self.epoch:
            return None
        among = self._shown or [0, *self._open]
        return self.arms[max(among, key=lambda index: self._steps[index] / max(1, self.pulls[index]))]

    @property
    def viable(self) -> tuple[Arm, ...]:
        """The arms that may still be the one to prefer."""
        kept = {*self._open, *(self._shown or [0])}
        return tuple(arm for index, arm in enumerate(self.arms) if index in kept)

    @property
    def claim(self) -> str:
        """The verdict in words."""
        control, about = self.control, "better than" if not self.margin else "not worse than"
        by = f" by {self._in_units(self.margin)} or more" if self.margin else ""
        by += " on average so far" if getattr(self, "drifting", False) else ""
        parts = []
        for arm, verdict in self.verdicts.items():
            shown = "is" if verdict == SHOWN else "was not shown to be"
            parts.append(f"{arm} is still open" if verdict is None else f"{arm} {shown} {about} {control}{by}")
        sure = f"that any arm passes which should not has a chance of {self.alpha:g} at most"
        return f"{'; '.join(parts)} ({sure})"

    @property
    def question(self) -> str:
        """The question of the test, in words."""
        names = " or ".join(map(str, self.arms[1:]))
        what = (
            f"whether {names} beats {self.control}"
            if not self.margin
            else f"whether {names} is less than {self._in_units(self.margin)} worse than {self.control}"
        )
        base, effect = self._in_units(self.base_rate, self.grid.low), self._in_units(self.effect)
        return (
            f"{what}, from a {'rate' if (self.grid.low, self.grid.high) == (0.0, 1.0) else 'mean'} of {base}, looking "
            f"for +{effect}; false alarms with probability {self.alpha:g} at most, epsilon = {self.epsilon:g}"
        )

    @property
    def _supposed(self) -> tuple[str, str]:
        """Both hypotheses of a forecast, in words: no arm has the effect, and the last one does."""
        worse = f"arms are worse by {self._in_units(self.margin)}" if self.margin else "no arm is better"
        effect = f"better by {self._in_units(self.effect)}" if self.effect else f"as good as {self.control}"
        return worse, f"{self.arms[-1]} is {effect}"

    @property
    def _forecast_for(self) -> str:
        """The rewards that a forecast supposes, as the end of a sentence."""
        base = self._in_units(self.base_rate, self.grid.low)
        return f"for rewards of 0 and 1 and a control at {base}; people are those of all arms."

    def _in_units(self, share: float, low: float = 0.0) -> str:
        """Return a share of the range in the units of rewards.

        Args:
            share: The share.
            low: The least reward, for a mean; 0 for a difference.
        """
        return f"{low + share * (self.grid.high - self.grid.low):.4g}"

    # ------------------------------------------------------------------ the course of a test

    def _plan(self) -> Plan | None:
        if not self._open:
            return None
        return self._plan_for(dict.fromkeys([0, *self._open], self.block), TotalsQuery((self.epsilon,)))

    def _decide(self, releases: Sequence[Release]) -> None:
        steps = {self._index[release.arm]: release.steps for release in releases}
        for arm, released in steps.items():
            self._steps[arm] += released
        self._see(steps)
        for arm in list(self._open):
            found = self._judge(arm, steps[arm], self.epoch)
            if found is not None:
                self._open = [other for other in self._open if other != arm]
                self._shown = [*self._shown, arm] if found else self._shown
        self._share_out()

    def _share_out(self) -> None:
        """Let arms pass by the part of alpha that those which have passed leave to them, until none does (Holm)."""
        others = range(1, len(self.arms))
        while left := [arm for arm in others if arm not in self._shown] if self._shown else []:
            found = [arm for arm in left if self._passes(arm, self.alpha / len(left))]
            if not found:
                return
            self._shown = [*self._shown, *found]
            self._open = [arm for arm in self._open if arm not in found]

    def _see(self, steps: dict[int, int]) -> None:
        """Take the totals of a look into account, before arms are judged."""

    def _standing(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        verdicts, grid = self.verdicts, self.grid
        rows = []
        for index, (arm, pulls) in enumerate(self.taken.items()):
            mean = grid.mean(self._steps[index], pulls) if pulls else None
            rows.append((str(arm), pulls, mean, "control" if not index else verdicts[arm] or "open"))
        return ("arm", "pulls", "released mean", ""), rows

    def _pooled(self, arm: int) -> float:
        """Return the sum of an arm's and the control's released totals, in rewards. Both were pulled equally often."""
        return math.fsum((self._steps[0], self._steps[arm])) / self.grid.width

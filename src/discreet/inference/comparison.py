"""One arm against another: a difference or a lift, with its interval and its p-value."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core import checks
from discreet.core.plans import Arm
from discreet.core.probability.evidence import Numbers
from discreet.inference._two_arms import TwoArms

if TYPE_CHECKING:
    from discreet.inference.summary import Summary

ALTERNATIVES = ("greater", "less", "two-sided")
_LARGEST = 700.0  # the logarithm of a large float


class Interval(NamedTuple):
    """The values that are not ruled out.

    Attributes:
        lower: The lower end.
        upper: The upper end.
    """

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """The upper end minus the lower one."""
        return self.upper - self.lower

    def __str__(self) -> str:
        return f"{self.lower:.4g} to {self.upper:.4g}"


class Evidence(NamedTuple):
    """The evidence against a hypothesis.

    Attributes:
        e_value: The evidence now. If the hypothesis is true, it is ever 1/a or more with a chance of a at most.
        p_value: A bound on the chance, if the hypothesis is true, that evidence is ever as large as it has been; where
            means may drift, as it is now.
    """

    e_value: float
    p_value: float


def evidence_by(history: list[tuple[float, float]], alternative: str) -> Evidence:
    """Return the evidence by the logarithms of the evidence for more and for less, at looks of which the last is now.

    Args:
        history: Both logarithms at each look.
        alternative: What the evidence is for: "greater", "less" or "two-sided".

    >>> evidence_by([(3.0, -9.0), (2.0, -7.0)], "greater")
    Evidence(e_value=7.38905609893065, p_value=0.049787068367863944)
    >>> round(evidence_by([(3.0, -9.0), (2.0, -7.0)], "two-sided").p_value, 4)
    0.0996
    """
    checks.choice("alternative", alternative, ALTERNATIVES)
    sides = {"greater": [0], "less": [1], "two-sided": [0, 1]}[alternative]
    value = sum(math.exp(min(history[-1][side], _LARGEST)) for side in sides) / len(sides)
    most = max(logs[side] for logs in history for side in sides)
    return Evidence(value, min(1.0, len(sides) * math.exp(-most)))


class Comparison:
    """One arm against another, by joint evidence that is valid at all looks together. Computed when it is asked for.

    Args:
        seen: The summary that it belongs to.
        arm: The arm.
        control: The arm that it is compared with.
        relative: True for a lift: the arm's mean over the control's, minus 1. False for the difference of means.
    """

    def __init__(self, seen: Summary, arm: Arm, control: Arm, *, relative: bool) -> None:
        self._seen, self.arm, self.control, self.relative = seen, arm, control, relative
        grid = seen.grid
        self._floor, self._unit = grid.floor / grid.width, grid.width * grid.step
        self.level = seen.level

    # ------------------------------------------------------------------ what is compared

    def _contrast(self, x: Numbers, y: Numbers) -> Numbers:
        """Return the lift or the difference of means x of the control and y of the arm, both rescaled to [0, 1]."""
        if self.relative:
            return (y + self._floor) / (x + self._floor) - 1
        return (y - x) * self._unit

    def _slope(self, x: Numbers, y: Numbers) -> Numbers:
        return (y + self._floor) / (x + self._floor) if self.relative else np.ones_like(y)

    def _line(self, value: float, x: Numbers) -> Numbers:
        """Return the arm's mean at which the lift or difference has a value, for means x of the control."""
        if self.relative:
            return (1 + value) * (x + self._floor) - self._floor
        return x + value / self._unit

    # ------------------------------------------------------------------ what may be said

    @property
    def needs(self) -> tuple[str, ...]:
        """The assumptions about the rewards under which it holds."""
        return self._seen.needs_of(compared=True)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences about what the ledger says against it."""
        return self._seen.cautions_of(self.arm, self.control)

    @cached_property
    def estimate(self) -> float:
        """The released value; NaN where nothing was released, or nothing but noise."""
        return self.estimate_at()

    @cached_property
    def interval(self) -> Interval:
        """The values that are not ruled out: it misses the true one at any look with a chance of 1 - level at most."""
        return self.interval_at()

    def estimate_at(self, epoch: int | None = None) -> float:
        """Return the value that was released by the end of an epoch; NaN if there was none.

        Args:
            epoch: The last epoch that counts; None for all.
        """
        pair = self._seen.pair(self.control, self.arm, epoch)
        if pair is None or (self.relative and not pair.first.mean + self._floor > 0):
            return math.nan
        return float(self._contrast(np.array(pair.first.mean), np.array(pair.second.mean)))

    def interval_at(self, epoch: int | None = None) -> Interval:
        """Return the values that are not ruled out at a look.

        Args:
            epoch: The look: after this epoch. None for now.
        """
        pair = self._seen.pair(self.control, self.arm, epoch)
        if pair is None:
            return Interval(-1.0 if self.relative else -self._unit, math.inf if self.relative else self._unit)
        level = math.log(2 / (1 - self.level))
        lower = pair.lower_end(self._contrast, self._slope, level)
        upper = -pair.mirrored().lower_end(
            lambda x, y: -self._contrast(1 - x, 1 - y), lambda x, y: self._slope(1 - x, 1 - y), level
        )
        return Interval(lower, upper)

    def test(self, against: float = 0.0, alternative: str = "two-sided") -> Evidence:
        """Return the evidence against "at most this" ("greater"), "at least this" ("less") or just this ("two-sided").

        Args:
            against: The lift or difference that the evidence is against.
            alternative: What the evidence is for.

        Raises:
            ArgumentError: `against` is not a finite number, or the alternative none of the three.
        """
        return evidence_by([logs for _, logs in self.history(checks.real("against", against))], alternative)

    @cached_property
    def _equal(self) -> Evidence:
        return self.test()

    @property
    def p_value(self) -> float:
        """The p-value of "both are equally good", at all looks together."""
        return self._equal.p_value

    @property
    def e_value(self) -> float:
        """The evidence against "both are equally good" now."""
        return self._equal.e_value

    @property
    def decided(self) -> bool:
        """True if it is ruled out that both are equally good."""
        return self.p_value <= 1 - self.level

    def history(self, against: float = 0.0) -> list[tuple[int, tuple[float, float]]]:
        """Return the logarithms of the evidence for more and for less than a value, at some looks up to now.

        Leaving looks out makes a p-value larger, never too small. Where means may drift, only the last look counts.

        Args:
            against: The lift or difference that the evidence is against.
        """
        seen = self._seen
        epochs = seen.looks[-1:] if seen.drifting else seen.looks
        found = []
        for epoch in epochs:
            pair = seen.pair(self.control, self.arm, epoch)
            found.append((epoch, (0.0, 0.0) if pair is None else self._both_sides(pair, against)))
        return found or [(0, (0.0, 0.0))]

    def _both_sides(self, pair: TwoArms, value: float) -> tuple[float, float]:
        slope = 1 + value if self.relative else 1.0
        more = pair.least_evidence(lambda x: self._line(value, x), slope)
        less = pair.mirrored().least_evidence(lambda x: 1 - self._line(value, 1 - x), slope)
        return more, less

    @property
    def verdict(self) -> str:
        """The conclusion, in a sentence."""
        sure = f"{self.level:.4g}".rstrip("0").rstrip(".")
        lower, upper = self.interval
        if self.decided and (lower > 0 or upper < 0):
            better = f"{self.arm} is {'better' if lower > 0 else 'worse'} than {self.control}"
        elif self.decided:
            better = f"{self.arm} and {self.control} have been told apart at an earlier look"
        else:
            better = f"{self.arm} and {self.control} cannot be told apart yet"
        kind = "lift" if self.relative else "difference"
        return (
            f"{better}: {kind} {self._text(self.estimate)}, with confidence {sure} between {self._text(lower)} and "
            f"{self._text(upper)} (p = {self.p_value:.2g})"
        )

    def _text(self, value: float) -> str:
        if math.isnan(value):
            return "unknown"
        return f"{100 * value:+.3g} %" if self.relative else f"{value:+.3g}"

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        kind = "lift" if self.relative else "difference"
        return f"<{kind} of {self.arm!r} against {self.control!r}>"

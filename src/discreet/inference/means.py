"""Statements about each arm of a ledger by itself: its mean with an interval, and tests of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.plans import Arm
from discreet.inference._blocks import Blocks, blocks_of
from discreet.inference._exact import exact_interval
from discreet.inference._one_arm import OneArm
from discreet.inference._one_arm import interval as any_interval
from discreet.inference.comparison import Evidence, Interval, evidence_by

_MOST_LOOKS = 32  # of a history: the last one, and earlier ones that are about as far apart


class Means:
    """Statements about each arm of a run by itself, valid at all looks together: the base of `Summary`."""

    def __init__(
        self,
        ledger: Ledger,
        grid: Grid,
        control: Arm,
        level: float,
        *,
        binary: bool,
        drifting: bool,
        aim: int | None,
        shares: Mapping[Arm, float] | None,
    ) -> None:
        self.arms, self.control, self.level, self.grid = ledger.arms, control, level, grid
        self.binary, self.drifting, self._aim, self._shares = binary, drifting, aim, shares
        self._ledger = ledger
        self._blocks = blocks_of(ledger, grid)
        tested = any(blocks.tested.any() for blocks in self._blocks.values())
        self.exact = binary and ledger.fixed_blocks and not drifting and not tested

    def blocks(self, arm: Arm, epoch: int | None = None) -> Blocks:
        """Return the released totals of an arm, all or up to an epoch's end.

        Args:
            arm: The arm.
            epoch: The last epoch that counts; None for all.

        Raises:
            ArgumentError: There is no such arm.
        """
        if arm not in self._blocks:
            raise ArgumentError(f"arm must be one of {', '.join(map(repr, self.arms))}, got {arm!r}")
        return self._blocks[arm] if epoch is None else self._blocks[arm].until(epoch)

    def rewards(self, arm: Arm) -> int:
        """Return the number of an arm's rewards that are in released totals."""
        return self.blocks(arm).rewards

    def mean(self, arm: Arm) -> float:
        """Return the released mean of an arm, which noise may move out of the range; NaN without a release."""
        return self._reward(self.blocks(arm).mean)

    def mean_at(self, arm: Arm, epoch: int) -> float:
        """Return the released mean of an arm up to an epoch's end.

        Args:
            arm: The arm.
            epoch: The last epoch that counts.
        """
        return self._reward(self.blocks(arm, epoch).mean)

    def interval(self, arm: Arm, level: float | None = None, *, epoch: int | None = None) -> Interval:
        """Return the means that are not ruled out: it misses the true one at any look with a chance of 1 - level.

        Where means may drift, it is about the average mean of the arm's rewards so far.

        Args:
            arm: The arm.
            level: The chance that it holds the mean, at all looks together; by default the summary's.
            epoch: The look: after this epoch. By default now.

        Raises:
            ArgumentError: There is no such arm, or the level does not lie between 0 and 1.
        """
        alpha = 1 - (self.level if level is None else checks.fraction("level", level))
        blocks = self.blocks(arm, epoch)
        if self.exact:
            lower, upper = exact_interval(blocks, alpha, self._aim)
        else:
            lower, upper = any_interval(blocks, alpha, self._aim, drifting=self.drifting)
        return Interval(self._reward(lower), self._reward(upper))

    def test(self, arm: Arm, against: float, alternative: str = "two-sided") -> Evidence:
        """Return the evidence against a mean: "at most this" ("greater"), "at least" ("less"), just this ("two-sided").

        Args:
            arm: The arm.
            against: The mean that the evidence is against.
            alternative: What the evidence is for.

        Raises:
            ArgumentError: There is no such arm, or an argument is wrong.
        """
        x = (checks.real("against", against) / self.grid.step - self.grid.floor) / self.grid.width
        if not 0 <= x <= 1:
            raise ArgumentError(f"against must lie in [{self.grid.low}, {self.grid.high}], got {against!r}")
        history = []
        for epoch in self.looks[-1:] if self.drifting else self.looks:
            evidence = OneArm(self.blocks(arm, epoch), self._aim, drifting=self.drifting)
            more = float(evidence.log_evidence(np.array([x]))[0])
            less = float(evidence.mirrored().log_evidence(np.array([1 - x]))[0])
            history.append((more, less))
        return evidence_by(history or [(0.0, 0.0)], alternative)

    def p_value(self, arm: Arm, against: float, alternative: str = "two-sided") -> float:
        """Return the p-value of `test`, which is valid at all looks together.

        Args:
            arm: The arm.
            against: The mean that is tested.
            alternative: "two-sided", "greater" or "less".
        """
        return self.test(arm, against, alternative).p_value

    def e_value(self, arm: Arm, against: float, alternative: str = "two-sided") -> float:
        """Return the e-value of `test`: the evidence against the mean now.

        Args:
            arm: The arm.
            against: The mean that is tested.
            alternative: "two-sided", "greater" or "less".
        """
        return self.test(arm, against, alternative).e_value

    @cached_property
    def looks(self) -> list[int]:
        """The epochs after which something was released: all if they are few, else some of them and the last."""
        epochs = np.unique(np.concatenate([blocks.epochs for blocks in self._blocks.values()]))
        if len(epochs) > _MOST_LOOKS:
            places = np.unique(np.geomspace(1, len(epochs), _MOST_LOOKS).round().astype(int)) - 1
            epochs = epochs[places]
        return [int(epoch) for epoch in epochs]

    def _reward(self, x: float) -> float:
        """Return a mean of rewards rescaled to [0, 1] in the units of the rewards, exact at the ends of the range."""
        if x in (0.0, 1.0):
            return self.grid.high if x else self.grid.low
        return (self.grid.floor + x * self.grid.width) * self.grid.step

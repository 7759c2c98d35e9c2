"""Statements about the arms of a ledger at any time: means, intervals, lifts, tests, and which may be the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._display import Page, Shown
from discreet.core import checks
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.plans import Arm
from discreet.inference import _needs
from discreet.inference._blocks import Blocks
from discreet.inference._two_arms import TwoArms
from discreet.inference.comparison import Comparison
from discreet.inference.means import Means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_RIVALS = 8  # that may rule an arm out
_GIVE_A_GRID = (
    "this ledger does not know the range of its rewards, as those of algorithms and drivers do; "
    "pass grid=discreet.Grid(low, high)"
)


class Summary(Means, Shown):
    """Statements about the arms of a run, each valid at all looks together. They cost no epsilon: see `summary`.

    Attributes:
        arms: The names of the arms.
        control: The arm that others are compared with; None if there is none.
        level: The chance that an interval holds the true value, at all looks together.
        binary: True if all rewards are 0 or 1: the least or the largest of their range.
        drifting: True if means may change during the run.
        grid: The grid that rewards were rounded to.
    """

    @cached_property
    def _pairs(self) -> dict[Any, TwoArms | None]:
        """The joint evidence of pairs of arms at looks that were asked for."""
        return {}

    @cached_property
    def _moved(self) -> dict[Arm, str]:
        """The cautions about means that have moved, of arms that were asked for."""
        return {}

    # ------------------------------------------------------------------ two arms

    def difference(self, arm: Arm, control: Arm = None) -> Comparison:
        """Return an arm's mean minus the control's.

        Args:
            arm: The arm.
            control: What it is compared with; by default the summary's control.

        Raises:
            ArgumentError: There is no such arm, no control, or means may drift and they were never shown together.
        """
        return self._compare(arm, control, relative=False)

    def lift(self, arm: Arm, control: Arm = None) -> Comparison:
        """Return an arm's mean over the control's, minus 1: 0.1 is 10 % more.

        Args:
            arm: The arm.
            control: What it is compared with; by default the summary's control.

        Raises:
            ArgumentError: There is no such arm, no control, rewards may be negative, or means may drift and the two
                were never shown together.
        """
        if self.grid.floor < 0:
            raise ArgumentError(
                f"a lift needs rewards that are never negative, got the range [{self.grid.low}, {self.grid.high}]; "
                "use difference"
            )
        return self._compare(arm, control, relative=True)

    def _compare(self, arm: Arm, control: Arm, *, relative: bool) -> Comparison:
        control = self.control if control is None else control
        if control is None:
            raise ArgumentError("control must be named: summary(ledger, control=...), or as the second argument")
        if arm == control:
            raise ArgumentError(f"arm must be another one than the control, got {arm!r} twice")
        if self.is_apart(arm, control):
            raise ArgumentError(
                f"{arm!r} and {control!r} were never shown in the same epoch: where means may drift, nothing can be "
                "said of one against the other"
            )
        return Comparison(self, arm, control, relative=relative)

    def is_apart(self, arm: Arm, control: Arm) -> bool:
        """Return True if means may drift and the two arms were never shown together, so that nothing can be said.

        Args:
            arm: The one arm.
            control: The other arm.
        """
        a, b = self.blocks(arm), self.blocks(control)
        return self.drifting and bool(len(a) and len(b)) and not len(self._compared(arm, control)[0])

    def pair(self, first: Arm, second: Arm, epoch: int | None = None) -> TwoArms | None:
        """Return the joint evidence of two arms; None where one has no release.

        Args:
            first: The arm that would be the better one under the hypothesis.
            second: The other arm.
            epoch: The last epoch that counts; None for all.
        """
        key = first, second, epoch
        if key not in self._pairs:
            a, b = self._compared(first, second, epoch)
            ratio = None if self._shares is None else self._shares[second] / self._shares[first]
            empty = not len(a) or not len(b)
            self._pairs[key] = None if empty else TwoArms(a, b, ratio, self._aim, drifting=self.drifting)
        return self._pairs[key]

    def _compared(self, first: Arm, second: Arm, epoch: int | None = None) -> tuple[Blocks, Blocks]:
        """Return the totals by which two arms are compared: where means may drift, those of common epochs."""
        a, b = self.blocks(first, epoch), self.blocks(second, epoch)
        return _needs.shown_together(a, b) if self.drifting else (a, b)

    @cached_property
    def may_be_best(self) -> tuple[Arm, ...]:
        """The arms that may still be the best: the best one is among them at all looks, with a chance of `level`."""
        level = math.log((len(self.arms) - 1) / (1 - self.level)) if len(self.arms) > 1 else math.inf
        return tuple(arm for arm in self.arms if not self._is_beaten(arm, level))

    def _is_beaten(self, arm: Arm, level: float) -> bool:
        """Return True if the evidence that another arm is better reaches a level.

        One with no larger mean has none, and of many arms those with the largest means are asked: that may keep an arm
        that could be ruled out, and never rules out one more.
        """
        for other in self._rivals:
            pair = self.pair(arm, other) if other != arm else None
            if pair is None or pair.second.mean <= pair.first.mean:
                continue
            if pair.least_evidence(lambda x: x, 1.0) >= level:
                return True
        return False

    @cached_property
    def _rivals(self) -> list[Arm]:
        """The arms with the largest released means, the largest first."""
        return sorted(self.arms, key=lambda arm: -np.nan_to_num(self.blocks(arm).mean))[:_MOST_RIVALS]

    # ------------------------------------------------------------------ looks, and what statements need

    def needs_of(self, *, compared: bool) -> tuple[str, ...]:
        """Return what must be true of the rewards for a statement to hold.

        Args:
            compared: True for statements about two arms.
        """
        return _needs.needs(exact=self.exact and not compared, drifting=self.drifting, compared=compared)

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """The assumptions about the rewards under which all statements hold."""
        both = (*self.needs_of(compared=False), *self.needs_of(compared=True))
        return tuple(dict.fromkeys(both))

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """Sentences about what the ledger says against these statements, of all arms."""
        found = [caution for arm in self.arms for caution in self.cautions_of(arm, self.control)]
        return tuple(dict.fromkeys(found))

    def cautions_of(self, arm: Arm, control: Arm = None) -> tuple[str, ...]:
        """Return what the ledger says against statements about an arm, or about an arm and a control.

        Args:
            arm: The arm.
            control: The arm that it is compared with; None for statements about one arm.
        """
        found = []
        arms = [arm] if control in (None, arm) else [arm, control]
        if not self.drifting:
            found += [self._has_moved(each) for each in arms]
            if len(arms) == 2:
                apart = _needs.shown_apart(arm, self.blocks(arm), control, self.blocks(control))
                found.append(apart and f"{apart}: the comparison holds only if their means stayed the same")
        if self.binary and not self.exact and not self.drifting:
            found.append(_needs.NOT_FIXED)
        if any(release.simulated for release in self._ledger[:1]):
            found.append(_needs.SIMULATED)
        return tuple(caution for caution in found if caution)

    def _has_moved(self, arm: Arm) -> str:
        if arm not in self._moved:
            self._moved[arm] = _needs.has_moved(arm, self.blocks(arm))
        return self._moved[arm]

    # ------------------------------------------------------------------ as a table, a text, a page, a picture

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each arm: mean and interval, lift against the control, and whether it may be the best."""
        from discreet.inference._tables import rows  # noqa: PLC0415

        return rows(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas table."""
        from discreet.inference._tables import to_pandas  # noqa: PLC0415

        return to_pandas(self)

    def _page(self) -> Page:
        from discreet.inference._tables import page  # noqa: PLC0415

        return page(self)

    def __repr__(self) -> str:
        return f"<Summary of {len(self.arms)} arms, level {self.level:g}>"

    def plot(self, ax: Axes | None = None) -> Figure:
        """Draw means with their intervals over time, and where arms could be told from the control; return the figure.

        Args:
            ax: Where to draw; by default in a new figure.
        """
        from discreet.inference.picture import plot  # noqa: PLC0415

        return plot(self, ax)


def summary(
    ledger: Any,
    control: Arm = None,
    level: float = 0.95,
    *,
    binary: bool = False,
    drifting: bool = False,
    aim: int | None = None,
    shares: Mapping[Arm, float] | None = None,
    grid: Grid | None = None,
) -> Summary:
    """Return what a ledger says about the arms: intervals, lifts and tests that are valid at all looks together.

    Look whenever you like and stop when you like: an interval misses the true value at *any* look with a chance of
    1 - level at most, and a p-value is below a at any look with a chance of a at most if the hypothesis is true. Each
    statement has this level by itself, and `may_be_best` for all arms together. All of it follows from what was
    released, so it costs no epsilon. `docs/proofs/evidence.md` has the proofs; `Summary.needs` says what they ask of
    the rewards, and `Summary.cautions` what the ledger says against it.

    Args:
        ledger: A ledger, or what has one: a bandit, a stream, a result, an algorithm.
        control: The arm that others are compared with.
        level: The chance that an interval holds the true value, at all looks together.
        binary: True if all rewards are 0 or 1 (the ends of their range). Where it was also fixed in advance how many
            rewards each release covers, intervals are then exact, and narrower.
        drifting: True if means may change during the run. Statements are then about the average means so far, and
            two arms are compared by epochs in which both were shown in the same shares.
        aim: The number of rewards of an arm at which intervals shall be narrowest, fixed before the first release.
        shares: The planned share of each arm, fixed before the first release. By default they are equal, about.
        grid: The range of rewards, for a ledger that does not know it.

    Returns:
        The summary. What takes time is computed when it is asked for.

    Raises:
        ArgumentError: An argument is wrong, or the ledger has releases of which no interval can be made.
    """
    found = ledger if isinstance(ledger, Ledger) else getattr(ledger, "ledger", None)
    if not isinstance(found, Ledger):
        raise ArgumentError(f"ledger must be a Ledger, or have one as a bandit has, got {ledger!r}")
    grid = found.grid if grid is None else grid
    if not isinstance(grid, Grid):
        raise ArgumentError(_GIVE_A_GRID if grid is None else f"grid must be a Grid, got {grid!r}")
    if control is not None and control not in found.arms:
        raise ArgumentError(f"control must be one of {', '.join(map(repr, found.arms))}, got {control!r}")
    if shares is not None:
        shares = {arm: checks.positive(f"the share of {arm!r}", shares.get(arm)) for arm in found.arms}
    return Summary(
        found,
        grid,
        control,
        checks.fraction("level", level),
        binary=binary,
        drifting=drifting,
        aim=None if aim is None else checks.whole("aim", aim),
        shares=shares,
    )

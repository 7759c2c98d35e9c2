"""The released totals of a ledger, arm by arm: what all intervals and tests are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.ledger import Ledger
from discreet.core.plans import Arm
from discreet.core.probability.evidence import Numbers
from discreet.core.releases import Kind, Release

NODES = (
    "this ledger has nodes of trees: sums that overlap, so that they say the same thing many times over, with noises "
    "of their own; intervals are made of totals of different rewards, as all policies but those with counters release"
)


@dataclass(frozen=True)
class Blocks:
    """The released totals of one arm, in order, for rewards rescaled to [0, 1].

    Attributes:
        width: The steps of the range.
        epochs: The epoch of each release.
        counts: The rewards in it.
        totals: The noisy total.
        wholes: The noisy total, rounded to a whole number.
        scales: The scale of its noise in grid steps; 0 without noise.
        tested: True where a sparse vector ended the block by a look at these rewards.
        squares: The noisy sum of squared differences of pairs; NaN where it was not released.
        square_scales: The scale of its noise in grid steps.
    """

    width: int
    epochs: NDArray[np.int64]
    counts: Numbers
    totals: Numbers
    wholes: Numbers
    scales: Numbers
    tested: NDArray[np.bool_]
    squares: Numbers
    square_scales: Numbers

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def rewards(self) -> int:
        """The number of rewards in all of them."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The released mean; noise may move it out of [0, 1]. NaN without a release."""
        return float(self.totals.sum() / self.counts.sum()) if len(self) else float("nan")

    @property
    def epsilons(self) -> Numbers:
        """The range over the scale of each noise; infinite without noise."""
        with np.errstate(divide="ignore"):
            return self.width / self.scales

    @property
    def square_epsilons(self) -> Numbers:
        """The range over the scale of each noise of squares."""
        with np.errstate(divide="ignore"):
            return self.width / self.square_scales

    def at(self, which: Any) -> Blocks:
        """Return some of the blocks.

        Args:
            which: A slice, or an array that selects.
        """
        names = [field.name for field in fields(self) if field.name != "width"]
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def until(self, epoch: int) -> Blocks:
        """Return the blocks that were released up to an epoch's end."""
        return self.at(slice(int(np.searchsorted(self.epochs, epoch, side="right"))))

    def mirrored(self) -> Blocks:
        """Return the blocks of 1 minus each reward."""
        return replace(self, totals=self.counts - self.totals, wholes=self.counts - self.wholes)


def blocks_of(ledger: Ledger, grid: Grid) -> dict[Arm, Blocks]:
    """Return the released totals of each arm.

    Args:
        ledger: All releases of a run.
        grid: The grid that rewards were rounded to.

    Raises:
        ArgumentError: The ledger has nodes of trees, or totals of the same rewards.
    """
    rows: dict[Arm, list[list[Any]]] = {arm: [] for arm in ledger.arms}
    last = dict.fromkeys(ledger.arms, 0)
    tested = dict.fromkeys(ledger.arms, 0)  # the last reward of each arm that a sparse vector has looked at
    width, half = grid.width, grid.width // 2
    for release in ledger:
        epoch, kind, spans, steps, scale = release[:5]
        if kind == Kind.NODE:
            raise ArgumentError(NODES)
        if kind == Kind.TESTS:
            for arm, first, end in spans:
                tested[arm] = max(tested[arm], end if end >= first else 0)
            continue
        ((arm, first, end),) = spans
        if end < first:
            continue
        if kind == Kind.SQUARES:
            rows[arm].append([epoch, end - first + 1, None, None, None, False, steps / width, scale])
            continue
        if first <= last[arm]:
            raise ArgumentError(_overlap(release))
        last[arm] = end
        row = rows[arm][-1] if rows[arm] and rows[arm][-1][2] is None else None
        if row is None:
            row = [epoch, end - first + 1, None, None, None, False, np.nan, np.nan]
            rows[arm].append(row)
        row[2:6] = steps / width, (steps + half) // width, scale, first <= tested[arm]
    return {arm: _columns(width, found) for arm, found in rows.items()}


def _overlap(release: Release) -> str:
    (arm, first, end), epoch = release.spans[0], release.epoch
    return (
        f"rewards of arm {arm!r} are in several totals of this ledger (rewards {first} to {end} were released in epoch "
        f"{epoch}, some of them not for the first time), as sparse vectors that share rewards release them; intervals "
        "are made of totals of different rewards"
    )


def _columns(width: int, rows: Iterable[list[Any]]) -> Blocks:
    columns = list(zip(*rows, strict=True)) or [()] * 8
    epochs, counts, totals, wholes, scales, tested, squares, square_scales = columns
    return Blocks(
        width,
        epochs=np.array(epochs, dtype=np.int64),
        counts=np.array(counts, dtype=float),
        totals=np.array(totals, dtype=float),
        wholes=np.array(wholes, dtype=float),
        scales=np.array(scales, dtype=float),
        tested=np.array(tested, dtype=bool),
        squares=np.array(squares, dtype=float),
        square_scales=np.array(square_scales, dtype=float),
    )

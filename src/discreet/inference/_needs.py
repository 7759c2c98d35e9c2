"""The assumptions of statements, in words, and what a ledger says against them."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.plans import Arm
from discreet.core.probability.evidence import Numbers
from discreet.inference._blocks import Blocks
from discreet.inference._one_arm import interval

FRESH = "Each reward is drawn anew: whatever came before, its mean is that of its arm."
STEADY = "The mean of an arm stays the same during the run."
AVERAGE = "Statements are about the average means so far, which may drift as they like."
TOGETHER = (
    "Arms are compared by epochs in which both were shown in the same shares, and within an epoch they are shown in "
    "random order, as a `Bandit` does."
)
BINARY = "All rewards are 0 or 1 (the ends of their range)."
FIXED = "It was fixed in advance how many rewards each release of an arm covers."
NOT_FIXED = (
    "rewards are said to be 0 or 1, but exact intervals also need it to be fixed in advance how many rewards each "
    "release covers, which is not known of this ledger; the wider ones for any schedule are shown"
)
SIMULATED = "the noise came from a seed: these releases protect nobody"

_PARTS = 5  # of a run, that are compared with each other
_DOUBT = 1e-3  # the chance of a false alarm


def needs(*, exact: bool, drifting: bool, compared: bool) -> tuple[str, ...]:
    """Return what must be true of the rewards.

    Args:
        exact: True for exact intervals.
        drifting: True for the forms whose means may drift.
        compared: True for statements about two arms.
    """
    if drifting:
        return (FRESH, AVERAGE, TOGETHER) if compared else (FRESH, AVERAGE)
    return (FRESH, STEADY, BINARY, FIXED) if exact else (FRESH, STEADY)


def shown_apart(arm: Arm, blocks: Blocks, other: Arm, others: Blocks) -> str:
    """Return where two arms were not shown in the same shares; nothing if they always were.

    Args:
        arm: The one arm.
        blocks: Its totals.
        other: The other arm.
        others: Its totals.
    """
    epochs, mine, yours, same = _compared(blocks, others)
    if same.all():
        return ""
    first = int(np.argmin(same))
    counts = f"{int(mine[first]):,} rewards of {arm!r} and {int(yours[first]):,} of {other!r}"
    return f"{arm!r} and {other!r} were not shown in the same shares throughout (epoch {epochs[first]} has {counts})"


def shown_together(blocks: Blocks, others: Blocks) -> tuple[Blocks, Blocks]:
    """Return the totals of epochs in which two arms were shown in the same shares: those of their first common epoch.

    Whether an epoch is one of these is known before its rewards are.

    Args:
        blocks: The totals of the one arm.
        others: Those of the other.
    """
    epochs, _, _, same = _compared(blocks, others)
    kept = epochs[same]
    return blocks.at(np.isin(blocks.epochs, kept)), others.at(np.isin(others.epochs, kept))


def _compared(blocks: Blocks, others: Blocks) -> tuple[Any, Numbers, Numbers, Any]:
    """Return all epochs, the rewards of both arms in each, and whether these are in the shares of the first."""
    epochs = np.union1d(blocks.epochs, others.epochs)
    mine, yours = np.zeros(len(epochs)), np.zeros(len(epochs))
    for counts, each in ((mine, blocks), (yours, others)):
        np.add.at(counts, np.searchsorted(epochs, each.epochs), each.counts)
    both = (mine > 0) & (yours > 0)
    first = int(np.argmax(both)) if both.any() else 0
    ratio = mine[first] / max(1.0, yours[first]) if both.any() else 1.0
    return epochs, mine, yours, both & (np.abs(mine - ratio * yours) <= np.maximum(1.0, 1e-3 * mine))


def has_moved(arm: Arm, blocks: Blocks) -> str:
    """Return that an arm's mean has moved, where parts of the run have no mean in common; a false alarm is rare.

    Part k has the blocks that begin at rewards 2^k to 2^(k+1) - 1: where it begins does not depend on what comes later.

    Args:
        arm: The arm.
        blocks: Its totals.
    """
    part = np.floor(np.log2(np.cumsum(blocks.counts) - blocks.counts + 1))
    parts = np.unique(part)[-_PARTS:]
    if len(parts) < 2:
        return ""
    found = [interval(blocks.at(part == each), _DOUBT / ((each + 1) * (each + 2))) for each in parts]
    lowest, highest = max(lower for lower, _ in found), min(upper for _, upper in found)
    if lowest <= highest:
        return ""
    return f"the mean of {arm!r} has moved during the run: take drifting=True"

"""A promise as an event of `dp_accounting`, to be composed with other mechanisms by a real accountant.

The event must dominate what discreet released, in the accountant's own neighbouring relation, whatever the accountant
does with it. Two things make that less than obvious:

- The accountant is told a *relation*. Neighbours here differ in what one unit did, and not in whether it took part. So
  they are neighbours of REPLACE_ONE; and those of REPLACE_SPECIAL, where what one unit did is replaced by a special
  value, are some of them. ADD_OR_REMOVE_ONE would claim that taking part is hidden: it is refused.
- Among all mechanisms with a pure epsilon, randomized response between two values loses most, under REPLACE_ONE: every
  other one is a post-processing of it (Kairouz, Oh and Viswanath 2015). So it stands for any algorithm here. Under
  REPLACE_SPECIAL the accountant takes randomized response for something that loses less, so it would be wrong; there
  only noisy totals can be expressed, as Laplace mechanisms.

Laplace events have a sensitivity of 1. Discrete Laplace noise of scale s on totals that move by w steps is dominated by
continuous noise with the multiplier s/(w + 1) (not quite by s/w): its divergence from the shifted law is the continuous
one where the loss is a whole multiple of 2/s away from w/s, and a chord of it, as a function of e^loss, in between; a
shift by one more step is above each chord.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from discreet._install import needs
from discreet.core.errors import ArgumentError, PrivacyError
from discreet.core.privacy import Privacy, Theorem, Unit

if TYPE_CHECKING:
    from discreet.core.ledger import Ledger

_TOTAL = "total"
_MOST = 700.0  # beyond it e^epsilon is no float


class Relation(StrEnum):
    """The neighbouring relation of an accountant, by its name in `dp_accounting.NeighboringRelation`."""

    REPLACE_ONE = "REPLACE_ONE"
    """What one unit did is replaced by anything else that it could have done."""
    REPLACE_SPECIAL = "REPLACE_SPECIAL"
    """What one unit did is replaced by a special value."""


def dp_event(privacy: Privacy, ledger: Ledger | None = None, relation: object = Relation.REPLACE_ONE) -> Any:
    """Return an event of `dp_accounting` that dominates a run.

    Args:
        privacy: The promise of the run.
        ledger: All that the run has released, which REPLACE_SPECIAL needs.
        relation: The relation of the accountant: a `Relation`, its name, or a `dp_accounting.NeighboringRelation`.

    Raises:
        PrivacyError: Nothing is promised, or the noise was simulated.
        ArgumentError: In this relation no event is right.
        ModuleNotFoundError: dp_accounting is not installed.
    """
    if not privacy.promised or privacy.simulated:
        why = "the noise was simulated" if privacy.simulated else privacy.reason
        raise PrivacyError(f"there is no event for what is not private: {why}")
    with needs("an event", "accounting"):
        import dp_accounting  # noqa: PLC0415
    name = str(getattr(relation, "name", relation))
    if name == Relation.REPLACE_ONE:
        return dp_accounting.RandomizedResponseDpEvent(noise_parameter(privacy.epsilon), 2)
    if name == Relation.REPLACE_SPECIAL:
        return dp_accounting.LaplaceDpEvent(_multiplier(privacy, ledger))
    raise ArgumentError(
        f"relation must be REPLACE_ONE or REPLACE_SPECIAL, got {name}: that somebody takes part is not hidden, "
        "only what they do"
    )


def noise_parameter(epsilon: float) -> float:
    """Return the noise of randomized response between two values whose privacy loss is epsilon.

    Args:
        epsilon: The loss.

    Raises:
        ArgumentError: The loss is so large that e^epsilon is no float.

    >>> noise = noise_parameter(1.0)
    >>> round(math.log((1 - noise / 2) / (noise / 2)), 12)
    1.0
    """
    if epsilon > _MOST:
        raise ArgumentError(f"epsilon must be at most {_MOST:g} for an event, got {epsilon:g}")
    return 2 / (1 + math.exp(epsilon))


def _multiplier(privacy: Privacy, ledger: Ledger | None) -> float:
    """Return the multiplier of the one Laplace mechanism that each reward has been in."""
    if ledger is None:
        raise ArgumentError("ledger must be given under REPLACE_SPECIAL, got None")
    simple = privacy.theorem is Theorem.REWARDS and privacy.unit is Unit.REWARD
    if not simple or not _one_total_each(ledger):
        why = "this one releases more than that" if simple else f"this one covers {privacy.unit.words}"
        raise ArgumentError(
            "relation must be REPLACE_ONE, got REPLACE_SPECIAL, in which only runs whose rewards are in one noisy "
            f"total each have an event: {why}"
        )
    if any(release.simulated for release in ledger):
        raise PrivacyError("there is no event for what is not private: the noise was simulated")
    if not len(ledger):
        return 1 / privacy.epsilon
    return min(1 / (release.epsilon + 1 / release.scale) for release in ledger)


def _one_total_each(ledger: Ledger) -> bool:
    """Return True if the ledger has totals alone, and no reward is in two of them."""
    ends: dict[Any, int] = {}
    for release in ledger:
        if release.kind != _TOTAL:
            return False
        for arm, first, last in release.spans:
            if first <= ends.get(arm, 0):
                return False
            ends[arm] = max(last, ends.get(arm, 0))
    return True

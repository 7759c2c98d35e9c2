"""IMED with Bernoulli arms, compiled: reference and skip-ahead.

Both take the arms' means, the horizon, a generator state and sorted checkpoints, and give how often each arm was pulled
by each checkpoint.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import IMED
from discreet.lab.instances import Instance
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.formulas import kl, kl_upper
from discreet.lab.kernels.kl_race import BOLDNESS, FRESH, ROUNDING, leads, visit
from discreet.lab.kernels.race import note
from discreet.lab.kernels.randomness import bernoulli, threshold

_WINDOW = 256  # the others are bounded for as many pulls of the leader as it had, and one part in so many


@compiled
def leader(totals, pulls):
    """The arm with the smallest index; ties go to the first."""
    best = 0.0
    for arm in range(totals.size):
        best = max(best, totals[arm] / pulls[arm])
    least, found = np.inf, 0
    for arm in range(totals.size):
        value = pulls[arm] * kl(totals[arm] / pulls[arm], best) + math.log(pulls[arm])
        if value < least:
            least, found = value, arm
    return found


@compiled
def reference(chances, horizon, state, checkpoints):
    """One step at a time, as the policy object does it."""
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    place = 0
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else leader(totals, pulls)
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        pulls[arm] += 1
        place = note(counts, checkpoints, place, pulls, arm, time)
    return counts


@compiled
def rivals(totals, pulls, arm, end):
    """The level and the room that an arm has until its own pulls are `end`.

    Let M be the best mean of the others. If with M as the best mean of all each of their indices is above ln(end), then
    the arm leads as long as its own n kl(mean, M) + ln n is below the smallest of them: a mean of its own above M only
    raises theirs. If not, the arm leads as long as its mean is so far above theirs that each of their indices is above
    ln(end), and there is no room.
    """
    best = 0.0
    for other in range(totals.size):
        if other != arm:
            best = max(best, totals[other] / pulls[other])
    level, room, own = best, np.inf, math.log(end) + ROUNDING
    for other in range(totals.size):
        if other != arm:
            mean, log_pulls = totals[other] / pulls[other], math.log(pulls[other])
            room = min(room, pulls[other] * kl(mean, best) + log_pulls - own)
            level = max(level, kl_upper(mean, (own - log_pulls + ROUNDING) / pulls[other]))
    return (best, room) if room > 0 else (level, 0.0)


@compiled
def _skip_ahead(chances, horizon, state, checkpoints, table, boldness):
    """Pulls the leader until the zeros of its rewards could have cost it the lead.

    While arm a is pulled, the others' indices change only through the best mean of all, and that only where it is a's:
    see `rivals`. The step number is in no index; a's own pulls are bounded by their number at the end of a window.
    """
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    place, time = 0, 0
    while time < horizon:
        arm, most, level, room = time, 1, 1.0, 0.0
        if time >= arms:
            arm = leader(totals, pulls)
            most = min(pulls[arm] // _WINDOW + 1, horizon - time)
            level, room = rivals(totals, pulls, arm, pulls[arm] + most)
            while most > 1 and not leads(totals[arm], pulls[arm], level, room):
                most = most // 8 + 1  # too long a window: the others come close
                level, room = rivals(totals, pulls, arm, pulls[arm] + most)
        gained, done = visit(state, table, arm, chances[arm], totals[arm], pulls[arm], level, room, most, boldness)
        totals[arm] += gained
        pulls[arm] += done
        time += done
        place = note(counts, checkpoints, place, pulls, arm, time)
    return counts


def skip_ahead(chances: Any, horizon: int, state: Any, checkpoints: Any) -> Any:
    """The skip-ahead kernel on fresh randomness."""
    return _skip_ahead(chances, horizon, state, checkpoints, FRESH, BOLDNESS)


def replay(chances: Any, horizon: int, table: Any, checkpoints: Any, boldness: float = BOLDNESS) -> Any:
    """The skip-ahead kernel on a table of rewards, and with guesses as bold as you like."""
    return _skip_ahead(chances, horizon, np.ones(4, np.uint64), checkpoints, table, boldness)


def program(policy: IMED, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    return partial(skip_ahead, instance.means)

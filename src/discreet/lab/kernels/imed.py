"""IMED with Bernoulli arms, compiled: reference and skip-ahead."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
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

_WINDOW = 256  # the others are bounded for as many pulls of the leader as it had, and one part in this many


@compiled
def leader(totals, pulls):
    """Return the arm with the smallest index; ties go to the first.

    Args:
        totals: Each arm's exact total.
        pulls: The pulls of each arm.
    """
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
    """Play one step at a time, as the policy object does, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    mark = np.int64(0)
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else leader(totals, pulls)
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        pulls[arm] += 1
        mark = note(counts, checkpoints, mark, pulls, arm, time)
    return counts


@compiled
def rivals(totals, pulls, arm, end):
    """Return the level and the room that an arm has until its own pulls reach a number.

    Let M be the best mean of the others. If with M as the best mean of all each of their indices is above ln(end), then
    the arm leads as long as its own n kl(mean, M) + ln n is below the smallest of them: a mean of its own above M only
    raises theirs. If not, the arm leads as long as its mean is so far above theirs that each of their indices is above
    ln(end), and there is no room.

    Args:
        totals: Each arm's exact total.
        pulls: The pulls of each arm.
        arm: The arm's index.
        end: The arm's pulls at the end of the window.
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
    """Pull the leader until the zeros of its rewards could have cost it the lead.

    While arm a is pulled, the others' indices change only through the best mean of all, and that only where it is a's:
    see `rivals`. The step number is in no index; a's own pulls are bounded by their number at the end of a window.
    """
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    mark, time = np.int64(0), np.int64(0)
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
        mark = note(counts, checkpoints, mark, pulls, arm, time)
    return counts


def skip_ahead(chances: Any, horizon: int, state: Any, checkpoints: Any) -> Any:
    """Skip ahead on fresh rewards, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    return _skip_ahead(chances, horizon, state, checkpoints, FRESH, BOLDNESS)


def replay(chances: Any, horizon: int, table: Any, checkpoints: Any, boldness: float = BOLDNESS) -> Any:
    """Skip ahead on a table of rewards, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        table: Rewards to replay, by arm and pull.
        checkpoints: Times at which pulls are recorded, sorted.
        boldness: A factor of guessed block sizes, which affect speed only.
    """
    return _skip_ahead(chances, horizon, np.ones(4, np.uint64), checkpoints, table, boldness)


def program(policy: IMED, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    return partial(skip_ahead, instance.means)

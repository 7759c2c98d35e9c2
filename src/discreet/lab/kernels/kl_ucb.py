"""KL-UCB with Bernoulli arms, compiled: reference and skip-ahead."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import KLUCB
from discreet.lab.instances import Instance
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.formulas import kl_upper
from discreet.lab.kernels.kl_race import BOLDNESS, FRESH, ROUNDING, leads, visit
from discreet.lab.kernels.race import note
from discreet.lab.kernels.randomness import bernoulli, threshold

_WINDOW = 256  # the others are bounded for a time longer by one part in this many


@compiled
def exploration(step, c):
    """Return the evidence that rules a mean out.

    Args:
        step: The step.
        c: The policy's c.
    """
    return math.log(step) + c * math.log(math.log(step))


@compiled
def leader(totals, pulls, evidence):
    """Return the arm with the highest index; ties go to the fewest pulls, then to the first.

    Args:
        totals: Each arm's exact total.
        pulls: The pulls of each arm.
        evidence: The exploration at a step.
    """
    best, found = -1.0, 0
    for arm in range(totals.size):
        value = kl_upper(totals[arm] / pulls[arm], evidence / pulls[arm])
        if value > best or (value == best and pulls[arm] < pulls[found]):
            best, found = value, arm
    return found


@compiled
def reference(chances, horizon, state, checkpoints, c):
    """Play one step at a time, as the policy object does, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        c: The policy's c.
    """
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    mark = np.int64(0)
    for time in range(1, horizon + 1):
        arm = time - 1 if time <= arms else leader(totals, pulls, exploration(time, c))
        totals[arm] += bernoulli(state, threshold(chances[arm]))
        pulls[arm] += 1
        mark = note(counts, checkpoints, mark, pulls, arm, time)
    return counts


@compiled
def highest_rival(totals, pulls, arm, evidence):
    """Return the highest index of the other arms, or slightly more.

    Args:
        totals: Each arm's exact total.
        pulls: The pulls of each arm.
        arm: The arm's index.
        evidence: The exploration at a step.
    """
    level = 0.0
    for other in range(totals.size):
        if other != arm:
            value = kl_upper(totals[other] / pulls[other], evidence * (1 + ROUNDING) / pulls[other])
            level = max(level, value)
    return level


@compiled
def _skip_ahead(chances, horizon, state, checkpoints, c, table, boldness):
    """Pull the leader until the zeros of its rewards could have cost it the lead.

    While arm a is pulled, the others' indices grow only through ln t. Up to the end of a window of steps they are at
    most `level`, their highest index there. And a's index is above that as long as its mean is, or
    n kl(mean, level) < ln t, for which ln t at the window's first step is enough: the `room`.
    """
    arms = chances.size
    totals, pulls = np.zeros(arms), np.zeros(arms, np.int64)
    counts = np.zeros((checkpoints.size, arms), np.int64)
    mark, time = np.int64(0), np.int64(0)
    while time < horizon:
        arm, most, level, room = time, 1, 1.0, 0.0
        if time >= arms:
            room = exploration(time + 1, c)
            arm = leader(totals, pulls, room)
            most = min(time // _WINDOW + 1, horizon - time)
            level = highest_rival(totals, pulls, arm, exploration(time + most, c))
            while most > 1 and not leads(totals[arm], pulls[arm], level, room):
                most = most // 8 + 1  # too long a window: the others come close
                level = highest_rival(totals, pulls, arm, exploration(time + most, c))
        gained, done = visit(state, table, arm, chances[arm], totals[arm], pulls[arm], level, room, most, boldness)
        totals[arm] += gained
        pulls[arm] += done
        time += done
        mark = note(counts, checkpoints, mark, pulls, arm, time)
    return counts


def skip_ahead(chances: Any, horizon: int, state: Any, checkpoints: Any, c: float) -> Any:
    """Skip ahead on fresh rewards, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        c: The policy's c.
    """
    return _skip_ahead(chances, horizon, state, checkpoints, c, FRESH, BOLDNESS)


def replay(chances: Any, horizon: int, table: Any, checkpoints: Any, c: float, boldness: float = BOLDNESS) -> Any:
    """Skip ahead on a table of rewards, and return the pulls by checkpoint and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        table: Rewards to replay, by arm and pull.
        checkpoints: Times at which pulls are recorded, sorted.
        c: The policy's c.
        boldness: A factor of guessed block sizes, which affect speed only.
    """
    return _skip_ahead(chances, horizon, np.ones(4, np.uint64), checkpoints, c, table, boldness)


def program(policy: KLUCB, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    return partial(skip_ahead, instance.means, c=policy.c)

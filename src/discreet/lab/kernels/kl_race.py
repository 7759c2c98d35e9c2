"""KL-UCB and IMED with Bernoulli arms, compiled: pull a leader until its zeros could have cost it the lead.

Both policies change their arm only when the leader's mean has sunk. So for some pulls the other arms are summed up by a
*level* and some *room*: the leader stays the leader as long as its mean is above the level, or below it by so little
that n kl(mean, level) is less than the room. Ones never harm it. So it is enough to know how many zeros it can spare,
and its rewards can be drawn in blocks whose number of zeros is drawn first.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import IMED, KLUCB
from discreet.core.probability.divergences import kl, kl_upper
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull
from discreet.lab.kernels.randomness import bernoulli, threshold
from discreet.lab.kernels.ucb import BOLDNESS, FRESH, block_of, reveal

_ROUNDING = 1e-7  # what evidence may lose to rounding: some 1e-16 for each pull
_SMALLEST_BLOCK = 96  # below this many pulls a binomial costs more than it saves
_WINDOW = 256  # the others are bounded for one part in this many of the time (KL-UCB) or of the leader's pulls (IMED)


# ---------------------------------------------------------------------- the leader's visit


@compiled
def leads(total, pulls, level, room):
    """Return whether an arm is surely ahead of the other arms.

    Args:
        total: The arm's exact total.
        pulls: The arm's pulls.
        level: The level that stands for the other arms.
        room: The room that stands for the other arms.
    """
    if level >= 1:
        return False
    mean = total / pulls
    return mean > level or pulls * kl(mean, level) < room - _ROUNDING * (1 + room)


@compiled
def spare_zeros(total, pulls, level, room):
    """Return the zeros that may surely come, among any number of ones, while the arm leads; -1 if it may not lead now.

    n kl(mean, level) falls with every one, and grows with every zero, as long as the mean is below the level. So if the
    arm leads after z zeros and no ones, it leads at every moment before there are more than z zeros. That z is guessed
    from kl(x, y) = (y - x)^2/(2 y (1 - y)), nearly; smaller ones are tried until one is sure.

    Args:
        total: The arm's exact total.
        pulls: The arm's pulls.
        level: The level that stands for the other arms.
        room: The room that stands for the other arms.
    """
    if not leads(total, pulls, level, room):
        return -1
    spare = total / level - pulls + math.sqrt(2 * pulls * room * (1 - level) / level) if level > 0 else 2.0**62
    spare = min(spare, 2.0**62)
    while spare >= 1:
        zeros = np.int64(spare)
        if leads(total, pulls + zeros, level, room):
            return zeros
        spare *= 0.9
    return 0


@compiled
def _next_reward(state, table, arm, start, limit):
    """Return an arm's next reward: fresh, or from a table by arm and pull."""
    return int(table[arm, start]) if table.size else bernoulli(state, limit)


@compiled
def _stretch(state, table, arm, start, chance, spare, most, boldness):
    """Pull an arm until it has more zeros than it can spare, or less far, and return its rewards and the pulls.

    The number of zeros of a block is drawn first. If it can be spared, the block is the arm's own in whatever order.
    If not, the rewards are revealed one by one, given their sum, and what is not revealed is forgotten.
    """
    failure = max(1 - chance, 1e-9)
    guess = (boldness * (spare + 1) - 4 * math.sqrt(spare * chance)) / failure
    size = np.int64(min(max(guess, 0.0), np.float64(most)))
    gained, done = 0, 0
    if size < _SMALLEST_BLOCK:
        limit = threshold(chance)
        while done < most and done - gained <= spare:
            gained += _next_reward(state, table, arm, start + done, limit)
            done += 1
        return gained, done
    ones = block_of(state, table, arm, start, size, chance)
    if size - ones <= spare:
        return ones, size
    while done - gained <= spare:
        gained += reveal(state, table, arm, start + done, size - done, ones - gained)
        done += 1
    return gained, done


@compiled
def visit(state, table, arm, chance, total, pulls, level, room, most, boldness):
    """Pull the leader for as long as it surely leads, and return its rewards and the pulls.

    Args:
        state: The generator's state, which is advanced.
        table: Rewards to replay, by arm and pull; empty for fresh ones.
        arm: The arm's index.
        chance: The arm's mean.
        total: The arm's exact total.
        pulls: The arm's pulls.
        level: The level that stands for the other arms.
        room: The room that stands for the other arms.
        most: The largest number of pulls.
        boldness: A factor of guessed block sizes, which affect speed only.
    """
    gained, done = 0, 0
    while done < most:
        spare, left = spare_zeros(total + gained, pulls + done, level, room), most - done
        if spare < 0:
            if done > 0:
                break  # caught, or nearly: all indices are computed again
            spare, left = 0, 1  # it leads now, so one pull is its own
        ones, size = _stretch(state, table, arm, pulls + done, chance, spare, left, boldness)
        gained += ones
        done += size
    return gained, done


# ---------------------------------------------------------------------- KL-UCB's other arms


@compiled
def exploration(step, c):
    """Return the evidence that rules a mean out.

    Args:
        step: The step.
        c: The policy's c.
    """
    return math.log(step) + c * math.log(math.log(step))


@compiled
def kl_ucb_leader(totals, pulls, evidence):
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
            value = kl_upper(totals[other] / pulls[other], evidence * (1 + _ROUNDING) / pulls[other])
            level = max(level, value)
    return level


# ---------------------------------------------------------------------- IMED's other arms


@compiled
def imed_leader(totals, pulls):
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
def imed_rivals(totals, pulls, arm, end):
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
    level, room, own = best, np.inf, math.log(end) + _ROUNDING
    for other in range(totals.size):
        if other != arm:
            mean, log_pulls = totals[other] / pulls[other], math.log(pulls[other])
            room = min(room, pulls[other] * kl(mean, best) + log_pulls - own)
            level = max(level, kl_upper(mean, (own - log_pulls + _ROUNDING) / pulls[other]))
    return (best, room) if room > 0 else (level, 0.0)


# ---------------------------------------------------------------------- the race


@compiled
def _bounds(totals, pulls, arm, time, most, c):
    """Return the level and the room that stand for the other arms during the next pulls of an arm.

    For KL-UCB, while an arm is pulled, the others' indices grow only through ln t. Up to the end of a window of steps
    they are at most their highest index there. And the arm's index is above that as long as its mean is, or
    n kl(mean, level) < ln t, for which ln t at the window's first step is enough: the room.

    For IMED the others' indices change only through the best mean of all, and that only where it is the arm's: see
    `imed_rivals`. The step number is in no index; the arm's own pulls are bounded by their number at the window's end.
    """
    if c < 0:
        return imed_rivals(totals, pulls, arm, pulls[arm] + most)
    return highest_rival(totals, pulls, arm, exploration(time + most, c)), exploration(time + 1, c)


@compiled
def skip_ahead(chances, horizon, state, checkpoints, c, table, boldness):
    """Pull the leader until the zeros of its rewards could have cost it the lead, and return the pulls by checkpoint
    and arm.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        c: KL-UCB's c; below 0 for IMED.
        table: Rewards to replay, by arm and pull; empty for fresh ones.
        boldness: A factor of guessed block sizes, which affect speed only.
    """
    arms, time = chances.size, np.int64(0)
    totals, track = np.zeros(arms), new_track(arms, checkpoints)
    pulls = track.pulls
    while time < horizon:
        arm, most, level, room = time, 1, 1.0, 0.0
        if time >= arms:
            arm = imed_leader(totals, pulls) if c < 0 else kl_ucb_leader(totals, pulls, exploration(time + 1, c))
            most = min((pulls[arm] if c < 0 else time) // _WINDOW + 1, horizon - time)
            level, room = _bounds(totals, pulls, arm, time, most, c)
            while most > 1 and not leads(totals[arm], pulls[arm], level, room):
                most = most // 8 + 1  # too long a window: the others come close
                level, room = _bounds(totals, pulls, arm, time, most, c)
        gained, done = visit(state, table, arm, chances[arm], totals[arm], pulls[arm], level, room, most, boldness)
        totals[arm] += gained
        time = pull(track, arm, done)
    return track.counts


def program(policy: KLUCB | IMED, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    c = policy.c if isinstance(policy, KLUCB) else -1.0
    return partial(skip_ahead, chances, c=c, table=FRESH, boldness=BOLDNESS)

"""Common parts of the KL-UCB and IMED kernels: pull a leader until its zeros could have cost it the lead.

Both policies change their arm only when the leader's mean has sunk. So for some pulls the other arms are summed up by a
*level* and some *room*: the leader stays the leader as long as its mean is above the level, or below it by so little
that n kl(mean, level) is less than the room. Ones never harm it. So it is enough to know how many zeros it can spare,
and its rewards can be drawn in blocks whose number of zeros is drawn first.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math

import numpy as np

from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.formulas import kl
from discreet.lab.kernels.randomness import bernoulli, threshold
from discreet.lab.kernels.ucb import block_of, reveal

ROUNDING = 1e-7  # what evidence may lose to rounding: some 1e-16 for each pull
BOLDNESS = 0.9  # scales guesses, which only cost time
FRESH = np.zeros((0, 0), np.uint8)  # no table of rewards: they are drawn
_SMALLEST_BLOCK = 96  # below this many pulls a binomial costs more than it saves


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
    return mean > level or pulls * kl(mean, level) < room - ROUNDING * (1 + room)


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

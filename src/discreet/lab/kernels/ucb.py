"""UCB with Bernoulli arms, compiled."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np
from numba import uint64

from discreet.bandits import UCB
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import SLACK, best_rival, leader, new_track, pull
from discreet.lab.kernels.randomness import advance, binomial, threshold, uniform

_SMALLEST_BLOCK = 96  # below this many pulls a binomial costs more than it saves
_RUN = 128  # pulls at most between two looks at the other arms, where blocks are too small
FRESH = np.zeros((0, 0), np.uint8)  # no table of rewards: they are drawn
BOLDNESS = 0.9  # scales guesses, which only cost time


@compiled
def exploration(step):
    """Return sqrt(2 ln t), the factor that all bonuses share."""
    return math.sqrt(2 * math.log(step))


@compiled
def _run_of_pulls(state, limit, margin, rival, most):
    """Pull one arm while its margin stays above 0, `most` times at most, and return its rewards and the pulls.

    While arm a is pulled, the others' indices grow only through ln t. For the whole run they stay below `rival`,
    their best at its last step. With n pulls and total S at the start, a's index stays above that as long as
    S + rewards - (n + k) rival + sqrt(2 ln t n) > 0, where t is the first step: each term is a lower bound. A pull
    lowers this margin by `rival` at most, so as many pulls as it has room for are drawn before the next look at it.
    """
    a, b, c, d = state[0], state[1], state[2], state[3]  # in registers: this loop is what costs
    rewards, done, left = 0, 0, margin
    while True:
        room = most - done if rival <= 0 else min(most - done, np.int64(left / rival))
        room = max(room, 1)
        for _ in range(room):
            word, a, b, c, d = advance(a, b, c, d)
            rewards += 1 if (word >> uint64(11)) < limit else 0
        done += room
        left = margin + rewards - done * rival
        if not (left > 0 and done < most):
            break
    state[0], state[1], state[2], state[3] = a, b, c, d
    return rewards, done


@compiled
def _margin_of(total, pulls, rival, step):
    """Return the margin that `_run_of_pulls` starts from."""
    return total - pulls * rival + exploration(step) * math.sqrt(pulls) * SLACK


# Rewards are fresh, or replayed from a table by arm and pull: then what is skipped can be compared with every step.


@compiled
def block_of(state, table, arm, start, size, chance):
    """Return how many of an arm's next rewards are 1: one binomial draw.

    Args:
        state: The generator's state, which is advanced.
        table: Rewards to replay, by arm and pull; empty for fresh ones.
        arm: The arm's index.
        start: The arm's pulls before.
        size: The number of rewards.
        chance: The arm's mean.
    """
    if table.size:
        ones = 0
        for pull in range(start, start + size):
            ones += int(table[arm, pull])
        return ones
    return binomial(state, size, chance)


@compiled
def reveal(state, table, arm, start, left, ones):
    """Return the next of some rewards whose sum is known: drawn without replacement.

    Args:
        state: The generator's state, which is advanced.
        table: Rewards to replay, by arm and pull; empty for fresh ones.
        arm: The arm's index.
        start: The arm's pulls before.
        left: The number of rewards that are left.
        ones: How many of them are 1.
    """
    if table.size:
        return int(table[arm, start])
    return 1 if uniform(state) * left < ones else 0


@compiled
def _run(state, table, arm, start, chance, margin, rival, most):
    """Pull one arm reward by reward, and return its rewards and the pulls."""
    if not table.size:
        return _run_of_pulls(state, threshold(chance), margin, rival, most)
    rewards, done = 0, 0
    while True:
        reward = int(table[arm, start + done])
        rewards += reward
        margin += reward - rival
        done += 1
        if not (margin > 0 and done < most):
            return rewards, done


@compiled
def _guess(margin, rival, chance, most, boldness):
    """Return a block size that will probably be certain: the number of pulls until the zeros eat up the leader's
    margin.
    """
    failure = max(1 - chance, 1e-9)
    size = boldness * margin / max(rival, 0.05) / failure
    size -= 4 * math.sqrt(max(size, 0.0) * failure * (1 - failure)) / failure
    return int(max(0.0, min(size, float(most))))


@compiled
def certain(total, pulls, zeros, size, means, roots, arm, time):
    """Return whether a block with some zeros is the leader's, in whatever order its rewards come.

    Args:
        total: The arm's exact total.
        pulls: The arm's pulls.
        zeros: The zeros in the block.
        size: The number of rewards.
        means: The arms' means.
        roots: 1/sqrt(pulls) of each arm.
        arm: The arm's index.
        time: The time before the block.
    """
    end = time + 1 + size
    bonus = exploration(end) / math.sqrt(pulls + size)
    return (total / (pulls + zeros) + bonus) * SLACK > best_rival(means, roots, arm, exploration(end))


@compiled
def skip_ahead(chances, horizon, state, checkpoints, table, boldness):
    """Draw the sum of a whole block first, and look inside only when the sum does not settle it; return the pulls by
    checkpoint and arm.

    Arm a leads with n pulls and total S before step t. Draw the number of zeros z among its next m
    rewards. At any decision inside the block a's mean is at least S/(n + z), since ones never lower a mean,
    and its bonus at least sqrt(2 ln(t + m)/(n + m)), since ln(t + k)/(n + k) falls in k (n <= t, t >= 3).
    The rivals' indices are at most what they are at step t + m. If a's bound is above theirs, the block is
    all a's, and only the sum matters. Otherwise the rewards are revealed one by one, given their sum, with
    the ordinary test after each. What is not revealed when the leader changes is forgotten: rewards are
    independent, and the change is decided by what was revealed.

    Args:
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
        table: Rewards to replay, by arm and pull; empty for fresh ones.
        boldness: A factor of guessed block sizes, which affect speed only.
    """
    arms, time = chances.size, np.int64(0)
    totals, means, roots = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    track = new_track(arms, checkpoints)
    pulls = track.pulls
    while time < horizon:
        if time < arms:
            arm, size, margin, rival, short = time, 0, 0.0, 0.0, 1
        else:
            arm = leader(means, roots, exploration(time + 1))
            short = min(_RUN, horizon - time)
            rival = best_rival(means, roots, arm, exploration(time + short))
            margin = _margin_of(totals[arm], pulls[arm], rival, time + 1)
            size = _guess(margin, rival, chances[arm], horizon - time, boldness)
        start = pulls[arm]
        if size < _SMALLEST_BLOCK:
            gained, done = _run(state, table, arm, start, chances[arm], margin, rival, short)
        else:
            ones = block_of(state, table, arm, start, size, chances[arm])
            if certain(totals[arm], start, size - ones, size, means, roots, arm, time):
                gained, done = ones, size
            else:
                gained, done = 0, 0
                while True:
                    gained += reveal(state, table, arm, start + done, size - done, ones - gained)
                    done += 1
                    if done == size:
                        break
                    step = time + done + 1
                    value = (totals[arm] + gained) / (start + done) + exploration(step) / math.sqrt(start + done)
                    if not value * SLACK > best_rival(means, roots, arm, exploration(step)):
                        break  # caught, or nearly: all indices are computed again
        totals[arm] += gained
        time = pull(track, arm, done)
        means[arm], roots[arm] = totals[arm] / pulls[arm], 1 / math.sqrt(pulls[arm])
    return track.counts


def program(policy: UCB, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(skip_ahead, chances, table=FRESH, boldness=BOLDNESS)

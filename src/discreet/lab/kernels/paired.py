"""DP-Paired-IMED with Bernoulli arms, compiled: an epoch at a time, as the object does it.

`lead`, `pairs` and `shared` have an entry for every two arms: by how much one is ahead of the other in the epochs that
both were in, how often each was pulled in these, and how many there were. A lead is a multiple of the grid's step far
below 2^53 of them, so floats hold it exactly.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any

import numpy as np

from discreet.bandits import DPPairedIMED
from discreet.bandits.dp_paired_imed import ENOUGH
from discreet.core.probability.tails import paired_exponent
from discreet.lab.kernels.batched import next_batch, parameters_of, release
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull, take_turns


@compiled
def evidence(parameters, lead, pairs, shared, one, other):
    """Return the evidence against an arm as good as another that is ahead of it.

    Args:
        parameters: The parameters of the object.
        lead: The lead of one arm over another.
        pairs: The pulls of both in shared epochs.
        shared: The number of shared epochs.
        one: The arm that leads.
        other: The arm that is behind.
    """
    return paired_exponent(lead[one, other], float(pairs[one, other]), 2 * shared[one, other], parameters.epsilon)


@compiled
def challenger_of(parameters, lead, pairs, shared, leader, pulls):
    """Return the arm with the least evidence against it, if that is little enough; else the leader.

    Args:
        parameters: The parameters of the object.
        lead: The lead of one arm over another.
        pairs: The pulls of both in shared epochs.
        shared: The number of shared epochs.
        leader: The leader.
        pulls: The leader's pulls.
    """
    found, least = leader, math.log(pulls)
    for arm in range(lead.shape[0]):
        if arm != leader:
            against = evidence(parameters, lead, pairs, shared, leader, arm) + math.log(pairs[leader, arm])
            if against < least:
                found, least = arm, against
    return found


@compiled
def _add_pair(lead, pairs, shared, one, other, ahead, size):
    """Enter an epoch of two arms, with the same number of pulls of each."""
    lead[one, other] += ahead
    lead[other, one] -= ahead
    for first, second in ((one, other), (other, one)):
        pairs[first, second] += size
        shared[first, second] += 1


@compiled
def _play(parameters, chances, horizon, state, checkpoints):
    arms, first, track = chances.size, parameters.first, new_track(chances.size, checkpoints)
    lead, pairs, shared = np.zeros((arms, arms)), np.zeros((arms, arms), np.int64), np.zeros((arms, arms), np.int64)
    totals, pulls = np.zeros(arms), track.pulls
    time = take_turns(track, np.arange(arms), min(first * arms, horizon))
    for one in range(arms):
        totals[one] = release(state, parameters, first, chances[one])
        for other in range(one):
            _add_pair(lead, pairs, shared, one, other, totals[one] - totals[other], first)
    leader = np.int64(totals.argmax())
    while time < horizon:
        arm = challenger_of(parameters, lead, pairs, shared, leader, pulls[leader])
        if arm == leader:  # alone: nothing is learnt
            time = pull(track, leader, min(next_batch(parameters, pulls[leader]), horizon - time))
            continue
        size = next_batch(parameters, pairs[leader, arm])
        whole = 2 * size <= horizon - time  # an epoch that the horizon cuts short is not released
        time = take_turns(track, np.array([leader, arm]), min(2 * size, horizon - time))
        if whole:
            ahead = release(state, parameters, size, chances[leader]) - release(state, parameters, size, chances[arm])
            _add_pair(lead, pairs, shared, leader, arm, ahead, size)
            if evidence(parameters, lead, pairs, shared, arm, leader) > ENOUGH:
                leader = arm
    return track.counts


def program(policy: DPPairedIMED, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(_play, parameters_of(policy), chances)

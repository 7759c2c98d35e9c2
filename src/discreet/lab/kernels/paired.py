"""DP-Paired-IMED with Bernoulli arms, compiled: an epoch at a time, as the object does it.

`lead`, `pairs` and `shared` have an entry for every two arms: by how much one is ahead of the other in the epochs that
both were in, how often each was pulled in these, and how many there were. A lead is a multiple of the grid's step far
below 2^53 of them, so floats hold it exactly.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPPairedIMED
from discreet.bandits.dp_paired_imed import _ENOUGH
from discreet.lab.instances import Instance
from discreet.lab.kernels.batched import note_turns
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.formulas import paired_exponent
from discreet.lab.kernels.race import note
from discreet.lab.kernels.randomness import binomial, discrete_laplace


class Parameters(NamedTuple):
    """What a policy object is made of."""

    epsilon: float
    ratio: float
    first: int
    scale: float
    """Of the noise, in grid units."""
    width: int
    enough: float
    """Evidence to change the leader."""


def parameters_of(policy: DPPairedIMED) -> Parameters:
    """The same of a policy object."""
    scale, width = policy._laplace.scale, policy.grid.width
    return Parameters(policy.epsilon, policy.ratio, policy.first_batch, scale, width, _ENOUGH)


@compiled
def batch_size(parameters, pulls):
    """The next batch after so many pulls."""
    return max(np.int64(1), np.int64(math.ceil((parameters.ratio - 1) * pulls)))


@compiled
def release(state, parameters, count, chance):
    """The noisy total of so many rewards."""
    return binomial(state, count, chance) + discrete_laplace(state, parameters.scale) / parameters.width


@compiled
def evidence(parameters, lead, pairs, shared, one, other):
    """How unlikely one arm's lead over another is if the other is as good."""
    return paired_exponent(lead[one, other], float(pairs[one, other]), 2 * shared[one, other], parameters.epsilon)


@compiled
def challenger_of(parameters, lead, pairs, shared, leader, pulls):
    """The arm against which least speaks, if that is little enough; else the leader itself."""
    found, least = leader, math.log(pulls)
    for arm in range(lead.shape[0]):
        if arm != leader:
            against = evidence(parameters, lead, pairs, shared, leader, arm) + math.log(pairs[leader, arm])
            if against < least:
                found, least = arm, against
    return found


@compiled
def add_pair(lead, pairs, shared, one, other, ahead, size):
    """An epoch that two arms were in, with so many pulls of each."""
    lead[one, other] += ahead
    lead[other, one] -= ahead
    for first, second in ((one, other), (other, one)):
        pairs[first, second] += size
        shared[first, second] += 1


@compiled
def note_pair(counts, checkpoints, place, pulls, leader, challenger, time, end):
    """Write the checkpoints up to `end`, when two arms have taken turns since `time`; gives the next open one."""
    while place < checkpoints.size and checkpoints[place] <= end:
        done = checkpoints[place] - time
        counts[place] = pulls
        counts[place, leader] += done - done // 2
        counts[place, challenger] += done // 2
        place += 1
    return place


@compiled
def _play(parameters, chances, horizon, state, checkpoints):
    arms = chances.size
    lead, pairs, shared = np.zeros((arms, arms)), np.zeros((arms, arms), np.int64), np.zeros((arms, arms), np.int64)
    counts, pulls = np.zeros((checkpoints.size, arms), np.int64), np.full(arms, parameters.first)
    time = min(parameters.first * arms, horizon)
    place = note_turns(counts, checkpoints, arms, time)
    totals = np.array([release(state, parameters, parameters.first, chance) for chance in chances])
    for one in range(arms):
        for other in range(one):
            add_pair(lead, pairs, shared, one, other, totals[one] - totals[other], parameters.first)
    leader = np.int64(totals.argmax())
    while time < horizon:
        arm = challenger_of(parameters, lead, pairs, shared, leader, pulls[leader])
        if arm == leader:  # alone: nothing is learnt
            size = min(batch_size(parameters, pulls[leader]), horizon - time)
            pulls[leader] += size
            time += size
            place = note(counts, checkpoints, place, pulls, leader, time)
            continue
        size = batch_size(parameters, pairs[leader, arm])
        place = note_pair(counts, checkpoints, place, pulls, leader, arm, time, min(time + 2 * size, horizon))
        time += 2 * size
        if time > horizon:
            break  # an epoch that the horizon cuts short is not released
        pulls[leader] += size
        pulls[arm] += size
        ahead = release(state, parameters, size, chances[leader]) - release(state, parameters, size, chances[arm])
        add_pair(lead, pairs, shared, leader, arm, ahead, size)
        if evidence(parameters, lead, pairs, shared, arm, leader) > parameters.enough:
            leader = arm
    return counts


def program(policy: DPPairedIMED, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    return partial(_play, parameters_of(policy), instance.means)

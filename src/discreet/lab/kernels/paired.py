"""DP-Paired-IMED with Bernoulli arms, compiled: an epoch at a time, as the object does it.

`lead`, `pairs` and `shared` have an entry for every two arms: by how much one is ahead of the other in the epochs that
both were in, how often each was pulled in these, and how many there were. A lead is a multiple of the grid's step far
below 2^53 of them, so floats hold it exactly.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPPairedIMED
from discreet.bandits.dp_paired_imed import ENOUGH
from discreet.core.noise import scale_for
from discreet.lab.instances import Instance
from discreet.lab.kernels.batched import note_turns
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.formulas import paired_exponent
from discreet.lab.kernels.race import note, record
from discreet.lab.kernels.randomness import binomial, discrete_laplace


class Parameters(NamedTuple):
    """Parameters of a policy, by its own names."""

    epsilon: float
    ratio: float
    first: int
    scale: float
    """Of the noise, in grid steps."""
    width: int
    enough: float
    """Evidence to change the leader."""


def parameters_of(policy: DPPairedIMED) -> Parameters:
    """Return the parameters of a policy."""
    width = policy.grid.width
    scale = scale_for(width, policy.epsilon)
    return Parameters(policy.epsilon, policy.ratio, policy.batch_size(0), scale, width, ENOUGH)


@compiled
def _batch_size(parameters, pulls):
    """Return the size of the next batch after some pulls."""
    return max(np.int64(1), np.int64(math.ceil((parameters.ratio - 1) * pulls)))


@compiled
def _release(state, parameters, count, chance):
    """Return the noisy total of rewards."""
    return binomial(state, count, chance) + discrete_laplace(state, parameters.scale) / parameters.width


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
def _note_pair(counts, checkpoints, mark, pulls, leader, challenger, time, end):
    """Record the checkpoints up to `end`, when two arms have taken turns since `time`, and return the index of the next
    checkpoint.
    """
    while mark < checkpoints.size and checkpoints[mark] <= end:
        done = checkpoints[mark] - time
        record(counts, mark, pulls)
        counts[mark, leader] += done - done // 2
        counts[mark, challenger] += done // 2
        mark += 1
    return mark


@compiled
def _play(parameters, chances, horizon, state, checkpoints):
    arms = chances.size
    lead, pairs, shared = np.zeros((arms, arms)), np.zeros((arms, arms), np.int64), np.zeros((arms, arms), np.int64)
    counts, pulls = np.zeros((checkpoints.size, arms), np.int64), np.full(arms, parameters.first)
    time = min(parameters.first * arms, horizon)
    mark = note_turns(counts, checkpoints, arms, time)
    totals = np.zeros(arms)
    for one in range(arms):
        totals[one] = _release(state, parameters, parameters.first, chances[one])
        for other in range(one):
            _add_pair(lead, pairs, shared, one, other, totals[one] - totals[other], parameters.first)
    leader = np.int64(totals.argmax())
    while time < horizon:
        arm = challenger_of(parameters, lead, pairs, shared, leader, pulls[leader])
        if arm == leader:  # alone: nothing is learnt
            size = min(_batch_size(parameters, pulls[leader]), horizon - time)
            pulls[leader] += size
            time += size
            mark = note(counts, checkpoints, mark, pulls, leader, time)
            continue
        size = _batch_size(parameters, pairs[leader, arm])
        mark = _note_pair(counts, checkpoints, mark, pulls, leader, arm, time, min(time + 2 * size, horizon))
        time += 2 * size
        if time > horizon:
            break  # an epoch that the horizon cuts short is not released
        pulls[leader] += size
        pulls[arm] += size
        ahead = _release(state, parameters, size, chances[leader]) - _release(state, parameters, size, chances[arm])
        _add_pair(lead, pairs, shared, leader, arm, ahead, size)
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

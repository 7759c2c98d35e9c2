"""Elimination with sharp constants on Bernoulli arms, compiled: an epoch at a time, as the object does it."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from itertools import count, takewhile
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPSharpElimination
from discreet.core.noise import scale_for
from discreet.core.probability.tails import clearly_behind
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, take_turns
from discreet.lab.kernels.randomness import binomial, discrete_laplace

NEVER, ENDLESS = -1, 2**50  # more pulls than a run can have


class Parameters(NamedTuple):
    """Parameters of a policy, by its own names; arrays have an entry for each epoch.

    Attributes:
        ends: An arm's pulls by the end of each epoch, with a 0 before.
        most: The pulls at which a search ends.
        scale: Of the noise, in grid steps.
    """

    epsilon: float
    window: int
    ends: Any
    levels: Any
    doubts: Any
    most: int
    scale: float
    width: int


def parameters_of(policy: DPSharpElimination) -> Parameters:
    """Return the parameters of a policy, with all epochs that it could play."""
    to, most = policy.schedule, min(policy.max_pulls or ENDLESS, ENDLESS)
    epochs = [*takewhile(lambda epoch: to.pulls_by(epoch - 1) <= most, count(1))]
    return Parameters(
        epsilon=policy.epsilon,
        window=policy.window,
        ends=np.array([0, *(min(to.pulls_by(epoch), 2 * ENDLESS) for epoch in epochs)]),
        levels=np.array([*map(to.level, epochs)]),
        doubts=np.array([*map(to.doubt, epochs)]),
        most=most,
        scale=scale_for(policy.grid.width, policy.epsilon),
        width=policy.grid.width,
    )


@compiled
def drop(parameters, epoch, totals, viable):
    """Drop arms after an epoch, and return the leader.

    Args:
        parameters: The parameters of the object.
        epoch: The epoch.
        totals: Each arm's noisy total over the window.
        viable: True for each viable arm, which is updated.
    """
    leader = -1
    for arm in range(viable.size):
        if viable[arm] and (leader < 0 or totals[arm] > totals[leader]):
            leader = arm
    noises = min(epoch, parameters.window)
    pulls = parameters.ends[epoch] - parameters.ends[epoch - noises]
    level, doubt = parameters.levels[epoch - 1], parameters.doubts[epoch - 1]
    for arm in range(viable.size):
        if viable[arm] and arm != leader:
            lead, total = totals[leader] - totals[arm], totals[arm]
            viable[arm] = not clearly_behind(lead, total, float(pulls), noises, parameters.epsilon, level, doubt)
    return leader


@compiled
def play(parameters, chances, horizon, state, checkpoints):
    """Return the pulls at the checkpoints, when each arm was dropped, its pulls until one was left, and which one.

    Args:
        parameters: The parameters of the object.
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    arms, track, dropped = chances.size, new_track(chances.size, checkpoints), np.full(chances.size, NEVER)
    released, totals = np.zeros((arms, parameters.window)), np.zeros(arms)
    viable, leader, time, epoch = np.full(arms, True), -1, np.int64(0), 0
    while viable.sum() > 1 and time < horizon:
        epoch += 1
        rounds = parameters.ends[epoch] - parameters.ends[epoch - 1]
        size = rounds * viable.sum()
        if time + size > parameters.most:
            break
        whole = size <= horizon - time  # an epoch that the horizon cuts short is not released
        time = take_turns(track, np.flatnonzero(viable), min(size, horizon - time))
        if whole:
            for arm in np.flatnonzero(viable):
                noise = discrete_laplace(state, parameters.scale) / parameters.width
                released[arm, epoch % parameters.window] = binomial(state, rounds, chances[arm]) + noise
                totals[arm] = released[arm].sum()
            leader = drop(parameters, epoch, totals, viable)
            for each in range(arms):
                if not viable[each] and dropped[each] == NEVER:
                    dropped[each] = time
    until = track.pulls.copy()
    take_turns(track, np.arange(arms) if leader < 0 else np.array([leader]), horizon - time)
    return track.counts, dropped, until, leader if viable.sum() == 1 else NEVER


def program(policy: DPSharpElimination, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    parameters = parameters_of(policy)
    return lambda *job: play(parameters, chances, *job)[:2]

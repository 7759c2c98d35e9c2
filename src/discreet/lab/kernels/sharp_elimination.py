"""Elimination with sharp constants on Bernoulli arms, compiled: an epoch at a time, as the object does it."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
from itertools import count, takewhile
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPSharpElimination
from discreet.core.noise import scale_for
from discreet.lab.instances import Instance
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.formulas import clearly_behind
from discreet.lab.kernels.race import record
from discreet.lab.kernels.randomness import binomial, discrete_laplace

NEVER, ENDLESS = -1, 2**50  # more pulls than a run can have


class Parameters(NamedTuple):
    """Parameters of a policy, by its own names; arrays have an entry for each epoch."""

    epsilon: float
    window: int
    ends: Any
    """An arm's pulls by the end of each epoch, with a 0 before."""
    levels: Any
    doubts: Any
    most: int
    """The pulls at which a search ends."""
    scale: float
    """Of the noise, in grid steps."""
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
    pulls, level, doubt = (
        parameters.ends[epoch] - parameters.ends[epoch - noises],
        parameters.levels[epoch - 1],
        parameters.doubts[epoch - 1],
    )
    for arm in range(viable.size):
        if viable[arm] and arm != leader:
            lead, total = totals[leader] - totals[arm], totals[arm]
            viable[arm] = not clearly_behind(lead, total, float(pulls), noises, parameters.epsilon, level, doubt)
    return leader


@compiled
def _take_turns(noted, checkpoints, mark, pulls, taking, time, size):
    """Pull some arms in turn, record the checkpoints among the pulls, and return the index of the next checkpoint."""
    start, arms = pulls.copy(), taking.sum()
    while True:
        inside = mark < checkpoints.size and checkpoints[mark] <= time + size
        done = checkpoints[mark] - time if inside else size
        turn = 0
        for arm in range(pulls.size):
            if taking[arm]:
                pulls[arm] = start[arm] + done // arms + (1 if turn < done % arms else 0)
                turn += 1
        if not inside:
            return mark
        record(noted, mark, pulls)
        mark += 1


@compiled
def _play(parameters, chances, horizon, state, checkpoints):
    """Return the pulls at the checkpoints, when each arm was dropped, its pulls until one was left, and which one."""
    arms = chances.size
    pulls, dropped = np.zeros(arms, np.int64), np.full(arms, NEVER)
    noted = np.zeros((checkpoints.size, arms), np.int64)
    released, totals = np.zeros((arms, parameters.window)), np.zeros(arms)
    viable, leader, time, mark, epoch = np.full(arms, True), -1, np.int64(0), np.int64(0), 0
    while viable.sum() > 1 and time < horizon:
        epoch += 1
        rounds = parameters.ends[epoch] - parameters.ends[epoch - 1]
        size = rounds * viable.sum()
        if time + size > parameters.most:
            break
        whole = size <= horizon - time  # an epoch that the horizon cuts short is not released
        size = min(size, horizon - time)
        mark = _take_turns(noted, checkpoints, mark, pulls, viable, time, size)
        time += size
        if whole:
            for arm in range(arms):
                if viable[arm]:
                    noise = discrete_laplace(state, parameters.scale) / parameters.width
                    released[arm, epoch % parameters.window] = binomial(state, rounds, chances[arm]) + noise
                    totals[arm] = released[arm].sum()
            leader = drop(parameters, epoch, totals, viable)
            for arm in range(arms):
                if not viable[arm] and dropped[arm] == NEVER:
                    dropped[arm] = time
    until = pulls.copy()
    left = np.full(arms, leader < 0)
    left[max(0, leader)] = True
    _take_turns(noted, checkpoints, mark, pulls, left, time, horizon - time)
    return noted, dropped, until, leader if viable.sum() == 1 else NEVER


def program(policy: DPSharpElimination, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    chances, parameters = instance.means, parameters_of(policy)
    return lambda *job: _play(parameters, chances, *job)[:2]


def search(parameters: Parameters, chances: Any, state: Any) -> tuple[Any, int]:
    """Return the pulls of each arm until one was left, and which; -1 if the search was given up.

    Args:
        parameters: The parameters of the object.
        chances: The arms' means.
        state: The generator's state, which is advanced.
    """
    _, _, pulls, found = _play(parameters, chances, ENDLESS, state, np.zeros(0, np.int64))
    return pulls, int(found)

"""Searches for the best arm by evidence, with Bernoulli arms, compiled: a batch at a time, as the objects do it."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits.dp_evidence_best_arm import QUIET, DPEvidenceBestArm
from discreet.core.noise import scale_for
from discreet.core.probability.lead_evidence import lead_evidence
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull, take_turns
from discreet.lab.kernels.randomness import binomial, discrete_laplace

NEVER, ENDLESS = -1, 2**50  # more pulls than a run can have


class Parameters(NamedTuple):
    """Parameters of a policy, by its own names.

    Attributes:
        level: The evidence that drops an arm.
        most: The pulls at which a search ends.
        scale: Of the noise, in grid steps.
    """

    epsilon: float
    ratio: float
    first: int
    level: float
    most: int
    scale: float
    width: int


def parameters_of(policy: DPEvidenceBestArm) -> Parameters:
    """Return the parameters of a policy."""
    most = min(policy.max_pulls or ENDLESS, ENDLESS)
    epsilon, width = policy.epsilon, policy.grid.width
    own = epsilon, policy.ratio, policy.batch_size(0), policy.drop_level(), most
    return Parameters(*own, scale_for(width, epsilon), width)


class Race(NamedTuple):
    """The state of a search: each arm's noisy total, its rewards, its noises, and the most evidence against it."""

    totals: Any
    counts: Any
    noises: Any
    against: Any


@compiled
def next_batch(parameters, race, arm):
    """Return the pulls of an arm's next batch.

    Args:
        parameters: The parameters of the object.
        race: The state.
        arm: The arm's index.
    """
    pulls, chance = race.counts[arm], min(max(race.totals[arm] / race.counts[arm], 0.01), 0.99)
    quiet = QUIET / (parameters.epsilon * parameters.epsilon * chance * (1 - chance))
    return np.int64(math.ceil(max(pulls * (parameters.ratio - 1), min(float(pulls), quiet))))


@compiled
def decide(parameters, race):
    """Enter evidence against the arms that are left, and return the leader and the challenger; -1 without one.

    Args:
        parameters: The parameters of the object.
        race: The state, which is updated.
    """
    totals, counts, noises, against = race
    leader, challenger, least = -1, -1, np.inf
    for arm in range(totals.size):
        better = leader < 0 or totals[arm] / counts[arm] > totals[leader] / counts[leader]
        if against[arm] < parameters.level and better:
            leader = arm
    for arm in range(totals.size):
        if arm != leader and against[arm] < parameters.level:
            found = lead_evidence(
                totals[leader], float(counts[leader]), noises[leader], totals[arm], float(counts[arm]), noises[arm],
                parameters.epsilon,
            )  # fmt: skip
            against[arm] = max(against[arm], found)
            cost = found + math.log(counts[arm]) / 2
            if cost < least and against[arm] < parameters.level:
                challenger, least = arm, cost
    return leader, challenger


@compiled
def add(state, parameters, race, arm, size, chance):
    """Add a batch's noisy total to an arm's.

    Args:
        state: The generator's state, which is advanced.
        parameters: The parameters of the object.
        race: The state, which is updated.
        arm: The arm's index.
        size: The pulls of the batch.
        chance: The arm's mean.
    """
    reward = binomial(state, size, chance)
    race.totals[arm] += reward + discrete_laplace(state, parameters.scale) / parameters.width
    race.counts[arm] += size
    race.noises[arm] += 1


@compiled
def play(parameters, chances, horizon, state, checkpoints):
    """Return the pulls at the checkpoints, when each arm was dropped, its pulls until the end, and the arm found.

    Args:
        parameters: The parameters of the object.
        chances: The arms' means.
        horizon: The number of pulls.
        state: The generator's state, which is advanced.
        checkpoints: Times at which pulls are recorded, sorted.
    """
    arms, first, track = chances.size, parameters.first, new_track(chances.size, checkpoints)
    race = Race(np.zeros(arms), np.zeros(arms, np.int64), np.zeros(arms, np.int64), np.zeros(arms))
    dropped, leader, challenger, time = np.full(arms, NEVER), NEVER, 0, np.int64(0)
    if first * arms <= min(parameters.most, horizon):
        time = take_turns(track, np.arange(arms), first * arms)
        for arm in range(arms):
            add(state, parameters, race, arm, first, chances[arm])
        leader, challenger = decide(parameters, race)
    while leader >= 0 and challenger >= 0 and time < horizon:
        for arm in range(arms):
            if dropped[arm] == NEVER and race.against[arm] >= parameters.level:
                dropped[arm] = time
        arm = leader if race.counts[leader] <= race.counts[challenger] else challenger
        size = next_batch(parameters, race, arm)
        if time + size > min(parameters.most, horizon):
            if time + size > horizon and time + size <= parameters.most:
                time = pull(track, arm, horizon - time)  # the rest of a batch that is not released
            break
        time = pull(track, arm, size)
        add(state, parameters, race, arm, size, chances[arm])
        leader, challenger = decide(parameters, race)
    for arm in range(arms):
        if dropped[arm] == NEVER and race.against[arm] >= parameters.level:
            dropped[arm] = time
    until = track.pulls.copy()
    take_turns(track, np.arange(arms) if leader < 0 else np.array([leader]), horizon - time)
    return track.counts, dropped, until, leader if challenger < 0 else NEVER


def _counted(parameters, chances, horizon, state, checkpoints):
    return play(parameters, chances, horizon, state, checkpoints)[:2]


def program(policy: DPEvidenceBestArm, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(_counted, parameters_of(policy), chances)

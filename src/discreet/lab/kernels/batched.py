"""The batched index policies with Bernoulli arms, compiled: a batch at a time, as the objects do it."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPIMED, DPKLUCB, AdaPKLUCB, AdaPUCB, DPChernoffIMED
from discreet.bandits._batched import BatchedPolicy
from discreet.core.noise import scale_for
from discreet.lab.instances import Instance
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.formulas import kl_upper, private_kl, private_kl_upper, tail_exponent
from discreet.lab.kernels.race import note
from discreet.lab.kernels.randomness import binomial, discrete_laplace

_IMED, _CHERNOFF, _KLUCB, _ADAP_UCB, _ADAP_KLUCB = range(5)
KINDS = {DPIMED: _IMED, DPChernoffIMED: _CHERNOFF, DPKLUCB: _KLUCB, AdaPUCB: _ADAP_UCB, AdaPKLUCB: _ADAP_KLUCB}


class Parameters(NamedTuple):
    """Parameters of a policy, by its own names."""

    kind: int
    epsilon: float
    ratio: float
    first: int
    alpha: float
    """AdaP's."""
    caution: float
    """DP-Chernoff-IMED's."""
    forgets: bool
    scale: float
    """Of the noise, in grid steps."""
    width: int


def parameters_of(policy: BatchedPolicy) -> Parameters:
    """Return the parameters of a policy."""
    alpha = policy.alpha if isinstance(policy, AdaPUCB) else 0.0
    caution = policy.effective_caution if isinstance(policy, DPChernoffIMED) else 0.0
    return Parameters(
        kind=KINDS[type(policy)],
        epsilon=policy.epsilon,
        ratio=policy.ratio,
        first=policy.batch_size(0),
        alpha=alpha,
        caution=caution,
        forgets=policy.forgets,
        scale=scale_for(policy.grid.width, policy.epsilon),
        width=policy.grid.width,
    )


@compiled
def _index(parameters, total, count, noises, best, time):
    """Return the arm's index, which is minus that of the IMED policies, and the upper bound of the others."""
    mean = total / count
    clipped = min(1.0, max(0.0, mean))
    if parameters.kind == _IMED:
        return -(count * private_kl(clipped, best, parameters.epsilon) + math.log(count))
    if parameters.kind == _CHERNOFF:
        exponent = tail_exponent(total, count, noises, best, parameters.epsilon) - parameters.caution
        return -(max(0.0, exponent) + math.log(count))
    if parameters.kind == _KLUCB:
        return private_kl_upper(clipped, math.log(time) / count, parameters.epsilon)
    rate = parameters.alpha * math.log(time) / count
    if parameters.kind == _ADAP_UCB:
        return mean + math.sqrt(rate / 2) + rate / parameters.epsilon
    return kl_upper(min(1.0, max(0.0, mean + rate / parameters.epsilon)), rate)


@compiled
def choose(parameters, totals, counts, noises, pulls, time):
    """Return the arm whose batch comes next; among equals the first, or for upper bounds the one with the fewest pulls.

    Args:
        parameters: The parameters of the object.
        totals: Each arm's noisy total.
        counts: The rewards in each total.
        noises: The noises in each total.
        pulls: The pulls of each arm.
        time: The next step.
    """
    best = 0.0
    for arm in range(totals.size):
        best = max(best, min(1.0, totals[arm] / counts[arm]))
    found, highest = 0, -np.inf
    for arm in range(totals.size):
        value = _index(parameters, totals[arm], counts[arm], noises[arm], best, time)
        fewer = parameters.kind >= _KLUCB and value == highest and pulls[arm] < pulls[found]
        if value > highest or fewer:
            found, highest = arm, value
    return found


@compiled
def note_turns(counts, checkpoints, arms, end):
    """Record the checkpoints up to a time, when all arms have taken turns from the start, and return the index of the
    next checkpoint.

    Args:
        counts: The pulls by checkpoint and arm, which are written.
        checkpoints: Times at which pulls are recorded, sorted.
        arms: The number of arms.
        end: The time.
    """
    mark = np.int64(0)
    while mark < checkpoints.size and checkpoints[mark] <= end:
        for arm in range(arms):
            counts[mark, arm] = checkpoints[mark] // arms + (1 if arm < checkpoints[mark] % arms else 0)
        mark += 1
    return mark


@compiled
def _play(parameters, chances, horizon, state, checkpoints):
    arms = chances.size
    totals, counts, noises = np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64)
    pulls = np.zeros(arms, np.int64)
    noted = np.zeros((checkpoints.size, arms), np.int64)
    time = min(parameters.first * arms, horizon)
    mark = note_turns(noted, checkpoints, arms, time)
    for arm in range(arms):
        pulls[arm] = parameters.first
        totals[arm] = (
            binomial(state, parameters.first, chances[arm])
            + discrete_laplace(state, parameters.scale) / parameters.width
        )
        counts[arm], noises[arm] = parameters.first, 1
    while time < horizon:
        arm = choose(parameters, totals, counts, noises, pulls, time + 1)
        size = max(np.int64(1), np.int64(math.ceil((parameters.ratio - 1) * pulls[arm])))
        whole = size <= horizon - time  # a batch that the horizon cuts short is not released
        size = min(size, horizon - time)
        pulls[arm] += size
        time += size
        mark = note(noted, checkpoints, mark, pulls, arm, time)
        if whole:
            released = (
                binomial(state, size, chances[arm]) + discrete_laplace(state, parameters.scale) / parameters.width
            )
            kept = 0 if parameters.forgets else 1
            totals[arm] = kept * totals[arm] + released
            counts[arm] = kept * counts[arm] + size
            noises[arm] = kept * noises[arm] + 1
    return noted


def program(policy: BatchedPolicy, instance: Instance) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        instance: Its arms.
    """
    return partial(_play, parameters_of(policy), instance.means)

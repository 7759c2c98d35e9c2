"""The batched index policies with Bernoulli arms, compiled: a batch at a time, as the objects do it."""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPIMED, DPKLUCB, AdaPKLUCB, AdaPUCB, DPChernoffIMED, DPPairedIMED
from discreet.bandits._batched import BatchedPolicy
from discreet.core.noise import scale_for
from discreet.core.probability.divergences import kl_upper, private_kl, private_kl_upper
from discreet.core.probability.tails import tail_exponent
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.race import new_track, pull, take_turns
from discreet.lab.kernels.randomness import binomial, discrete_laplace

_PAIRED, _IMED, _CHERNOFF, _KLUCB, _ADAP_UCB, _ADAP_KLUCB = range(6)
KINDS = {
    DPPairedIMED: _PAIRED,
    DPIMED: _IMED,
    DPChernoffIMED: _CHERNOFF,
    DPKLUCB: _KLUCB,
    AdaPUCB: _ADAP_UCB,
    AdaPKLUCB: _ADAP_KLUCB,
}


class Parameters(NamedTuple):
    """Parameters of a policy, by its own names.

    Attributes:
        alpha: AdaP's.
        caution: DP-Chernoff-IMED's.
        scale: Of the noise, in grid steps.
    """

    kind: int
    epsilon: float
    ratio: float
    first: int
    alpha: float
    caution: float
    forgets: bool
    scale: float
    width: int


def parameters_of(policy: BatchedPolicy) -> Parameters:
    """Return the parameters of a policy."""
    epsilon, width, first = policy.epsilon, policy.grid.width, policy.batch_size(0)
    alpha = policy.alpha if isinstance(policy, AdaPUCB) else 0.0
    caution = policy.effective_caution if isinstance(policy, DPChernoffIMED) else 0.0
    own = KINDS[type(policy)], epsilon, policy.ratio, first, alpha, caution, policy.forgets
    return Parameters(*own, scale_for(width, epsilon), width)


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
def next_batch(parameters, pulls):
    """Return the size of the next batch.

    Args:
        parameters: The parameters of the object.
        pulls: The pulls before.
    """
    return max(np.int64(1), np.int64(math.ceil((parameters.ratio - 1) * pulls)))


@compiled
def release(state, parameters, count, chance):
    """Return the noisy total of rewards.

    Args:
        state: The generator's state, which is advanced.
        parameters: The parameters of the object.
        count: The number of rewards.
        chance: The arm's mean.
    """
    return binomial(state, count, chance) + discrete_laplace(state, parameters.scale) / parameters.width


@compiled
def _play(parameters, chances, horizon, state, checkpoints):
    arms, first, track = chances.size, parameters.first, new_track(chances.size, checkpoints)
    totals, counts, noises = np.zeros(arms), np.full(arms, float(first)), np.ones(arms, np.int64)
    for arm in range(arms):
        totals[arm] = release(state, parameters, first, chances[arm])
    time = take_turns(track, np.arange(arms), min(first * arms, horizon))
    while time < horizon:
        arm = choose(parameters, totals, counts, noises, track.pulls, time + 1)
        size = next_batch(parameters, track.pulls[arm])
        whole = size <= horizon - time  # a batch that the horizon cuts short is not released
        time = pull(track, arm, min(size, horizon - time))
        if whole:
            kept = 0 if parameters.forgets else 1
            totals[arm] = kept * totals[arm] + release(state, parameters, size, chances[arm])
            counts[arm] = kept * counts[arm] + size
            noises[arm] = kept * noises[arm] + 1
    return track.counts


def program(policy: BatchedPolicy, chances: Any) -> Any:
    """Return the kernel of a policy on Bernoulli arms: see `discreet.lab.kernels`.

    Args:
        policy: The policy.
        chances: The arms' means.
    """
    return partial(_play, parameters_of(policy), chances)

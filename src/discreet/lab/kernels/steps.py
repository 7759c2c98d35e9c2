"""Step-wise policies on arms of any kind, compiled: every step is taken, on rewards and noise that were drawn before.

Each arm's rewards come from its own generator, and the noise from its own, in the order in which the object would ask
for them one by one. Every formula is computed in the object's order. So the pulls are the very same as the object's,
bit by bit, which the tests check. When a supply runs out, the kernel stops and is given more.
"""

# mypy: disable-error-code="no-untyped-def,misc,no-untyped-call,untyped-decorator,no-any-return"
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from discreet.bandits import DPUCB, IMED, KLUCB, UCB, DPHybridUCB, ThompsonSampling
from discreet.bandits.dp_ucb import STEPPED, THESIS
from discreet.core.noise import SimulatedNoise, scale_for
from discreet.core.probability.divergences import kl, kl_upper
from discreet.lab.kernels import hybrid_steps, thompson_steps
from discreet.lab.kernels.compiled import compiled
from discreet.lab.kernels.hybrid_steps import add_to_tree
from discreet.lab.kernels.race import new_track, pull

_EXACT = 2**53  # totals and pulls in steps below this are floats without rounding
_FIRST, _MOST = 256, 65_536  # rewards of an arm that are drawn at a time
_NOISE = 16_384
_UCB, _KL_UCB, _IMED, _DP_UCB, _ALL_TREES = range(5)


class Formula(NamedTuple):
    """The index of a policy in numbers.

    Attributes:
        kind: Which index it is.
        width: The grid's width in steps.
        one: KL-UCB's c; of DP-UCB the relaxation.
        fixed: Of DP-UCB, the logarithm in its exploration if it is fixed, else -1.
    """

    kind: int
    width: int
    one: float
    fixed: float


class Table(NamedTuple):
    """The arms, as a run knows them.

    Attributes:
        totals: The released total of each arm, in steps.
        exact: The exact sum of each open node, by arm and level; of DP-UCB.
        noisy: The released nodes in each arm's total, by arm and level; of DP-UCB.
        used: The rewards of each arm that were used of its supply, and at the end the noise.
    """

    totals: Any
    exact: Any
    noisy: Any
    used: Any


@compiled
def choose(formula, totals, pulls, time):
    """Return the arm that the policy pulls at a time step.

    Args:
        formula: The index.
        totals: The released total of each arm.
        pulls: The pulls of each arm.
        time: The time step, from 1.
    """
    arms, width = totals.size, formula.width
    if time <= arms:
        return time - 1
    found, best, leader = np.int64(0), -np.inf, -np.inf
    if formula.kind == _IMED:
        for arm in range(arms):
            leader = max(leader, totals[arm] / (pulls[arm] * width))
    log = math.log(time)
    evidence = log + formula.one * math.log(log) if formula.kind == _KL_UCB else 0.0
    for arm in range(arms):
        mean, count = totals[arm] / (pulls[arm] * width), pulls[arm]
        if formula.kind == _UCB:
            value = mean + math.sqrt(2 * log / count)
        elif formula.kind == _KL_UCB:
            value = kl_upper(mean, evidence / count)
        elif formula.kind == _IMED:
            value = -(count * kl(mean, leader) + math.log(count))
        else:
            spread = formula.fixed if formula.fixed >= 0 else log
            value = mean + math.sqrt(2 * spread / count) + formula.one / count
        if value > best or (formula.kind == _KL_UCB and value == best and count < pulls[found]):
            best, found = value, np.int64(arm)
    return found


@compiled
def go_on(formula, horizon, track, table, rewards, noises):
    """Pull until the horizon, or until a supply has run out, and return the arm that needs more.

    Args:
        formula: The index.
        horizon: The number of pulls.
        track: The pulls so far, which is updated.
        table: What is known of the arms, which is updated.
        rewards: The supply of each arm's rewards, by arm, in steps; each row ends with its size.
        noises: The supply of noise; empty where there is none.

    Returns:
        The arm's index, the number of arms for noise, or -1 at the end.
    """
    arms, trees = table.totals.size, formula.kind >= _DP_UCB
    draws = 1 if formula.kind == _DP_UCB else arms
    while track.clock[0] < horizon:
        arm = choose(formula, table.totals, track.pulls, track.clock[0] + 1)
        if table.used[arm] == rewards[arm, -1]:
            return arm
        if trees and table.used[arms] + draws > noises.size:
            return np.int64(arms)
        reward = rewards[arm, table.used[arm]]
        table.used[arm] += 1
        if formula.kind == _DP_UCB:
            add_to_tree(table, arm, track.pulls[arm] + 1, reward, noises[table.used[arms]])
        elif trees:
            for other in range(arms):
                item = reward if other == arm else np.int64(0)
                add_to_tree(table, other, track.clock[0] + 1, item, noises[table.used[arms] + other])
        else:
            table.totals[arm] += reward
        table.used[arms] += draws if trees else 0
        pull(track, arm, np.int64(1))
    return np.int64(-1)


def formula_of(policy: Any) -> Formula | None:
    """Return the index of a policy in numbers; None if it is another policy."""
    kind, width = type(policy), policy.grid.width
    if kind is UCB:
        return Formula(_UCB, width, 0.0, -1.0)
    if kind is KLUCB:
        return Formula(_KL_UCB, width, policy.c, -1.0)
    if kind is IMED:
        return Formula(_IMED, width, 0.0, -1.0)
    if kind is DPUCB:
        fixed = math.log(2 / policy.effective_gamma) if policy.preset == THESIS else -1.0
        return Formula(_ALL_TREES if policy.preset == STEPPED else _DP_UCB, width, policy.effective_relaxation, fixed)
    return None


def find(policy: Any, rewards: Any) -> Callable[..., Any] | None:
    """Return a simulation of a step-wise policy on arms of any kind, or None where there is none.

    It is a function of the policy with the seed of the run, a generator of rewards, a seed of noise and checkpoints,
    like `play`, and returns the pulls by checkpoint and arm.

    Args:
        policy: The policy.
        rewards: The distribution of each arm's rewards.
    """
    grid = policy.grid
    if policy.horizon is None or policy.horizon * grid.width >= _EXACT:
        return None
    formula = formula_of(policy)
    drawn = type(policy) is ThompsonSampling and thompson_steps.works_here()
    if formula is None and not drawn and type(policy) is not DPHybridUCB:
        return None

    def run(own: Any, rng: np.random.Generator, noise: Any, checkpoints: Any) -> Any:
        children = zip(rewards, rng.spawn(len(rewards)), strict=True)
        supplies = [arm.one_by_one(child, grid) for arm, child in children]
        if isinstance(own, DPHybridUCB):
            return hybrid_steps.run(own, supplies, noise, checkpoints)
        if formula is None:
            return thompson_steps.run(own, supplies, own.horizon, checkpoints)
        return _run(formula, own, supplies, noise, checkpoints)

    return run


def _run(formula: Formula, policy: Any, supplies: Any, noise: Any, checkpoints: Any) -> Any:
    """Simulate one run of an index policy, and return the pulls by checkpoint and arm."""
    arms, horizon, trees = len(supplies), policy.horizon, formula.kind >= _DP_UCB
    scale = scale_for(horizon.bit_length() * formula.width, policy.tree_epsilon) if trees else 0.0
    source, track = SimulatedNoise(noise), new_track(arms, checkpoints)
    shape = (arms, horizon.bit_length() + 1) if trees else (1, 1)
    table = Table(*(np.zeros(size, np.int64) for size in (arms, shape, shape, arms + 1)))
    stock, sizes = np.zeros((arms, _MOST + 1), np.int64), [_FIRST] * arms
    noises = np.zeros(0, np.int64)
    while (needy := int(go_on(formula, np.int64(horizon), track, table, stock, noises))) >= 0:
        if needy == arms:
            noises = np.concatenate([noises[table.used[arms] :], source.draws(scale, _NOISE)])
        else:
            stock[needy, : sizes[needy]], stock[needy, -1] = supplies[needy](sizes[needy]), sizes[needy]
            sizes[needy] = min(4 * sizes[needy], _MOST)
        table.used[needy] = 0
    return track.counts

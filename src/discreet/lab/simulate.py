"""The simulator: plays a policy against Bernoulli arms, an epoch at a time.

Within an epoch the pulls are fixed in advance, so an arm's total is one binomial draw: a run of 5e7 pulls
costs as much as its few epochs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bandits import Policy
from discreet.noise import Noise, SimulatedNoise
from discreet.privacy import Arm


@dataclass(frozen=True, slots=True)
class Run:
    """One simulated run: how often each arm was pulled, its pseudo-regret, and the arm it prefers."""

    pulls: tuple[int, ...]
    regret: float
    best_arm: Arm


def play(policy: Policy, means: Sequence[float] | NDArray[np.float64], generator: np.random.Generator) -> Run:
    """Play a policy to its end; arm number i pays 1 with probability means[i], else 0 (scaled to its range).

    >>> from discreet import DPSuccessiveElimination, SimulatedNoise
    >>> from discreet.lab.instances import instance
    >>> policy = DPSuccessiveElimination(range(5), epsilon=0.25, horizon=5e7, noise=SimulatedNoise(seed=1))
    >>> play(policy, instance("C2"), np.random.default_rng(1)).regret
    4829.625
    """
    chance = dict(zip(policy.arms, map(float, means), strict=True))
    win = policy.grid.width
    while plan := policy.plan():
        if not plan.learns:
            policy.close()
            continue
        policy.close({arm: int(generator.binomial(count, chance[arm])) * win for arm, count in plan.pulls.items()})
    pulls = tuple(policy.pulls.values())
    best = max(chance.values())
    regret = sum((best - chance[arm]) * count for arm, count in policy.pulls.items())
    return Run(pulls, regret, policy.best_arm)


def simulate(
    make: Callable[[Noise], Policy], means: Sequence[float] | NDArray[np.float64], runs: int, seed: int, label: str
) -> list[Run]:
    """Independent runs of the policy that `make` builds on simulated noise.

    Each run's randomness comes from the seed, the label of its configuration and its number, so a result
    does not change with what else is simulated, or in which order.
    """
    return [one_run(make, means, seed, label, number) for number in range(runs)]


def run_seed(seed: int, label: str, number: int) -> np.random.SeedSequence:
    """What the randomness of run `number` of a configuration comes from."""
    return np.random.SeedSequence([seed, zlib.crc32(label.encode()), number])


def one_run(
    make: Callable[[Noise], Policy],
    means: Sequence[float] | NDArray[np.float64],
    seed: int,
    label: str,
    number: int,
) -> Run:
    """Run `number` of a configuration."""
    rewards, noise = run_seed(seed, label, number).spawn(2)
    return play(make(SimulatedNoise(noise)), means, np.random.default_rng(rewards))

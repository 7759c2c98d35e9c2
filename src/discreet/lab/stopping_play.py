"""One run of a stopping rule, in the fastest exact way.

NAS, DP-NAS, the one-sided rule, DP-Bernstein, EBStop and EBGStop on samples of two values take an exact compiled
kernel. A rule that says how many samples it needs before its next decision gets their total in one draw. Everything
else is fed to the rule object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.grid import CHUNK
from discreet.core.noise import SimulatedNoise
from discreet.lab.arms import Bernoulli, Discrete, Empirical, Rewards
from discreet.lab.fast import hint
from discreet.lab.stopping_setting import StoppingSetting
from discreet.stopping import DPNAS, NAS, DPBernstein, DPOneSidedNAS, EBGStop, EBStop, StoppingRule

KERNELED = (NAS, DPNAS, DPOneSidedNAS, DPBernstein, EBStop, EBGStop)
"""The rules that have a kernel for samples of two values."""
_FIRST_CHUNK = 256  # samples fed at first, and twice as many each time: few are drawn in vain

Played = tuple[bool, int, float]
"""Whether the rule halted, the samples it took, and its estimate (NaN where it did not halt)."""
Play = Callable[[np.random.SeedSequence], Played]
"""From a run's seed to its outcome."""


def find_play(setting: StoppingSetting) -> tuple[Play, str]:
    """The fastest exact way to play a setting, and its name."""
    rule = setting.build()
    kernel = find_rule_kernel(rule, setting.rewards)
    if kernel:
        return kernel, "kernel"
    if rule.plan() > 1:
        return lambda seed: _by_object(setting, seed, _in_blocks), "blocks"
    return lambda seed: _by_object(setting, seed, _in_chunks), "object"


def find_rule_kernel(rule: StoppingRule, law: Rewards) -> Play | None:
    """The exact kernel for this rule object and these samples, or None where there is none."""
    values = two_values(law)
    if type(rule) not in KERNELED or values is None or rule.max_samples is None:
        return None
    try:
        from discreet.lab.kernels import bernstein, stopping  # noqa: PLC0415  (numba takes a second, where it is used)
        from discreet.lab.kernels.randomness import fresh_state  # noqa: PLC0415
    except ImportError as error:  # not there, or there and broken
        if rule.plan() == 1:  # others get blocks of samples, which are fast as well
            hint(error.name or "numba", "every sample of a stopping rule is drawn and tested")
        return None
    grid, cap = rule.grid, rule.max_samples
    coin = stopping.coin_on(grid, *values, cap)
    if coin is None:
        return None
    if isinstance(rule, DPBernstein):
        parts = bernstein.rule_of(rule)
        return lambda seed: bernstein.play(coin, parts, fresh_state(seed), cap)
    if isinstance(rule, EBStop):
        bounds = stopping.bernstein_of(rule, coin)
        return lambda seed: stopping.empirical_bernstein(coin, bounds, fresh_state(seed), cap)
    kernel: Callable[..., Any] = stopping.nas
    formulas: tuple[Any, ...] = (stopping.curve_of(rule),) if isinstance(rule, NAS) else ()
    if isinstance(rule, DPNAS):
        kernel, formulas = stopping.dp_nas, (*formulas, rule._sparse.scale, rule._laplace.scale)
    elif isinstance(rule, DPOneSidedNAS):
        tests = rule.first_test, stopping.limits_of(rule, cap)
        kernel, formulas = stopping.one_sided_nas, (*tests, rule._sparse.scale, rule._laplace.scale)

    def play(seed: np.random.SeedSequence) -> Played:
        reached, samples, total = kernel(coin, *formulas, fresh_state(seed), cap)
        return reached, samples, grid.mean(total - samples * grid.floor, samples) if reached else np.nan

    return play


def two_values(law: Rewards) -> tuple[float, float, float] | None:
    """The smaller value, the larger one and its probability, of samples that take two values or fewer; else None.

    >>> two_values(Bernoulli(0.1)), two_values(Discrete([1, -1], [3, 1])), two_values(Empirical([0, 1, 2]))
    ((0.0, 1.0, 0.1), (-1.0, 1.0, 0.75), None)
    """
    if isinstance(law, Bernoulli):
        return 0.0, 1.0, law.mean
    if isinstance(law, Discrete):
        values, chances = law._paid.tolist(), law._chances.tolist()
    elif isinstance(law, Empirical):
        values, chances = law._distinct.tolist(), law._chances.tolist()
    else:
        return None
    different = sorted(set(values))
    if len(different) > 2:
        return None
    chance = sum(chance for value, chance in zip(values, chances, strict=True) if value == different[-1])
    return different[0], different[-1], min(chance, 1.0)


def _by_object(
    setting: StoppingSetting,
    seed: np.random.SeedSequence,
    fill: Callable[[StoppingRule, Rewards, np.random.Generator], None],
) -> Played:
    """A run of the rule object itself."""
    rewards, noise = seed.spawn(2)
    rule = setting.make(SimulatedNoise(noise))
    fill(rule, setting.rewards, np.random.default_rng(rewards))
    result = rule.result
    return result.reached, result.samples, np.nan if result.estimate is None else result.estimate


def _in_blocks(rule: StoppingRule, law: Rewards, generator: np.random.Generator) -> None:
    """Give the rule the total of as many samples as it plans."""
    while count := rule.plan():
        rule.close(law._total(generator, count, rule.grid))


def _in_chunks(rule: StoppingRule, law: Rewards, generator: np.random.Generator) -> None:
    """Feed the rule with samples."""
    size = _FIRST_CHUNK
    while not rule.finished:
        rule.feed(law.sample(generator, size))
        size = min(2 * size, CHUNK)

"""Simulating stopping rules: many runs of many settings, on any engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.lab.arms import Rewards
from discreet.lab.engines import Engine
from discreet.lab.setting import SEED
from discreet.lab.simulate import run_all
from discreet.lab.stopping_play import find_play
from discreet.lab.stopping_results import ARRAYS, StoppingRuns
from discreet.lab.stopping_setting import RUNS, StoppingSetting
from discreet.lab.store import Store


def run_rule(setting: StoppingSetting, numbers: range | None = None) -> StoppingRuns:
    """All runs of a setting, or some of them, one after the other."""
    numbers = range(setting.runs) if numbers is None else numbers
    start = time.perf_counter()
    play, method = find_play(setting)
    samples, estimates = np.empty(len(numbers), np.int64), np.empty(len(numbers))
    reached = np.empty(len(numbers), np.bool_)
    for row, number in enumerate(numbers):
        reached[row], samples[row], estimates[row] = play(setting.run_seed(number))
    return StoppingRuns(setting, samples, estimates, reached, time.perf_counter() - start, method)


def run_rule_part(part: tuple[StoppingSetting, range]) -> StoppingRuns:
    """Some runs of a setting: what travels to a worker."""
    return run_rule(*part)


def join_runs(parts: Sequence[StoppingRuns], setting: StoppingSetting) -> StoppingRuns:
    """One result from parts that have its runs, in order."""
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
    return StoppingRuns(setting, **arrays, seconds=sum(part.seconds for part in parts), method=parts[0].method)


def simulate_rules(
    settings: Sequence[StoppingSetting],
    engine: Engine | str | None = None,
    *,
    store: Store | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[StoppingRuns]:
    """All settings on one engine (or its name), with a store if there is one: as `simulate_all` does for policies."""
    return run_all(
        settings,
        run_rule_part,
        join_runs,
        load=StoppingRuns.load,
        engine=engine,
        store=store,
        on_progress=on_progress,
    )


def simulate_rule(
    rule: str,
    rewards: float | str | Rewards,
    runs: int = RUNS,
    seed: int = SEED,
    *,
    engine: Engine | str | None = None,
    **options: Any,
) -> StoppingRuns:
    """Independent runs of a registered stopping rule on independent samples, on simulated noise.

    `rewards` is a number (the mean of a coin that shows 0 or 1), a text or a `Rewards`; `options` are the rule's. The
    samples' range is that of the rewards unless the options say otherwise, and a run ends after 2**40 samples. The
    result depends on what is simulated and on the seed, and not on the engine, its workers, or on what else is
    simulated.

    >>> print(simulate_rule("dp-nas", 0.1, runs=100, seed=7, alpha=0.1, beta=0.05, epsilon=0.5))
    dp-nas(alpha=0.1, beta=0.05, epsilon=0.5) on Bernoulli(0.1): mean 192,462 samples (95 % interval 191,901 to
    193,023), 100 runs, 0 failed, 0 unfinished
    """
    setting = StoppingSetting.of(rule, rewards, runs=runs, seed=seed, **options)
    return simulate_rules([setting], engine)[0]

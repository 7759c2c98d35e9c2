"""What `simulate` and `compare` do: choose an engine, warn of long waits, simulate, and write files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.cli.console import check_writable, counted, duration, hint, progress
from discreet.core.errors import ArgumentError
from discreet.lab.engines import Engine, make_engine
from discreet.lab.fast import find_kernel
from discreet.lab.results import Results
from discreet.lab.setting import Setting
from discreet.lab.simulate import play, simulate_all

FEW_PULLS = 200_000  # in fewer, worker processes take longer to start than they save
SAMPLE = 500  # pulls that are timed to say how long a simulation takes
PATIENCE = 60.0  # seconds that need no warning


def problem(
    name: str | None,
    own_arms: Sequence[str] | None,
    arms: int | None,
    *,
    horizon: int,
    runs: int,
    seed: int,
    checkpoints: Sequence[int] | None,
) -> dict[str, Any]:
    """The arguments of `Setting.of` that are not the policy's."""
    if own_arms and name is not None:
        raise ArgumentError(f"give --instance or --arm, not both: got --instance {name} and {len(own_arms)} of --arm")
    if own_arms and arms is not None:
        raise ArgumentError(f"--arms is for --instance; with --arm it must be left out, got {arms}")
    return {
        "instance": list(own_arms) if own_arms else name or "C2",
        "arms": arms,
        "horizon": horizon,
        "runs": runs,
        "seed": seed,
        "checkpoints": checkpoints or None,
    }


def run_settings(
    settings: Sequence[Setting], engine: Engine, *, output: Path | None, csv: Path | None, quiet: bool
) -> Results:
    """Simulate with a progress bar, and write the results to files."""
    for path in (output, csv):
        check_writable(path)
    what = settings[0].policy if len(settings) == 1 else f"{len(settings)} policies"
    with progress(f"simulating {what}", sum(one.runs for one in settings), quiet) as advance:
        # Those with the shortest epochs take longest: first, so that the remaining time is not promised too short.
        results = simulate_all(sorted(settings, key=first_epoch), engine, on_progress=advance)
        results = Results(sorted(results, key=lambda one: one.mean))
        if output:
            results.save(output)
        if csv:
            csv.parent.mkdir(parents=True, exist_ok=True)
            results.to_pandas().to_csv(csv, index=False)
    return results


def choose_engine(settings: Sequence[Setting], name: str | None, workers: int | None, address: str | None) -> Engine:
    """The engine that was asked for, or the best one here; says so if it will take long."""
    slow = [one for one in settings if small_steps(one)]
    if name is None:
        name = "processes" if sum(one.runs * one.horizon for one in slow) > FEW_PULLS else "threads"
    engine = make_engine(name, workers, address)
    warn_of_wait(slow, 1 if address else getattr(engine, "workers", 1))
    return engine


def small_steps(setting: Setting) -> bool:
    """Whether the object is played, one pull or one round of all arms at a time, which holds Python's lock."""
    if find_kernel(setting.build(), setting.instance, setting.horizon, setting.checkpoints):
        return False
    return first_epoch(setting) <= len(setting.instance)


def first_epoch(setting: Setting) -> int:
    """How many pulls the policy plans at first."""
    plan = setting.build().plan()
    return plan.size if plan else setting.horizon


def warn_of_wait(slow: Sequence[Setting], workers: int) -> None:
    """Say how long the policies take that decide after every pull; one that goes by rounds may end them early."""
    seconds, names = 0.0, set()
    for setting in slow:
        if first_epoch(setting) == 1 and setting.horizon > SAMPLE:
            start = time.perf_counter()
            play(setting.build(), setting.instance, np.random.default_rng(0), SAMPLE)
            seconds += (time.perf_counter() - start) / SAMPLE * setting.horizon * setting.runs / workers
            names.add(setting.policy)
    if seconds > PATIENCE:
        hint(
            f"{', '.join(sorted(names))}: played one pull at a time here, which takes about {duration(seconds)} on "
            f"{counted(workers, 'worker')}; "
            f"a shorter --horizon or fewer --runs is faster"
        )

"""The choice of an engine for settings. It knows nothing of the command line, and could be part of the lab."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.lab.engines import Engine, make_engine
from discreet.lab.fast import find_kernel
from discreet.lab.setting import Setting
from discreet.lab.simulate import play

FEW_PULLS = 200_000  # in fewer, worker processes take longer to start than they save
SAMPLE = 500  # pulls that are timed to estimate the duration of a simulation


class Choice(NamedTuple):
    """An engine, and an estimate of the time that it takes.

    Attributes:
        engine: The engine, not started yet.
        settings: The settings in the order to simulate them: those with the shortest epochs take longest and are
            first, so that the remaining time is not estimated too short.
        slow: The names of the policies that decide after every pull and have no kernel.
        seconds: An estimate of the time for these policies.
    """

    engine: Engine
    settings: list[Setting]
    slow: list[str]
    seconds: float


def choose_engine(
    settings: Sequence[Setting], name: str | None = None, workers: int | None = None, address: str | None = None
) -> Choice:
    """Return an engine that fits the settings.

    Args:
        settings: The settings to simulate.
        name: The engine's name; None chooses worker processes if many pulls hold Python's lock, and else threads.
        workers: The number of workers; None is one for each processor.
        address: A running cluster to use instead of own workers.
    """
    small = [one for one in settings if _has_small_steps(one)]
    if name is None:
        name = "processes" if sum(one.runs * one.horizon for one in small) > FEW_PULLS else "threads"
    engine = make_engine(name, workers, address)
    # A policy that goes by rounds is left out of the estimate: it may end them early.
    slow = [one for one in small if _first_epoch(one) == 1 and one.horizon > SAMPLE]
    seconds = sum(map(_seconds, slow)) / (1 if address else getattr(engine, "workers", 1))
    return Choice(engine, sorted(settings, key=_first_epoch), sorted({one.policy for one in slow}), seconds)


def _has_small_steps(setting: Setting) -> bool:
    """Tell if the object is played one pull or one round of all arms at a time, which holds Python's lock."""
    if find_kernel(setting.build(), setting.instance, setting.horizon, setting.checkpoints):
        return False
    return _first_epoch(setting) <= len(setting.instance)


def _first_epoch(setting: Setting) -> int:
    """Return the number of pulls in the policy's first plan."""
    plan = setting.build().plan()
    return plan.size if plan else setting.horizon


def _seconds(setting: Setting) -> float:
    """Return an estimate of one worker's time for all runs, from the first pulls of one."""
    start = time.perf_counter()
    play(setting.build(), setting.instance, np.random.default_rng(0), SAMPLE)
    return (time.perf_counter() - start) / SAMPLE * setting.horizon * setting.runs

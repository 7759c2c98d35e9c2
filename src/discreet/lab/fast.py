"""Which settings have a compiled kernel: many policies on Bernoulli arms. Objects play all others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from discreet.bandits import (
    DPIMED,
    DPKLUCB,
    DPUCB,
    IMED,
    KLUCB,
    UCB,
    AdaPKLUCB,
    AdaPUCB,
    AnytimeLazyUCB,
    DPChernoffIMED,
    DPHybridUCB,
    DPPairedIMED,
    DPSharpBestArm,
    DPSharpElimination,
    LazyDPTS,
    Policy,
    ThompsonSampling,
)
from discreet.lab.instances import Instance

Kernel = Callable[[np.random.SeedSequence], Any]
"""From a run's seed to how often each arm was pulled by each checkpoint; of elimination also when each was dropped."""


KERNELED = (
    UCB, KLUCB, IMED, ThompsonSampling, DPUCB, DPHybridUCB, LazyDPTS, AnytimeLazyUCB, AdaPUCB, AdaPKLUCB, DPKLUCB,
    DPIMED, DPChernoffIMED, DPPairedIMED, DPSharpElimination, DPSharpBestArm,
)  # fmt: skip
"""The policies that `kernels/dispatch.py` has a kernel for."""


class SlowWarning(UserWarning):
    """A simulation takes a slow way because something is not installed."""


def find_kernel(policy: Policy, on: Instance, horizon: int, checkpoints: tuple[int, ...]) -> Kernel | None:
    """The exact kernel for this policy object, or None where there is none."""
    if type(policy) not in KERNELED or not on.bernoulli or (policy.low, policy.high) != (0.0, 1.0):
        return None
    try:
        # numba takes a second, so only where it is used
        from discreet.lab.kernels.dispatch import KERNELS  # noqa: PLC0415
        from discreet.lab.kernels.randomness import fresh_state  # noqa: PLC0415
    except ImportError as error:  # not there, or there and broken
        hint(error.name or "numba", "every policy is simulated as the object, UCB and DP-UCB one pull at a time")
        return None
    chances, marks = on.means, np.array(checkpoints, dtype=np.int64)
    play = KERNELS[type(policy)](policy)
    return lambda seed: play(chances, horizon, fresh_state(seed), marks)


@cache
def hint(missing: str, therefore: str) -> None:
    """Say once what is slow without the kernels, and how to get them."""
    warnings.warn(
        f"{missing} is not installed, so {therefore}; "
        f"pip install 'discreet[lab]' makes that up to thousands of times faster",
        SlowWarning,
        stacklevel=2,
    )

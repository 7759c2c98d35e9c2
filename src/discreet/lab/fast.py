"""Which settings have a compiled kernel: UCB and DP-UCB on Bernoulli arms. All others are played as the object."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from discreet.bandits import DPUCB, UCB, Policy
from discreet.lab.instances import Instance

Kernel = Callable[[np.random.SeedSequence], Any]
"""From a run's seed to how often each arm was pulled by each checkpoint."""


class SlowWarning(UserWarning):
    """A simulation takes a slow way because something is not installed."""


def find_kernel(policy: Policy, on: Instance, horizon: int, checkpoints: tuple[int, ...]) -> Kernel | None:
    """The exact skip-ahead kernel for this policy object, or None where there is none."""
    if type(policy) not in (UCB, DPUCB) or not on.bernoulli or (policy.low, policy.high) != (0.0, 1.0):
        return None
    try:
        from discreet.lab.kernels import dp_ucb, ucb  # noqa: PLC0415  (numba takes a second, so only where it is used)
        from discreet.lab.kernels.randomness import fresh_state  # noqa: PLC0415
    except ImportError as error:  # not there, or there and broken
        hint(error.name or "numba")
        return None
    chances, marks = on.means, np.array(checkpoints, dtype=np.int64)
    if isinstance(policy, DPUCB):
        constants = dp_ucb.constants(policy)
        return lambda seed: dp_ucb.skip_ahead(chances, horizon, fresh_state(seed), marks, *constants)
    return lambda seed: ucb.skip_ahead(chances, horizon, fresh_state(seed), marks)


@cache
def hint(missing: str) -> None:
    """Say once how to get the kernels."""
    warnings.warn(
        f"{missing} is not installed, so UCB and DP-UCB are simulated one pull at a time; "
        f"pip install 'discreet[lab]' makes them thousands of times faster",
        SlowWarning,
        stacklevel=2,
    )

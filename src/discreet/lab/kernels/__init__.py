"""Compiled kernels (numba) of algorithms that decide after every step, and a proof that they agree with the objects.

`reference` is the policy, step by step, as readable as the object. `skip_ahead` draws whole blocks of rewards at once
and is exact all the same. `docs/simulation.md` has the arguments. The stopping rules have one kernel each, for samples
of two values; their reference is the rule object itself.

An algorithm's class names its kernel, a module here with a function `program(algorithm, instance)`. The program of a
policy takes the horizon, a generator state and checkpoints, and returns the pulls by checkpoint and arm (and of an
elimination also when each arm was dropped). The program of a rule takes a generator state, and returns whether the rule
halted, the samples it took and its estimate.
"""

import importlib
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from discreet.core.algorithm import Algorithm
from discreet.lab.instances import Instance


class SlowWarning(UserWarning):
    """A simulation is slow because something is not installed."""


def find_program(algorithm: Algorithm, instance: Instance) -> Callable[..., Any] | None:
    """Return the exact compiled simulation of an algorithm on an instance, or None where there is none.

    Args:
        algorithm: A policy or a stopping rule.
        instance: The arms of a policy, or the one distribution of a rule's samples.
    """
    name = kernel_of(type(algorithm))
    if name is None or not _may_fit(algorithm, instance):
        return None
    try:  # numba takes a second, so only where it is used
        module = importlib.import_module(f"{__name__}.{name}")
    except ImportError as error:  # not there, or there and broken
        warn_slow(error.name or "numba")
        return None
    program: Callable[..., Any] | None = module.program(algorithm, instance)
    return program


def kernel_of(kind: type[Algorithm]) -> str | None:
    """Return the name of a class's kernel. It is not inherited: a subclass may change a formula."""
    return vars(kind).get("kernel")


def _may_fit(algorithm: Any, instance: Instance) -> bool:
    """Return whether rewards are those that kernels simulate: 0 and 1, or for a rule two values."""
    if len(instance) == 1:
        return instance.rewards[0].two_values() is not None and algorithm.max_samples is not None
    return instance.bernoulli and (algorithm.low, algorithm.high) == (0.0, 1.0)


@cache
def warn_slow(missing: str) -> None:
    """Warn once that a package is missing and simulations are slow without it."""
    warnings.warn(
        f"{missing} is not installed, so algorithms are simulated as objects, many of them one step at a time; "
        f"pip install 'discreet[lab]' makes that up to thousands of times faster",
        SlowWarning,
        stacklevel=2,
    )

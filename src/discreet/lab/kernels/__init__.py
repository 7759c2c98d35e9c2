"""Compiled kernels (numba) of algorithms that decide after every step, and a proof that they agree with the objects.

A kernel draws whole blocks of rewards at once and is exact all the same. `docs/simulation.md` has the arguments. Tests
compare policies with `tests/_tools/step_by_step.py`, which is as readable as the objects, and rules with the objects.

An algorithm's class names its kernel, a module here with a function `program`. A policy's `program(policy, chances)`,
for arms that pay 0 or 1, returns a function of the horizon, a generator state and checkpoints, whose result is the
pulls by checkpoint and arm (and of an elimination also when each arm was dropped). A rule's `program(rule, coin)`, for
samples of two values, returns a function of a generator state, whose result is whether the rule halted, the samples it
took and its estimate.
"""

import importlib
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from discreet._install import install
from discreet.core.algorithm import Algorithm
from discreet.lab.instances import Instance
from discreet.lab.kernels.coins import coin_of


class SlowWarning(UserWarning):
    """A simulation is slow because something is not installed."""


def find_program(algorithm: Algorithm, instance: Instance) -> Callable[..., Any] | None:
    """Return the exact compiled simulation of an algorithm on an instance, or None where there is none.

    Args:
        algorithm: A policy or a stopping rule.
        instance: The arms of a policy, or the one distribution of a rule's samples.
    """
    name = kernel_of(type(algorithm))
    given = None if name is None else _simulated(algorithm, instance)
    if given is None:
        return None
    try:  # numba takes a second, so only where it is used
        module = importlib.import_module(f"{__name__}.{name}")
    except ImportError as error:  # not there, or there and broken
        warn_slow(error.name or "numba")
        return None
    program: Callable[..., Any] = module.program(algorithm, given)
    return program


def find_steps(algorithm: Any, instance: Instance) -> Callable[..., Any] | None:
    """Return the compiled steps of a policy that decides after each pull, on arms of any kind, or None.

    Args:
        algorithm: A policy.
        instance: The arms.
    """
    if kernel_of(type(algorithm)) is None:
        return None
    try:
        steps = importlib.import_module(f"{__name__}.steps")
    except ImportError as error:
        warn_slow(error.name or "numba")
        return None
    found: Callable[..., Any] | None = steps.find(algorithm, instance.rewards)
    return found


def kernel_of(kind: type[Algorithm]) -> str | None:
    """Return the name of a class's kernel. It is not inherited: a subclass may change a formula."""
    return vars(kind).get("kernel")


def _simulated(algorithm: Any, instance: Instance) -> Any:
    """Return what kernels simulate: the means of arms that pay 0 or 1, or for a rule a coin; None for other rewards."""
    if len(instance) == 1:
        return coin_of(algorithm, instance)
    return instance.means if instance.bernoulli and (algorithm.low, algorithm.high) == (0.0, 1.0) else None


@cache
def warn_slow(missing: str) -> None:
    """Warn once that a package is missing and simulations are slow without it."""
    warnings.warn(
        f"{missing} is not installed, so algorithms are simulated as objects, many of them one step at a time; "
        f"{install('lab')} makes that up to thousands of times faster",
        SlowWarning,
        stacklevel=2,
    )

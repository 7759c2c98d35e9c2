"""The settings of a comparison: each algorithm with each value of every option that was given as a list."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.registry import find
from discreet.lab.setting import Setting, accepts

Name = str | type[Algorithm] | Algorithm
Entry = Name | tuple[Name, Mapping[str, Any]]  # an algorithm of a league, alone or with options of its own
_OF_ALL = ("horizon", "arms")  # what every policy can be swept over


def league(algorithms: Sequence[Entry], options: Mapping[str, Any], common: Mapping[str, Any]) -> list[Setting]:
    """Return the settings of each algorithm. A list of values stands for a setting with each of them.

    >>> swept = league(["dp-se", "se"], {"epsilon": [0.1, 1.0]}, {"instance": "C2", "horizon": 1000})
    >>> [setting.variant for setting in swept]
    ['dp-se(epsilon=0.1)', 'dp-se(epsilon=1.0)', 'se']

    Args:
        algorithms: Their keys, classes or objects, alone or with options of their own.
        options: Each goes to all algorithms that have it.
        common: The other arguments of `Setting.of`, of which `horizon` and `arms` may be lists.

    Raises:
        ArgumentError: If there are no algorithms, if none of them has one of the options, or if a list is empty.
    """
    if not algorithms:
        raise ArgumentError("policies must name at least one policy, got none")
    entries = [entry if isinstance(entry, tuple) else (entry, {}) for entry in algorithms]
    for name, value in options.items():
        if not any(accepts(algorithm, name) for algorithm, _ in entries):
            keys = ", ".join(find(algorithm).key for algorithm, _ in entries)
            raise ArgumentError(f"none of {keys} has an option {name!r}, got {name}={value!r}")
    shared = {name: common[name] for name in _OF_ALL if is_list(common.get(name))}
    if "arms" in shared and not isinstance(common["instance"], str):
        raise ArgumentError(f"arms can be swept on a named instance such as C2 alone, got {common['instance']!r}")
    settings = []
    for algorithm, own in entries:
        given = {**{name: options[name] for name in options if accepts(algorithm, name)}, **own}
        swept = {**shared, **{name: value for name, value in given.items() if is_list(value)}}
        for name, values in swept.items():
            if not len(values):
                raise ArgumentError(f"{name} must have at least one value to be swept over, got none")
        for values in product(*swept.values()):
            chosen = {**common, **given, **dict(zip(swept, values, strict=True))}
            settings.append(Setting.of(algorithm, **chosen))
    return settings


def is_list(value: Any) -> bool:
    """Return True for several values of an option: a list, a tuple, a range or an array."""
    return isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1)

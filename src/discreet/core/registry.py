"""The table of algorithms. Modules of algorithms fill it; drivers, the lab, the command line and the service read it.

A registered algorithm is met by the contract tests and the simulator, and can be named, saved and loaded.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from discreet.core import checks
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.options import field_names
from discreet.core.plans import Arm

POLICIES: dict[str, type[Any]] = {}
"""Bandit policies by their keys."""
RULES: dict[str, type[Any]] = {}
"""Stopping rules by their keys."""
TABLES = {"policy": POLICIES, "rule": RULES}
"""Both, by the names of the families."""
_Kind = TypeVar("_Kind", bound=Algorithm)


def register(kind: type[_Kind]) -> type[_Kind]:
    """Enter an algorithm of your own under its `key`, so that it can be named, saved and loaded. A class decorator.

    Raises:
        ArgumentError: It is no algorithm, has no key, claims privacy without an epsilon, or another algorithm has its
            key.
    """
    if not isinstance(kind, type) or not issubclass(kind, Algorithm):
        raise ArgumentError(f"register takes a subclass of Policy or StoppingRule, got {kind!r}")
    if not isinstance(getattr(kind, "key", None), str):
        raise ArgumentError(f"{kind.__name__} needs a class attribute key, its short name")
    if kind.reason is not None and kind.privacy is Algorithm.privacy and "epsilon" not in field_names(kind, init=True):
        raise ArgumentError(
            f"{kind.__name__} says why it is private (reason) and has no option epsilon that it could promise: declare "
            "`epsilon: Positive`, or leave the reason out"
        )
    table = TABLES[kind.family]
    other = table.get(kind.key)
    if other is not None and _place(other) != _place(kind):
        raise ArgumentError(f"key must be new, got {kind.key!r}, which is {other.__name__}")
    table[kind.key] = kind
    return kind


def _place(kind: type[Algorithm]) -> tuple[str, str]:
    """Return where a class is defined; a worker process calls the script that started it by another name."""
    return kind.__module__.replace("__mp_main__", "__main__"), kind.__qualname__


def find(key: str | type[Algorithm] | Algorithm, family: str | None = None) -> type[Algorithm]:
    """Return the class of an algorithm.

    Args:
        key: Its key, the class itself or an object of it. A class that was not registered is entered.
        family: "policy" or "rule"; None for either.

    Raises:
        ArgumentError: No such algorithm has this key, or the class has the key of another one.
    """
    kind = type(key) if isinstance(key, Algorithm) else key
    if isinstance(kind, type) and issubclass(kind, Algorithm) and family in (None, kind.family):
        return register(kind)
    tables = list(TABLES) if family is None else [family]
    for table in tables:
        if isinstance(key, str) and key in TABLES[table]:
            return TABLES[table][key]
    other = next((f", a {name}" for name, table in TABLES.items() if isinstance(key, str) and key in table), "")
    known = sorted(name for table in tables for name in TABLES[table])
    meant = other or checks.did_you_mean(key, known)
    raise ArgumentError(f"{family or 'algorithm'} must be one of {', '.join(known)}, got {key!r}{meant}")


def make(key: str, options: Mapping[str, Any]) -> Algorithm:
    """Return a registered algorithm with these options.

    Args:
        key: Its key.
        options: Its constructor arguments.

    Raises:
        ArgumentError: No algorithm has this key, or an option is unknown, missing or wrong.
    """
    return find(key).from_options(options)


def make_policy(key: str | type[Algorithm], arms: Iterable[Arm], **options: Any) -> Any:
    """Return a registered policy with these options.

    Args:
        key: The policy's key, or its class.
        arms: The names of the arms.
        **options: Its other options.

    Raises:
        ArgumentError: No policy has this key, or an option is unknown, missing or wrong.

    >>> make_policy("ucb", ["A", "B"])
    UCB(arms=('A', 'B'), horizon=None, low=0.0, high=1.0)
    >>> make_policy("dp-sex", ["A", "B"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: policy must be one of adap-klucb, adap-ucb, dp-ab, ... ucb, got
    'dp-sex'; did you mean 'dp-se'?
    """
    return find(key, "policy").from_options({"arms": arms, **options})


def make_rule(key: str | type[Algorithm], **options: Any) -> Any:
    """Return a registered stopping rule with these options.

    Args:
        key: The rule's key, or its class.
        **options: Its options.

    Raises:
        ArgumentError: No rule has this key, or an option is unknown, missing or wrong.

    >>> make_rule("nas", alpha=0.1, beta=0.05, radius=1)
    NAS(alpha=0.1, beta=0.05, radius=1.0, low=None, high=None, max_samples=None)
    """
    return find(key, "rule").from_options(options)

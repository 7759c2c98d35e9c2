"""Every policy and every stopping rule by its short name. A new one is a file and a line here.

What is registered is met by the contract tests and the simulator, and can be named, saved and loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from discreet import bandits, stopping
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError, StateError
from discreet.core.noise import restore_noise
from discreet.core.options import parameters_of
from discreet.core.privacy import Arm

POLICIES: dict[str, type[bandits.Policy]] = {
    policy.key: policy
    for policy in (
        bandits.UCB,
        bandits.KLUCB,
        bandits.IMED,
        bandits.ThompsonSampling,
        bandits.SuccessiveElimination,
        bandits.DPSuccessiveElimination,
        bandits.DPUCB,
        bandits.DPHybridUCB,
        bandits.DPSparseVectorElimination,
        bandits.ModifiedDPSuccessiveElimination,
        bandits.DPBestArm,
        bandits.DPSharpElimination,
        bandits.DPSharpBestArm,
        bandits.DPPersonElimination,
        bandits.DPSharpPersonElimination,
        bandits.AdaPUCB,
        bandits.AdaPKLUCB,
        bandits.DPKLUCB,
        bandits.DPIMED,
        bandits.DPChernoffIMED,
        bandits.DPPairedIMED,
        bandits.AnytimeLazyUCB,
        bandits.LazyDPTS,
        bandits.GuessAndDouble,
    )
}

RULES: dict[str, type[stopping.StoppingRule]] = {
    rule.key: rule
    for rule in (
        stopping.NAS,
        stopping.DPNAS,
        stopping.DPExponentialNAS,
        stopping.DPOneSidedNAS,
        stopping.DPReleasedNAS,
        stopping.DPBernstein,
        stopping.EBStop,
        stopping.EBGStop,
    )
}


Kind = TypeVar("Kind", bound=Algorithm)
TABLES: dict[str, Mapping[str, type[Algorithm]]] = {"policy": POLICIES, "stopping rule": RULES}


def make_policy(name: str, arms: Iterable[Arm], **options: Any) -> bandits.Policy:
    """A registered policy by its short name.

    >>> make_policy("ucb", ["A", "B"])
    UCB(arms=['A', 'B'], low=0.0, high=1.0)
    >>> make_policy("dp-sex", ["A", "B"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    discreet.core.errors.ArgumentError: policy must be one of adap-klucb, adap-ucb, dp-bai, ... ucb, got 'dp-sex'
    """
    kind: type[bandits.Policy] = _look_up("policy", name, POLICIES)
    _check_options(name, kind, options)
    return kind(arms, **options)


def make_rule(name: str, **options: Any) -> stopping.StoppingRule:
    """A registered stopping rule by its short name.

    >>> make_rule("nas", alpha=0.1, beta=0.05, radius=1)
    NAS(alpha=0.1, beta=0.05, radius=1.0, clip=False)
    """
    kind: type[stopping.StoppingRule] = _look_up("rule", name, RULES)
    _check_options(name, kind, options)
    return kind(**options)


def rebuild(kind: str, saved: dict[str, Any]) -> Any:
    """A policy or rule from its saved state; all or nothing."""
    try:
        if saved["name"] not in TABLES[kind]:
            raise StateError(f"the state holds a {kind} {saved['name']!r} that is not registered here")
        options = dict(saved["options"])
        if saved["noise"] is not None:
            options["noise"] = restore_noise(saved["noise"])
        built = TABLES[kind][saved["name"]](**options)
        built._revive(saved)
    except (KeyError, TypeError, IndexError, AttributeError, ArgumentError) as error:
        raise StateError(f"the state does not describe a {kind}: {error!r}") from error
    return built


def register(kind: type[Kind]) -> type[Kind]:
    """Make a policy or rule of your own known by its `key`, so that it can be named, saved and loaded.

    Also as a decorator.
    """
    if not isinstance(kind, type) or not issubclass(kind, Algorithm):
        raise ArgumentError(f"register takes a subclass of Policy or StoppingRule, got {kind!r}")
    if not isinstance(getattr(kind, "key", None), str):
        raise ArgumentError(f"{kind.__name__} needs a class attribute key, its short name")
    table: dict[str, Any] = POLICIES if issubclass(kind, bandits.Policy) else RULES
    if table.get(kind.key, kind) is not kind:
        raise ArgumentError(f"key must be new, got {kind.key!r}, which is {table[kind.key].__name__}")
    table[kind.key] = kind
    return kind


def _look_up(what: str, name: str, table: dict[str, Any]) -> Any:
    if not isinstance(name, str) or name not in table:
        other = next((f", a {kind}" for kind, names in TABLES.items() if isinstance(name, str) and name in names), "")
        raise ArgumentError(f"{what} must be one of {', '.join(sorted(table))}, got {name!r}{other}")
    return table[name]


def _check_options(name: str, kind: type, options: dict[str, Any]) -> None:
    known = parameters_of(kind)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ArgumentError(f"{name} has no option {unknown[0]!r}; its options are {', '.join(known)}")
    needed = [key for key, parameter in known.items() if parameter.default is parameter.empty and key != "arms"]
    missing = [key for key in needed if key not in options]
    if missing:
        raise ArgumentError(f"{name} needs the option {missing[0]!r}; its options are {', '.join(known)}")

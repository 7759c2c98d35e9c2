"""Which objects an audit builds: options are guessed from their names, and a required horizon from what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.audit.inputs import Rewards
from discreet.audit.mechanisms import MECHANISMS
from discreet.audit.neighbours import Pair, policy_pairs, rule_pairs
from discreet.audit.play import by_totals
from discreet.bandits import Policy
from discreet.core.errors import ArgumentError
from discreet.core.options import parameters_of
from discreet.core.registry import POLICIES, RULES, make_policy, make_rule
from discreet.stopping import StoppingRule

ARMS = ("A", "B")
GUESSES: dict[str, Any] = {"alpha": 0.9, "beta": 0.5, "low": 0.0, "high": 1.0, "seed": 1}
HORIZONS = tuple(2**power for power in (3, 6, 10, 14, 18, 22))


@dataclass(frozen=True)
class Subject:
    """Something to audit: what it claims, and how to find the pairs to play."""

    name: str
    kind: str
    epsilon: float  # what it claims; infinite if it is not private
    find_pairs: Callable[[], list[Pair]]


def names() -> list[str]:
    """Everything that can be audited, or is not private and says so."""
    return [*MECHANISMS, *RULES, *POLICIES]


def subject(name: str, epsilon: float, options: Mapping[str, Any]) -> Subject:
    """The registered algorithm or the mechanism of this name."""
    if name in MECHANISMS:
        return mechanism_subject(name, epsilon)
    if name in RULES:
        return rule_subject(name, epsilon, options)
    if name in POLICIES:
        return policy_subject(name, epsilon, options)
    raise ArgumentError(
        f"algorithm must be one of {', '.join(sorted(names()))}, got {name!r}; one of your own must be "
        "registered first (discreet.register), on the command line by a --module"
    )


def mechanism_subject(name: str, epsilon: float) -> Subject:
    """A mechanism on the inputs that are written down for it."""
    release, inputs = MECHANISMS[name]
    pairs = [
        Pair(what, partial(release, epsilon, one), partial(release, epsilon, other), 1 / len(inputs))
        for what, (one, other) in inputs.items()
    ]
    return Subject(name, "mechanism", epsilon, lambda: pairs)


def policy_subject(name: str, epsilon: float, options: Mapping[str, Any]) -> Subject:
    """A policy with two arms."""
    kind, chosen = POLICIES[name], guess_options(POLICIES[name], epsilon, options)
    horizon = parameters_of(kind).get("horizon")
    if horizon is not None and horizon.default is horizon.empty and "horizon" not in chosen:
        chosen["horizon"] = busy_horizon(name, chosen)
    example: Policy = build(make_policy, name, {"arms": ARMS, **chosen})
    again = partial(kind, ARMS, **chosen)  # without the checks of names, which take time
    return Subject(name, "policy", example.privacy.epsilon, lambda: policy_pairs(again))


def busy_horizon(name: str, options: Mapping[str, Any]) -> int:
    """The shortest horizon within which something is released."""
    for horizon in HORIZONS:
        policy = build(make_policy, name, {"arms": ARMS, **options, "horizon": horizon})
        if policy.privacy_reason is None:
            break
        by_totals(policy, Rewards((0, 0), 0, 1, 0))
        if policy.ledger:
            break
    return horizon


def rule_subject(name: str, epsilon: float, options: Mapping[str, Any]) -> Subject:
    """A stopping rule on samples in [0, 1]."""
    chosen = guess_options(RULES[name], epsilon, options)
    example: StoppingRule = build(make_rule, name, chosen)
    again = partial(RULES[name], **chosen)
    return Subject(name, "stopping rule", example.privacy.epsilon, lambda: rule_pairs(again))


def guess_options(kind: type, epsilon: float, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for a class: those given, and guesses for others that it has."""
    parameters = parameters_of(kind)
    wraps = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    guessed = {name: value for name, value in GUESSES.items() if name in parameters}
    if "epsilon" in parameters or wraps:
        guessed["epsilon"] = epsilon
    return {**guessed, **options}


def build(make: Callable[..., Any], name: str, options: Mapping[str, Any]) -> Any:
    """The object; an error says what an audit needs."""
    try:
        return make(name, **options)
    except ArgumentError as error:
        raise ArgumentError(f"{name} cannot be built for an audit: {error}; give the audit its options") from error

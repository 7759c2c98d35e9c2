"""The objects that an audit builds: options are guessed from their names, and a required horizon by trying."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.audit.inputs import Rewards
from discreet.audit.mechanisms import MECHANISMS
from discreet.audit.neighbours import Pair, policy_pairs, rule_pairs
from discreet.audit.play import ENTRY, by_totals
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.options import field_names, required_options
from discreet.core.registry import POLICIES, RULES, find, make

ARMS = ("A", "B")
GUESSES: dict[str, Any] = {"arms": ARMS, "alpha": 0.9, "beta": 0.5, "low": 0.0, "high": 1.0, "seed": 1}
HORIZONS = tuple(2**power for power in (3, 6, 10, 14, 18, 22))


@dataclass(frozen=True)
class Subject:
    """Something to audit.

    Args:
        name: Its name.
        kind: "mechanism", "stopping rule" or "policy".
        epsilon: What it claims; infinite if it is not private.
        find_pairs: Finds the pairs of inputs to play.
    """

    name: str
    kind: str
    epsilon: float
    find_pairs: Callable[[], list[Pair]]


def names() -> list[str]:
    """Return the names of all that can be audited, also of what is not private and says so."""
    return [*MECHANISMS, *RULES, *POLICIES]


def subject(name: str, epsilon: float, options: Mapping[str, Any]) -> Subject:
    """Return the registered algorithm, or the mechanism, of this name.

    Args:
        name: Its name.
        epsilon: What it is built to claim.
        options: Options that are not to be guessed.

    Raises:
        ArgumentError: There is no such algorithm, or it cannot be built from these options.
    """
    if name in MECHANISMS:
        answer, inputs = MECHANISMS[name]
        pairs = [
            Pair(said, partial(answer, epsilon, one), partial(answer, epsilon, other), 1 / len(inputs))
            for said, (one, other) in inputs.items()
        ]
        return Subject(name, "mechanism", epsilon, lambda: pairs)
    if name not in RULES and name not in POLICIES:
        raise ArgumentError(
            f"algorithm must be one of {', '.join(sorted(names()))}, got {name!r}; one of your own must be "
            "registered first (discreet.register), on the command line by a --module"
        )
    kind = find(name)
    known = set(field_names(kind, init=True))
    if "policy" in required_options(kind):  # options of the policy inside are given beside
        known |= set(field_names(find(options.get("policy", "dp-se"), "policy"), init=True))
    guesses = {**GUESSES, "epsilon": epsilon}
    chosen = {**{option: value for option, value in guesses.items() if option in known}, **options}
    if "horizon" in required_options(kind) and "horizon" not in chosen:
        chosen["horizon"] = _busy_horizon(name, chosen)
    algorithm: Any = _build(name, chosen)
    if name in RULES:
        return Subject(name, "stopping rule", algorithm.privacy.epsilon, lambda: rule_pairs(algorithm))
    return Subject(name, "policy", algorithm.privacy.epsilon, lambda: policy_pairs(algorithm))


def _busy_horizon(name: str, options: Mapping[str, Any]) -> int:
    """Return the shortest horizon within which something is released."""
    for horizon in HORIZONS:
        policy: Any = _build(name, {**options, "horizon": horizon})
        if not policy.privacy.promised or f"{ENTRY}1" in by_totals(policy, Rewards((0, 0), 0, 1, 0)):
            break
    return horizon


def _build(name: str, options: Mapping[str, Any]) -> Algorithm:
    """Return the object; an error says what an audit needs."""
    try:
        return make(name, options)
    except ArgumentError as error:
        raise ArgumentError(f"{name} cannot be built for an audit: {error}; give the audit its options") from error

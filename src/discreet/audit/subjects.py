"""The objects that an audit plays, with guessed options, and neighbouring inputs for them, found by trying.

Nothing depends on the names of algorithms. Options are guessed from their own names, and a required horizon by trying.
Levels of rewards are moved by bisection until the object's decisions can go either way, since that is where one reward
can matter. Then one reward is changed by as much as it can be: an early one, a late one, or the only answer; and where
a person is protected, one of each epoch.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.audit.events import Facts, Table
from discreet.audit.mechanisms import MECHANISMS
from discreet.audit.play import ENTRY, Rewards, by_stream, by_sums, by_tickets, by_totals
from discreet.bandits import Policy
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.options import field_names, required_options
from discreet.core.privacy import Unit
from discreet.core.registry import POLICIES, RULES, find, make
from discreet.stopping import StoppingRule

Levels = tuple[int, ...]

ARMS = ("A", "B")
GUESSES: dict[str, Any] = {"arms": ARMS, "alpha": 0.9, "beta": 0.5, "low": 0.0, "high": 1.0, "seed": 1}
TEST_GUESSES: dict[str, Any] = {  # of tests, whose two errors must add up to less than 1
    "alpha": 0.2, "beta": 0.2, "base_rate": 0.3, "effect": 0.3, "null": 0.3, "alternative": 0.6,
}  # fmt: skip
HORIZONS = tuple(2**power for power in (3, 6, 10, 14, 18, 22))
LENGTHS = (2**10, 2**13)  # of streams
_TRIES, _MIXED, _BISECTIONS = 10, 8, 16  # runs a level; the most that may agree if decisions are open; levels


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs.

    Args:
        name: What is changed, and how the object is driven.
        one: Plays the object on one input, and returns all that it shows.
        other: The same on the other input.
        share: The share of an audit's time.
    """

    name: str
    one: Callable[[], Facts]
    other: Callable[[], Facts]
    share: float


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


def subject(name: str | type[Algorithm] | Algorithm, epsilon: float, options: Mapping[str, Any]) -> Subject:
    """Return the registered algorithm, or the mechanism, of this name.

    Args:
        name: Its name, or the class of an algorithm.
        epsilon: What it is built to claim.
        options: Options that are not to be guessed.

    Raises:
        ArgumentError: There is no such algorithm, or it cannot be built from these options.
    """
    if not isinstance(name, str):
        name = find(name).key
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
    is_test = known & {"effect", "alternative"}
    guesses = {**GUESSES, **(TEST_GUESSES if is_test else {}), "epsilon": epsilon}
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


# ---------------------------------------------------------------------- neighbouring inputs


def policy_pairs(policy: Policy) -> list[Pair]:
    """Return pairs for a policy with two arms: a reward of the first epoch, a later one, and an only answer."""
    width, first = policy.grid.width, policy.plan()
    levels = balance(
        lambda levels: by_totals(policy, Rewards(levels, 0, 1, levels[0])),
        [((level, level), (level, 0)) for level in (width // 2, width)],
    )
    early, silent = Rewards(levels, 0, 1, 0), Rewards((0, 0), 1, 1, 0)
    late = replace(early, pull=2 + (next(iter(first.pulls.values())) if first else 0))
    saved = partial(by_totals, reload=True)
    pairs = [
        _pair("the first reward, by totals", by_totals, policy, early, 0.5),
        _pair("a later reward, by totals, saved and loaded", saved, policy, late, 0.25),
        _pair("the only answer, by tickets", by_tickets, policy, silent, 0.25),
    ]
    if policy.privacy.unit is Unit.PERSON:
        # Equal arms stay, so that there are several epochs to take part in.
        person = Rewards((width // 2, width // 2), 0, 1, 0, each_epoch=True)
        pairs.append(_pair("a reward of each epoch, by totals, saved and loaded", saved, policy, person, 1.0))
    return _with_releases(pairs)


def rule_pairs(rule: StoppingRule) -> list[Pair]:
    """Return pairs for a rule: the first sample, and one half-way to the end, with a cut on either side of it."""
    width = rule.grid.width
    length = next((n for n in LENGTHS if by_stream(rule, Rewards((width,), 0, 1, width), n)["halted"]), LENGTHS[0])

    def steady(levels: Levels) -> Facts:
        return by_stream(rule, Rewards(levels, 0, 1, levels[0]), length)

    levels = balance(steady, [((width,), (width // 2,))])
    middle = max(1, min(steady(levels)["samples"] for _ in range(_TRIES)) // 2)
    early = Rewards(levels, 0, 1, 0)
    late = replace(early, pull=middle + 1)
    cuts = (middle, middle + 1)
    stream, pieces = partial(by_stream, length=length), partial(by_stream, length=length, cuts=cuts)
    saved = partial(by_sums, length=length, cuts=cuts)
    return _with_releases(
        [
            _pair("the first sample, as a stream", stream, rule, early, 0.5),
            _pair("a later sample, as a stream in pieces", pieces, rule, late, 0.25),
            _pair("a later sample, by totals, saved and loaded", saved, rule, late, 0.25),
        ]
    )


def _pair(name: str, way: Callable[[Any, Rewards], Facts], algorithm: Any, rewards: Rewards, share: float) -> Pair:
    """Return the pair in which the other reward is as small, and as large, as it can be."""
    one, other = rewards.changed(algorithm.grid.width)
    return Pair(name, lambda: way(algorithm, one), lambda: way(algorithm, other), share)


def _with_releases(pairs: list[Pair]) -> list[Pair]:
    """Return the pairs whose runs get as far as a ledger, with all of the time; all of them if none does."""
    useful = [one for one in pairs if any(fact.startswith(ENTRY) for fact in one.one())] or pairs
    whole = sum(one.share for one in useful)
    return [replace(one, share=one.share / whole) for one in useful]


def balance(play: Callable[[Levels], Facts], paths: list[tuple[Levels, Levels]]) -> Levels:
    """Return levels at which runs decide differently; the start of the first path where there are none.

    A path whose ends decide differently is halved until its middle does both.

    Args:
        play: Plays the object at some levels.
        paths: Pairs of levels to look between.
    """
    for start, end in paths:
        usual, agreed = _usual_decision(play, start)
        if agreed <= _MIXED:
            return start
        other, agreed = _usual_decision(play, end)
        if agreed <= _MIXED:
            return end
        near, far = start, end
        for _ in range(_BISECTIONS if other != usual else 0):
            middle = tuple((one + two) // 2 for one, two in zip(near, far, strict=True))
            found, agreed = _usual_decision(play, middle)
            if agreed <= _MIXED:
                return middle
            near, far = (middle, far) if found == usual else (near, middle)
        if other != usual:
            return near
    return paths[0][0]


def _usual_decision(play: Callable[[Levels], Facts], levels: Levels) -> tuple[Hashable, int]:
    """Return what most of a few runs decide, and the number of runs that agree."""
    decisions = Table([play(levels) for _ in range(_TRIES)]).decisions
    return Counter(decisions).most_common(1)[0]

"""Neighbouring inputs for any policy or rule, found by trying and not by name.

Levels of rewards are moved by bisection until the object's decisions can go either way, since that is where one reward
can matter. Then one reward is changed by as much as it can be: an early one, a late one, or the only answer; and where
a person is protected, one of each epoch.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.audit.events import Facts, Table
from discreet.audit.inputs import Rewards
from discreet.audit.play import ENTRY, by_stream, by_sums, by_tickets, by_totals
from discreet.bandits import Policy
from discreet.core.privacy import Unit
from discreet.stopping import StoppingRule

Levels = tuple[int, ...]

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
